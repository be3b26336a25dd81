"""`run`: a vertex program over a graph. Plans, introduces the parts to each other, hands over to the dispatcher."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import events
from ..checkpoint.saver import Saver
from ..codec.arrays import PACKED
from ..codec.codecs import ENCODINGS
from ..dispatch.loop import Loop
from ..dispatch.policy import POLICIES
from ..dispatch.scheduler import Schedule
from ..errors import DeviceError, GraphError, ParameterError, ProgramError
from ..executor.cpu import CpuExecutor
from ..executor.gpu.device import find as find_device
from ..executor.gpu.executor import GpuExecutor
from ..executor.gpu.gather import AUTO, REPLICATED, SEGMENTED
from ..executor.gpu.settings import STREAMS, Settings, checked
from ..executor.hybrid import HybridExecutor
from ..executor.memory import check_tiles
from ..executor.modes import NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..executor.protocol import Executor
from ..executor.state import State
from ..graph import Graph
from ..graph.tiles import BITS
from ..native.threads import LONG_SPINS, SPINS, ThreadPool, available_cores, check_threads
from ..output.record import Record
from ..output.result import Result, Stats
from ..pages.layout import check_page_edges
from ..pages.passes import pass_bytes
from ..pages.provider import SourceFactory
from ..program import BoundProgram, VertexId, VertexProgram, bind
from ..system import interrupts
from ..system.watchdog import Heartbeat, Watchdog

log = logging.getLogger("garaph_py")

MODES = ("auto", PULL, NOTIFY_PULL, PUSH, PULL_TILED)
CPU_ONLY = (PUSH, PULL_TILED)
"""Modes that are not the paper's, and that the CPU alone has."""
HYBRID = "hybrid"
DEVICES = ("auto", "cpu", "gpu", HYBRID)
AS_IT_IS = "auto"
"""The encoding that the graph has."""
GATHERS = (AUTO, REPLICATED, SEGMENTED, PACKED)
SPARED = 2
"""Cores that a hybrid run leaves to the thread that serves the GPU and to the driver's, if there are more than twice as
many."""
ENGINES = tuple(POLICIES)
WORTH_A_GPU = 12_500_000
"""Edges for each thread of the CPU from which on the GPU's start, about half a second, is worth it: ten iterations at
a quarter of a billion edges a second and thread."""


def run(
    program: VertexProgram,
    graph: Graph,
    *,
    iterations: int | None = None,
    engine: str = "auto",
    mode: str = "auto",
    sync: bool | None = None,
    threads: int | None = None,
    page_edges: int | None = None,
    encoding: str = "auto",
    device: str = "auto",
    gpu_memory: int | str | None = None,
    streams: int = STREAMS,
    gather: str = "auto",
    replication: int | str = "custom",
    deterministic: bool = False,
    verify: bool = False,
    trace: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | str | None = None,
    resume: bool = False,
    on_event: events.Listener = events.ignore,
) -> Result:
    """Run a vertex program until no vertex is active, it has converged, or `iterations` are done.

    Parameters
    ----------
    program : VertexProgram
        From `garaph_py.apps`, or your own.
    graph : Graph
    iterations : int, optional
        Stop after so many; by default only convergence ends the run.
    engine : {"auto", "garaph"}
        Whose rules to follow: the paper's to the letter (Garaph sections 3.2 and 4.2), or whatever is best.
    mode : {"auto", "pull", "notify-pull", "push", "pull-tiled"}
        Force one mode in every iteration. ``"push"`` is for programs that relax (see `VertexProgram`), ``"pull-tiled"``
        for synchronous runs of programs without `done`, `prepare` and ``dst``: several times faster where many
        iterations update everybody, for 4 bytes an edge more (and the edge values once more, if the program reads
        them). The graph keeps the tiles; later runs use them of their own accord. Where edges stay on disk the tiles
        need room in the memory that the graph was opened with, and are this run's alone. Both run on the CPU.
    sync : bool, optional
        Synchronous: new values are seen in the next iteration, and the answer does not depend on timing. Otherwise
        at once, which often converges in fewer iterations; a program's `done` is then not used. By default
        synchronous, but for runs to the end of programs that are `monotone`: they end in the same values either way.
    threads : int, optional
        By default every core this process may use; where a GPU works as well, two are left to whoever serves it.
    page_edges : int, optional
        Bound on the in-edges of a page.
    encoding : {"auto", "raw", "packed"}
        How edges are stored while it runs: as `graph` has them, or as `Graph.unpacked` or `Graph.packed` makes them for
        this run. Packed edges are half the bytes for more work; the answer is the same.
    device : {"auto", "cpu", "gpu", "hybrid"}
        ``"hybrid"``: both work on one job where alpha (equation 3) is at least 1, each taking the next page when it is
        free, else the CPU alone, but for pages that the GPU has done sooner. ``"auto"`` does that where there is a GPU
        and the graph is worth its start (`WORTH_A_GPU` edges a thread); a `deterministic` run, or one in forced
        notify-pull, then takes the GPU alone. Otherwise it takes the CPU, and logs in one line why the GPU was of no
        use; ``"gpu"`` and ``"hybrid"`` raise that.
        A GPU that fails on the way costs no answer: the run ends on the CPU, from the last iteration that was complete.
    gpu_memory : int or str, optional
        Bytes of the GPU's memory to use, such as ``"6GiB"``: a smaller card is emulated. What does not fit is streamed.
        By default nine tenths of what is free. (What the driver takes for itself, some hundred MB, is not counted.)
    streams : int
        Pages that may be under way on the GPU (section 5.2).
    gather : {"auto", "replicated", "segmented", "packed"}
        How the GPU sums: by replicated accumulators in shared memory (section 3.2), by segmented reductions in
        registers, over edges as they are or packed. ``"auto"`` times the first two on the first page, and packs edges
        that do not fit the GPU's memory where that pays within the iterations there will be. A packed graph stays so.
    replication : {"custom", "calibrated"} or {1, 2, 4, 8, 16, 32}
        For ``"replicated"``: equation 2, measured on the device, or the same factor for every shard.
    deterministic : bool
        The same bits of floats in every run with the same arguments on the same device: synchronous, and segmented on
        a GPU.
    verify : bool
        Check the answer by the properties that define it, where the program has a verifier.
    trace : path, optional
        Write who did what when, a track for every CPU worker, stream and copy engine, to this file of JSON, which
        ui.perfetto.dev opens.
    report : path, optional
        Write a page of HTML to this file: the iterations as a table, curves, who worked when, and why each mode.
    checkpoint : path, optional
        Keep checkpoints in this directory while the run is under way (docs/checkpoints.md): it is made if need be, and
        removed when the answer is there. On Ctrl-C and SIGTERM the iteration is brought to its end, and a checkpoint
        made; a second Ctrl-C does not wait for that.
    checkpoint_every : int or str, optional
        Iterations, or a time such as ``"30s"``, ``"5min"`` or ``"1h"``. By default as often as it takes 2 % of the
        run's time.
    resume : bool
        Go on from the newest checkpoint in that directory, if there is one. `Result.stats` then has the iterations
        that are done here.
    on_event : callable, optional
        Receives `events.Step`, `events.Iteration` and `events.Checkpoint` records as they happen.

    Returns
    -------
    Result

    Raises
    ------
    ProgramError
        If the program is not well formed.
    GraphError, ParameterError
        If graph or arguments do not fit it.
    DeviceError
        If ``device="gpu"`` and no GPU can be used.
    VerificationError
        If `verify` finds the answer wrong.
    DamagedCheckpointError
        If there is a checkpoint to resume, and none that is as it was written.
    """
    if not isinstance(program, VertexProgram):
        hint = f"; write {program.__name__}(...)" if isinstance(program, type) else ""
        raise ParameterError(f"run takes an instance of a VertexProgram, not {program!r}{hint}")
    if not isinstance(graph, Graph):
        raise ParameterError(f"run takes a Graph, not {type(graph).__name__}; make one with read, open or from_edges")
    if verify:
        verifier_of(program)
    if iterations is not None and (isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 0):
        raise ParameterError(f"iterations={iterations!r}: give a whole number, 0 or more")
    for name, given, choices in (
        ("engine", engine, tuple(POLICIES)), ("mode", mode, MODES), ("device", device, DEVICES),
        ("gather", gather, GATHERS), ("encoding", encoding, (AS_IT_IS, *ENCODINGS)),
    ):  # fmt: skip
        if given not in choices:
            raise ParameterError(f"{name}={given!r}: choose from {', '.join(choices)}")
    if page_edges is not None:
        check_page_edges(page_edges)
    check_threads(threads)
    record = Record(trace, report)
    if deterministic and sync is False:
        raise ParameterError("deterministic=True needs a synchronous run; leave sync=False out")
    if deterministic and device == HYBRID:
        raise ParameterError("deterministic=True: who takes which page is a matter of time; leave device='hybrid' out")
    bound = bind(program, graph)
    stored = graph.encoding if encoding == AS_IT_IS else encoding
    settings = checked(bound, stored, engine, gpu_memory, streams, gather, replication, page_edges, deterministic)
    settings = replace(settings, iterations=iterations, threads=threads)
    policy = POLICIES[engine]
    if mode != "auto" and mode not in policy.modes:
        raise ParameterError(f"mode={mode!r} is not the paper's; leave engine={engine!r} out, or choose another mode")
    if mode == PUSH and not bound.is_relaxation:
        raise ParameterError(
            f"mode='push': {bound.name} cannot push, for that takes an idempotent sum (min, max, bitwise and, or) of "
            "one number a vertex, no apply, activate, prepare or aggregate of its own, and no dst in gather; choose "
            "another mode"
        )
    if mode in CPU_ONLY and bound.reads_edge_values and not graph.has_valued_out_edges:
        made = (
            "saved without; import it again, open it with" if graph.on_disk else "too much to make in its memory; allow"
        )
        raise ParameterError(
            f"mode={mode!r}: {bound.name} reads edge values, and those of this directed graph's out-edges were {made} "
            "more memory (memory, --memory), or choose another mode"
        )
    if device in ("gpu", HYBRID) and mode in CPU_ONLY:
        raise ParameterError(f"mode={mode!r} runs on the CPU, for the GPU only pulls; leave device={device!r} out")
    if sync is None:
        free = policy.chooses_asynchrony and iterations is None and bound.is_order_independent and not deterministic
        sync = mode == PULL_TILED or not free
    if mode == PULL_TILED and not (sync and bound.tiles):
        raise ParameterError(
            f"mode='pull-tiled' is for synchronous runs of programs without done, prepare and dst; {bound.name} is not "
            "one, or the run is asynchronous; choose another mode"
        )
    if mode == PULL_TILED:
        check_tiles(bound, graph)
    if stored != graph.encoding:
        graph = graph.packed(threads) if stored == PACKED else graph.unpacked(threads)
    cores = available_cores()
    needed = device in ("gpu", HYBRID)
    worth_it = mode not in CPU_ONLY and graph.m >= WORTH_A_GPU * (threads or cores)
    on_gpu = needed or (device == "auto" and worth_it)
    pulls = mode in ("auto", PULL)  # all that both do together
    together = device == HYBRID or (device == "auto" and worth_it and pulls and not deterministic and has_gpu())
    if together and threads is None and cores > 2 * SPARED:
        threads = cores - SPARED
    spins = LONG_SPINS if together else SPINS
    saver = None
    if checkpoint is not None:
        saver = Saver(checkpoint, checkpoint_every, resume, on_event)
    elif resume or checkpoint_every is not None:
        raise ParameterError("checkpoint=None: say in which directory the checkpoints are")
    with saver or contextlib.nullcontext():
        with interrupts.held(termination=saver is not None), Watchdog() as watchdog, ThreadPool(threads, spins) as pool:
            if saver is not None:
                saver.open(bound, graph, sync, iterations, pool)
            if record.spans is not None:
                pool.trace()
            tiles = sync and bound.tiles and suits_tiles(graph, bound.reads_edge_values, pool.size)
            turns = not graph.on_disk or mode == PUSH  # each iteration reads what it needs anew
            schedule = Schedule(policy, iterations, None if mode == "auto" else mode, tiles, graph.k, turns)
            with SourceFactory(graph, bound.reads_edge_values, record.spans) as sources:
                cpu = CpuExecutor(bound, graph, pool, on_event, policy.one_partition_per_thread)
                if verify:
                    sources.require(pass_bytes(graph))
                plan = Plan(sync, page_edges, bound.is_relaxation and schedule.pushes(cpu.modes), mode == PULL_TILED)
                run = Run(bound, graph, cpu, sources, schedule, plan, on_event, watchdog, record, saver)
                if not (on_gpu and run.on_gpu(settings, required=needed, together=together)):
                    run.on_cpu()
            stats = Stats(
                run.loop.done, run.converged, run.seconds, pool.size, run.device, run.note, graph.encoding,
                run.loop.before,
            )  # fmt: skip
        unreached = bound.identity() if bound.is_relaxation and "result" not in bound.arguments else None
        result = Result(run.values, graph.ids, stats, bound.name, vertex_results(program), unreached)
        facts = {"engine": engine, "mode": mode, "device": device, "synchronous": sync, "gpu_memory": settings.memory}
        record.write(result, graph, pool.spans(), facts | described(bound, graph) | {"threads": stats.threads})
        if verify:
            on_event(events.Step("verifying", 0, 0, "edges"))
            check(program, graph, result)
        if saver is not None:
            saver.finish()
    return result


def has_gpu() -> bool:
    """Whether there is a GPU that can be used."""
    with contextlib.suppress(DeviceError):
        find_device()
        return True
    return False


@dataclass(frozen=True)
class Plan:
    """What an executor is opened with (`executor.protocol.OpenPlan`)."""

    synchronous: bool
    page_edges: int | None
    pushes: bool
    is_tiled: bool


class Run:
    """One run, on one executor or, after a failure of the GPU, on one after the other.

    Attributes
    ----------
    loop : Loop
        The iterations that are done, and how many another run did, by the checkpoint that this one goes on from.
    values : ndarray
        The reported values, when it has ended.
    device : str
        ``"cpu"``, or the GPU's name.
    note : str or None
        Why the GPU was not used, not to the end, or with less than was asked for.
    """

    def __init__(
        self, bound: BoundProgram, graph: Graph, cpu: CpuExecutor, sources: SourceFactory, schedule: Schedule,
        plan: Plan, on_event: events.Listener, watchdog: Watchdog, record: Record, saver: Saver | None = None,
    ) -> None:  # fmt: skip
        self._bound, self._graph, self._cpu, self._plan, self._on_event = bound, graph, cpu, plan, on_event
        self._sources, self._spans, self._saver = sources, record.spans, saver
        self._heartbeat, self._watchdog = Heartbeat("dispatcher", ("starting",)), watchdog
        after = None if saver is None else saver.after
        self.loop = Loop(bound, graph.n, graph.m, schedule, record.began, on_event, self._heartbeat, after=after)
        self._watch()
        self.converged, self.seconds, self.device = False, 0.0, "cpu"
        self.note: str | None = None
        self.values: Any = None
        self._left: State | None = None  # by a GPU that failed
        self._ended = False  # no more iterations are wanted

    def on_gpu(self, settings: Settings, required: bool, together: bool) -> bool:
        """Run on the GPU, or `together` with the CPU; whether it came to the end there.

        Raises
        ------
        DeviceError
            If no run can begin there and it is `required`.
        """
        with contextlib.ExitStack() as stack:
            try:
                found = find_device()
                gpu = GpuExecutor(self._bound, self._graph, found, settings, self._cpu, self._on_event)
                stack.callback(gpu.close)
                gpu.spans = self._spans
                hybrid = HybridExecutor(self._bound, self._graph, self._cpu, [gpu]) if together else None
                executor = gpu if hybrid is None else hybrid
                state = self._begin(executor)
            except (DeviceError, ProgramError, GraphError) as error:  # the last: edges on disk want more memory for two
                if required:
                    raise
                self._tell(f"no GPU used: {error}")
                return False
            self._watch(gpu.streams.thread, *([] if hybrid is None else [hybrid.heartbeat]))
            self.device, self._left = found.name, state
            if gpu.residency.is_short:
                largest = max(page.edges for page in gpu.residency.pages)
                self._tell(
                    f"GPU memory is short: pages of {largest:,} edges at most, on {gpu.residency.streams} streams; "
                    "allow more with gpu_memory, or use fewer streams"
                )
            try:
                self._iterate(executor, state)
                self.values = executor.report(state)
                if hybrid is not None and hybrid.note is not None:
                    self.note, self.device = hybrid.note, "cpu"
            except DeviceError as error:
                self._tell(f"{found.name} failed after {len(self.loop.done)} iterations, the CPU goes on: {error}")
                return False
        return True

    def on_cpu(self) -> None:
        """Run on the CPU, from where the GPU left off if it did, with all of the memory that there is for edges."""
        self._watch()
        self.device = "cpu"
        state = self._begin(self._cpu, self._left)
        if not self._ended:
            self._iterate(self._cpu, state)
        self.values = self._cpu.report(state)

    def _begin(self, executor: Executor, left: State | None = None) -> State:
        """The initial state, that which another executor has `left`, or that of the checkpoint to resume."""
        state = executor.open(self._plan, self._sources, left)
        if left is None and self._saver is not None and (before := self._saver.restore(state, self._graph)):
            executor.load(state)
            self.loop.before = before
        return state

    def _iterate(self, executor: Executor, state: State) -> None:
        started = time.perf_counter()
        try:
            with contextlib.nullcontext() if self._saver is None else interrupts.patient():
                self.converged = self.loop.run(executor, state)
            self._ended = True
        finally:
            self.seconds += time.perf_counter() - started

    def _watch(self, *more: Heartbeat) -> None:
        """Let the watchdog report on the dispatcher, the CPU, disks and these."""
        self._watchdog.parts = [self._heartbeat, self._cpu.pool, *self._sources.disks, *more]

    def _tell(self, note: str) -> None:
        self.note = note
        log.warning("%s", note)


def described(bound: BoundProgram, graph: Graph) -> dict[str, Any]:
    """What a trace says about program and graph."""
    return {
        "program": bound.name,
        "vertices": graph.n,
        "edges": graph.m,
        "directed": graph.directed,
        "encoding": graph.encoding,
        "value_bytes": bound.value.itemsize,
        "edge_value_bytes": bound.edge.itemsize if bound.reads_edge_values and bound.edge is not None else 0,
        "everybody": bound.total is not None,
        "relaxes": bound.is_relaxation,
        "priority": "priority" in bound.arguments and not graph.on_disk,
        "pushes": graph.has_valued_out_edges or not bound.reads_edge_values,
    }


def suits_tiles(graph: Graph, weighted: bool, threads: int) -> bool:
    """Whether the graph has such tiles, and none of their blocks of destinations keeps one thread busy long after the
    others."""
    if not graph.has_tiles(weighted):
        return False
    largest = int(np.diff(np.append(graph.in_edges.offsets[: -1 : 1 << BITS], graph.m)).max())
    return largest * threads <= 1.5 * graph.m


def check(program: VertexProgram, graph: Graph, result: Result) -> None:
    """Run the program's property verifier.

    Raises
    ------
    VerificationError
        If the answer violates a property.
    ParameterError
        If the program has no verifier.
    """
    verifier_of(program)(graph, result)


def verifier_of(program: VertexProgram) -> Callable[[Graph, Result], None]:
    verify: Callable[[Graph, Result], None] | None = getattr(program, "verify", None)
    if verify is None:
        raise ParameterError(f"{type(program).__name__} has no verifier; run it without verify=True (--verify)")
    return verify


def vertex_results(program: VertexProgram) -> tuple[str, ...]:
    """Names of the reported fields that are vertices."""
    reports = program.reports
    if isinstance(reports, dict):
        return tuple(name for name, kind in reports.items() if kind == VertexId)
    return ("value",) if reports == VertexId else ()
