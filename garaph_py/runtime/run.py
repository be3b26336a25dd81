"""`run`: runs a vertex program over a graph: checks arguments, binds the program, and has the run carried out."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from types import NoneType
from typing import Any

from .. import events
from ..errors import ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.record import Record
from ..output.result import Result
from ..program import VertexProgram, bind, oriented
from ..program.narrow import ValuesTooWide, may_narrow, narrowed, remember_wide
from ..program.orientation import gathers_both_ways
from ..system.arguments import check_listener, explained
from .carry_out import carry_out, encoded
from .debug import interpret
from .directions import run_directions
from .options import Options, RunOptions, check_run_options
from .result import result_of
from .verify import verifier_of

OF_OPTIONS = {field.name: f"write options=gp.Options({field.name}=...)" for field in fields(Options)}
"""Advice for arguments of `Options` that are given to `run`."""
DEFAULTS = Options()
ON_CLUSTER = "garaph_py.cluster.run"
"""The module that runs programs on a cluster. It is of a layer above, and needs Dask, which is an extra."""


@partial(explained, elsewhere=OF_OPTIONS)
# wide: the options that many runs need.
def run(
    program: VertexProgram,
    graph: Graph,
    *,
    iterations: int | None = None,
    device: str = "auto",
    gpus: int | str | Sequence[int] | None = None,
    threads: int | None = None,
    verify: bool = False,
    debug: bool = False,
    report: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    cluster: Any = None,
    options: Options | None = None,
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
    device : {"auto", "cpu", "gpu", "hybrid"}
        ``"hybrid"`` needs a GPU, and lets the CPU help where this is expected to pay. If it is not, which `Stats.why`
        says, the run is as with ``"gpu"``, or as with ``"cpu"`` if the CPU is faster and pushes deltas. Otherwise, in
        iterations whose alpha (equation 3) is at least 1, both share the pages; in all others the CPU works alone,
        except for pages that the GPU finishes sooner. With an `engine` other than ``"auto"``, its rules alone decide
        who works. ``"auto"`` is ``"cpu"``, ``"gpu"`` (if the GPU needs no help) or ``"hybrid"``, whichever is expected
        to answer first, including the time to prepare the GPU; `Stats.why` has the expected times. It also takes the
        GPU once calls on the graph have lost as much time on the CPU as it takes to put the graph on the GPU. Sums of
        floats may differ in their last bits between the devices; with `deterministic`, the choice depends on the
        program, the graph and the number of threads only. If no GPU can be used, ``"auto"`` uses the CPU, and logs the
        reason if there is a driver, while ``"gpu"`` and ``"hybrid"`` raise an error. If the GPU fails during the run,
        the CPU goes on from a copy of the GPU's state, which the run makes every 250 ms of work, or begins again.
    gpus : int, "all" or sequence of int, optional
        How many GPUs, or which, by the driver's numbers from 0. Several GPUs divide the vertices: each has the edges of
        its part in its memory, and sends new values to the others. ``device="gpu"`` uses all GPUs given here; by
        default the first. ``"auto"`` and ``"hybrid"`` use as many of them as are expected to be fastest, which for
        components, small graphs, and searches in undirected graphs is one; `Stats.why` says so. If one fails, the
        others go on. Only one GPU can use edges on disk: ``"auto"`` and ``"hybrid"`` then take one.
    threads : int, optional
        Number of CPU threads; by default one for each core that this process may use. But a hybrid run on more than
        four cores leaves two cores free, for the GPU thread and a thread of the driver, and a run on the CPU that reads
        at least half of the edges from disk, on eight cores or more, leaves a quarter to threads that read and check.
    verify : bool
        Check that the answer has the properties that define it; the program must have a verifier.
    debug : bool
        Run the program in plain Python over a small graph (some 20,000 edges per second), without a compiler. The run
        ends at the first integer overflow, division by 0, NaN, infinity out of finite numbers, or number that does not
        fit its type; the error names the function and its line, the vertex or edge, the iteration, and the arguments.
        Functions may contain what cannot be compiled, such as ``print(src, edge)``. The run is synchronous and pulls.
        See "Debugging a vertex program" in the documentation.
    report : path, optional
        Write an HTML page to this file: a table of the iterations with the reason for each mode, curves, and a timeline
        of the processors.
    checkpoint : path, optional
        Keep checkpoints in this directory, which is created if necessary (see "Checkpoints" in the documentation). The
        last one holds the end of the run. They are removed by ``result.close()``, on leaving ``with run(...) as
        result:`` without an exception, and at the normal end of the process. After Ctrl-C or SIGTERM, the run completes
        the iteration and makes a checkpoint before it ends; a second Ctrl-C ends it at once.
    resume : bool
        Continue from the newest checkpoint in that directory, if there is one. `Result.stats` then covers the
        iterations of this run only.
    cluster : distributed.Client or str, optional
        Run on the workers of a Dask cluster: a client, the address of a scheduler, or ``"local:4"`` for four workers on
        this machine. Needs the extra `dask`; see "On a cluster" in the documentation.
    options : Options, optional
        Everything else that can be chosen: ``options=gp.Options(mode="push", sync=True)``.
    on_event : callable, optional
        Receives `events.Step`, `events.Iteration` and `events.Checkpoint` records as they happen; of short iterations
        that are done in one step, together. A run that holds 64-bit values as 32 bits begins again once a value does
        not fit (see "Programs" in the decisions); it then reports its iterations twice.

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
    NumberError
        If values become NaN or infinite that were not so at the start (see `Options.check`); with `debug`, at the first
        wrong number.
    VerificationError
        If `verify` finds the answer wrong.
    DamagedCheckpointError
        If all checkpoints from which the run could resume are damaged.
    ClusterError
        If the cluster cannot carry out the run, or no worker is left.
    """
    chosen = joined(
        options, iterations=iterations, device=device, gpus=gpus, threads=threads, verify=verify, debug=debug,
        report=report, checkpoint=checkpoint, resume=resume,
    )  # fmt: skip
    check_listener(on_event)
    return execute(program, graph, chosen, on_event, cluster=cluster)


def joined(options: Options | None, **given: Any) -> RunOptions:
    """The options of a run: those that were `given` by themselves, and the others.

    Raises
    ------
    ParameterError
        If `options` is something else, or an option has no such value.
    """
    if not isinstance(options, (Options, NoneType)) or isinstance(options, RunOptions):
        raise ParameterError(f"options={options!r}: write options=gp.Options(...)")
    if options is None:
        try:
            return usual(**given)
        except TypeError:  # an argument, such as a list, that cannot be looked up
            options = DEFAULTS
    return RunOptions(**given, **{name: getattr(options, name) for name in OF_OPTIONS})


@lru_cache(64, typed=True)  # True is no number of iterations, though it equals one
def usual(**given: Any) -> RunOptions:
    """The options of a run without `Options`: kept, because checking them takes as long as a search in a tiny graph."""
    return RunOptions(**given)


def execute(
    program: VertexProgram,
    graph: Graph,
    options: RunOptions,
    on_event: events.Listener = events.ignore,
    request: Mapping[str, Any] | None = None,
    cluster: Any = None,
) -> Result:
    """Like `run`, with the options in one object; checkpoints record the `request`, if a command made it."""
    check_arguments(program, graph, options)
    if cluster is not None:
        result: Result = importlib.import_module(ON_CLUSTER).run(program, graph, options, cluster, on_event, request)
        return result
    if gathers_both_ways(program):
        return run_directions(program, graph, options, on_event)
    Record(options.trace, options.report)  # refuses files that cannot be written
    graph = oriented(program, graph)
    bound = bind(program, graph, compiled=not options.debug, fetches=options.debug)
    if options.debug:
        result = result_of(bound, graph.ids, *interpret(bound, graph, options, on_event))
        if options.verify:
            verifier_of(program)(graph, result)
        return result
    check_run_options(options, bound, graph)
    given, graph = graph, encoded(graph, options)
    if ends_by_itself(options) and may_narrow(bound, given):
        try:
            return carry_out(narrowed(bound), graph, options, on_event, request)
        except ValuesTooWide:
            remember_wide(bound, given)
    return carry_out(bound, graph, options, on_event, request)


def ends_by_itself(options: RunOptions) -> bool:
    """Whether the run ends when no vertex is active, and leaves no state for another run."""
    return options.iterations is None and options.checkpoint is None


def check_arguments(program: VertexProgram, graph: Graph, options: RunOptions) -> None:
    """Refuse arguments that are not a program or a graph, and `verify` for a program without a verifier."""
    if isinstance(program, Graph):
        raise ParameterError("run takes the program first, then the graph; write run(program, graph)")
    check_program(program, "run")
    check_graph(graph, "run")
    if options.verify:
        verifier_of(program)


def check_program(program: object, function: str) -> None:
    """Refuse what is no program, in a call of `function`."""
    if not isinstance(program, VertexProgram):
        raise ParameterError(f"{function} takes an instance of a VertexProgram, not {refused(program)}")


def refused(program: object) -> str:
    """What was given as a program, for a message that refuses it, and what to write if it is nearly one."""
    from .. import apps

    kind = program if isinstance(program, type) else type(program)
    if isinstance(program, type) and issubclass(program, VertexProgram):
        return f"the class {kind.__name__}; write {kind.__name__}(...)"
    if isinstance(program, str):
        library = {name.lower(): name for name in apps.__all__}
        name = library.get(program.lower())
        return f"{program!r}; " + (f"write gp.apps.{name}(...)" if name else "gp.apps has the programs of the library")
    if kind.__module__ == "builtins":
        return repr(program)
    what = "the class" if kind is program else "an object of class"
    return f"{what} {kind.__name__}; write class {kind.__name__}(gp.VertexProgram)"
