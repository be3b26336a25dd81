"""Memory that runs take beside the edges: what is planned is enough."""

import tracemalloc

import pytest

import garaph_py as gp
from garaph_py.executor.cpu.pull_tiled import tiles_of
from garaph_py.executor.memory import MemoryPlan, sum_bytes, tile_bytes
from garaph_py.graph import tiles as making_tiles
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind


def test_making_tiles_takes_no_more_than_planned(monkeypatch):
    monkeypatch.setattr(making_tiles, "FEW_EDGES", 256)  # many tiles, whose tables are larger than the edges
    graph = gp.uniform(18, 1, seed=1)
    bound, arrays = bind(gp.apps.PageRank(), graph), graph._arrays
    with ThreadPool(2) as pool:
        tiles_of(arrays, False, None, pool)  # compiles
        graph.release()
        tracemalloc.start()
        try:
            tiles_of(arrays, False, None, pool)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    planned = tile_bytes(bound, graph) - sum_bytes(bound, graph)
    assert peak <= planned + (200 << 10)  # small objects


@pytest.mark.parametrize("sync", [False, True])
def test_the_arrays_of_values_are_part_of_what_vertices_take(sync):
    graph = gp.rmat(8)
    plan = MemoryPlan(bind(gp.apps.PageRank(), graph), graph, sync, pushes=False, is_tiled=False)
    arrays = {"cpu": 1 + sync, "gpu": 1, "both": 2}
    for name, count in arrays.items():
        needs = getattr(plan, name)
        assert needs.values == 8 * graph.n * count < needs.vertices
