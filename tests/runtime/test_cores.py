"""How many cores a run computes on by itself."""

import pytest

import garaph_py as gp
from garaph_py.executor.memory import MemoryPlan
from garaph_py.executor.modes import CPU, GPU
from garaph_py.pages.memory import bytes_on_disk
from garaph_py.program import bind
from garaph_py.runtime.cores import cores_beside_disk, cores_beside_gpu, threads_of
from garaph_py.runtime.options import HYBRID, RunOptions
from garaph_py.storage import directory as store
from tests.support.stored_graphs import with_memory


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (4, 4), (5, 3), (64, 62)])
def test_cores_are_left_to_the_gpus_threads(cores, threads):
    assert cores_beside_gpu(cores) == threads


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 2), (7, 7), (8, 6), (15, 12), (16, 12)])
def test_cores_are_left_to_a_disks_threads(cores, threads):
    assert cores_beside_disk(cores) == threads


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A graph whose edges stay on disk."""
    path = tmp_path_factory.mktemp("stored") / "graph"
    gp.save(gp.rmat(12, directed=False), path)
    return store.read_graph(path, "auto", 1 << 20, None, gp.events.ignore, on_disk=True)


@pytest.mark.parametrize(
    ("options", "executor", "room", "threads"),
    [
        ({}, CPU, 0.49, 12),
        ({}, CPU, 0.51, None),  # processors may take longer than the disk
        ({"threads": 5}, CPU, 0.25, 5),
        ({"deterministic": True}, CPU, 0.25, None),
        ({}, GPU, 0.25, None),
        ({}, HYBRID, 0.25, 14),
    ],
    ids=str,
)
def test_a_run_that_reads_most_edges_leaves_cores(stored, options, executor, room, threads):
    bound = bind(gp.apps.BFS(0), stored)
    memory = MemoryPlan(bound, stored, synchronous=True, pushes=True, is_tiled=False)
    edges = bytes_on_disk(stored._arrays.in_edges, values=False)
    graph = with_memory(stored, memory.cpu.vertices + int(room * edges))
    assert threads_of(bound, graph, RunOptions(**options), executor, 16, memory) == threads


def test_a_run_in_memory_uses_all_cores():
    graph = gp.rmat(8, directed=False)
    bound = bind(gp.apps.BFS(0), graph)
    memory = MemoryPlan(bound, graph, synchronous=True, pushes=True, is_tiled=False)
    assert threads_of(bound, graph, RunOptions(), CPU, 16, memory) is None
