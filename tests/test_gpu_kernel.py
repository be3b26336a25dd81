"""The GPU's page kernel on a device that is NumPy: what is allocated, copied, skipped, committed and given back.

The kernels are those of one program, written once more over the addresses that the host tells them.
"""

import types

import numpy as np
import pytest
import twins

import garaph_py as gp
from garaph_py import runtime
from garaph_py.errors import DeviceMemoryError
from garaph_py.gpu import compiler, kernel
from garaph_py.gpu.device import Device
from garaph_py.gpu.interface import Interface
from garaph_py.gpu.task import Layouts
from garaph_py.program import bind
from garaph_py.program.functions import partial_dtype

pytestmark = pytest.mark.usefixtures("cut_small_graphs")
MEMORY = 1 << 23


class Hops(gp.VertexProgram):
    """Edges from `source`, an internal id; the total counts who changed."""

    source: int = 0

    value = np.int64
    sum = gp.min
    total = int

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src):
        return src + 1 if src != self.identity else src

    def aggregate(self, new, old):
        return 1 if new != old else 0


class Quiet(Hops):
    """Without a total, so that pages nobody notified may be skipped."""

    total = None
    aggregate = None


class DriverError(Exception):
    pass


class FakeDriver:
    """Allocates, copies and launches at once, on an array of bytes; `refuses` to allocate more than so many in all."""

    Error, MemoryError = DriverError, type("MemoryError", (DriverError,), {})
    event_flags = types.SimpleNamespace(BLOCKING_SYNC=1, DISABLE_TIMING=2)
    function_attribute = types.SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=1)
    Context = types.SimpleNamespace(synchronize=lambda: None)

    def __init__(self, layouts):
        self.layouts, self.bytes = layouts, np.zeros(MEMORY, np.uint8)
        self.next, self.held, self.refuses, self.launched = 256, 0, MEMORY, []
        self.Stream = self.Event = lambda *_: types.SimpleNamespace(
            synchronize=lambda: None, record=lambda stream: None, wait_for_event=lambda event: None
        )

    def mem_get_info(self):
        return MEMORY, MEMORY

    def mem_alloc(self, nbytes):
        if self.held + nbytes > self.refuses:
            raise self.MemoryError("cuMemAlloc failed: out of memory")
        driver, place = self, self.next
        self.next, self.held = place + -(-nbytes // 256) * 256, self.held + nbytes

        class Allocation(int):
            def free(self):
                driver.held -= nbytes

        return Allocation(place)

    def memset_d8(self, place, value, nbytes):
        self.bytes[int(place) : int(place) + nbytes] = value

    def memcpy_htod(self, place, array, stream=None):
        self.bytes[int(place) : int(place) + array.nbytes] = array

    def memcpy_dtoh(self, array, place, stream=None):
        array[:] = self.bytes[place : place + array.nbytes]

    memcpy_htod_async, memcpy_dtoh_async = memcpy_htod, memcpy_dtoh

    def memcpy_dtod(self, to, source, nbytes):
        self.bytes[to : to + nbytes] = self.bytes[source : source + nbytes]

    def module_from_buffer(self, code):
        return types.SimpleNamespace(get_function=lambda name: FakeFunction(self, name))

    def array(self, place, kind, count, first=0):
        start = int(place) + first * np.dtype(kind).itemsize
        return self.bytes[start : start + count * np.dtype(kind).itemsize].view(kind)


class FakeFunction:
    num_regs, shared_size_bytes = 32, 16

    def __init__(self, driver, name):
        self.driver, self.name = driver, name

    def set_attribute(self, attribute, value):
        pass

    def prepare(self, kinds):
        assert kinds == [f"{self.driver.layouts.task.itemsize}s"]

    def __call__(self, *_, **__):
        assert self.name == "mark_starts"

    def prepared_async_call(self, grid, block, stream, told, shared_size=0):
        task = np.frombuffer(told, self.driver.layouts.task)[0]
        self.driver.launched.append((self.name, int(task["page"]["first_vertex"])))
        if self.name in ("initialize", "apply_vertices"):
            self.update(task["context"], task["page"])
        elif self.name == "finish":
            tally, partials = self.tally(task["page"]), task["page"]["partials"]
            tally["partial"] = self.driver.array(partials, np.int64, int(task["page"]["blocks"])).sum()

    def tally(self, page):
        return self.driver.array(page["tally"], self.driver.layouts.tally, 1)[0:1]

    def update(self, context, page):
        """What initialize.cu, or gather_segmented.cu and apply.cu, do for `Hops`."""
        first, last = int(page["first_vertex"]), int(page["last_vertex"])
        at, count = self.driver.array, last - first
        offsets = at(context["in_offsets"], np.int64, count + 1, first)
        out_degrees = np.diff(at(context["out_offsets"], np.int64, count + 1, first))
        old = at(context["values"], np.int64, int(context["n"]))
        far = np.iinfo(np.int64).max
        if self.name == "initialize":
            active = np.arange(first, last) == int(context["parameters"]["source"])
            at(context["values"], np.int64, count, first)[:] = np.where(active, 0, far)
            changed, bits = np.zeros(count, bool), context["active"]
        else:
            edges = int(page["last_edge"] - page["first_edge"])
            sources = at(page["sources"], np.uint32, edges, int(page["first_edge"] - page["base_edge"]))
            said = np.where(old[sources] == far, far, old[sources] + (old[sources] != far))
            new = old[first:last].copy()
            np.minimum.at(new, np.repeat(np.arange(count), np.diff(offsets)), said)
            active = changed = new != old[first:last]
            at(context["pending"], np.int64, count, first)[:] = new
            bits = context["activated"]
        words = np.packbits(active, bitorder="little")
        at(bits, np.uint8, len(words), first // 8)[:] = words
        tally = self.tally(page)
        tally["active"], tally["active_edges"] = active.sum(), out_degrees[active].sum()
        blocks = at(page["partials"], np.int64, int(page["blocks"]))
        blocks[:] = 0
        blocks[0] = changed.sum()


class FakePinned:
    def pin(self, array):
        pass

    def empty(self, shape, dtype):
        return np.zeros(shape, dtype)

    def close(self):
        pass


@pytest.fixture
def device_for(monkeypatch):
    """A function that makes the device on which a program on a graph runs."""

    def make(program, graph):
        bound = bind(program, graph)
        Interface(bound)  # what would be compiled can be written
        driver = FakeDriver(Layouts(bound.parameters.dtype, partial_dtype(bound.total)))
        context = types.SimpleNamespace(push=lambda: None, pop=lambda: None)
        found = Device("NumPy", "sm_90", MEMORY, 1 << 16, 4, 1 << 17, 2048, driver, context)
        monkeypatch.setattr(compiler, "cubin", lambda *_: b"")
        monkeypatch.setattr(kernel, "Pinned", FakePinned)
        monkeypatch.setattr(runtime, "find_device", lambda: found)
        return driver

    return make


GRAPH = twins.skewed(3, 9000, 60000)
HUB = int(GRAPH.out_degrees.argmax())


def memory_for(program, graph, share):
    settings = kernel.Settings(gather="segmented")
    with kernel.GpuKernel(bind(program, graph), graph, runtime.find_device(), settings, lambda state: 0) as made:
        made.initialize(True)
        return int(made.residency.used - (1 - share) * 4 * graph.m)


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [None, 0.2, 0.7])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
def test_the_answer_is_the_cpus(device_for, graph_of, program, share, sync):
    graph = graph_of(GRAPH)
    driver = device_for(program, graph)
    memory = None if share is None else memory_for(program, graph, share)
    expected = gp.run(program, graph, device="cpu", sync=True)
    result = gp.run(
        program, graph, device="gpu", sync=sync, gather="segmented", gpu_memory=memory, page_edges=3000, streams=3
    )
    assert result.stats.device == "NumPy"
    np.testing.assert_array_equal(result.values, expected.values)
    rows = result.stats.iterations
    if sync:
        assert [row.active for row in rows] == [row.active for row in expected.stats.iterations]
    copied = [row.to_device for row in rows]
    assert copied[0] == 4 * graph.m
    assert all((copied[k] > 0) == (share is not None) for k in (1, 2))
    assert driver.held == 0


@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
def test_pages_nobody_notified_are_left_alone(device_for, graph_of, mode):
    path = twins.Edges(20000, np.arange(19999), np.arange(1, 20000))
    graph = graph_of(path)
    program = Quiet()
    driver = device_for(program, graph)
    expected = gp.run(program, graph, device="cpu", sync=True, iterations=30)
    result = gp.run(
        program, graph, device="gpu", sync=True, iterations=30, mode=mode, page_edges=500, gather="segmented"
    )
    np.testing.assert_array_equal(result.values, expected.values)
    skipped = sum(row.pages_skipped for row in result.stats.iterations)
    assert (skipped > 0) == (mode == "notify-pull")
    assert driver.held == 0


def test_memory_that_somebody_took_is_done_without(device_for, graph_of):
    """An allocation fails that was to succeed: less is tried, once."""
    graph = graph_of(GRAPH)
    driver = device_for(Quiet(HUB), graph)
    needed = memory_for(Quiet(HUB), graph, 1)
    driver.refuses = needed - 100_000
    memory = needed + 1000
    result = gp.run(Quiet(HUB), graph, device="gpu", sync=True, gpu_memory=memory, gather="segmented", page_edges=3000)
    np.testing.assert_array_equal(result.values, gp.run(Quiet(HUB), graph, device="cpu", sync=True).values)
    assert sum(row.to_device for row in result.stats.iterations[1:]) > 0
    assert driver.held == 0
    driver.refuses = 50_000
    with pytest.raises(DeviceMemoryError):
        gp.run(Quiet(HUB), graph, device="gpu", gpu_memory=memory, page_edges=3000)
    assert driver.held == 0


def test_the_budget_is_kept(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    memory = memory_for(Hops(HUB), graph, 0.4)
    driver.refuses = memory
    result = gp.run(
        Hops(HUB), graph, device="gpu", sync=True, gpu_memory=memory, gather="segmented", page_edges=3000, streams=3
    )
    assert result.stats.note is None
    assert result.stats.device == "NumPy"
