"""Maximal independent sets: by their properties, and beside the greedy set."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms.maximal_independent_set import INSIDE, OUTSIDE, IndependentSet
from garaph_py.errors import VerificationError
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import FIRST, on_disk, pair, pairs, random_pair


def assert_maximal(theirs, found):
    assert theirs.subgraph(found).number_of_edges() == 0
    assert all(v in found or set(theirs[v]) & set(found) for v in theirs)


def greedy(both, seed):
    """The set that takes vertices in the order of the same ranks, one by one."""
    ranks, taken = np.random.default_rng(seed).permutation(both.ours.n), set()
    for place in np.argsort(-ranks).tolist():
        if not taken & set(both.theirs[FIRST + place]):
            taken.add(FIRST + place)
    return sorted(taken)


@pytest.mark.slow
@given(pairs(directed=False), st.integers(0, 1 << 40))
def test_it_is_the_greedy_set_of_a_random_order(both, seed):
    found = gp.algorithms.maximal_independent_set(both.ours, seed=seed)
    assert_maximal(both.theirs, found)
    assert found == greedy(both, seed)


@given(pairs(directed=False, least=1), st.data())
def test_given_vertices_are_in_it(both, data):
    start = data.draw(st.integers(FIRST, FIRST + both.ours.n - 1))
    nodes = [start, *[v for v in both.theirs if v != start and v not in both.theirs[start]][:1]]
    found = gp.algorithms.maximal_independent_set(both.ours, nodes=nodes)
    assert_maximal(both.theirs, found)
    assert set(nodes) <= set(found)


@pytest.mark.full
def test_edges_may_be_packed_or_on_disk(tmp_path):
    both = random_pair(5, 400, 3000, directed=False)
    expected = greedy(both, 7)
    for graph in (both.ours, both.ours.packed(), on_disk(both.ours, tmp_path / "g")):
        assert gp.algorithms.maximal_independent_set(graph, seed=7) == expected
    assert gp.algorithms.maximal_independent_set(both.ours, seed=8) != expected


@pytest.mark.parametrize("kept", mostly_full(["memory", "packed", "disk"], "memory"))
def test_the_program_verifies_its_answer(kept, tmp_path):
    ours = random_pair(5, 400, 3000, directed=False).ours
    graph = {"memory": lambda: ours, "packed": ours.packed, "disk": lambda: on_disk(ours, tmp_path / "g")}[kept]()
    gp.run(IndependentSet(rank=np.random.default_rng(7).permutation(graph.n) + 1), graph, verify=True)


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ([0, 2, 4], None),
        ([0, 3, 4], None),
        ([0, 1, 3, 4], "10 is in the set beside a neighbour"),
        ([1, 4], "13 could be added"),
        ([0, 2], "14 could be added"),
    ],
)
def test_the_verifier_refuses_wrong_answers(chosen, problem):
    """Of the path 10, 11, 12, 13, and of 14, which has a self-loop."""
    graph = pair(5, [(0, 1), (1, 2), (2, 3), (4, 4)], directed=False).ours
    program = IndependentSet(rank=np.arange(1, 6))
    result = gp.run(program, graph)
    result.values[:] = OUTSIDE
    result.values[chosen] = INSIDE
    with pytest.raises(VerificationError, match=problem) if problem else nullcontext():
        gp.check(program, graph, result)


@pytest.mark.gpu
def test_a_gpu_finds_the_same():
    both = random_pair(5, 400, 3000, directed=False)
    ranks = np.random.default_rng(7).permutation(both.ours.n) + 1
    found = [gp.run(IndependentSet(rank=ranks), both.ours, device=device).values for device in ("cpu", "gpu")]
    assert (found[0] == found[1]).all()


def test_bad_arguments_are_refused():
    graph = gp.from_edges([1, 2, 3], [2, 3, 3], directed=False)
    with pytest.raises(gp.errors.GraphError, match="nodes: 1 and 2 are neighbours"):
        gp.algorithms.maximal_independent_set(graph, nodes=[1, 2])
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 9 is not in the graph"):
        gp.algorithms.maximal_independent_set(graph, nodes=[9])
    with pytest.raises(gp.errors.ParameterError, match="seed=-1"):
        gp.algorithms.maximal_independent_set(graph, seed=-1)
    with pytest.raises(gp.errors.GraphError, match="maximal_independent_set needs an undirected graph"):
        gp.algorithms.maximal_independent_set(gp.from_edges([1], [2]))
