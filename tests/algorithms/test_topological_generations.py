"""Generations of directed acyclic graphs beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import garaph_py as gp
from tests.support.networkx_graphs import on_disk, pair, pairs, random_pair

ALGORITHMS = gp.algorithms


def sorted_generations(theirs):
    return [sorted(generation) for generation in nx.topological_generations(theirs)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(directed=True))
def test_networkx_has_the_same(threads, both):
    theirs = both.with_loops()
    acyclic = ALGORITHMS.is_directed_acyclic_graph(both.ours, threads=threads)
    assert acyclic == nx.is_directed_acyclic_graph(theirs)
    if acyclic:
        found = ALGORITHMS.topological_generations(both.ours, threads=threads)
        assert [generation.tolist() for generation in found] == sorted_generations(theirs)
    else:
        with pytest.raises(gp.errors.GraphError, match=r"has a cycle; vertex 1[0-9]"):
            ALGORITHMS.topological_generations(both.ours, threads=threads)


def test_edges_lead_to_later_generations(threads):
    rng = np.random.default_rng(4)
    ends = np.sort(rng.integers(0, 500, (2000, 2)), axis=1)
    both = pair(500, ends[ends[:, 0] < ends[:, 1]].tolist(), directed=True)
    found = ALGORITHMS.topological_generations(both.ours.packed(), threads=threads)
    assert [generation.tolist() for generation in found] == sorted_generations(both.theirs)
    number = {v: k for k, generation in enumerate(found) for v in generation.tolist()}
    assert all(number[u] < number[v] for u, v in both.theirs.edges)


def test_a_deep_graph():
    places = np.arange(100_000)
    assert len(ALGORITHMS.topological_generations(gp.from_edges(places[:-1], places[1:]))) == len(places)


def test_an_undirected_graph_has_no_generations():
    graph = gp.from_edges([1], [2], directed=False)
    assert not ALGORITHMS.is_directed_acyclic_graph(graph)
    with pytest.raises(gp.errors.GraphError, match=r"needs a directed graph.*has no order"):
        ALGORITHMS.topological_generations(graph)


def test_a_graph_without_vertices_has_no_generations():
    graph = pair(0, [], directed=True).ours
    assert ALGORITHMS.topological_generations(graph) == []
    assert ALGORITHMS.is_directed_acyclic_graph(graph)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "acyclic"), [([], True), ([(399, 0)], False), ([(200, 200)], False)], ids=["none", "cycle", "self-loop"]
)
def test_edges_may_be_on_disk(tmp_path, more, acyclic):
    """A path through all vertices, edges along it, and perhaps one that makes a cycle."""
    ends = np.sort(np.random.default_rng(4).integers(0, 400, (3000, 2)), axis=1)
    path = np.stack([np.arange(399), np.arange(1, 400)], axis=1)
    edges = np.concatenate([path, ends[ends[:, 0] < ends[:, 1]], np.array(more, np.int64).reshape(-1, 2)])
    graph = gp.from_edges(*edges.T, vertices=range(401))
    stored = on_disk(graph, tmp_path / "g")
    assert ALGORITHMS.is_directed_acyclic_graph(stored) is acyclic
    assert nx.is_directed_acyclic_graph(stored) is acyclic
    gp.check(ALGORITHMS.is_directed_acyclic_graph, stored, acyclic)
    if acyclic:
        found = ALGORITHMS.topological_generations(stored)
        expected = ALGORITHMS.topological_generations(graph)
        assert [ids.tolist() for ids in found] == [ids.tolist() for ids in expected]
        gp.check(ALGORITHMS.topological_generations, stored, found)
    else:
        problems = []
        for each in graph, stored:
            with pytest.raises(gp.errors.GraphError, match=r"has a cycle; vertex \d+ is on one") as refusal:
                ALGORITHMS.topological_generations(each)
            problems.append(str(refusal.value))
        assert problems[0] == problems[1]


def test_an_undirected_graph_on_disk_is_none(tmp_path):
    graph = on_disk(gp.from_networkx(random_pair(1, 400, 3000, directed=False).theirs), tmp_path / "g")
    assert not ALGORITHMS.is_directed_acyclic_graph(graph)
