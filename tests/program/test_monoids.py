"""Unified operations, the library's and the user's own: what they sum to, and which are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from garaph_py.program import bind
from garaph_py.program.functions import functions
from tests.support.programs import FLOAT64, RING, check, derived

from ..support.runs import run_with

OPERATIONS = {
    "add": (gp.add, 6), "mul": (gp.mul, 6), "min": (gp.min, 1), "max": (gp.max, 3), "bitwise_and": (gp.bitwise_and, 0),
    "bitwise_or": (gp.bitwise_or, 3), "bitwise_xor": (gp.bitwise_xor, 0), "logical_and": (gp.logical_and, 1),
    "logical_or": (gp.logical_or, 1), "logical_xor": (gp.logical_xor, 1),
    "own": (gp.Monoid(lambda left, right: left if left >= right else right, -5), 3),
    "own with a name": (gp.Monoid(lambda left, right: left + right, 0, "plus"), 6),
}  # fmt: skip


@pytest.mark.parametrize(("monoid", "wanted"), OPERATIONS.values(), ids=OPERATIONS)
def test_unified_operations(monoid, wanted):
    bound = bind(derived(sum=monoid)(), RING)
    add, identity = functions(bound).sum, bound.identity()
    assert add(add(add(identity, 1), 2), 3) == add(1, add(2, 3)) == wanted


@pytest.mark.full
def test_vertices_without_in_edges_have_the_identity():
    star = gp.from_edges([0, 1, 2], [3, 3, 3])
    kind = derived(sum=OPERATIONS["own with a name"][0], init=lambda self, id: id + 1)
    assert run_with(kind(), star, iterations=1, mode="pull").values.tolist() == [0, 0, 0, 6]


BROKEN_SUMS = {
    "built-in function": (gp.Monoid(min, 0), np.int64, "written with def or lambda"),
    "class": (gp.Monoid(int, 0), np.int64, "written with def or lambda"),
    "one argument": (gp.Monoid(lambda left: left, 0), np.int64, r"Wrong.sum .* takes 1 arguments; allowed are two"),
    "a list": (gp.Monoid(lambda left, right: [left, right][0], 0), np.int64, r"Wrong.sum .* contains a list"),
    "wrong type": (gp.Monoid(lambda left, right: left / right, 1), np.int64, r"Wrong.sum .* returns float64"),
    "wrong type and a name": (gp.Monoid(lambda left, right: left / right, 1, "div"), np.int64, "returns float64"),
    "float64": (gp.Monoid(lambda left, right: left + right * 0.5, 0), np.float32, FLOAT64),
    "bits of floats": (gp.bitwise_or, np.float32, "bitwise_or, which takes integers; the accumulator is float32"),
    "identity too large": (gp.Monoid(lambda a, b: a, 2**31), np.int32, "identity 2147483648, which is no value of"),
    "identity too small": (gp.Monoid(lambda a, b: a, -1), np.uint64, "identity -1, which is no value of"),
    "identity infinite": (gp.Monoid(lambda a, b: a, math.inf), np.int64, "identity inf, which is no value of"),
    "identity not whole": (gp.Monoid(lambda a, b: a, 0.5), np.int64, "identity 0.5, which is no value of"),
    "identity too large a float": (gp.Monoid(lambda a, b: a, 1e300), np.float32, "identity 1e\\+300"),
    "identity of the wrong kind": (gp.Monoid(lambda a, b: a, "0"), np.int64, "identity '0'"),
    "identity missing": (gp.Monoid(lambda a, b: a, None), np.int64, "identity None"),
    "identity of fields": (gp.Monoid(lambda a, b: a, (0, 0)), np.int64, r"identity \(0, 0\)"),
}


@pytest.mark.parametrize(("monoid", "value", "message"), BROKEN_SUMS.values(), ids=BROKEN_SUMS)
def test_a_broken_operation_is_refused(monoid, value, message):
    with pytest.raises(ProgramError, match=message):
        check(derived(sum=monoid, value=value)())


class Fields(gp.VertexProgram):
    """Two sums at once: of the sources' numbers, and how many there are."""

    value = np.float32
    accumulator = {"mass": np.float32, "count": np.uint32}  # noqa: RUF012
    sum = gp.add

    def init(self, id):
        return float(id)

    def gather(self, src):
        return src, 1

    def apply(self, acc):
        return acc.mass / float(acc.count)


def add_both(left, right):
    return left.mass + right.mass * float(1), left.count + right.count


@pytest.mark.full
@pytest.mark.parametrize("monoid", [gp.add, gp.Monoid(add_both, (0, 0))])
def test_fields_are_summed_one_by_one_or_by_the_users_function(monoid):
    graph = gp.from_edges([0, 1, 2, 3, 4], [5, 5, 5, 6, 6])
    kind = type("Own", (Fields,), {"sum": monoid})
    values = run_with(kind(), graph, iterations=1, mode="pull", check="off").values
    assert values[5:].tolist() == [1, 3.5]
    assert np.isnan(values[:5]).all()


@pytest.mark.parametrize("identity", [(0,), (0, 0, 0), (0, -1), (0, "x")])
def test_an_identity_that_does_not_fit_the_fields_is_refused(identity):
    with pytest.raises(ProgramError, match="identity"):
        check(type("Own", (Fields,), {"sum": gp.Monoid(add_both, identity)})())
