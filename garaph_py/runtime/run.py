"""`run`: runs a vertex program over a graph: makes a plan, opens the resources, iterates, and makes the result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .. import events
from ..checkpoint.saver import Saver
from ..codec.arrays import PACKED
from ..errors import ParameterError
from ..executor.gpu.settings import STREAMS
from ..graph import Graph
from ..native.threads import ThreadPool
from ..output.record import Record
from ..output.result import Result
from ..pages.memory import check_verifying
from ..pages.provider import SourceFactory
from ..program import BoundProgram, VertexProgram, bind
from ..system import interrupts
from ..system.watchdog import Watchdog
from .options import RunOptions, check_run_options
from .plan import Machine, RunPlan, plan
from .result import facts_of, result_of
from .runner import Opened, Runner
from .verify import check, verifier_of


# wide: every option of a run is a keyword argument.
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
    """Run a vertex program until no vertex is active, the program has converged, or `iterations` are done.

    Parameters
    ----------
    program : VertexProgram
        From `garaph_py.apps`, or your own.
    graph : Graph
    iterations : int, optional
        Maximum number of iterations; by default only convergence ends the run.
    engine : {"auto", "garaph"}
        ``"garaph"`` follows the rules of the paper to the letter (Garaph sections 3.2 and 4.2), ``"auto"`` uses the
        rules that were fastest in measurements.
    mode : {"auto", "pull", "notify-pull", "push", "pull-tiled"}
        The mode of every iteration; ``"auto"`` chooses one for each. ``"push"`` is for programs that are relaxations
        (see `VertexProgram`). ``"pull-tiled"`` is for synchronous runs of programs without `done`, `prepare` and
        ``dst``: it is several times faster if many iterations update all vertices. Its tiles take 4 more bytes per
        edge, plus a copy of the edge values if the program reads them. The graph keeps the tiles, and later runs with
        ``"auto"`` use them. If the edges stay on disk, the tiles must fit in the memory that the graph was opened with,
        and are freed after the run. Push and pull-tiled run on the CPU only.
    sync : bool, optional
        True for a synchronous run: new values become visible in the next iteration, and the answer does not depend on
        timing. False for an asynchronous run: new values are visible at once, which often takes fewer iterations; the
        program's `done` is then not used. By default, a run is synchronous, unless it is a run to convergence of a
        program that is `monotone`, which ends in the same values either way.
    threads : int, optional
        Number of CPU threads; by default one for each core that this process may use, except that a hybrid run on more
        than four cores leaves two cores free, for the GPU thread and a thread of the driver.
    page_edges : int, optional
        Upper bound on the in-edges of a page.
    encoding : {"auto", "raw", "packed"}
        How edges are stored during the run: ``"auto"`` as in `graph`, otherwise as `Graph.unpacked` or `Graph.packed`
        makes them for this run. Packed edges take about half the bytes, and cost more work. The answer is the same.
    device : {"auto", "cpu", "gpu", "hybrid"}
        ``"hybrid"`` uses CPU and GPU. In iterations whose alpha (equation 3) is at least 1, both share the pages; in
        all others the CPU works alone, except for pages that the GPU finishes sooner.
        ``"auto"`` is ``"cpu"`` for graphs that are too small to be worth starting a GPU (fewer than
        `plan.MIN_GPU_EDGES` edges per thread) and for modes of the CPU only; ``"gpu"`` for `deterministic` runs and
        ``mode="notify-pull"``; otherwise ``"hybrid"``. If the GPU cannot be used, ``"auto"`` logs the reason and uses
        the CPU, while ``"gpu"`` and ``"hybrid"`` raise an error. If the GPU fails during the run, the CPU continues
        from the last complete iteration.
    gpu_memory : int or str, optional
        Bytes of the GPU's memory to use, such as ``"6GiB"``, to emulate a smaller GPU; by default nine tenths of the
        free memory. Pages that do not fit are streamed. The driver's own memory (some hundred MB) is not counted.
    streams : int
        Maximum number of pages in flight on the GPU (section 5.2).
    gather : {"auto", "replicated", "segmented", "packed"}
        How the GPU sums: ``"replicated"`` with replicated accumulators in shared memory (section 3.2),
        ``"segmented"`` with segmented reductions in registers, ``"packed"`` likewise over packed edges. ``"auto"``
        times the first two on the first page, and packs edges that do not fit in the GPU's memory if that saves time
        within the iterations of the run. The edges of a packed graph stay packed.
    replication : {"custom", "calibrated"} or {1, 2, 4, 8, 16, 32}
        Copies of each sum, for ``"replicated"``: by equation 2, by a measurement on the device, or this number for
        every shard.
    deterministic : bool
        Every run with the same arguments on the same device gives the same bits, also of floats. The run is
        synchronous, and a GPU sums with ``"segmented"``.
    verify : bool
        Check that the answer has the properties that define it; the program must have a verifier.
    trace : path, optional
        Write a timeline to this JSON file, with a track for each CPU thread, stream and copy engine; ui.perfetto.dev
        opens it.
    report : path, optional
        Write an HTML page to this file: a table of the iterations with the reason for each mode, curves, and a timeline
        of the processors.
    checkpoint : path, optional
        Keep checkpoints in this directory (docs/checkpoints.md), which is created if necessary. The last one holds the
        end of the run. They are removed by ``result.close()``, on leaving ``with run(...) as result:`` without an
        exception, and at the normal end of the process. After Ctrl-C or SIGTERM, the run completes the iteration and
        makes a checkpoint before it ends; a second Ctrl-C ends it at once.
    checkpoint_every : int or str, optional
        Interval between checkpoints: a number of iterations, or a time such as ``"30s"``, ``"5min"`` or ``"1h"``. By
        default, checkpoints take at most 2 % of the run's time.
    resume : bool
        Continue from the newest checkpoint in that directory, if there is one. `Result.stats` then covers the
        iterations of this run only.
    on_event : callable, optional
        Receives `events.Step`, `events.Iteration` and `events.Checkpoint` records as they happen.

    Returns
    -------
    Result

    Raises
    ------
    ProgramError
        If the program is invalid.
    GraphError, ParameterError
        If the graph or the arguments do not suit the program.
    DeviceError
        If ``device="gpu"`` or ``"hybrid"``, and no GPU can be used.
    VerificationError
        If `verify` finds the answer wrong.
    DamagedCheckpointError
        If all checkpoints from which the run could resume are damaged.
    """
    options = RunOptions(
        iterations=iterations, engine=engine, mode=mode, sync=sync, threads=threads, page_edges=page_edges,
        encoding=encoding, device=device, gpu_memory=gpu_memory, streams=streams, gather=gather,
        replication=replication, deterministic=deterministic, verify=verify, trace=trace, report=report,
        checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume,
    )  # fmt: skip
    return execute(program, graph, options, on_event)


def execute(
    program: VertexProgram,
    graph: Graph,
    options: RunOptions,
    on_event: events.Listener = events.ignore,
    request: Mapping[str, Any] | None = None,
) -> Result:
    """Like `run`, with the options in one object; checkpoints record the `request`, if a command made it."""
    check_arguments(program, graph, options)
    record = Record(options.trace, options.report)
    bound = bind(program, graph)
    check_run_options(options, bound, graph)
    graph = encoded(graph, options)
    chosen = plan(bound, graph, options, Machine.here())
    with open_saver(options, on_event, request) as saver:
        with opened(bound, graph, options, chosen, record, saver) as parts:
            runner = Runner(bound, graph, chosen, parts, on_event)
            values = runner.run()
        result = result_of(bound, graph, values, runner.stats)
        record.write(result, graph, parts.pool.spans(), facts_of(bound, graph, options, chosen, result.stats.threads))
        if options.verify:
            on_event(events.Step("verifying", 0, 0, "edges"))
            check(program, graph, result)
        return result if saver is None else replace(result, checkpoints=saver.finish())


def check_arguments(program: VertexProgram, graph: Graph, options: RunOptions) -> None:
    """Refuse arguments that are not a program or a graph, and `verify` for a program without a verifier."""
    if not isinstance(program, VertexProgram):
        hint = f"; write {program.__name__}(...)" if isinstance(program, type) else ""
        raise ParameterError(f"run takes an instance of a VertexProgram, not {program!r}{hint}")
    if not isinstance(graph, Graph):
        kind = f"{type(graph).__module__}.{type(graph).__name__}".removeprefix("builtins.")
        maker = "from_networkx" if kind.startswith("networkx.") else "read, open or from_edges"
        raise ParameterError(f"run takes a Graph, not {kind}; make one with {maker}")
    if options.verify:
        verifier_of(program)


def encoded(graph: Graph, options: RunOptions) -> Graph:
    """The graph, with its edges in the encoding of the run."""
    encoding = options.encoding_of(graph)
    if encoding == graph.encoding:
        return graph
    return graph.packed(options.threads) if encoding == PACKED else graph.unpacked(options.threads)


@contextlib.contextmanager
def open_saver(
    options: RunOptions, on_event: events.Listener, request: Mapping[str, Any] | None
) -> Iterator[Saver | None]:
    """Open the run's `Saver`; None if it keeps no checkpoints."""
    if options.checkpoint is None:
        yield None
        return
    with Saver(options.checkpoint, options.checkpoint_interval, options.resume, on_event, request) as saver:
        yield saver


@contextlib.contextmanager
def opened(
    bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, record: Record, saver: Saver | None
) -> Iterator[Opened]:
    """Open the resources that the run needs while it iterates; refuse a checkpoint of another run."""
    with (
        interrupts.deferred(termination=saver is not None),
        Watchdog() as watchdog,
        ThreadPool(chosen.threads, chosen.spins) as pool,
    ):
        if saver is not None:
            saver.open(bound, graph, chosen.synchronous, options.iterations, pool)
        if record.spans is not None:
            pool.trace()
        with SourceFactory(graph, bound.reads_edge_values, record.spans) as sources:
            if options.verify:
                check_verifying(graph, bound.reads_edge_values)
            yield Opened(pool, sources, watchdog, record, saver)
