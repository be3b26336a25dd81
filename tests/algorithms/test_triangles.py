"""Triangles beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import garaph_py as gp
from tests.support.networkx_graphs import on_disk, pairs, random_pair


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(directed=False))
def test_networkx_has_the_same(threads, both):
    assert dict(gp.algorithms.triangles(both.ours, threads=threads)) == nx.triangles(both.theirs)


def test_a_graph_with_hubs(threads):
    both = random_pair(2, 300, 4000, directed=False)
    result = gp.algorithms.triangles(both.ours.packed(), threads=threads)
    assert dict(result) == nx.triangles(both.theirs)
    assert (result.values.dtype, result.stats.threads) == (np.int64, threads)


@pytest.mark.parametrize("name", ["triangles", "transitivity"])
def test_directed_graphs_are_refused(name):
    with pytest.raises(gp.errors.GraphError, match=rf"{name} needs an undirected graph.*symmetrized"):
        getattr(gp.algorithms, name)(gp.from_edges([0], [1]))


@pytest.mark.parametrize("name", ["triangles", "clustering", "average_clustering", "transitivity"])
def test_other_graphs_are_refused(name, tmp_path):
    function, both = getattr(gp.algorithms, name), random_pair(1, 40, 3000, directed=True)
    with pytest.raises(gp.errors.GraphError, match=f"{name} needs edges in memory"):
        function(on_disk(both.ours, tmp_path / "g"))
    with pytest.raises(gp.errors.ParameterError, match=f"{name} takes a Graph"):
        function(both.theirs)
