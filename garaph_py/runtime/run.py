"""`run`: a vertex program over a graph. It makes a plan, opens what that needs, iterates, and makes the result."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

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


# wide: users give every option of a run by its name.
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
        and the graph is worth its start (`plan.MIN_GPU_EDGES` edges a thread); a `deterministic` run, or one in forced
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
    """`run`, with its options in one object."""
    check_arguments(program, graph, options)
    record = Record(options.trace, options.report)
    bound = bind(program, graph)
    check_run_options(options, bound, graph)
    graph = encoded(graph, options)
    chosen = plan(bound, graph, options, Machine.here())
    with open_saver(options, on_event) as saver:
        with opened(bound, graph, options, chosen, record, saver) as parts:
            runner = Runner(bound, graph, chosen, parts, on_event)
            values = runner.run()
        result = result_of(bound, graph, values, runner.stats)
        record.write(result, graph, parts.pool.spans(), facts_of(bound, graph, options, chosen, result.stats.threads))
        if options.verify:
            on_event(events.Step("verifying", 0, 0, "edges"))
            check(program, graph, result)
        if saver is not None:
            saver.finish()
    return result


def check_arguments(program: VertexProgram, graph: Graph, options: RunOptions) -> None:
    """Refuse what is not a program or a graph, and to verify a program that has no verifier."""
    if not isinstance(program, VertexProgram):
        hint = f"; write {program.__name__}(...)" if isinstance(program, type) else ""
        raise ParameterError(f"run takes an instance of a VertexProgram, not {program!r}{hint}")
    if not isinstance(graph, Graph):
        raise ParameterError(f"run takes a Graph, not {type(graph).__name__}; make one with read, open or from_edges")
    if options.verify:
        verifier_of(program)


def encoded(graph: Graph, options: RunOptions) -> Graph:
    """The graph with its edges in the encoding of the run."""
    encoding = options.encoding_of(graph)
    if encoding == graph.encoding:
        return graph
    return graph.packed(options.threads) if encoding == PACKED else graph.unpacked(options.threads)


@contextlib.contextmanager
def open_saver(options: RunOptions, on_event: events.Listener) -> Iterator[Saver | None]:
    """The run's checkpoints, if it keeps some."""
    if options.checkpoint is None:
        yield None
        return
    with Saver(options.checkpoint, options.checkpoint_interval, options.resume, on_event) as saver:
        yield saver


@contextlib.contextmanager
def opened(
    bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, record: Record, saver: Saver | None
) -> Iterator[Opened]:
    """What the run needs while it iterates, opened. A checkpoint of another run is refused here."""
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
