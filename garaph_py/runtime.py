"""`run`: a vertex program over a graph. Plans, introduces the parts to each other, hands over to the dispatcher."""

from __future__ import annotations

import logging
import time

import numpy as np

from . import events
from .cpu import CpuKernel
from .dispatch.loop import Limits, iterate
from .errors import ParameterError
from .graph import Graph
from .graph.tiles import BITS
from .kernel import NOTIFY_PULL, PULL, PULL_TILED, PUSH
from .pages.memory import MemorySource
from .program import VertexId, VertexProgram, bind
from .result import Result, Stats
from .threads import Team

log = logging.getLogger("garaph_py")

ENGINES = ("auto", "garaph")
MODES = ("auto", PULL, NOTIFY_PULL, PUSH, PULL_TILED)


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
    verify: bool = False,
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
        Whose rules to follow: the paper's to the letter (Garaph section 4.2), or whatever is best.
    mode : {"auto", "pull", "notify-pull", "push", "pull-tiled"}
        Force one mode in every iteration. ``"push"`` is for programs that relax (see `VertexProgram`),
        ``"pull-tiled"`` for synchronous runs of programs without `done`, `prepare` and ``dst``: several times faster
        where many iterations update everybody, for 4 bytes an edge more (and the edge values once more, if the
        program reads them). The graph keeps the tiles; later runs use them of their own accord.
    sync : bool, optional
        Synchronous: new values are seen in the next iteration, and the answer does not depend on timing. Otherwise
        at once, which often converges in fewer iterations; a program's `done` is then not used. By default
        synchronous, but for runs to the end of programs that are `monotone`: they end in the same values either way.
    threads : int, optional
        By default every core this process may use.
    page_edges : int, optional
        Bound on the in-edges of a page.
    verify : bool
        Check the answer by the properties that define it, where the program has a verifier.
    on_event : callable, optional
        Receives `events.Step` and `events.Iteration` records as they happen.

    Returns
    -------
    Result

    Raises
    ------
    ProgramError
        If the program is not well formed.
    GraphError, ParameterError
        If graph or arguments do not fit it.
    VerificationError
        If `verify` finds the answer wrong.
    """
    if not isinstance(program, VertexProgram):
        hint = f"; write {program.__name__}(...)" if isinstance(program, type) else ""
        raise ParameterError(f"run takes an instance of a VertexProgram, not {program!r}{hint}")
    if not isinstance(graph, Graph):
        raise ParameterError(f"run takes a Graph, not {type(graph).__name__}; make one with read, open or from_edges")
    if iterations is not None and (isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 0):
        raise ParameterError(f"iterations={iterations!r}: give a whole number, 0 or more")
    if engine not in ENGINES:
        raise ParameterError(f"engine={engine!r}: choose from {', '.join(ENGINES)}")
    if mode not in MODES:
        raise ParameterError(f"mode={mode!r}: choose from {', '.join(MODES)}")
    bound = bind(program, graph)
    if engine == "garaph" and mode in (PUSH, PULL_TILED):
        raise ParameterError(f"mode={mode!r} is not the paper's; leave engine='garaph' out, or choose another mode")
    if mode == PUSH and not bound.relaxes:
        raise ParameterError(
            f"mode='push': {bound.name} cannot push, for that takes an idempotent sum (min, max, bitwise and, or) of "
            "one number a vertex, no apply, activate, prepare or aggregate of its own, and no dst in gather; choose "
            "another mode"
        )
    if sync is None:
        sync = mode == PULL_TILED or not (engine == "auto" and iterations is None and bound.order_is_free)
    if mode == PULL_TILED and not (sync and bound.tiles):
        raise ParameterError(
            f"mode='pull-tiled' is for synchronous runs of programs without done, prepare and dst; {bound.name} is not "
            "one, or the run is asynchronous; choose another mode"
        )
    with Team(threads) as team:
        kernel = CpuKernel(bound, graph, team, on_event, to_the_letter=engine == "garaph")
        state = kernel.initialize(sync)
        log.info("%s on %r: %d threads", bound.name, graph, team.size)
        started = time.perf_counter()
        tiles = sync and bound.tiles and suits_tiles(graph, bound.reads_edge_values, team.size)
        limits = Limits(iterations, engine, None if mode == "auto" else mode, tiles)
        source = MemorySource(graph, page_edges)
        outcome = iterate(kernel, source, bound, state, limits, graph.n, graph.m, on_event)
        seconds = time.perf_counter() - started
        values = kernel.report(outcome.state)
        stats = Stats(outcome.iterations, outcome.converged, seconds, team.size)
    result = Result(values, graph.ids, stats, bound.name, vertex_results(program))
    if verify:
        check(program, graph, result)
    return result


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
    if type(program).verify is None:
        raise ParameterError(f"{type(program).__name__} has no verifier; run it without --verify")
    program.verify(graph, result)


def vertex_results(program: VertexProgram) -> tuple[str, ...]:
    """Names of the reported fields that are vertices."""
    reports = program.reports
    if isinstance(reports, dict):
        return tuple(name for name, kind in reports.items() if kind == VertexId)
    return ("value",) if reports == VertexId else ()
