"""Random walks: they follow edges, as often as the weights and node2vec's parameters say."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import random_walks
from tests.support.networkx_graphs import on_disk, random_pair, valued, valued_graphs

OFTEN = 40_000
"""Walks of which frequencies are counted: one of probability x differs from it by less than 5 sqrt(x / OFTEN)."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valued_graphs(), st.booleans(), st.sampled_from([(1, 1), (0.5, 4), (3, 0.25)]))
def test_walks_follow_edges(threads, both, weight, p_and_q):
    ours, theirs = both
    given = {"length": 6, "weight": weight, "p": p_and_q[0], "q": p_and_q[1], "seed": 3}
    walks = random_walks(ours, threads=threads, **given)
    assert walks.shape == (ours.n, 7)
    assert walks[:, 0].tolist() == list(ours.ids)
    assert (walks == random_walks(ours, threads=1, **given)).all()
    for u, v in {pair for walk in walks.tolist() for pair in pairwise(walk)}:
        ways = [data["weight"] for data in theirs[u].get(v, {}).values()]
        leads_on = any(data["weight"] or not weight for _, _, data in theirs.edges(u, data=True))
        assert any(way > 0 or not weight for way in ways) if leads_on else u == v


def shares(walks):
    """How often each vertex is the last of a walk."""
    return np.bincount(walks[:, -1], minlength=5) / len(walks)


def assert_near(found, expected):
    expected = np.array(expected) / sum(expected)
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected / OFTEN)).all(), found


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_steps_are_drawn_by_weight(kind):
    edges = [(0, 1, 1), (0, 2, 0), (0, 3, 5), (0, 4, 2)]
    graph, _ = valued(5, edges, True, kind)
    assert_near(shares(random_walks(graph, [0] * OFTEN, length=1, seed=1)), [0, 1, 0, 5, 2])
    assert_near(shares(random_walks(graph, [0] * OFTEN, length=1, weight=False, seed=1)), [0, 1, 1, 1, 1])


def test_node2vec_s_parameters():
    """From 0 the walk comes to 1, which has edges back to 0, to 2, which has an edge from 0, and to 3 and 4."""
    graph, _ = valued(5, [(0, 1, 4), (0, 2, 0), (1, 0, 1), (1, 2, 2), (1, 3, 3), (1, 4, 1)], True)
    walks = random_walks(graph, [0] * OFTEN, length=2, p=4, q=0.5, seed=5)
    assert (walks[:, 1] == 1).all()
    assert_near(shares(walks), [1 / 4, 0, 2, 3 * 2, 1 * 2])


def test_the_first_step_has_no_vertex_before_it():
    graph, _ = valued(3, [(0, 1, 1), (0, 2, 1)], True)
    assert_near(shares(random_walks(graph, [0] * OFTEN, length=1, q=100, seed=5))[:3], [0, 1, 1])


def test_seeds_and_ids():
    graph = gp.rmat(8, 8)
    one, same, other = (random_walks(graph, length=9, seed=seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert len({tuple(walk) for walk in random_walks(graph, [one[0, 0]] * 50, length=9).tolist()}) > 1
    assert random_walks(graph, [], length=3).shape == (0, 4)
    named = gp.from_edges(["a", "b"], ["b", "c"])
    assert random_walks(named.packed(), ["b", "a"], length=3).tolist() == [["b", "c", "c", "c"], ["a", "b", "c", "c"]]


@pytest.mark.parametrize("wrong", [{"length": -1}, {"length": 1.5}, {"p": 0}, {"q": -1}, {"q": np.inf}, {"seed": -1}])
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(gp.errors.ParameterError, match="{}={}".format(*next(iter(wrong.items())))):
        random_walks(gp.from_edges([1], [2]), **wrong)


def test_bad_graphs_are_refused(tmp_path):
    for value in (-1.0, np.inf):
        graph = gp.from_edges([1], [2], weights=[value])
        with pytest.raises(gp.errors.GraphError, match="random_walks needs finite edge values"):
            random_walks(graph)
        random_walks(graph, weight=False)
    with pytest.raises(gp.errors.UnknownVertexError):
        random_walks(graph, [3], weight=False)
    with pytest.raises(gp.errors.GraphError, match="random_walks needs edges in memory"):
        random_walks(on_disk(random_pair(1, 40, 3000, directed=True).ours, tmp_path / "g"))


def test_no_weight_may_be_none_as_in_networkx():
    graph = gp.from_edges([1, 1], [2, 3], [5.0, 0.0])
    walks = gp.algorithms.random_walks(graph, weight=None, length=1, seed=1)
    np.testing.assert_array_equal(walks, gp.algorithms.random_walks(graph, weight=False, length=1, seed=1))


@pytest.mark.parametrize("length", [2**40, 2**63, 2**70])
def test_walks_that_memory_cannot_hold_are_refused(length):
    with pytest.raises(
        gp.errors.GraphError, match=rf"length={length}.*memory are free; give fewer starts, or a smaller"
    ):
        gp.algorithms.random_walks(gp.from_edges([0], [1]), length=length)
