"""Numbers that callers give to algorithms: real and finite, or one clear error."""

from functools import partial

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms.numbers import cutoff_of, finite, first_weights, positive, vertex_values
from garaph_py.errors import ParameterError


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int8(3), 10**300])
def test_numbers_become_floats(value):
    for check in (positive, finite):
        assert check(value, "hits", "tol") == float(value)
    assert finite(-value, "hits", "tol") == -float(value)


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), 1j, np.complex128(1), "1", None, np.ones(2)])
def test_what_is_no_finite_number(value):
    with pytest.raises(ParameterError, match=r"^hits\(tol=.*\): give a number above 0$"):
        positive(value, "hits", "tol")
    with pytest.raises(ParameterError, match=r"^katz_centrality\(alpha=.*\): give a finite number$"):
        finite(value, "katz_centrality", "alpha")


@pytest.mark.parametrize("value", [0, -1, np.float64(-0.5)])
def test_what_is_not_above_0(value):
    with pytest.raises(ParameterError, match="give a number above 0"):
        positive(value, "hits", "tol")


GRAPH = gp.from_edges(["a", "b", "c"], ["b", "c", "d"])
CHECKS = partial(vertex_values, name="nstart"), first_weights


@pytest.mark.parametrize("given", [{"c": 2}, [0, 0, 2, 0], np.float32([0, 0, 2, 0]), gp.run(gp.apps.BFS("a"), GRAPH)])
def test_first_values(given):
    given = given.column("level") * [0, 0, 1, 0] if isinstance(given, gp.Result) else given
    for check in CHECKS:
        found = check(given, GRAPH, "hits")
        assert (found.dtype, found.tolist()) == (np.float64, [0, 0, 2, 0])
    assert vertex_values([0, -1, 0, 0], GRAPH, "hits", "nstart").tolist() == [0, -1, 0, 0]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([1, 2], r"has shape \(2,\), but the graph has 4 vertices"),
        (1.0, r"has shape \(\), but"),
        ([1, 2, 3, np.nan], "give finite numbers"),
        ({"a": np.inf}, "give finite numbers"),
        ({"a": 1j}, "complex"),
        (np.array([1, 2, 3, 4j]), "complex numbers"),
        ({"a": "x"}, "could not convert string"),
        ("abcd", "could not convert string"),
        (object(), "give a mapping or an array"),
    ],
)
def test_what_are_no_first_values(given, problem):
    for check in CHECKS:
        with pytest.raises(ParameterError, match=rf"^hits\(nstart=\.\.\.\).*{problem}"):
            check(given, GRAPH, "hits")
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 'z' is not in the graph"):
        vertex_values({"z": 1}, GRAPH, "hits", "nstart")


@pytest.mark.parametrize("given", [{}, [0, 0, 0, 0], [1, -1, 1, 1]])
def test_what_are_no_first_weights(given):
    with pytest.raises(ParameterError, match=r"^hits\(nstart=\.\.\.\): give numbers of 0 or more, at least"):
        first_weights(given, GRAPH, "hits")


def test_cutoffs():
    assert [cutoff_of(value, "f") for value in (None, np.inf, 0, np.int8(3), 2.5)] == [None, None, 0, 3, 2.5]
    assert cutoff_of(2**53 + 1, "f") == 2**53 + 1
    for value in (-1, np.nan, "3"):
        with pytest.raises(ParameterError, match=rf"^f\(cutoff={value!r}\): give a number of 0 or more$"):
            cutoff_of(value, "f")
