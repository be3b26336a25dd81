"""A GPU that is NumPy: allocates, copies and launches at once, on an array of bytes.

The kernels are those of the programs `Hops`, `Trails`, `Lengths`, `Blend`, `numpy_deltas.Peeled`, `numpy_trees.Labels`
and `ManyBFS`, written once more over the addresses that the host tells them; `numpy_deltas`, `numpy_trees`,
`numpy_searches`, `numpy_parents`, `numpy_push`, `numpy_answers` and `numpy_order` have some.
"""

import types

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor import hybrid as together
from garaph_py.executor.gpu import compiler, device, device_graph, peers, pinned_pool
from garaph_py.executor.gpu import executor as kernel
from garaph_py.executor.gpu.chain import Chain
from garaph_py.executor.gpu.device import Device
from garaph_py.executor.gpu.interface import Interface
from garaph_py.executor.gpu.launch import UNTIL_DONE_NAMES, WITHOUT_TASK
from garaph_py.executor.gpu.pulls_ahead import PullsAhead
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.gpu.task import Layouts
from garaph_py.program import bind
from garaph_py.program.functions import partial_dtype
from tests.support import (
    numpy_answers,
    numpy_deltas,
    numpy_lists,
    numpy_order,
    numpy_parents,
    numpy_partitions,
    numpy_pulls,
    numpy_push,
    numpy_replicated,
    numpy_rows,
    numpy_searches,
    numpy_trees,
    twins,
)
from tests.support.fake_context import FakeContext
from tests.support.numpy_packed import sources_of

MEMORY = 1 << 23
KERNELS = numpy_trees.KERNELS | numpy_push.KERNELS | numpy_deltas.KERNELS | numpy_lists.KERNELS
OF_ARGUMENTS = numpy_searches.WITHOUT_TASK | numpy_answers.WITHOUT_TASK
KERNELS |= (
    numpy_pulls.KERNELS
    | numpy_partitions.KERNELS
    | numpy_replicated.KERNELS
    | numpy_parents.KERNELS
    | numpy_rows.KERNELS
)


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


class Trails(Quiet):
    """The same, and the in-neighbour before."""

    reports = {"steps": np.int64, "before": np.int64}  # noqa: RUF012

    def result(self, value, parent):
        return value, parent


class Lengths(Quiet):
    """The same by the lengths of edges, which are int32."""

    def gather(self, src, edge):
        return src + edge if src != self.identity else src


class Nearest(Lengths):
    """The same, in the order of the distances or another one."""

    urgency: int = 1

    def priority(self, value):
        return value * self.urgency


class Eager(Quiet):
    """A vertex of a synchronous run gathers up to its first active neighbour."""

    def done(self, acc, old):
        return old != self.identity or acc != self.identity


BLEND = 1000003


class Blend(gp.VertexProgram):
    """Numbers that change for ever, of every vertex: a GPU may number the vertices as suits it."""

    weight: gp.PerVertex = 1

    value = np.int64
    sum = gp.add
    total = int

    def init(self, out_degree, weight):
        return out_degree + weight

    def gather(self, src, edge):
        return src * edge

    def apply(self, old, acc, in_degree, weight):
        return (3 * acc + old + in_degree * weight) % 1000003

    def activate(self, new):
        return new % 2 == 0

    def aggregate(self, new):
        return new % 7

    def result(self, value, out_degree):
        return value + out_degree


class SummedBlend(Blend):
    """The same, with the last total in each value."""

    adds: int = 1

    def apply(self, old, acc, total, in_degree, weight):
        return (3 * acc + old + in_degree * weight + self.adds * total) % 1000003


class PlainBlend(Blend):
    """The same without edge values."""

    def gather(self, src):
        return src

    result = None


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
        self.sizes = dict[int, int]()  # bytes of each allocation by its address
        self.threads = 0  # of the last launch
        self.pulls = 0  # calls of `end_pull`
        self.context, self.is_strict = FakeContext(), False
        self.Stream = self.Event = self.handle

    def handle(self, *_):
        """A stream or an event."""
        self.require_context()
        return types.SimpleNamespace(
            synchronize=lambda: None,
            record=lambda stream=None: None,
            wait_for_event=lambda event: None,
            query=lambda: True,
            time_till=lambda other: 2.0,
        )

    def require_context(self):
        """If the driver `is_strict`, fail as a real one does if the calling thread has not made the context current."""
        if self.is_strict and not self.context.depth:
            raise DriverError("invalid device context - no currently active context?")

    def mem_get_info(self):
        return MEMORY, MEMORY

    def mem_alloc(self, nbytes):
        self.require_context()
        if self.held + nbytes > self.refuses:
            raise self.MemoryError("cuMemAlloc failed: out of memory")
        driver, place = self, self.next
        self.next, self.held = place + -(-nbytes // 256) * 256, self.held + nbytes
        self.sizes[place] = nbytes

        class Allocation(int):
            def free(self):
                driver.held -= nbytes
                driver.sizes.pop(place, None)

        return Allocation(place)

    def check(self, place, nbytes):
        """Refuse to copy beyond the end of an allocation, as a GPU does."""
        begin = max((each for each in self.sizes if each <= place), default=None)
        if nbytes and (begin is None or place + nbytes > begin + self.sizes[begin]):
            raise self.Error(f"{nbytes} bytes at {place} are not in an allocation: invalid argument")

    def memset_d8(self, place, value, nbytes):
        self.bytes[int(place) : int(place) + nbytes] = value

    def memcpy_htod(self, place, array):  # which takes no stream, as PyCUDA's
        self.bytes[int(place) : int(place) + array.nbytes] = array

    def memcpy_dtoh(self, array, place):
        array[:] = self.bytes[place : place + array.nbytes]

    def memcpy_htod_async(self, place, array, stream=None):
        self.bytes[int(place) : int(place) + array.nbytes] = array

    def memcpy_dtoh_async(self, array, place, stream=None):
        array[:] = self.bytes[place : place + array.nbytes]

    def memcpy_dtod(self, to, source, nbytes):
        self.bytes[to : to + nbytes] = self.bytes[source : source + nbytes]

    def module_from_buffer(self, code):
        return types.SimpleNamespace(get_function=lambda name: FakeFunction(self, name))

    def send(self, other, to, source, nbytes, stream):
        """Copy to another GPU (`peers.copy`)."""
        other.bytes[to : to + nbytes] = self.bytes[source : source + nbytes]

    def array(self, place, kind, count, first=0):
        start = int(place) + first * np.dtype(kind).itemsize
        return self.bytes[start : start + count * np.dtype(kind).itemsize].view(kind)


def held_after(driver, graph):
    """Bytes of the GPU's memory that are in use when nothing is kept for the graph any more."""
    graph.release()
    return driver.held


def failing_once(driver, call):
    """Let a function of the driver fail once, when ``left[0]`` more calls have been made; return `left`."""
    works, left = getattr(driver, call), [0]

    def fails(*how):
        left[0] -= 1
        if left[0] == 0:
            raise driver.Error("unspecified launch failure")
        return works(*how)

    setattr(driver, call, fails)
    return left


def when_iterations_begin(monkeypatch, then):
    """Call ``then()`` when a run has copied what stays to the GPU: whenever an iteration begins there."""

    def noted(works):
        def begun(*told):
            then()
            return works(*told)

        return begun

    for made, name in (kernel.GpuExecutor, "ready"), (Chain, "__call__"), (PullsAhead, "_run"):
        monkeypatch.setattr(made, name, noted(getattr(made, name)))


def fail_in_iteration(monkeypatch, driver, number, left):
    """Let the device fail once: when `left` more arrays have been accessed since iteration `number` (from 1) began."""
    accesses, begun = failing_once(driver, "array"), []

    def begin():
        begun.append(None)
        if len(begun) == number:
            accesses[0] = left

    when_iterations_begin(monkeypatch, begin)


class FakeFunction:
    num_regs, shared_size_bytes = 32, 16

    def __init__(self, driver, name):
        self.driver, self.name = driver, name

    def set_attribute(self, attribute, value):
        pass

    def prepare(self, kinds):
        assert kinds == [f"{self.driver.layouts.task.itemsize}s"]

    def __call__(self, *arguments, **_):
        assert self.name in WITHOUT_TASK
        if self.name in OF_ARGUMENTS:
            OF_ARGUMENTS[self.name](self.driver, *arguments)

    def prepared_async_call(self, grid, block, stream, told, shared_size=0):
        task = np.frombuffer(bytearray(told), self.driver.layouts.task)[0]
        context, page = task["context"], task["page"]
        if numpy_push.is_idle(self.driver, context, page):
            return
        self.driver.launched.append((self.name, int(page["first_vertex"])))
        self.driver.threads = grid[0] * block[0]
        if self.name in KERNELS:
            KERNELS[self.name](self.driver, context, page)
        elif self.name in numpy_deltas.UPDATES and "k" in context["parameters"].dtype.names:
            numpy_deltas.UPDATES[self.name](self.driver, context, page)
        elif self.name in numpy_searches.UPDATES and numpy_push.is_search(context):
            numpy_searches.UPDATES[self.name](self.driver, context, page)
        elif self.name in numpy_trees.UPDATES and "labels" in context["parameters"].dtype.names:
            numpy_trees.UPDATES[self.name](self.driver, context, page)
        elif self.name in ("initialize", "apply_vertices", *UNTIL_DONE_NAMES):
            is_blend = "source" not in context["parameters"].dtype.names
            (self.blend if is_blend else self.update)(context, page)
        elif self.name == "report" and context["parents"]:
            numpy_parents.report(self.driver, context, page)
        elif self.name in numpy_order.KERNELS:
            numpy_order.KERNELS[self.name](self.driver, context, page)

    def tally(self, page):
        return self.driver.array(page["tally"], self.driver.layouts.tally, 1)[0:1]

    def update(self, context, page):
        """What initialize.cu, or gather_segmented.cu and apply.cu, do for `Hops`."""
        first, last = int(page["first_vertex"]), int(page["last_vertex"])
        at, count = self.driver.array, last - first
        offsets = at(context["in_begins"], np.uint32, count + 1, first).astype(np.int64)
        out_degrees = np.diff(at(context["out_begins"], np.uint32, count + 1, first).astype(np.int64))
        old = at(context["values"], np.int64, int(context["n"]))
        far = np.iinfo(np.int64).max
        if self.name == "initialize":
            active = np.arange(first, last) == int(context["parameters"]["source"])
            at(context["values"], np.int64, count, first)[:] = np.where(active, 0, far)
            changed, bits = np.zeros(count, bool), context["frontier"]
        else:
            sources = sources_of(self.driver, context, page)
            lengths = numpy_push.lengths_of(self.driver, page)
            said = np.where(old[sources] == far, far, old[sources] + np.where(old[sources] == far, 0, lengths))
            new = old[first:last].copy()
            np.minimum.at(new, np.repeat(np.arange(count), np.diff(offsets)), said)
            active = changed = new != old[first:last]
            at(context["next_values"], np.int64, count, first)[:] = new
            bits = context["next_frontier"]
        words = np.packbits(active, bitorder="little")
        at(bits, np.uint8, len(words), first // 8)[:] = words
        tally = self.tally(page)
        tally["active"], tally["active_edges"] = active.sum(), out_degrees[active].sum()
        tally["partial"] = changed.sum()

    def blend(self, context, page):
        """What `update` does, for `Blend`."""
        first, last = int(page["first_vertex"]), int(page["last_vertex"])
        at, count = self.driver.array, last - first
        offsets = at(context["in_begins"], np.uint32, count + 1, first).astype(np.int64)
        degrees = np.diff(at(context["out_begins"], np.uint32, count + 1, first).astype(np.int64))
        weight = at(context["vertex_data"], np.int64, count, first)
        if self.name == "initialize":
            new, bits = degrees + weight, context["frontier"]
            active = np.ones(count, bool)
            at(context["values"], np.int64, count, first)[:] = new
        else:
            old = at(context["values"], np.int64, int(context["n"]))
            edges, skipped = int(page["last_edge"] - page["first_edge"]), int(page["first_edge"] - page["base_edge"])
            said = old[at(page["sources"], np.uint32, edges, skipped)]
            if page["edge_values"]:
                said = said * at(page["edge_values"], np.int32, edges, skipped)
            acc = np.zeros(count, np.int64)
            np.add.at(acc, np.repeat(np.arange(count), np.diff(offsets)), said)
            added = at(context["total"], np.int64, 1)[0] if "adds" in context["parameters"].dtype.names else 0
            new = (3 * acc + old[first:last] + np.diff(offsets) * weight + added) % BLEND
            bits = context["next_frontier"]
            active = new % 2 == 0
            at(context["next_values"], np.int64, count, first)[:] = new
        words = np.packbits(active, bitorder="little")
        at(bits, np.uint8, len(words), first // 8)[:] = words
        tally = self.tally(page)
        tally["active"], tally["active_edges"] = active.sum(), degrees[active].sum()
        tally["partial"] = np.inf if tally["partial"].dtype == np.float64 else (new % 7).sum()


class FakePinned:
    """Host memory, which the GPU reads only if there is a `driver`: it then has a copy of it."""

    count, driver = 0, None

    def pin(self, array):
        self.count += 1

    def unpin(self, array):
        self.count -= 1

    def map(self, array):
        if self.driver is None:
            return None
        place = self.driver.next
        self.driver.next += -(-array.nbytes // 256) * 256
        self.driver.memcpy_htod(place, array.view(np.uint8))
        return place

    def empty(self, shape, dtype):
        self.count += 1
        return np.full(shape * dtype.itemsize, 0xA5, np.uint8).view(dtype)

    def close(self):
        pass


def copy_to_peer(to, place, of, source, nbytes, stream):
    """The twin of `peers.copy`."""
    of.driver.send(to.driver, place, source, nbytes, stream)


@pytest.fixture
def device_for(monkeypatch):
    """A function that makes the device on which a program on a graph runs; its driver is `made` of the layouts.

    ``bind(program, graph)`` binds the program.
    """

    def make(program, graph, made=FakeDriver, bind=bind):
        bound = bind(program, graph)
        Interface(bound)  # what would be compiled can be written
        driver = made(Layouts(bound.parameters.dtype, partial_dtype(bound.total)))
        driver.is_strict = True
        found = Device("NumPy", "sm_90", MEMORY, 1 << 16, 32, 1 << 17, 2048, driver, driver.context)
        monkeypatch.setattr(compiler, "cubin", lambda *_: b"")
        for module in kernel, device_graph, pinned_pool:
            monkeypatch.setattr(module, "Pinned", FakePinned)
        monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: found)
        monkeypatch.setattr(peers, "copy", copy_to_peer)
        monkeypatch.setattr(peers, "reaches", lambda device, other: True)
        monkeypatch.setattr("garaph_py.runtime.speeds.measured", lambda threads: None)  # this driver times nothing
        monkeypatch.setattr("garaph_py.runtime.run.may_narrow", lambda *_: False)  # these kernels know 64 bits only
        return driver

    return make


@pytest.fixture
def gpu_is_faster(monkeypatch):
    """Hybrid runs leave all work to the GPU."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))


@pytest.fixture
def pending_is_poisoned(monkeypatch):
    """Nothing in the second array of a synchronous run is read before it is written; or it is equal to the first."""
    begin = together.HybridExecutor.begin

    def poison(self, state, mode):
        alone = self.device == "gpu" or not self._host.is_relaxation
        if state.synchronous and alone:
            state.next_values.view(np.uint8)[:] = 0xA5
        followed = begin(self, state, mode)
        assert not state.synchronous or alone or state.next_values.tobytes() == state.values.tobytes()
        return followed

    monkeypatch.setattr(together.HybridExecutor, "begin", poison)


GRAPH = twins.skewed(3, 9000, 60000)


HUB = int(GRAPH.out_degrees.argmax())


def memory_for(program, graph, share, components=False, gather="segmented", bind=bind):
    settings = Settings(gather=gather, components=components, zero_copy=True)
    with kernel.GpuExecutor(bind(program, graph), graph, device.find(), settings) as made:
        made.initialize(True)
        used, width = made.residency.used, made.edges.arrays.width
    graph.release()
    return int(used - (1 - share) * width * graph.m)
