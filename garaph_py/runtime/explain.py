"""`plan`: says before a run which edges stay in memory, what an iteration reads at most, and how long it may take.

It makes the same decisions as the run: `runtime.plan` chooses the processors and divides the memory, and
`pages.disk_layout` cuts the pages. No edges are read from disk, and nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..errors import ParameterError
from ..executor.modes import COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..graph import Graph
from ..native.threads import available_cores
from ..pages.disk_layout import DiskLayout
from ..pages.memory import EdgeMemory, check_verifying, tile_page_edges
from ..program import BoundProgram, VertexProgram, bind, oriented
from ..program.narrow import may_narrow, narrowed
from ..storage.reader import ArrayReader
from ..system.arguments import explained
from ..system.sizes import show_bytes, show_seconds
from .carry_out import encoded, planned
from .machine import Machine
from .options import HYBRID, Options, RunOptions, check_run_options
from .past import Past
from .plan import RunPlan, there_of
from .reckoning import (
    Call,
    OnDevice,
    Rates,
    call_of,
    cpu_seconds,
    gpu_seconds,
    must_reverse,
    preparing_seconds,
)
from .run import OF_OPTIONS, check_arguments, ends_by_itself, joined
from .several import several_seconds

ON = {CPU: "the CPU", GPU: "the GPU", HYBRID: "CPU and GPU"}
"""What computes, in words."""


@dataclass(frozen=True)
class PlannedEdges:
    """Edges on disk, as a run will read them.

    Attributes
    ----------
    name : str
        ``"in-edges"``, ``"out-edges"`` or, where a run reads the same edges for both, ``"edges"``.
    nbytes : int
        Bytes on disk, with edge values if the program reads them.
    first_bytes : int
        Bytes that a first pass over the edges reads: a block that a page which stays shares with one that does not is
        read twice.
    pages, staying : int
        Number of pages, and of those that stay in memory once they have been read.
    later_bytes : int
        Bytes of the other pages: what a pass over the edges reads after the first one.
    """

    name: str
    nbytes: int
    first_bytes: int
    pages: int
    staying: int
    later_bytes: int


@dataclass(frozen=True)
class PlannedReads:
    """What an iteration of one mode reads from disk at most.

    Attributes
    ----------
    mode : str
    first_bytes : int
        Bytes as long as the pages that stay have not been read as a whole.
    later_bytes : int
        Bytes from then on.
    """

    mode: str
    first_bytes: int
    later_bytes: int


@dataclass(frozen=True)
class Plan:
    """What a run will do, as far as that is known before it begins; ``print(plan)`` shows it.

    Attributes
    ----------
    program : str
    vertices, edges : int
        Size of the graph; an undirected edge is stored twice, and counts as two.
    device : {"cpu", "gpu", "hybrid"}
    why : str or None
        Why ``device="auto"`` or ``"hybrid"`` takes it.
    threads : int
        Threads of the CPU.
    encoding : {"raw", "packed"}
    memory : int or None
        Bytes that graph and run may take; None if they are not limited.
    vertex_bytes : int
        Bytes of memory for vertices and for what the run needs beside edges; with edges in memory, also of the graph.
    on_disk : tuple of PlannedEdges
        Empty if the edges are in memory.
    gpu_bytes, streamed_bytes : int
        Bytes of the graph that stay in the GPU's memory, and bytes that each pass over the edges copies to it.
    reads : tuple of PlannedReads
        What an iteration reads from disk at most, for each mode that the run may choose. Empty if the edges are in
        memory.
    first_read, later_read : int
        The most of these bytes, over all modes. No iteration reads more.
    iterations : int
        How many are expected: the limit, or as many as the last such run had, or as is usual.
    seconds : float
        Expected time of the run, without compiling.
    gpus : int
        How many GPUs divide the graph; 0 if the run uses none.
    """

    program: str
    vertices: int
    edges: int
    device: str
    why: str | None
    threads: int
    encoding: str
    memory: int | None
    vertex_bytes: int
    on_disk: tuple[PlannedEdges, ...]
    gpu_bytes: int
    streamed_bytes: int
    reads: tuple[PlannedReads, ...]
    first_read: int
    later_read: int
    iterations: int
    seconds: float
    gpus: int

    def __str__(self) -> str:
        return "\n".join(lines(self))


@partial(explained, elsewhere=OF_OPTIONS)
def plan(
    program: VertexProgram,
    graph: Graph,
    *,
    iterations: int | None = None,
    device: str = "auto",
    gpus: int | str | Sequence[int] | None = None,
    threads: int | None = None,
    options: Options | None = None,
) -> Plan:
    """Say what `run` will do with these arguments: what stays where, what is read, and how long it may take.

    The expected time is computed from the rates of earlier runs on this machine or, before there are any, from those of
    another machine. ``device="auto"`` may decide differently once more calls have been measured.

    Parameters
    ----------
    program : VertexProgram
    graph : Graph
    iterations, device, gpus, threads, options
        As for `run`.

    Returns
    -------
    Plan

    Raises
    ------
    ProgramError, GraphError, ParameterError
        As for `run`, for instance if the memory is too little.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    >>> print(gp.plan(gp.apps.PageRank(), graph, iterations=10, device="cpu", threads=2))
    PageRank over 3 vertices and 3 stored edges: on the CPU, 2 threads
      memory        ... B for graph and run
      edges         raw, in memory
      expected      10 iterations in ...
    """
    return explain(program, graph, joined(options, iterations=iterations, device=device, gpus=gpus, threads=threads))


def explain(program: VertexProgram, graph: Graph, options: RunOptions) -> Plan:
    """Like `plan`, with the options in one object."""
    check_arguments(program, graph, options)
    if options.debug:
        raise ParameterError("debug=True: a run in plain Python has no plan; leave it out (--debug)")
    if options.lists is not None:
        raise ParameterError(f"engine={options.engine!r} has no plan; use engine='auto' or engine='garaph'")
    graph = oriented(program, graph)
    asked = bind(program, graph)
    check_run_options(options, asked, graph)
    given, graph = graph, encoded(graph, options)
    if options.verify:
        check_verifying(graph, asked.reads_edge_values)
    if ends_by_itself(options) and may_narrow(asked, given):
        asked = narrowed(asked)
    machine = Machine.here()
    bound, chosen = planned(asked, graph, options, machine)
    call, there, rates = facts(asked, graph, options, chosen, machine)
    needs = chosen.needs
    vertex_bytes = needs.vertices
    on_disk: tuple[PlannedEdges, ...] = ()
    reads: tuple[PlannedReads, ...] = ()
    if graph.on_disk:
        memory = EdgeMemory(graph._arrays, bound.reads_edge_values, needs)
        on_disk, reads = planned_edges(memory, graph, chosen)
        vertex_bytes = memory.taken + needs.tiles
    on_gpu, count = chosen.executor != CPU, max(len(chosen.gpus), 1)
    known = call.past.on_gpus(count)
    each = {} if known is None else {(GPU, 1): known}
    took = call.past.took if count == 1 else each
    passed = reads if needs.tiles else on_disk
    first, later = sum(each.first_bytes for each in passed), sum(each.later_bytes for each in passed)
    part = replace(call, edges=call.edges // count, past=replace(call.past, took=took))
    part = replace(part, first_read=first, later_read=later)
    several = several_seconds(call, there, rates, machine.gpus(), count) if count > 1 else None
    return Plan(
        bound.name, graph.n, graph.m, chosen.executor, chosen.why, chosen.threads or available_cores(), graph.encoding,
        graph.memory, vertex_bytes, on_disk, int(count * there.staying(part)) if on_gpu else 0,
        int(count * there.streamed(part)) if on_gpu else 0, reads,
        max((most.first_bytes for most in reads), default=0), max((most.later_bytes for most in reads), default=0),
        call.iterations, expected_seconds(part, there if on_gpu else None, rates, several),
        len(chosen.gpus),
    )  # fmt: skip


def facts(
    bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, machine: Machine
) -> tuple[Call, OnDevice, Rates]:
    """The facts from which the expected time is computed: those of the choice of a device, or those that it would have
    had."""
    if (verdict := chosen.verdict) is not None:
        return verdict.call, verdict.there, verdict.rates
    threads = options.threads or machine.cores
    past = machine.past(bound, graph, options, threads)
    there = OnDevice() if chosen.executor == CPU else there_of(bound, graph, options, machine)
    orders = chosen.executor == CPU and chosen.pushes and must_reverse(bound, graph)
    return call_of(bound, graph, options, threads, Past() if graph.on_disk else past, orders), there, machine.rates()


def planned_edges(
    memory: EdgeMemory, graph: Graph, chosen: RunPlan
) -> tuple[tuple[PlannedEdges, ...], tuple[PlannedReads, ...]]:
    """The edges on disk, and what an iteration of each mode reads of them at most."""
    if memory.needs.tiles:  # to make tiles, the first iteration passes over the out-edges twice
        layout = memory.out_layout(tile_page_edges(memory.into, chosen.page_edges))
        tiles = planned_side("out-edges", memory.out_arrays(), layout)
        return (tiles,), (PlannedReads(PULL_TILED, tiles.first_bytes + tiles.later_bytes, 0),)
    name = "in-edges" if memory.apart or graph.directed else "edges"
    pages = memory.in_layout(chosen.page_edges)
    pages = pages.later or pages
    into = planned_side(name, memory.in_arrays(), pages)
    if not memory.apart or chosen.schedule.mode == PULL:
        return (into,), planned_reads(memory, chosen, pages, pages)
    out_pages = memory.out_layout()
    out = planned_side("out-edges", memory.out_arrays(), out_pages)
    return (into, out), planned_reads(memory, chosen, pages, out_pages)


def planned_reads(
    memory: EdgeMemory, chosen: RunPlan, in_pages: DiskLayout, out_pages: DiskLayout
) -> tuple[PlannedReads, ...]:
    """What an iteration reads at most, for each mode that the run may choose."""
    needs, schedule = memory.needs, chosen.schedule
    out_arrays = memory.out_arrays() if memory.apart else memory.in_arrays()
    in_first, in_later = most_of(memory.in_arrays(), in_pages)
    out_first, out_later = most_of(out_arrays, out_pages)
    most = {COMPONENTS: (in_first, in_later)} if schedule.components else {}
    if schedule.ends_early and chosen.synchronous:  # a pull reads the lists of vertices that may change
        most[PULL] = in_first, in_later
    else:
        stay, others = (in_pages.read_bytes(memory.in_arrays(), kept, needs.searches) for kept in (True, False))
        most[PULL] = stay + others, others
    if needs.follows_out:
        most[NOTIFY_PULL] = in_first + out_first, in_later + out_later
    if needs.follows_out and needs.pushes:
        # With reentry, a push reads as many pages again as there are.
        again = max(out_pages.each_read_bytes(out_arrays, stays=False), default=0) * bool(schedule.pass_bytes)
        again *= len(out_pages.pages)
        most[PUSH] = out_first + again, out_later + again
    modes = [schedule.mode] if schedule.mode in most else most
    return tuple(PlannedReads(mode, *most[mode]) for mode in modes)


def most_of(arrays: list[ArrayReader], layout: DiskLayout) -> tuple[int, int]:
    """Bytes that it takes at most to read each page once, while pages that stay are not in memory yet and then; pages
    may be skipped or read by parts, so that none has the blocks which it shares with others."""
    later = sum(layout.each_read_bytes(arrays, stays=False))
    return later + sum(layout.each_read_bytes(arrays, stays=True)), later


def planned_side(name: str, arrays: list[ArrayReader], layout: DiskLayout) -> PlannedEdges:
    nbytes = sum(array.stored_bytes for array in arrays)
    later = layout.read_bytes(arrays, stays=False)
    first = later + layout.read_bytes(arrays, stays=True)
    return PlannedEdges(name, nbytes, first, len(layout.pages), sum(layout.stays), later)


def expected_seconds(call: Call, there: OnDevice | None, rates: Rates, several: float | None) -> float:
    """The time of the run, on the CPU or on a GPU; or on several GPUs, if the call takes them `several` seconds once
    all is prepared."""
    if there is None:
        return cpu_seconds(call, rates)
    prepared = gpu_seconds(call, there, rates) if several is None else several
    return preparing_seconds(call, there, rates) + prepared


def lines(told: Plan) -> list[str]:
    """The lines in which a plan is shown."""
    head = f"{told.program} over {told.vertices:,} vertices and {told.edges:,} stored edges"
    threads = f", {told.threads} thread{'s' * (told.threads != 1)}"
    rows = [("memory", memory_of(told))]
    rows += [("edges", f"{told.encoding}, in memory")] if not told.on_disk else []
    rows += [(edges.name, staying(edges, told.encoding)) for edges in told.on_disk]
    if told.device != CPU:
        streamed = f"; each pass copies {show_bytes(told.streamed_bytes)}" if told.streamed_bytes else ""
        where = "its memory" if told.gpus == 1 else f"the memories of {told.gpus}"
        kept = f"{show_bytes(told.gpu_bytes)} of the graph stay in {where}{streamed}"
        rows.append(("GPU" if told.gpus == 1 else "GPUs", kept))
    if told.on_disk:
        rows += [("reads" if not k else "", reading(most)) for k, most in enumerate(told.reads)]
    count = f"{told.iterations} iteration{'s' * (told.iterations != 1)}"
    rows.append(("expected", f"{count} in {show_seconds(told.seconds)}, and compiling if this program is new"))
    if told.why is not None:
        rows.append(("device", told.why))
    return [f"{head}: on {ON[told.device]}{threads}", *(f"  {name:<12}  {text}" for name, text in rows)]


def memory_of(told: Plan) -> str:
    """How the memory is divided."""
    if not told.on_disk:
        taken = f"{show_bytes(told.vertex_bytes)} for graph and run"
    else:
        taken = f"{show_bytes(told.vertex_bytes)} for the vertices and the run's own buffers"
    if told.memory is None:
        return taken
    rest = f", {show_bytes(told.memory - told.vertex_bytes)} for edges" if told.on_disk else ""
    return f"{show_bytes(told.memory)} allowed: {taken}{rest}"


def staying(edges: PlannedEdges, encoding: str) -> str:
    """What is on disk, and how much of it stays in memory."""
    share = 1 - edges.later_bytes / max(edges.nbytes, 1)
    stay = f"{edges.staying} of {edges.pages} pages stay in memory ({max(share, 0):.0%})"
    return f"{encoding}, {show_bytes(edges.nbytes)} on disk; {stay}"


def reading(most: PlannedReads) -> str:
    """What an iteration of one mode reads."""
    first, later = show_bytes(most.first_bytes), show_bytes(most.later_bytes)
    then = f", and {later} once the pages that stay are in memory" if first != later else ""
    return f"in {most.mode} at most {first}{then}"
