"""The edge list of some vertices, in buffers: every out-edge once, with its value, wherever the edges are."""

import numpy as np
import pytest

from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.executors import run_on
from tests.support.numpy_gpu import Lengths, Quiet
from tests.support.stored_graphs import opened, stored_cases

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "read_like_large_graphs")

EDGES = twins.skewed(7, 9000, 40000, "int32")


class Collected:
    """`EdgeBuffers` with one buffer, which keeps what is sent."""

    def __init__(self, edges, columns):
        self.edges, self.sent = edges, []
        self.arrays = [np.full(edges, 0xA5A5, np.uint32 if k < 2 else np.int32) for k in range(columns)]

    def next(self):
        return self.arrays

    def send(self, count):
        assert 0 < count <= self.edges
        self.sent.append([array[:count].copy() for array in self.arrays])

    def edges_sent(self):
        """The edges, sorted: sources, targets, values."""
        columns = [np.concatenate(parts) for parts in zip(*self.sent, strict=True)]
        return sorted(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture(scope="module", params=stored_cases((True, "raw"), (True, "packed"), (False, "raw"), (False, "packed")))
def stored(request, tmp_path_factory, graph_of):
    """A graph in memory, and the same on disk."""
    directed, encoding = request.param
    graph = graph_of(EDGES, directed=directed)
    path = tmp_path_factory.mktemp("stored") / "graph"
    store.save(graph, path, encoding=encoding, block_bytes=1 << 14)
    return graph, opened(path, 1 << 18)


@pytest.mark.full
@pytest.mark.parametrize("kind", [Quiet, Lengths])
@pytest.mark.parametrize("room", [64, 1 << 20])
@pytest.mark.parametrize("share", [0.01, 1.0])
def test_every_edge_once(device_for, stored, kind, room, share):
    graph, on_disk = stored
    chosen = np.flatnonzero(np.random.default_rng(1).random(graph.n) < share)
    vertices = VertexSet.empty(graph.n)
    for v in chosen.tolist():
        vertices.bits[v // 64] |= np.uint64(1) << np.uint64(v % 64)
    vertices.mark()
    with ThreadPool(2) as pool:
        out = graph._arrays.valued_out_edges(pool)
    edges = np.concatenate([np.arange(*out.offsets[v : v + 2]) for v in chosen])
    columns = np.repeat(chosen, np.diff(out.offsets)[chosen]), out.neighbours[edges], out.values[edges]
    expected = sorted(zip(*(column.tolist() for column in columns[: 2 + (kind is Lengths)]), strict=True))
    for each in graph, on_disk:
        with run_on("cpu", kind(0), each, device_for) as run:
            run.open(True)
            found = Collected(room, 2 + (kind is Lengths))
            assert run.executor.list_edges(vertices, found) == len(expected)
            assert found.edges_sent() == expected
            assert len(found.sent) == -(-len(expected) // room)


def test_no_vertices(device_for, stored):
    graph, on_disk = stored
    with run_on("cpu", Quiet(0), on_disk, device_for) as run:
        run.open(True)
        found = Collected(64, 2)
        assert run.executor.list_edges(VertexSet.empty(graph.n), found) == 0
        assert not found.sent
