"""A run with a GPU never reads more from disk than one on the CPU with the same memory; if it updates all vertices, in
no iteration.

While the GPU works alone, a hybrid run reads about as much as a run on the GPU: memory that the CPU will need for its
own turn holds edges until then. All runs are on one GPU, because several take only edges that are in memory.
"""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.memory import vertex_bytes
from garaph_py.pages import disk_layout
from garaph_py.pages.memory import arrays_on_disk
from garaph_py.program import bind
from garaph_py.storage import directory as store
from tests.support import numpy_gpu
from tests.support.idle_gpu import IdleDriver
from tests.support.numpy_gpu import Lengths, Quiet
from tests.support.policies import Turns
from tests.support.runs import run_with
from tests.support.stored_graphs import STORED, hub, opened, with_memory

BLOCK = 1 << 15
ENDS = 8 << 12
"""Bytes of sectors in which pages of packed blocks begin and end: those of other pages may be a few more."""
ITERATIONS = 4


@pytest.fixture(autouse=True)
def like_a_large_graph(monkeypatch, read_like_large_graphs, two_cores):
    """Blocks and pages are as small as the graph is."""
    monkeypatch.setattr(disk_layout, "LEAST_PAGE_BYTES", BLOCK)
    monkeypatch.setattr(disk_layout, "MOST_PAGE_BYTES", 12 * BLOCK)
    monkeypatch.setattr(numpy_gpu, "MEMORY", 1 << 26)


@pytest.fixture(scope="module", params=["raw", "packed"])
def stored(request, tmp_path_factory):
    """A graph on disk, and the bytes of its edges there."""
    path = tmp_path_factory.mktemp("stored") / "graph"
    store.save(gp.rmat(18, 8, directed=False, seed=1), path, encoding=request.param, block_bytes=BLOCK)
    return opened(path, 1 << 20), store.info(path).arrays["in_sources"].stored_bytes


def reads(program, graph, device, iterations=ITERATIONS, **how):
    """Bytes that each iteration reads, and the processors of these."""
    graph.release()
    result = run_with(program, graph, device=device, iterations=iterations, **how)
    assert result.stats.note is None or "short" in result.stats.note
    steps = result.stats.iterations
    return np.array([step.from_disk for step in steps]), [step.device for step in steps]


def least_gpu_memory(graph, dtype):
    """Bytes of the GPU's memory that PageRank's vertices take, and buffers for small pages."""
    return (27 if dtype == np.float32 else 41) * graph.n


@pytest.mark.full
@pytest.mark.parametrize("share", [2, 4, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gpu_does_not_make_a_run_read_more(stored, device_for, monkeypatch, dtype, share):
    graph, nbytes = stored
    monkeypatch.setattr("garaph_py.runtime.plan.LEAST_GPU_EDGES", graph.m + 1)  # a hybrid run takes both processors
    program = gp.apps.PageRank(dtype=dtype, stop="never", weighted=False)
    device_for(program, graph, IdleDriver)
    graph = with_memory(graph, vertex_bytes(bind(program, graph), graph, arrays=2) + nbytes // share)
    alone, _ = reads(program, graph, "cpu")
    assert 0.95 * nbytes <= alone[0] <= 1.05 * nbytes
    assert alone[1] < alone[0]
    least = least_gpu_memory(graph, dtype)
    later = {"gpu": 0, "hybrid": 0}
    for beside in (0, nbytes // 4, nbytes):  # what may stay on the GPU
        for device in ("gpu", "hybrid"):
            found, processors = reads(program, graph, device, gpu_memory=least + beside)
            assert set(processors) == {"gpu"}
            assert found[0] <= alone[0] + ENDS, (device, beside)
            assert (found[1:] <= alone[1:]).all(), (device, beside, found, alone)
            later[device] += found[1:].sum()
    assert later["hybrid"] <= 1.15 * later["gpu"]  # which pages just fit, or are still in the GPU's buffers, is chance


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_turn_of_the_cpu_takes_the_memory_that_it_needs(stored, device_for, monkeypatch, dtype):
    """Afterwards the run reads what one on the CPU reads, and edges take no more than they may."""
    graph, nbytes = stored
    program = gp.apps.PageRank(dtype=dtype, stop="never", weighted=False)
    device_for(program, graph, IdleDriver)
    graph = with_memory(graph, vertex_bytes(bind(program, graph), graph, arrays=2) + nbytes // 4)
    alone, _ = reads(program, graph, "cpu", 6)
    pinned, sums = {}, []

    def pin(self, array):
        pinned[id(array)] = array
        sums.append(sum(each.nbytes for each in pinned.values()))

    def unpin(self, array):
        del pinned[id(array)]
        sums.append(sum(each.nbytes for each in pinned.values()))

    monkeypatch.setattr(numpy_gpu.FakePinned, "pin", pin)
    monkeypatch.setattr(numpy_gpu.FakePinned, "unpin", unpin)
    memory = least_gpu_memory(graph, dtype)
    found, processors = reads(program, graph, "hybrid", 6, gpu_memory=memory, engine=Turns())
    assert processors == ["gpu", "gpu", "cpu", "gpu", "gpu", "gpu"]
    assert (found.cumsum() <= alone.cumsum()).all()  # which blocks pages share depends on where a pass begins
    assert (found[1:] <= alone[1:].max() + 2 * BLOCK).all()  # one that pages share at either end of a pass
    assert found[1] < 0.97 * found[2]
    second = graph.n * np.dtype(dtype).itemsize
    assert nbytes // 4 < max(sums) <= nbytes // 4 + second
    assert sums[-1] <= nbytes // 4


@pytest.fixture(scope="module", params=STORED)
def searched(request, tmp_path_factory):
    """A graph on disk, and the share of its edges' bytes that gets memory: almost the least, or twice as much."""
    directed, encoding = request.param
    path = tmp_path_factory.mktemp("searched") / "graph"
    store.save(gp.rmat(16, 8, directed=directed, weights=(1, 50)), path, encoding=encoding, block_bytes=BLOCK // 2)
    return opened(path, 1 << 20), [2, 3] if directed else [4, 8]


@pytest.mark.full
@pytest.mark.parametrize("kind", [Quiet, pytest.param(Lengths, marks=pytest.mark.slow)])
def test_a_search_on_a_gpu_reads_no_more(searched, device_for, kind):
    """Although buffers for the lists along which the GPU pushes take memory, which a run on the CPU has for edges."""
    graph, shares = searched
    if kind is Lengths and graph.encoding == "packed":
        pytest.skip("the simulated GPU reads no packed values")
    program = kind(hub(graph))
    bound = bind(program, graph)
    device_for(program, graph)
    nbytes = sum(array.stored_bytes for array in arrays_on_disk(graph._arrays.in_edges, bound.reads_edge_values))
    for share in shares:
        own = with_memory(graph, vertex_bytes(bound, graph, arrays=2) + nbytes // share)
        alone, _ = reads(program, own, "cpu", None, sync=True)
        for device, beside in ("hybrid", 0), ("hybrid", nbytes // 4), ("gpu", 0):
            found, processors = reads(program, own, device, None, sync=True, gpu_memory=52 * graph.n + beside)
            assert "gpu" in processors
            assert len(found) == len(alone)
            assert found.sum() <= alone.sum(), (share, device, beside, found, alone)
