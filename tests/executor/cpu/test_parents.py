"""The in-neighbour that gave a vertex its value."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.parent_programs import Paths, Steps

FAR = np.iinfo(np.int64).max
"""Steps to a vertex that is not reached."""


def expected(graph, steps, lengths=None):
    """For each vertex, the smallest in-neighbour from which an edge leads to its number of steps."""
    arrays = graph._arrays.in_edges
    found = np.full(graph.n, -1)
    for v in range(graph.n):
        for e in range(arrays.offsets[v], arrays.offsets[v + 1]):
            u, length = arrays.neighbours[e], 1 if lengths is None else arrays.values[e]
            if v and max(steps[u], steps[v]) < FAR and steps[u] + length == steps[v]:
                found[v] = u
                break
    return found


@pytest.mark.full
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("packed", mostly_full([False, True], "False"))
@pytest.mark.parametrize("weighted", mostly_full([False, True], "True"))  # other tests here have neither
def test_the_smallest_in_neighbour_that_gave_the_value(directed, packed, weighted):
    given = twins.skewed(3, 500, 2500)
    weights = np.random.default_rng(2).integers(1, 4, len(given.sources)) if weighted else None
    graph = gp.from_edges(given.sources, given.targets, weights=weights, vertices=range(given.n), directed=directed)
    parents = expected(graph, gp.run(Paths() if weighted else Steps(), graph).values["steps"], weights)
    graph = graph.packed() if packed else graph
    for mode in ("pull", "push"):
        result = gp.run(Paths() if weighted else Steps(), graph, options=gp.Options(mode=mode), device="cpu")
        assert (result.values["before"] == parents).all()


def test_debugging_finds_the_same():
    graph = gp.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 0], vertices=range(5))
    compiled, plain = (gp.run(Steps(), graph, debug=debug).values for debug in (False, True))
    assert compiled["before"].tolist() == plain["before"].tolist() == [-1, 0, 0, 1, -1]


def test_a_run_that_ends_early_has_the_parents_so_far():
    graph = gp.from_edges(range(5), range(1, 6))
    assert gp.run(Steps(), graph, iterations=2).values["before"].tolist() == [-1, 0, 1, -1, -1, -1]


def test_only_relaxations_have_parents():
    class Counts(Steps):
        sum = gp.add

    with pytest.raises(ProgramError, match=r"Counts\.result asks for parent, which only relaxations have"):
        gp.run(Counts(), gp.from_edges([0], [1]))
