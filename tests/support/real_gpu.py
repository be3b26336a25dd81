"""A GPU that is there, for tests that need one."""

import weakref
from dataclasses import replace

import pytest

from garaph_py.executor.gpu import device, peers, speeds
from garaph_py.executor.gpu.edges import page_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.memory_plan import array_sizes
from garaph_py.executor.gpu.settings import Settings
from garaph_py.program import bind


class Allocated:
    """Counts the bytes that this process has allocated on the GPU, whatever other processes do.

    Attributes
    ----------
    nbytes : int
    """

    def __init__(self, monkeypatch):
        driver = device.find().driver
        self.nbytes, self._allocate = 0, driver.mem_alloc
        monkeypatch.setattr(driver, "mem_alloc", self._counted)

    def _counted(self, nbytes):
        return _Counted(self, self._allocate(nbytes), nbytes)


class _Counted:
    """An allocation that `Allocated` counts until it is freed, or nobody refers to it."""

    def __init__(self, allocated, allocation, nbytes):
        self._allocation = allocation
        allocated.nbytes += nbytes
        self.free = weakref.finalize(self, self._free, allocated, allocation, nbytes)

    def __int__(self):
        return int(self._allocation)

    @staticmethod
    def _free(allocated, allocation, nbytes):
        allocation.free()
        allocated.nbytes -= nbytes


@pytest.fixture
def three_of_one(monkeypatch):
    """The numbers 0, 1 and 2 are the same GPU, and copies between them are copies within its memory."""
    one = device.find()
    found = [replace(one, number=number) for number in range(3)]
    monkeypatch.setattr(device, "find", lambda number=0: found[number])
    monkeypatch.setattr(device, "count", lambda: len(found))
    monkeypatch.setattr(peers, "can_reach", lambda number, other: False)
    monkeypatch.setattr(speeds, "_measured", {})
    monkeypatch.setattr(
        peers, "copy",
        lambda to, place, of, source, nbytes, stream: of.driver.memcpy_dtod_async(place, source, nbytes, stream),
    )  # fmt: skip


def bytes_of_sums(program, graph):
    """Bytes of what a run has to have beyond `memory_for` to push deltas."""
    bound = bind(program, graph)
    without, with_sums = (sum(array_sizes(bound, graph, graph.n, True, deltas=deltas).values()) for deltas in (0, 1))
    return with_sums - without


def memory_for(program, graph, share, gather="auto", replication="custom", components=False, bind=bind):
    """Bytes in which a share of the edges can stay."""
    settings = Settings(gather=gather, replication=replication, components=components, zero_copy=True)
    bound, given = bind(program, graph), graph
    graph = graph.packed() if gather == "packed" else graph  # values too, as those that are streamed
    # A run that packs a raw graph also plans for pushes along raw lists.
    sizes = [sum(array_sizes(bound, each, graph.n, True).values()) for each in (given, graph)]
    with GpuExecutor(bound, graph, device.find(), settings) as kernel:
        kernel.initialize(True)
        edges = sum(page_bytes(page, kernel.edges.arrays) for page in kernel.residency.pages)
        used = kernel.residency.used
    graph.release()
    return int(used - (1 - share) * edges) + sizes[0] - sizes[1]
