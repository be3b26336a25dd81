"""Searches from many vertices."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.networkx_backend.sweeps import SEARCH_EACH, distances_from_each, sweep
from tests.support.stored_graphs import opened


@pytest.mark.parametrize("directed", [True, False])
def test_compiled_search_does_what_its_python_does(directed):
    graph = gp.rmat(5, 3, directed=directed)
    edges = graph._arrays.out_edges
    found = []
    for call in (SEARCH_EACH, SEARCH_EACH.function):
        level, queue = np.full(graph.n, -1, np.int32), np.zeros(graph.n, np.uint32)
        counts = [np.zeros(graph.n, np.int64) for _ in range(3)]
        sources = np.arange(graph.n, dtype=np.uint32)[::-1].copy()
        stop = call(edges.offsets, edges.neighbours, sources, 3, 30, level, queue, *counts)
        found.append([stop, level.tolist(), queue[:stop].tolist(), *(each.tolist() for each in counts)])
    assert found[0] == found[1]


@pytest.mark.parametrize("directed", [True, False])
def test_sweeps_are_runs_of_bfs(directed, tmp_path):
    graph = gp.rmat(8, 8, directed=directed)
    gp.save(graph, tmp_path / "graph")
    levels = [gp.run(gp.apps.BFS(source), graph).values["level"] for source in range(8)]
    expected = [
        [(each >= 0).sum() for each in levels],
        [each.max() for each in levels],
        [each.clip(0).sum() for each in levels],
    ]
    for given in (graph, graph.packed(), opened(tmp_path / "graph", room=1 << 24)):
        assert [each.tolist() for each in sweep(given, np.arange(8)).arrays] == expected


@pytest.mark.full
@pytest.mark.parametrize("weights", [(0, 9), (2**30, 2**31 - 1)])
def test_distances_are_runs_of_sssp(weights):
    graph = gp.rmat(7, 4, weights=weights)
    for source, distance in enumerate(distances_from_each(graph, np.arange(6))):
        assert np.array_equal(distance, gp.run(gp.apps.SSSP(source), graph).values)
