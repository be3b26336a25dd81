"""The number of edges as people count them."""

import numpy as np
import pytest

from garaph_py.errors import GraphError
from garaph_py.graph import loops
from garaph_py.graph.build import from_edges
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store


def test_an_undirected_edge_and_a_self_loop_count_once(tmp_path):
    sources, targets = [1, 2, 3, 3, 3], [2, 1, 3, 3, 9]
    graph = from_edges(sources, targets, directed=False)
    assert (graph.m, graph.number_of_edges()) == (8, 5)
    assert str(graph) == "<Graph: 4 vertices, 5 undirected edges>"
    assert str(from_edges(sources, targets)) == "<Graph: 4 vertices, 5 directed edges>"
    store.save(graph, tmp_path / "g")
    stored = store.open(tmp_path / "g", memory=f"{64 + 8 * graph.n}B")
    assert stored.on_disk
    assert str(stored) == "<Graph: 4 vertices, 8 stored edges of an undirected graph>"
    with pytest.raises(GraphError, match="on disk"):
        stored.number_of_edges()


@pytest.mark.parametrize("threads", [1, 3])
def test_self_loops_are_counted_in_chunks(threads, monkeypatch):
    monkeypatch.setattr(loops, "CHUNK", 1 << 14)
    sources, targets = np.random.default_rng(1).integers(0, 50, (2, 100_000))
    graph = from_edges(sources, targets, directed=False)
    for other in (graph, graph.packed()):
        with ThreadPool(threads) as pool:
            assert loops.self_loops(other._arrays.in_edges, pool) == (sources == targets).sum()
