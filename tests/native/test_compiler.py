"""Compiled functions are shared between kernels, as long as they and all that they refer to are equal."""

import numba
import numpy as np
import pytest
from numba.core.types.functions import BaseFunction

from garaph_py.errors import ParameterError
from garaph_py.native import Kernel, compiler, kernel, modules

STEP = 1
TABLE = np.array([7, 8, 9])


@pytest.fixture(autouse=True)
def nothing_shared(monkeypatch, tmp_path):
    """No dispatchers and no code from earlier kernels, and a cache of compiled code of its own."""
    monkeypatch.setattr(kernel, "_loaded", {})
    monkeypatch.setattr(compiler, "_shared", {})
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path))


def make_advance(first):
    def add(x):
        return x + STEP

    def advance(numbers):
        return add(add(numbers[first]))

    return Kernel("i64*", advance)


def test_kernels_share_equal_functions():
    numbers = np.array([5, 10])
    assert make_advance(0)(numbers) == 7
    add_and_advance = list(compiler._shared.values())
    assert make_advance(1)(numbers) == 12
    shared = list(compiler._shared.values())
    assert len(add_and_advance) == 2
    assert len(shared) == 3  # another `advance`, and the same `add`
    assert shared[:2] == add_and_advance


def test_a_function_that_reads_a_changed_global_is_compiled_anew(monkeypatch):
    numbers = np.array([5])
    assert make_advance(0)(numbers) == 7
    monkeypatch.setitem(globals(), "STEP", 100)
    assert make_advance(0)(numbers) == 205


def test_a_function_that_cannot_be_compiled_is_not_shared():
    def broken(x):
        return x + unknown  # noqa: F821

    def first(numbers):
        return broken(numbers[0])

    with pytest.raises(Exception, match="cannot be compiled"):
        Kernel("i64*", first)(np.array([5]))
    assert not compiler._shared


def test_those_used_last_are_kept(monkeypatch):
    monkeypatch.setattr(compiler, "MOST_SHARED", 3)
    for first in range(4):
        make_advance(first)(np.arange(4))
    assert [dispatcher.py_func.__name__ for dispatcher in compiler._shared.values()] == ["advance", "add", "advance"]


def make_choose():
    def choose(numbers):
        return TABLE[numbers[0]]

    return Kernel("i64*", choose)


def test_numbas_signatures_are_remembered_for_kernels_alone(monkeypatch):
    monkeypatch.setattr(compiler, "_resolved", {})
    assert make_advance(0)(np.array([5])) == 7
    assert compiler._resolved
    assert BaseFunction.get_call_type is compiler.numbas_resolve
    monkeypatch.setattr(compiler, "MOST_RESOLVED", 1)
    assert make_advance(1)(np.array([5, 6])) == 8
    assert not compiler._resolved


def test_a_function_of_numba_can_call_ours():
    def double(x):
        return 2 * x

    def total(numbers):
        found = 0
        for number in map(double, (numbers[0], numbers[1])):
            found += double(number)
        return found

    assert Kernel("i64*", total)(np.array([3, 4])) == 28


def test_a_function_can_define_functions():
    def total(numbers):
        factor = numbers[1]

        def scaled(x):
            return factor * x

        return scaled(numbers[0]) + (lambda x: x + 1)(numbers[0])

    assert Kernel("i64*", total)(np.array([3, 4])) == 12 + 4


@pytest.mark.parametrize("name", ["NopythonRewrites", "InlineClosureLikes"])
def test_numbas_passes_that_change_nothing_are_left_out(monkeypatch, name):
    def run(self, state):
        raise AssertionError(f"{name} runs")

    monkeypatch.setattr(getattr(modules, name), "run_pass", run)
    assert make_advance(0)(np.array([5])) == 7


@pytest.mark.parametrize(("name", "value"), [("OPT", type(numba.config.OPT)(0)), ("BOUNDSCHECK", 1)])
def test_numbas_settings_in_the_environment_change_nothing(monkeypatch, name, value):
    monkeypatch.setattr(numba.config, name, value)
    assert make_choose()(np.array([2])) == 9
    assert getattr(numba.config, name) is value  # the user's own code is compiled as the user says


def test_numba_that_is_turned_off_is_named(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with pytest.raises(ParameterError, match=r"NUMBA_DISABLE_JIT is set.*unset it"):
        make_advance(0)(np.array([5]))
