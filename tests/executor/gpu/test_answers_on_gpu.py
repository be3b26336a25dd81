"""Answers that stay on a GPU: they are what the host would have got, and another run finds them there."""

import sys
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from tests.support.runs import run_with

sys.path.append(str(Path(__file__).parents[3] / "scripts"))

from bench_phases import Authorities, Hubs, Shell

pytestmark = pytest.mark.gpu

PHASES = 6


class Scores(Authorities):
    value = np.float64


class Backward(Hubs):
    value = np.float64


class Pulled(Shell):
    """The same without deltas, which a GPU would push."""

    delta = None


class Mixed(gp.VertexProgram):
    """Three parameters, of other types than the program's floats."""

    first: gp.PerVertex = 0
    second: gp.PerVertex = 0
    third: gp.PerVertex = 0

    value = np.float64
    sum = gp.add

    def init(self, first, second, third):
        return float(10) * first + second + third / float(10)

    def gather(self, src):
        return src


class Number(gp.VertexProgram):
    """The internal id of each vertex, plus `more`."""

    more: int = 0

    value = np.int64
    sum = gp.min

    def init(self, id):
        return id + self.more

    def gather(self, src):
        return src


class Number32(Number):
    value = np.int32


class Real32(Number):
    value = np.float32

    def init(self, id):
        return float(id % 1000 + self.more) / float(8)


def is_left(result):
    return "values" not in vars(result)


def phases(graph, device, **how):
    scores = 1.0
    for k in range(PHASES):
        program = (Backward if k % 2 else Scores)(scores)
        scores = run_with(program, graph, device=device, iterations=1, **how)
    return scores


@pytest.mark.parametrize("order", ["given", "hub"])
def test_both_directions_in_turns(order):
    graph = gp.rmat(14, 8)
    expected = phases(graph, "cpu")
    for _ in range(2):  # the first makes the other order
        found = phases(graph, "gpu", gpu_order=order, fetch=False)
        assert is_left(found)
        np.testing.assert_allclose(found.values, expected.values, 1e-9)


def test_cores():
    graph = gp.rmat(12, 8, directed=False)
    core = {"cpu": 0, "gpu": 0}
    for k in range(1, 12):
        for device in core:
            core[device] = run_with(Pulled(k, core[device]), graph, device=device, fetch=False)
    assert is_left(core["gpu"])
    assert (core["gpu"].values == core["cpu"].values).all()


def test_parameters_of_other_types():
    graph = gp.rmat(10, 4)
    programs = Number32(3), Real32(5), Number(7)
    for _ in range(2):
        given = [run_with(one, graph, device="gpu", iterations=0, fetch=False) for one in programs]
        assert all(map(is_left, given))
        found = run_with(Mixed(*given), graph, device="gpu", iterations=0, fetch=False)
        partly = run_with(Mixed(given[0], 2, given[2]), graph, device="gpu", iterations=0)
        assert all(map(is_left, given))
        first, second, third = (run_with(one, graph, device="cpu", iterations=0).values for one in programs)
        np.testing.assert_allclose(found.values, 10.0 * first + second + third / 10, 1e-12)
        np.testing.assert_allclose(partly.values, 10.0 * first + 2 + third / 10, 1e-12)


def test_a_large_answer_comes_by_way_of_buffers():
    graph = gp.uniform(23, 1)
    for more in range(3):  # its memory on the host is new at first, and pinned later
        result = run_with(Number(more), graph, device="gpu", iterations=0, fetch=False)
        assert is_left(result)
        assert (result.values == np.arange(graph.n) + more).all()


def test_another_run_takes_the_memory():
    graph = gp.rmat(14, 8)
    first = run_with(Number(), graph, device="gpu", fetch=False)
    answer = first.numbers_of(graph.ids)
    answer.give_up()
    assert answer.held == 0
    assert (first.values == run_with(Number(), graph, device="cpu").values).all()
