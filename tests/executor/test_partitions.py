"""Partitions of out-edges: where they begin, and how much memory they take at most."""

import numpy as np
import pytest

from garaph_py.executor.partitions import PartitionCounts, Partitions


def partitions(bounds, first_edges):
    return Partitions(np.array(bounds), np.array(first_edges))


@pytest.mark.parametrize(("edges", "bounds"), [
    (350, [0, 32, 64, 96, 100]), (400, [0, 32, 64, 100]), (700, [0, 64, 100]),
    (1, [0, 32, 64, 96, 100]), (1000, [0, 100]),
])  # fmt: skip
def test_partitions_begin_at_words_of_32_bits(edges, bounds):
    """Each vertex has ten edges; 32 vertices are a partition even if they have more than are asked for."""
    found = Partitions.of(np.arange(101) * 10, edges)
    assert found.bounds.tolist() == bounds
    assert found.bounds.dtype == np.int64
    assert found.first_edges.tolist() == [10 * bound for bound in bounds]
    assert found.count == len(bounds) - 1
    assert found.edges.tolist() == [10 * size for size in np.diff(bounds)]


@pytest.mark.parametrize("vertices", [1, 2, 99, 100])
def test_the_last_partition_ends_with_the_last_vertex(vertices):
    assert Partitions.of(np.arange(vertices + 1), 1000).bounds.tolist() == [0, vertices]


def test_the_most_edges_of_adjacent_partitions():
    found = partitions([0, 32, 64, 96, 100], [0, 5, 20, 28, 29])  # 5, 15, 8 and 1 edges
    assert [found.most_edges(adjacent) for adjacent in (1, 2, 3, 4, 9)] == [15, 23, 28, 29, 29]
    assert partitions([0], [0]).most_edges(4) == 0


def test_the_most_bytes_of_compacted_lists():
    """Lists that have an edge need an entry of 8 bytes each, and one more."""
    assert partitions([0, 32, 64], [0, 5, 205]).most_compacted_bytes(4) == 200 * 4 + 33 * 8
    assert partitions([0, 32, 64], [0, 5, 5]).most_compacted_bytes(8) == 5 * 8 + 6 * 8
    assert partitions([0], [0]).most_compacted_bytes(4) == 0


def test_the_bytes_of_active_lists():
    counts = [np.array([one]) for one in (100, 3, 10, 4)]
    assert PartitionCounts(*counts).compacted_bytes.tolist() == [10 * 4 + 3 * 8]
    assert PartitionCounts(*counts, 8).compacted_bytes.tolist() == [10 * 8 + 3 * 8]
    assert PartitionCounts(*counts).change is None
