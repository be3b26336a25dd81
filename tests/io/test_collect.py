"""How much memory the graph of collected edges takes while it is built."""

import tracemalloc

import numpy as np
import pytest

from garaph_py import events
from garaph_py.io.collect import BuildOptions, CollectedEdges
from garaph_py.io.formats import EdgeList
from garaph_py.io.read import built

EDGES = 1 << 17
BUFFERS = 2 << 20
"""Bytes that building takes for any number of edges, at most."""


def edge_list(kind, values):
    """Edges between few vertices, or with every id once, whose ids are 0 to n - 1, a part of these, or far apart."""
    ids = np.random.default_rng(1).integers(0, EDGES // 16, (2, EDGES))
    ids = {"dense": ids, "gaps": 3 * ids, "sparse": ids * 10**12, "once": np.arange(2 * EDGES).reshape(2, EDGES)}[kind]
    ids = ids if kind == "sparse" else ids.astype(np.uint32)
    return EdgeList(*ids, None if values is None else np.ones(EDGES, values))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "values"),
    [("dense", None), ("dense", np.float64), ("gaps", None), ("sparse", None), ("once", np.float64)],
)
@pytest.mark.parametrize(
    "building",
    [
        BuildOptions(),
        BuildOptions(directed=False),
        BuildOptions(symmetrize=True),
        BuildOptions(drop_parallel=True, order="degree"),
        BuildOptions(directed=False, drop_self_loops=True, order="degree"),
    ],
)
def test_the_estimate_of_the_peak(kind, values, building):
    built("", edge_list(kind, values), building, 1, events.ignore)  # compile
    tracemalloc.start()
    try:
        edges = CollectedEdges(building)
        assert edges.fill([edge_list(kind, values)], 1 << 40)
        estimate, least = edges.peak(), edges.least()
        tracemalloc.reset_peak()
        built("", edges.joined(), building, 1, events.ignore)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - BUFFERS < estimate < 2 * peak
    assert least <= estimate


def test_edges_are_collected_until_they_do_not_fit():
    batches = [edge_list("dense", None)] * 3
    edges = CollectedEdges(BuildOptions())
    coming = iter(batches)
    assert not edges.fill(coming, int(1.5 * 22 * EDGES))
    assert len(edges.batches) == 2
    assert [*edges.drained(), *coming] == batches
    assert not edges.batches
