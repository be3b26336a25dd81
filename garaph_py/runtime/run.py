"""`run`: a vertex program over a graph. Plans, introduces the parts to each other, hands over to the dispatcher."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from typing import Any

from .. import events
from ..checkpoint.saver import Saver
from ..dispatch.loop import Limits, iterate
from ..errors import DeviceError, GraphError, ParameterError, ProgramError
from ..executor.cpu import CpuExecutor
from ..executor.gpu import device as gpu_device
from ..executor.gpu.executor import GpuExecutor
from ..executor.gpu.settings import Settings
from ..executor.hybrid import HybridExecutor
from ..executor.memory import MemoryPlan
from ..executor.modes import CPU
from ..executor.plan import HYBRID, STREAMS
from ..executor.protocol import Executor
from ..executor.state import State
from ..graph import Graph
from ..graph.graph import PACKED
from ..native.threads import ThreadPool
from ..output.record import Record
from ..output.result import Result, Stats
from ..pages.memory import check_verifying, few_edges
from ..pages.provider import SourceFactory
from ..pages.source import PageSource
from ..program import BoundProgram, VertexId, VertexProgram, bind
from ..system import interrupts
from ..system.watchdog import Heartbeat, Watchdog
from .options import GARAPH, RunOptions, check_run_options
from .plan import Machine, plan

log = logging.getLogger("garaph_py")


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
        and the graph is worth its start (`MIN_GPU_EDGES` edges a thread); a `deterministic` run, or one in forced
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
    options = RunOptions(
        iterations=iterations, engine=engine, mode=mode, sync=sync, threads=threads, page_edges=page_edges,
        encoding=encoding, device=device, gpu_memory=gpu_memory, streams=streams, gather=gather,
        replication=replication, deterministic=deterministic, verify=verify, trace=trace, report=report,
        checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume,
    )  # fmt: skip
    return execute(program, graph, options, on_event)


def execute(
    program: VertexProgram, graph: Graph, options: RunOptions, on_event: events.Listener = events.ignore
) -> Result:
    """`run` with its options in one object."""
    if not isinstance(program, VertexProgram):
        hint = f"; write {program.__name__}(...)" if isinstance(program, type) else ""
        raise ParameterError(f"run takes an instance of a VertexProgram, not {program!r}{hint}")
    if not isinstance(graph, Graph):
        raise ParameterError(f"run takes a Graph, not {type(graph).__name__}; make one with read, open or from_edges")
    if options.verify:
        verifier_of(program)
    record = Record(options.trace, options.report)
    bound = bind(program, graph)
    check_run_options(options, bound, graph)
    if options.encoding_of(graph) != graph.encoding:
        packs = options.encoding == PACKED
        graph = graph.packed(options.threads) if packs else graph.unpacked(options.threads)
    chosen = plan(bound, graph, options, Machine.here())
    sync, threads, engine = chosen.synchronous, chosen.threads, options.engine
    settings = Settings(
        chosen.gpu_memory, chosen.streams, chosen.gather, chosen.replication, chosen.page_edges,
        chosen.deterministic, chosen.schedule.iterations, chosen.packing_threads,
    )  # fmt: skip
    saver = None
    if options.checkpoint is not None:
        saver = Saver(options.checkpoint, options.checkpoint_interval, options.resume, on_event)
    with saver or contextlib.nullcontext():
        with (
            interrupts.held(termination=saver is not None),
            Watchdog() as watchdog,
            ThreadPool(threads, chosen.spins) as pool,
        ):
            if saver is not None:
                saver.open(bound, graph, sync, options.iterations, pool)
            if record.spans is not None:
                pool.trace()
            known = chosen.schedule
            limits = Limits(known.iterations, known.engine, known.mode, known.tiles, record.began, known.k, known.waits)
            with SourceFactory(graph, bound.reads_edge_values, record.spans) as sources:
                cpu = CpuExecutor(bound, graph, pool, on_event, engine == GARAPH)
                if options.verify:
                    check_verifying(graph, bound.reads_edge_values)
                run = Run(
                    bound, graph, cpu, sources, limits, on_event, watchdog, record.spans, saver, memory=chosen.memory
                )
                together = chosen.executor == HYBRID
                on_gpu = chosen.executor != CPU and run.on_gpu(settings, sync, chosen.needs_gpu, together)
                if not on_gpu:
                    run.on_cpu(sync, options.page_edges)
            stats = Stats(
                run.done, run.converged, run.seconds, pool.size, run.device, run.note, graph.encoding, run.before
            )
        unreached = bound.identity() if bound.is_relaxation and "result" not in bound.arguments else None
        result = Result(run.values, graph.ids, stats, bound.name, vertex_results(program), unreached)
        facts = {
            "engine": engine, "mode": options.mode, "device": options.device, "synchronous": sync,
            "gpu_memory": options.gpu_bytes,
        }  # fmt: skip
        record.write(result, graph, pool.spans(), facts | described(bound, graph) | {"threads": stats.threads})
        if options.verify:
            on_event(events.Step("verifying", 0, 0, "edges"))
            check(program, graph, result)
        if saver is not None:
            saver.finish()
    return result


class Run:
    """One run, on one processor or, after a failure of the GPU, on one after the other.

    Attributes
    ----------
    done : list of Iteration
    values : ndarray
        The reported values, when it has ended.
    device : str
        ``"cpu"``, or the GPU's name.
    note : str or None
        Why the GPU was not used, not to the end, or with less than was asked for.
    before : int
        Iterations that another run did, by the checkpoint that this one goes on from.
    """

    def __init__(
        self, bound: BoundProgram, graph: Graph, cpu: CpuExecutor, sources: SourceFactory, limits: Limits,
        on_event: events.Listener, watchdog: Watchdog, spans: list[events.Span] | None = None,
        saver: Saver | None = None, *, memory: MemoryPlan,
    ) -> None:  # fmt: skip
        self._bound, self._graph, self._cpu, self._limits, self._on_event = bound, graph, cpu, limits, on_event
        self._sources, self._spans, self._saver, self.before = sources, spans, saver, 0
        self._memory = memory
        self._part, self._watchdog = Heartbeat("dispatcher", ("starting",)), watchdog
        self._watch()
        self.done: list[events.Iteration] = []
        self.converged, self.seconds, self.device = False, 0.0, "cpu"
        self.note: str | None = None
        self.values: Any = None
        self._left: State | None = None  # by a GPU that failed
        self._ended = False  # no more iterations are wanted

    def on_gpu(self, settings: Settings, synchronous: bool, required: bool, together: bool) -> bool:
        """Run on the GPU, or `together` with the CPU; whether it came to the end there.

        Raises
        ------
        DeviceError
            If no run can begin there and it is `required`.
        """
        with contextlib.ExitStack() as stack:
            try:
                found = gpu_device.find()
                self._sources.divide(self._memory.shared if together else self._memory.gpu)
                self._cpu.out_source = self._sources.out(None)
                self._cpu.start()
                kernel = stack.enter_context(
                    GpuExecutor(
                        self._bound, self._graph, found, settings, self._cpu.notify, self._on_event, self._sources
                    )
                )
                kernel.spans = self._spans
                worker = self._together(kernel) if together else kernel
                state = self._begin(worker, synchronous)
            except (DeviceError, ProgramError, GraphError) as error:  # the last: edges on disk want more memory for two
                if required:
                    raise
                self._tell(f"no GPU used: {error}")
                return False
            self._watch(kernel.streams.thread, *([worker.part] if isinstance(worker, HybridExecutor) else []))
            self.device, self._left = found.name, state
            if kernel.residency.is_short:
                largest = max(page.edges for page in kernel.residency.pages)
                self._tell(
                    f"GPU memory is short: pages of {largest:,} edges at most, on {kernel.residency.streams} streams; "
                    "allow more with gpu_memory, or use fewer streams"
                )
            try:
                self._iterate(worker, kernel.source, state)
                self.values = worker.report(state)
                if isinstance(worker, HybridExecutor) and worker.note is not None:
                    self.note, self.device = worker.note, "cpu"
            except DeviceError as error:
                self._tell(f"{found.name} failed after {len(self.done)} iterations, the CPU goes on: {error}")
                return False
        return True

    def _together(self, gpu: GpuExecutor) -> HybridExecutor:
        """Both processors as one kernel."""
        threads, reactive = self._cpu.pool.size, self._limits.engine == "garaph"
        return HybridExecutor(self._cpu, gpu, lambda: self._sources.beside(gpu.source), threads, reactive)

    def on_cpu(self, synchronous: bool, page_edges: int | None) -> None:
        """Run on the CPU, from where the GPU left off if it did, with all of the memory that there is for edges."""
        self._watch()
        self.device = "cpu"
        sources = self._sources
        sources.divide(self._memory.cpu)
        if self._memory.cpu.tiles:
            most = few_edges(sources.room)
            source = self._cpu.out_source = sources.out(None, min(page_edges or most, most))
        else:
            source = sources.into(page_edges)
            self._cpu.out_source = sources.out(source)
        state = self._left
        if state is None:
            state = self._begin(self._cpu, synchronous)
        else:
            self._cpu.adopt(state)
        if not self._ended:
            self._iterate(self._cpu, source, state)
        self.values = self._cpu.report(state)

    def _begin(self, kernel: Executor, synchronous: bool) -> State:
        """The initial state, or that of the checkpoint to resume."""
        state = kernel.initialize(synchronous)
        if self._saver is not None and (before := self._saver.restore(state, self._graph)):
            kernel.adopt(state)
            self.before = before
        return state

    def _iterate(self, kernel: Executor, source: PageSource, state: State) -> None:
        started, saver = time.perf_counter(), self._saver
        try:
            with contextlib.nullcontext() if saver is None else interrupts.patient():
                outcome = iterate(
                    kernel, source, self._bound, state, self._limits, self._graph.n, self._graph.m, self._on_event,
                    self._part, self.done, self.before, None if saver is None else saver.after,
                )  # fmt: skip
            self.converged, self._ended = outcome.converged, True
        finally:
            self.seconds += time.perf_counter() - started

    def _watch(self, *more: Heartbeat) -> None:
        """Let the watchdog report on the dispatcher, the CPU, disks and these."""
        self._watchdog.parts = [self._part, self._cpu.pool, *self._sources.disks, *more]

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
