"""Graphs to measure runs on: their numbers of vertices and edges, and where edges lead."""

from __future__ import annotations

import numpy as np

from garaph_py.graph import Graph
from garaph_py.simulation.graphs import cube, grid, maze, world


def edges_of(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    edges = graph._arrays.in_edges
    return edges.neighbours.astype(np.int64), np.repeat(np.arange(graph.n), np.diff(edges.offsets))


def test_a_grid_has_the_edges_between_neighbours() -> None:
    flat, high = grid(5), cube(4)
    assert (flat.n, flat.m) == (25, 2 * 2 * 5 * 4)
    assert (high.n, high.m) == (64, 2 * 3 * 16 * 3)
    assert set(np.abs(np.subtract(*edges_of(flat))).tolist()) == {1, 5}
    assert set(np.abs(np.subtract(*edges_of(high))).tolist()) == {1, 4, 16}
    assert not flat.directed
    assert flat.edge_dtype == np.int32


def test_a_maze_lacks_a_third_of_the_edges() -> None:
    assert 0.6 < maze(40).m / grid(40).m < 0.73


def test_a_ring_has_a_tenth_of_its_edges_anywhere() -> None:
    ring = world(12, 4)
    sources, targets = edges_of(ring)
    steps = np.minimum((sources - targets) % ring.n, (targets - sources) % ring.n)
    assert ring.n == 1 << 12
    assert 0.85 < np.mean(steps < 8) < 0.95
