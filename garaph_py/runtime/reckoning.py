"""Estimates how long a whole call takes on the CPU and on the GPU, for ``device="auto"``. Pure: callers state the
facts.

A call on the GPU has two parts. *Preparing* is work that later calls need not repeat: the GPU's context, the compiled
program, the graph in the GPU's memory. The rest is done by every call. If preparing costs more than one call saves,
calls go to the CPU until they have lost together what preparing costs (`choose`). So whatever number of calls follow,
they take at most twice the time of the best choice, as far as the estimates are right.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import inf

from ..codec.arrays import PACKED, RAW
from ..executor.costs import EXPECTED as COSTS
from ..executor.gpu.edges import ArraysOnDevice
from ..executor.gpu.memory_plan import can_push, has_lists
from ..executor.memory import vertex_bytes
from ..graph import Graph
from ..pages.memory import bytes_on_disk
from ..program import BoundProgram
from ..system.sizes import show_seconds
from .options import RunOptions, finds_components, gpu_may_push
from .past import ON_CPU, Past
from .watching import may_chain

ALL, FRONTIER, SEARCH, SEARCH_BOTH, UNION = "all", "frontier", "search", "search_both", "union"
"""Kinds of runs. ``"all"``: each iteration updates all vertices. ``"frontier"``: a relaxation, whose iterations follow
the active vertices. ``"search"``: a relaxation with `done`, which leaves most edges out. ``"search_both"``: the same in
an undirected graph, where a GPU leaves them out too. ``"union"``: connected components by union-find."""
SEARCHES = SEARCH, SEARCH_BOTH
EXPECTED = {ALL: 30, FRONTIER: 10, SEARCH: 10, SEARCH_BOTH: 10, UNION: 1}
"""Iterations that are expected of a first run without a limit. Over R-MAT graphs of scale 12 to 18, PageRank takes 11
to 15, or 50 if rank at dangling vertices is dropped; BFS and SSSP take 6 or 7."""
PASSES = {FRONTIER: 7, SEARCH: 4, SEARCH_BOTH: 4, UNION: 1}
"""Passes over the edges on disk whose bytes a run is expected to read, by its kind; a run that updates all vertices
reads them in every iteration. Over R-MAT graphs, SSSP read 7 times the edges' bytes, BFS 3 to 4 times, and components
once (docs/results/ssd.md, "Push")."""
CPU_STEP = 3e-5
"""Fixed time (s) of an iteration on the CPU. A BFS of 747 small supersteps takes 54 ms (docs/results/gpu.md)."""
GPU_STEP = 1.5e-4
"""Fixed time (s) of an iteration on the GPU. An iteration of a single page takes 120 to 220 microseconds
(docs/results/gpu.md)."""
GPU_FEW_STEP = 5e-6
"""The same of an iteration in a launch of many (docs/results/gpu.md, "Whole calls")."""
CPU_VERTEX = 2e-9
"""Time (s) per vertex that a call on the CPU takes beyond its iterations: 24 to 60 ms for 16.8 M vertices
(docs/results/gpu.md, "Whole calls")."""
REVERSING = 2e8
"""Edges per second whose values the CPU orders by source, which a push needs: 12 M in 55 ms, 17 M in 100 ms on 16
threads (docs/results/gpu.md, "What `auto` chooses")."""
UNKNOWN_SEARCH = 0.9
"""The first search on a graph may reach few vertices. So its expected time on the CPU is multiplied by this, the share
of searches that reach most of the graph, before it counts against preparing the GPU. With 0.5, the first BFS over
linux-symrefs ran on the CPU, and took 1.4 times as long as on the GPU."""
RANK_THREADS = 2
"""Threads beyond which making ranks is not faster: 16 threads need 15 ms where one needs 37."""
VALUE_ARRAYS = 2
"""Arrays of values that a run pins on the host."""
ARRAYS_ON_GPU = 4
"""Arrays of a vertex's value that a run keeps in the GPU's memory at most: values, new values, sums, and the sums that
deltas are pushed to (`memory_plan.array_sizes`)."""
OFFSET_BYTES = 8
"""Bytes of a vertex's offset, which the GPU keeps beside the edges."""
THERE = 0.9
"""If at least this share of a graph's estimated bytes is on the GPU, the whole graph counts as being there: estimates
are no better than that."""
IN_PLACE = 0.27
"""The share of the edges in host memory that a search or union-find reads there, if it does not copy them: BFS over
R-MAT 24 took 10.7 ms without any edge on the GPU, and components 11.9, where all edges would take 39 over the link."""
STAYING = 0.7
"""The share of the GPU's room that the graph takes if it does not fit; buffers and values take the rest
(`residency.BUFFERS_SHARE`)."""
LEAST_ACTIVE = 0.1
"""The share of the vertices that must have been active in a relaxation for it to say anything about a rate: a search
from a vertex that reaches nobody is no measure of speed."""


@dataclass(frozen=True)
class Rates:
    """The speeds of one machine. The defaults were measured on a host with 16 Xeon cores and an H200, 2026-11-23.

    All are edges per second unless stated otherwise. For all kinds but ``"all"``, a rate is the edges of the graph
    divided by the seconds of all iterations.

    Attributes
    ----------
    cpu_all, cpu_frontier, cpu_search, cpu_search_both, cpu_union : float
        Per thread: PageRank 3.2 G/s on 16 threads, SSSP 0.63 (and ConnectedComponents in supersteps 1.04), BFS 4.2,
        ConnectedComponents by union-find 4.7 (2026-11-24).
    gpu_all, gpu_frontier, gpu_search, gpu_search_both, gpu_union : float
        With all edges in the GPU's memory: PageRank 94 G/s, BFS in an undirected graph 190, ConnectedComponents by
        union-find 220 (2026-11-24); SSSP 30 (R-MAT 22 and 24 on an H100, without the fixed time of iterations,
        2026-11-28). BFS in a directed graph has not been measured: it should take no longer than SSSP, which pulls more
        often, and reads more bytes of each edge.
    start : float
        Seconds to find the GPU and to make its context.
    compile : float
        Seconds to compile a program for the GPU.
    placing : float
        Bytes per second at which a graph is laid out and copied to a GPU that has nothing of it: 2.2 GB in 105 ms.
    ranks : float
        Vertices per second of which one thread makes the ranks: 16.8 M in 37 ms.
    call : float
        Seconds that a call on the GPU takes beyond all else, if everything is there.
    answering : float
        Bytes of vertex values and answers per second, for all that a call on the GPU does with them beyond its
        iterations; at best the rate of the link.
    link : float
        Bytes per second between pinned host memory and the GPU.
    disk_raw, disk_packed : float
        Bytes per second at which runs get edges from disk, checked: raw 1.5 to 2.0 GB/s and packed 0.8 to 1.8
        (docs/results/ssd.md, "Reading by itself").
    """

    cpu_all: float = 2.0e8
    cpu_frontier: float = 5.0e7
    cpu_search: float = 2.6e8
    cpu_search_both: float = 2.6e8
    cpu_union: float = 3.0e8
    gpu_all: float = 9.4e10
    gpu_frontier: float = 2.9e10
    gpu_search: float = 2.9e10
    gpu_search_both: float = 1.9e11
    gpu_union: float = 2.0e11
    start: float = 0.45
    compile: float = 2.5
    placing: float = 2.0e10
    ranks: float = 4.5e8
    call: float = 2e-3
    answering: float = 5.4e10
    link: float = 5.4e10
    disk_raw: float = 1.5e9
    disk_packed: float = 1.0e9

    def of(self, processor: str, kind: str) -> float:
        """The rate of ``"cpu"`` or ``"gpu"`` for a kind of program."""
        rate: float = getattr(self, f"{processor}_{kind}")
        return rate


NAMES = tuple(rate.name for rate in fields(Rates))
"""The names of all rates."""


@dataclass(frozen=True)
class Call:
    """A call of `garaph_py.run`, as far as its time depends on it.

    Attributes
    ----------
    kind : {"all", "frontier", "search", "search_both", "union"}
    vertices, edges : int
        The edges are the stored ones.
    edge_bytes : float
        Bytes of an edge in the GPU's memory, with its value if the program reads it.
    value_bytes, answer_bytes : int
        Bytes of a vertex's value and of what the program reports of it.
    threads : int
        Threads of the CPU.
    limit : int or None
        The user's limit on iterations.
    past : Past
    reverses : bool
        The CPU would order the edge values by source first, because it may push.
    in_place : bool
        The GPU reads edges that do not fit its memory from host memory, each when it is needed.
    out_edge_bytes : float
        Mean bytes of an out-edge in the GPU's memory, if the graph is directed and the GPU may push.
    pushes : bool
        The GPU would push where few edges leave active vertices.
    chains : bool
        It would do such iterations in launches of many.
    first_read, later_read : int
        Bytes that the first pass over the edges reads from disk, and each later one if only the host's memory keeps
        edges.
    encoding : {"raw", "packed"}
    """

    kind: str
    vertices: int
    edges: int
    edge_bytes: float = 4.0
    value_bytes: int = 8
    answer_bytes: int = 8
    threads: int = 1
    limit: int | None = None
    past: Past = field(default_factory=Past)
    reverses: bool = False
    in_place: bool = False
    out_edge_bytes: float = 0.0
    pushes: bool = False
    chains: bool = False
    first_read: int = 0
    later_read: int = 0
    encoding: str = RAW

    @property
    def iterations(self) -> int:
        """The iterations to expect."""
        if self.past.iterations is not None:
            return self.past.iterations
        return EXPECTED[self.kind] if self.limit is None else min(self.limit, EXPECTED[self.kind])

    @property
    def work(self) -> float:
        """The edges to expect in all iterations, in the unit of the rates of this kind."""
        if self.kind == ALL:
            return self.edges * self.iterations
        return self.edges * (1.0 if self.past.iterations is not None else self.iterations / EXPECTED[self.kind])

    @property
    def cpu_work(self) -> float:
        """The same for the CPU, which does less work if a relaxation reaches few vertices."""
        return self.work if self.kind == ALL else self.work * min(self.past.reached / LEAST_ACTIVE, 1.0)

    @property
    def gpu_work(self) -> float:
        """The same for the GPU, which does less work where it pushes deltas."""
        if self.kind != ALL or not self.pushes or self.past.iterations is None:
            return self.work
        return self.edges * (self.past.pulls + self.past.pushed * COSTS.push_edge)

    @property
    def graph_bytes(self) -> float:
        """Bytes of the graph in the GPU's memory, without out-edges."""
        return self.edges * self.edge_bytes + self.vertices * OFFSET_BYTES

    @property
    def whole_bytes(self) -> float:
        """Bytes of the graph in the GPU's memory, with the out-edges that pushes read."""
        return self.graph_bytes + self.edges * self.out_edge_bytes


@dataclass(frozen=True)
class OnDevice:
    """What is done already of preparing a call on the GPU.

    Attributes
    ----------
    has_context : bool
        This process has found the GPU, and made its context.
    is_compiled : bool
        The program's code is in the cache on disk.
    nbytes : int
        Bytes in the GPU's memory of what the call needs of the graph.
    room : int or None
        Bytes of the GPU's memory that the call may use; None if not known.
    edge_bytes : float or None
        Mean bytes of an edge, with its value, as the last call kept edges, raw or packed; None if not known.
    needed : int or None
        Bytes of the graph that the call needs, as far as they stay in the GPU's memory; None if not known.
    """

    has_context: bool = False
    is_compiled: bool = False
    nbytes: int = 0
    room: int | None = None
    edge_bytes: float | None = None
    needed: int | None = None

    def staying(self, call: Call) -> float:
        """Bytes of the graph that stay in the GPU's memory once they are there."""
        room = self.room_for_edges(call)
        if call.whole_bytes <= room:
            return call.whole_bytes
        return call.graph_bytes if call.graph_bytes <= room else STAYING * room

    def room_for_edges(self, call: Call) -> float:
        """Bytes of the GPU's memory that are left beside the call's values."""
        values = ARRAYS_ON_GPU * call.vertices * call.value_bytes
        return inf if self.room is None else max(self.room - values, 0)

    def holds(self, call: Call) -> bool:
        """Whether the GPU's memory is known to have room for the whole graph, and for the call's values beside it."""
        return self.room is not None and call.whole_bytes <= self.room_for_edges(call)

    def missing(self, call: Call) -> float:
        """Bytes of the graph that the call would copy to the GPU to stay there, if most are not there."""
        staying = self.staying(call) if self.needed is None else self.needed
        return 0.0 if self.nbytes >= THERE * staying else staying - self.nbytes

    def streamed(self, call: Call) -> float:
        """Bytes of the graph that do not fit, so that each pass over all edges copies them."""
        return max(call.graph_bytes - self.staying(call), 0.0)


@dataclass(frozen=True)
class Verdict:
    """Whether a call takes the GPU, and the facts for this choice.

    Attributes
    ----------
    on_gpu : bool
    why : str
        The reason, for the user.
    call : Call
    there : OnDevice
    rates : Rates
    """

    on_gpu: bool
    why: str
    call: Call
    there: OnDevice
    rates: Rates


def gpu_can_push(bound: BoundProgram, graph: Graph, options: RunOptions) -> bool:
    """Whether an iteration on a GPU may push, and there are lists along which it could."""
    return gpu_may_push(bound, options) and has_lists(bound, graph)


def must_reverse(bound: BoundProgram, graph: Graph) -> bool:
    """Whether the host has yet to order the edge values by source if it pushes."""
    return bound.reads_edge_values and graph._arrays.bytes_to_reverse > 0


def call_of(
    bound: BoundProgram, graph: Graph, options: RunOptions, threads: int, past: Past, reverses: bool = False
) -> Call:
    """The call of a run with these `options`, on `threads` threads of the CPU."""
    kind = kind_of(bound, options)
    policy = options.policy
    in_place = kind in (SEARCH_BOTH, UNION) and policy.zero_copy and not policy.chooses_transfers
    pushes = gpu_can_push(bound, graph, options)
    chains = pushes and bound.is_relaxation and may_chain(options)
    return Call(
        kind, graph.n, graph.m, edge_bytes(bound, graph), bound.value.itemsize, bound.reports.itemsize, threads,
        options.iterations, past, reverses, in_place and graph.encoding == RAW and not graph.on_disk,
        out_edge_bytes(bound, graph, options), pushes, chains and (bound.undirected or not graph.on_disk),
        *disk_reads(bound, graph), graph.encoding,
    )  # fmt: skip


def disk_reads(bound: BoundProgram, graph: Graph) -> tuple[int, int]:
    """Estimated bytes that the first pass over the edges, and a later one, read from disk."""
    if not graph.on_disk or graph.memory is None:
        return 0, 0
    nbytes = bytes_on_disk(graph._arrays.in_edges, bound.reads_edge_values)
    room = graph.memory - vertex_bytes(bound, graph, arrays=2)
    return nbytes, min(max(nbytes - room, 0), nbytes)


def kind_of(bound: BoundProgram, options: RunOptions) -> str:
    """The kind of a run with these `options`."""
    if finds_components(bound, options):
        return UNION
    if not bound.is_relaxation:
        return ALL
    if "done" not in bound.arguments:
        return FRONTIER
    return SEARCH_BOTH if bound.undirected else SEARCH


def edge_bytes(bound: BoundProgram, graph: Graph) -> float:
    """Mean bytes of an edge that a run of the program copies to the GPU."""
    return ArraysOnDevice.of(graph._arrays.in_edges, bound.reads_edge_values).width


def out_edge_bytes(bound: BoundProgram, graph: Graph, options: RunOptions) -> float:
    """Mean bytes of an out-edge that a run keeps on the GPU beside the in-edges; 0 if it does not push, or needs
    none."""
    pushes = graph.directed and not graph.on_disk and can_push(bound, graph) and gpu_may_push(bound, options)
    return edge_bytes(bound, graph) if pushes else 0.0


def cpu_seconds(call: Call, rates: Rates) -> float:
    """The time of a whole call on the CPU."""
    took = call.past.took.get(ON_CPU)
    beyond = CPU_VERTEX * call.vertices if took is None or took.beyond is None else took.beyond
    return beyond + (reversing_seconds(call) + cpu_iterating(call, rates) if took is None else took.iterating)


def reversing_seconds(call: Call) -> float:
    """The time in which the CPU orders the edge values by source, if it has to."""
    return call.edges / REVERSING if call.reverses else 0.0


def cpu_iterating(call: Call, rates: Rates) -> float:
    """The time of all iterations on the CPU, or that of the disk if it is longer."""
    working = call.iterations * CPU_STEP + call.cpu_work / (rates.of("cpu", call.kind) * call.threads)
    return max(working, reading_seconds(call, rates))


def reading_seconds(call: Call, rates: Rates, on_device: float = 0.0) -> float:
    """The time of the disk for all passes over the edges, of which `on_device` bytes stay in the GPU's memory."""
    passes = call.iterations if call.kind == ALL else min(PASSES[call.kind], call.iterations)
    if not (call.first_read and passes):
        return 0.0
    nbytes = call.first_read + (passes - 1) * max(call.later_read - on_device, 0.0)
    return nbytes / (rates.disk_packed if call.encoding == PACKED else rates.disk_raw)


def preparing_seconds(call: Call, there: OnDevice, rates: Rates) -> float:
    """The time that a call on the GPU takes for what later calls find done."""
    seconds = (0.0 if there.has_context else rates.start) + (0.0 if there.is_compiled else rates.compile)
    if not there.missing(call):
        return seconds
    ranks = call.vertices / (rates.ranks * min(call.threads, RANK_THREADS))
    return seconds + ranks + placed_bytes(call, there) / rates.placing


def placed_bytes(call: Call, there: OnDevice) -> float:
    """Bytes that the call pins: what is missing of the graph, and with it the values' arrays."""
    missing = there.missing(call)
    return missing + VALUE_ARRAYS * call.vertices * call.value_bytes if missing else 0.0


def gpu_seconds(call: Call, there: OnDevice, rates: Rates, several: float = inf) -> float:
    """The time of a whole call on the GPU if all is prepared; on several GPUs the call would take `several` seconds."""
    return min(iterating_on_one(call, there, rates) + beyond_on_one(call, rates), several)


def iterating_on_one(call: Call, there: OnDevice, rates: Rates) -> float:
    """The time of all iterations on one GPU, as measured, or else as `gpu_iterating` expects it."""
    took = call.past.on_gpus(1)
    return gpu_iterating(call, there, rates) if took is None else took.iterating


def beyond_on_one(call: Call, rates: Rates) -> float:
    """The time of a call on one GPU beyond its iterations, as measured, or else as the rates let expect."""
    took = call.past.on_gpus(1)
    return rates.call + returning(call, rates) if took is None or took.beyond is None else took.beyond


def returning(call: Call, rates: Rates) -> float:
    """The time in which the first values, and the answer, are copied to the host."""
    return answered_bytes(call) / rates.answering


def answered_bytes(call: Call) -> float:
    """Bytes of first values and answers."""
    return call.vertices * (call.value_bytes + call.answer_bytes)


def gpu_iterating(call: Call, there: OnDevice, rates: Rates) -> float:
    """The time of all iterations on the GPU, once all that fits is in its memory, or that of the disk if longer."""
    working = gpu_steps(call) + call.gpu_work / rates.of("gpu", call.kind) + copied_bytes(call, there) / rates.link
    on_device = max(there.staying(call) - call.vertices * OFFSET_BYTES, 0.0)
    return max(working, reading_seconds(call, rates, on_device))


def copied_bytes(call: Call, there: OnDevice) -> float:
    """Bytes of edges that all iterations get from host memory, those that a push reads there as a multiple.

    Each pull of all edges copies those that are not in the GPU's memory. A push reads the lists of active vertices, and
    the link moves `Costs.link` / `Costs.far_rate` times as many bytes as a push reads in the same time.
    """
    passes, streamed = call.work / max(call.edges, 1), there.streamed(call)
    if call.in_place:
        return passes * streamed * IN_PLACE
    if not call.pushes or call.past.iterations is None:
        return passes * streamed
    has_out_edges = there.staying(call) >= call.whole_bytes
    far = 0.0 if has_out_edges else call.edges * call.out_edge_bytes if call.out_edge_bytes else streamed
    slower = COSTS.link / COSTS.far_rate(call.edges, call.vertices, call.encoding)
    return call.past.pulls * streamed + call.past.pushed * far * slower


def gpu_steps(call: Call) -> float:
    """The fixed time of all iterations on the GPU."""
    few = min(call.past.few, call.iterations) if call.chains else 0
    return few * GPU_FEW_STEP + (call.iterations - few) * GPU_STEP


def laid_out(call: Call, there: OnDevice) -> Call:
    """The call with edges as wide as the last one kept them on the GPU, packed or not."""
    return call if there.edge_bytes in (None, call.edge_bytes) else replace(call, edge_bytes=there.edge_bytes)


def choose(call: Call, there: OnDevice, rates: Rates, several: float = inf) -> Verdict:
    """Whether the call takes the GPU; on several GPUs the whole call would take `several` seconds.

    It does if the CPU would take longer, preparations included; the time that earlier calls have lost on the CPU counts
    as if this call lost it. It does not if it would lose even with everything prepared. Of a first search, only a part
    of the CPU's time counts (`UNKNOWN_SEARCH`).
    """
    call = laid_out(call, there)
    on_cpu, warm, preparing = cpu_seconds(call, rates), gpu_seconds(call, there, rates, several), 0.0
    on_gpu = on_cpu > warm
    if on_gpu:
        preparing = preparing_seconds(call, there, rates)
        is_unknown = preparing > 0 and call.kind in SEARCHES and call.past.iterations is None
        on_gpu = on_cpu * (UNKNOWN_SEARCH if is_unknown else 1.0) + call.past.lost >= preparing + warm
    cpu, gpu = f"{show_seconds(on_cpu)} on the CPU", f"{show_seconds(preparing + warm)} with the GPU"
    if preparing:
        gpu += f", {show_seconds(preparing)} of it to prepare"
    why = f"expected {gpu}; {cpu}" if on_gpu else f"expected {cpu}; {gpu}"
    if preparing and (on_gpu and on_cpu < preparing + warm):
        why += f"; calls on this graph have lost {show_seconds(call.past.lost)} on the CPU"
    return Verdict(on_gpu, why, call, there, rates)
