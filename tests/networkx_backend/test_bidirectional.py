"""Shortest paths between two nodes by length. More is in test_generic.py."""

import networkx as nx
import numpy as np
import pytest

import garaph_py as gp
from garaph_py.networkx_backend.bidirectional import MEET_BY_LENGTH
from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
@pytest.mark.parametrize("target", [1, 9, 31])
def test_compiled_search_does_what_its_python_does(dtype, target):
    graph, found = gp.rmat(5, 3, directed=False, weights=(0, 3)), []
    edges, dtype = graph._arrays.in_edges, np.dtype(dtype)
    lists = edges.offsets, edges.neighbours, edges.values.astype(dtype)
    for call in (MEET_BY_LENGTH[dtype], MEET_BY_LENGTH[dtype].function):
        heaps = [np.zeros(graph.m + 1, kind) for _ in range(2) for kind in (dtype, np.int64, np.uint32)]
        seen, settled = np.full((2, graph.n), -1, dtype), np.zeros((2, graph.n), np.uint8)
        ways, best = np.zeros((2, graph.n), np.int64), [np.zeros(1, kind) for kind in (dtype, np.int64, np.int64)]
        best[2][0] = -1
        met = call(0, target, *lists, *lists, *heaps, *seen, *settled, *ways, *best)
        found.append([met, *(each.tolist() for each in (seen, settled, ways, *best))])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("whole", [True, False], ids=["integers", "floats"])
def test_paths_are_networkx_s(kind, whole):
    graph = random_graph(kind, whole=whole)
    for source in graph:
        for target in graph:
            found, expected = (
                outcome(nx.shortest_path, graph, source, target, weight="weight", backend=name)
                for name in ("garaph", "networkx")
            )
            if graph.is_directed() and isinstance(expected, list):
                assert nx.path_weight(graph, found, "weight") == pytest.approx(
                    nx.path_weight(graph, expected, "weight")
                )
            else:
                assert found == expected
