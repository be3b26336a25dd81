"""Shortest paths between two nodes by length. More is in test_generic.py."""

import networkx as nx
import numpy as np
import pytest

import garaph_py as gp
from garaph_py.networkx_backend.bidirectional import MEET_BY_LENGTH, begun
from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
@pytest.mark.parametrize("target", [1, 9, 31])
def test_compiled_search_does_what_its_python_does(dtype, target):
    graph, found = gp.rmat(5, 3, directed=False, weights=(0, 3)), []
    edges, dtype = graph._arrays.in_edges, np.dtype(dtype)
    lists = edges.offsets, edges.neighbours, edges.values.astype(dtype)
    for call in (MEET_BY_LENGTH[dtype], MEET_BY_LENGTH[dtype].function):
        search = begun(dtype, graph.n, graph.m, 0, target)
        met = call(*lists, *lists, *[each.view(np.recarray) for each in search])
        found.append([met, *(each.tolist() for each in search[2:])])
    assert found[0] == found[1]


@pytest.mark.slow
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
