"""Searches in NetworkX's order. What they find is compared with NetworkX's in the tests of the functions."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.networkx_backend.searches import CLAIM, REMOVE, SEARCH, SEE


def lists_of(graph):
    edges = graph._arrays.out_edges
    return edges.offsets, edges.neighbours


@pytest.mark.parametrize("depth", [0, 2, 99])
def test_compiled_search_does_what_its_python_does(depth):
    graph, found = gp.rmat(5, 3), []
    for call in (SEARCH, SEARCH.function):
        level, parent = np.full(graph.n, -1, np.int32), np.full(graph.n, -1, np.int64)
        queue = np.zeros(graph.n, np.uint32)
        queue[:2], level[:2] = [0, 1], 0
        stop = call(*lists_of(graph), queue, 2, depth, level, parent)
        found.append([stop, queue.tolist(), level.tolist(), parent.tolist()])
    assert found[0] == found[1]


def test_compiled_seeing_does_what_its_python_does():
    graph, found = gp.rmat(5, 3), []
    order = np.array([0, *np.random.default_rng(1).permutation(np.arange(1, graph.n))], np.uint32)
    for call in (SEE, SEE.function):
        seen, queue = np.zeros(graph.n, np.uint8), np.zeros(graph.n, np.uint32)
        seen[0] = 1
        call(graph.n, *lists_of(graph), order, seen, queue)
        found.append([seen.tolist(), queue.tolist()])
    assert found[0] == found[1]
    assert sum(found[0][0]) == len(set(found[0][1])) > 9


def test_compiled_removal_does_what_its_python_does():
    graph, found = gp.from_edges([0, 0, 1, 2, 3, 4], [1, 2, 3, 3, 4, 3]), []
    for call in (REMOVE, REMOVE.function):
        queue, bounds = np.zeros(graph.n, np.uint32), np.zeros(graph.n + 1, np.int64)
        count = call(graph.n, *lists_of(graph), graph.in_degrees.astype(np.int64), queue, bounds)
        found.append([count, queue.tolist(), bounds.tolist()])
    assert found[0] == found[1]
    assert found[0][0] == 2


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_compiled_order_does_what_its_python_does(dtype):
    graph = gp.rmat(5, 3, directed=False, weights=(0, 3), seed=4)
    edges = graph._arrays.in_edges
    offsets, shuffled, lengths = edges.offsets, edges.neighbours.copy(), edges.values.astype(dtype)
    for v in range(graph.n):
        for list_ in (shuffled, lengths):
            list_[offsets[v] : offsets[v + 1]] = list_[offsets[v] : offsets[v + 1]][::-1]
    distance = gp.run(gp.apps.SSSP(0), graph).values
    reached = distance < np.iinfo(np.int64).max
    _, inverse, counts = np.unique(distance[reached], return_inverse=True, return_counts=True)
    found = []
    for claim in (CLAIM[np.dtype(dtype)], CLAIM[np.dtype(dtype)].function):
        groups, parents = np.full(graph.n, -1, np.int64), np.full(graph.n, -1, np.int64)
        groups[reached] = inverse
        groups[0], order, cursors = -1, np.zeros(reached.sum(), np.uint32), np.cumsum(counts) - counts
        cursors[0] = 1
        claim(len(order), offsets, shuffled, lengths, distance.astype(dtype), groups, cursors, order, parents)
        found.append([order.tolist(), parents.tolist()])
    assert found[0] == found[1]
    assert sorted(found[0][0]) == np.flatnonzero(reached).tolist()
