"""The costs of a program that was not measured on a machine: those of one that was, times how much longer it takes.

How much longer is measured here, over two small graphs: both programs run in turns, and for each mode the measured
times are divided by those that the costs of the other program predict. The machine may be another one. What an
iteration or a call costs by itself is Python's and the threads' time, and so the same for all programs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..apps import registry as programs
from ..errors import GaraphError
from ..executor.modes import CPU
from ..graph import Graph
from ..graph.generate import rmat, uniform
from ..program import VertexProgram, bind
from ..program.sources import vertices_of
from ..runtime.options import RunOptions
from ..runtime.run import execute
from .calibrate import samples
from .executor import costs_of
from .machine import AMOUNTS, Machine, UnitCost, WorkCost
from .recorded import RecordedRun, fastest
from .workload import Traits, activities_of, bind_for_types, workload_of

REPEATS = 5
"""Runs of each program over each graph, after one that may compile; of each set the fastest counts."""
SCALE, GRAPHS = 15, ((rmat, 8), (uniform, 4))
"""The graphs: 2^15 vertices, and these multiples of that number of edges, in both directions. Edges take most of an
iteration, and all runs together take less than a second."""
ITERATIONS = 10
"""Iterations of a program that is no relaxation, which may never end."""
FIXED = ("first", "call")
"""Costs that do not depend on the program, beside `iteration`."""


def compared(machine: Machine, program: VertexProgram, traits: Traits, engine: str) -> Machine:
    """`machine`, with costs of the CPU for `program` if it was calibrated, but not with this program.

    It is unchanged if none of its programs can run here, or if `program` cannot run over the graphs.

    Parameters
    ----------
    machine : Machine
    program : VertexProgram
    traits : Traits
        Those of `program` over the graph that is to be simulated.
    engine : str
        The engine under which both run here.
    """
    on_cpu = [work for work in machine.work if work.processor == CPU]
    if all(work.measured is None for work in on_cpu) or any(work.program == traits.name for work in on_cpu):
        return machine
    other = most_alike(traits, machine)
    if other is None:
        return machine
    try:
        runs = measured((program, other), engine, traits.edge_value_bytes > 0)
    except GaraphError:
        return machine
    return with_costs(machine, traits.name, type(other).__name__, runs)


def most_alike(traits: Traits, machine: Machine) -> VertexProgram | None:
    """Of the programs that were measured on the CPU of `machine`, the one that is most like one with these `traits`."""

    def likeness(one: tuple[VertexProgram, Traits]) -> tuple[bool, ...]:
        """The traits in which they agree; the most important comes first."""
        _, other = one
        return (
            traits.is_relaxation == other.is_relaxation, traits.updates_all_vertices == other.updates_all_vertices,
            traits.edge_value_bytes == other.edge_value_bytes, traits.ends_early == other.ends_early,
            traits.value_bytes == other.value_bytes,
        )  # fmt: skip

    names = [work.program for work in machine.work if work.processor == CPU and work.like is None]
    found = (built(name) for name in dict.fromkeys(names))
    best = max((one for one in found if one is not None), key=likeness, default=None)
    return None if best is None else best[0]


def built(name: str) -> tuple[VertexProgram, Traits] | None:
    """The library's program of this name, with its defaults, and its traits; None if there is none, or if it needs
    parameters.

    One that can read edge values counts as one that does: it was probably measured with them.
    """
    try:
        kind = programs.find(name)
        program = programs.build(kind, dict.fromkeys(vertices_of(kind), "0"))
        return program, Traits.of(bind_for_types(program, True), True)
    except GaraphError:
        return None


def measured(together: Sequence[VertexProgram], engine: str, weighted: bool) -> list[RecordedRun]:
    """The fastest runs of programs over each of the graphs, on the CPU, in supersteps."""
    runs = list[RecordedRun]()
    for make, edge_factor in GRAPHS:
        graph = make(SCALE, edge_factor, directed=False, weights=(1, 255) if weighted else None)
        own = [started(program, graph) for program in together]
        for repeat in range(-1, REPEATS):
            found = [recorded_here(program, graph, make.__name__, engine) for program in own]
            runs += found if repeat >= 0 else []
    return fastest(runs)


def started(program: VertexProgram, graph: Graph) -> VertexProgram:
    """`program` with the vertex of most edges in place of each vertex among its parameters."""
    (vertex,) = np.asarray(graph.ids.take(np.array([graph.out_degrees.argmax()]))).tolist()
    given = [name for name in vertices_of(type(program)) if getattr(program, name) is not None]
    return replace(program, **dict.fromkeys(given, vertex))  # type: ignore[type-var]  # every program is a dataclass


def recorded_here(program: VertexProgram, graph: Graph, name: str, engine: str) -> RecordedRun:
    """Run a program on this machine's CPU, and record it."""
    bound = bind(program, graph)
    options = RunOptions(device=CPU, engine=engine, sync=True, iterations=None if bound.is_relaxation else ITERATIONS)
    stats = execute(program, graph, options).stats
    rows = tuple(one._asdict() for one in stats.iterations)
    workload = workload_of(bound, graph, activities_of(rows, graph.m), synchronous=True, directed=False)
    return RecordedRun(name, workload, options, stats.threads, None, rows)


def with_costs(machine: Machine, program: str, other: str, runs: Iterable[RecordedRun]) -> Machine:
    """`machine`, with costs of `program`: those of `other`, times how much longer it takes in `runs` of both.

    A mode in which one of them has not run costs as much as that of `other`.
    """
    both = list(runs)
    own, known = (
        slowness(machine, other, [run for run in both if run.workload.traits.name == name]) for name in (program, other)
    )
    factors = {key: own[key] / known[key] for key in own.keys() & known.keys()}
    likewise = (
        times(work, program, factors.get((work.mode, work.engine), 1.0))
        for work in machine.work
        if work.processor == CPU and work.program == other
    )
    return replace(machine, work=(*machine.work, *likewise))


def slowness(machine: Machine, program: str, runs: Iterable[RecordedRun]) -> dict[tuple[str, str], float]:
    """How much longer iterations took than they do with the costs of `program`, by the mode and engine of these costs.

    A short run counts as much as a long one, as it does when a machine is fitted.
    """
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for run in runs:
        workload = replace(run.workload, traits=replace(run.workload.traits, name=program))
        for sample in samples(run):
            work = costs_of(machine, workload, run.options.policy, sample.demand.mode)
            total = sums[work.mode, work.engine]
            total[0] += sample.seconds / run.seconds
            total[1] += work.of(sample.demand, workload.vertex_data) / run.seconds
    return {key: seconds / predicted for key, (seconds, predicted) in sums.items() if seconds and predicted}


def times(work: WorkCost, program: str, factor: float) -> WorkCost:
    """`work` as that of `program`, for which everything that is not fixed takes `factor` times as long."""
    units: dict[str, Any] = {
        name: UnitCost(factor * one.base, factor * one.doubling)
        for name, one in vars(work).items()
        if isinstance(one, UnitCost)
    }
    amounts = {name: factor * getattr(work, name) for name in AMOUNTS if name not in FIXED}
    gathered = None if work.gathered is None else factor * work.gathered
    return replace(work, program=program, like=work.program, gathered=gathered, **units, **amounts)
