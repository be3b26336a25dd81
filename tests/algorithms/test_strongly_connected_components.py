"""Strongly connected components beside NetworkX's, and by their properties."""

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import garaph_py as gp
from garaph_py.algorithms.strongly_connected_components import neighbours_are_near
from tests.support.networkx_graphs import on_disk, pair, pairs, random_pair

ALGORITHMS = gp.algorithms


@pytest.fixture(params=["largest searched first", "depth-first only"])
def way(request, monkeypatch):
    least = 1 if request.param == "largest searched first" else 1 << 60
    module = sys.modules["garaph_py.algorithms.strongly_connected_components"]  # the function has its name
    monkeypatch.setattr(module, "SEARCHED", least)
    monkeypatch.setattr(module, "MANY_NEAR", 2)


def labels(theirs):
    return {v: min(component) for component in nx.strongly_connected_components(theirs) for v in component}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(directed=True))
@pytest.mark.usefixtures("way")
def test_networkx_has_the_same(both):
    components = labels(both.theirs)
    assert ALGORITHMS.strongly_connected_components(both.ours).to_dict() == components
    assert ALGORITHMS.number_strongly_connected_components(both.ours) == len(set(components.values()))
    if both.ours.n:
        assert ALGORITHMS.is_strongly_connected(both.ours) == nx.is_strongly_connected(both.theirs)


@pytest.mark.parametrize("m", [300, 450, 2000])
@pytest.mark.usefixtures("way")
def test_components_have_the_properties_that_define_them(m, threads):
    """Vertices reach each other in a component, and do not between two: the graph between components has no cycle."""
    both = random_pair(3, 300, m, directed=True)
    result = ALGORITHMS.strongly_connected_components(both.ours.packed(), threads=threads)
    found = result.to_dict()
    assert found == labels(both.theirs)
    between = nx.DiGraph((found[u], found[v]) for u, v in both.theirs.edges if found[u] != found[v])
    assert nx.is_directed_acyclic_graph(between)
    assert result.vertex_fields == ("value",)
    assert result.stats.threads == threads


def test_neighbours_are_near_in_a_mesh_and_not_in_a_random_graph():
    places = np.arange(10_000)
    assert neighbours_are_near(gp.from_edges(places, np.roll(places, -1)))
    assert not neighbours_are_near(gp.rmat(10, 8))


def test_a_long_cycle_needs_no_recursion():
    places = np.arange(100_000)
    assert ALGORITHMS.is_strongly_connected(gp.from_edges(places, np.roll(places, -1)))
    assert ALGORITHMS.number_strongly_connected_components(gp.from_edges(places[:-1], places[1:])) == len(places)


NAMES = ["strongly_connected_components", "is_strongly_connected", "number_strongly_connected_components"]


@pytest.mark.parametrize("name", NAMES)
def test_undirected_graphs_are_refused(name):
    function, both = getattr(ALGORITHMS, name), random_pair(1, 40, 3000, directed=True)
    with pytest.raises(
        gp.errors.GraphError, match=f"{name} needs a directed graph.*{name.replace('strongly', 'weakly')}"
    ):
        function(both.ours.symmetrized())


@pytest.mark.slow
def test_edges_may_be_on_disk(tmp_path):
    both = random_pair(1, 300, 450, directed=True)
    graph, components = on_disk(both.ours, tmp_path / "g"), labels(both.theirs)
    result = ALGORITHMS.strongly_connected_components(graph, threads=1)
    assert result.to_dict() == components
    assert result.vertex_fields == ("value",)
    assert sum(row.from_disk for row in result.stats.iterations) > 0
    assert ALGORITHMS.number_strongly_connected_components(graph) == len(set(components.values()))
    assert not ALGORITHMS.is_strongly_connected(graph)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("name", NAMES)
def test_the_device_is_passed_on(name):
    with pytest.raises(gp.errors.DeviceError):
        getattr(ALGORITHMS, name)(gp.from_edges([0, 1], [1, 0]), device="gpu")
    with pytest.raises(gp.errors.ParameterError, match="device='tpu'"):
        getattr(ALGORITHMS, name)(gp.from_edges([0, 1], [1, 0]), device="tpu")
    with pytest.raises(gp.errors.ParameterError, match="device='tpu'"):  # nothing is run
        getattr(ALGORITHMS, name)(gp.from_edges([0], [1]), device="tpu")


def test_a_graph_without_vertices_is_neither():
    with pytest.raises(gp.errors.GraphError, match="is_strongly_connected is not defined"):
        ALGORITHMS.is_strongly_connected(pair(0, [], directed=True).ours)
