"""The costs of a program that was not measured on a machine: those of one that was, adapted to how long it takes here.

Both programs run here in turns, over several graphs. For each mode, the measured times of the other program, divided by
those that its costs predict, say how much longer everything takes here than on the machine, which may be another one.
The times of the program, divided by that, are those to which the costs are fitted, starting from the other program's.
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
from ..graph.build import without_values
from ..graph.generate import rmat, uniform
from ..program import VertexProgram, bind
from ..program.sources import vertices_of
from ..runtime.options import RunOptions
from ..runtime.run import execute
from .calibrate import Sample, may_show, samples
from .demand import CHAIN
from .executor import costs_of
from .fitting import fit
from .graphs import cube, maze, world
from .machine import AMOUNTS, Machine, UnitCost, WorkCost
from .recorded import RecordedRun, fastest
from .workload import Traits, activities_of, bind_for_types, workload_of

REPEATS = 5
"""Runs of each program over each graph, after one that may compile; of each set the fastest counts."""
LONG = 0.5
"""Seconds: a graph over which both programs together take longer is run over once, not `REPEATS` times. A guess."""
RANDOM = (
    (rmat, 18, 8), (rmat, 15, 8), (rmat, 14, 8), (rmat, 12, 16), (uniform, 18, 4), (uniform, 15, 4), (uniform, 14, 2),
)  # fmt: skip
OTHERS = (cube, 40), (cube, 24), (maze, 450), (maze, 150), (world, 18, 2), (world, 14, 8)
"""The graphs, as different as those that `scripts/bench_simulation.py` calibrates on. Of each kind, one has so many
vertices that a core's cache does not hold their values."""
ITERATIONS = 10
"""Iterations of a program that is no relaxation, which may never end."""
UNITS = ("edge", "vertex", "far")
"""Costs that grow with the data (`UnitCost`)."""
COSTS = (*UNITS, "gathered", "iteration", *AMOUNTS)
"""The costs of an iteration of the CPU."""
FIXED = ("first", "call")
"""Costs that are expected not to depend on the program, beside `iteration`."""


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
            traits.ends_early == other.ends_early, traits.edge_value_bytes == other.edge_value_bytes,
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
    graphs = [make(*sizes, directed=False, weights=(1, 255)) for make, *sizes in RANDOM]
    graphs += [make(*sizes) for make, *sizes in OTHERS]
    for number, graph in enumerate(graphs):
        graph = graph if weighted else without_values(graph)
        own = [started(program, graph) for program in together]
        for repeat in range(-1, REPEATS):
            found = [recorded_here(program, graph, str(number), engine) for program in own]
            runs += found if repeat >= 0 else []
            if repeat >= 0 and sum(run.seconds for run in found) > LONG:
                break
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
    """`machine`, with costs of `program`: those of `other`, adapted to `runs` of both.

    A mode in which one of them has not run costs as much as that of `other`.
    """
    both = list(runs)
    own, known = (
        by_costs(machine, other, [run for run in both if run.workload.traits.name == name]) for name in (program, other)
    )
    paces = {kind: slowness(found) for kind, found in grouped(known).items()}
    factors = {kind: slowness(found) / paces[kind] for kind, found in grouped(own).items() if kind in paces}
    likewise = []
    for work in machine.work:
        if work.processor == CPU and work.program == other:
            kind = work.mode, work.engine
            alike = times(work, program, factors.get(kind, 1.0))
            likewise.append(adapted(alike, own[work], paces[kind]) if work in own and kind in paces else alike)
    return replace(machine, work=(*machine.work, *likewise))


def by_costs(machine: Machine, program: str, runs: Iterable[RecordedRun]) -> dict[WorkCost, list[Sample]]:
    """The iterations of `runs`, by the costs of `program` that they would have."""
    found: dict[WorkCost, list[Sample]] = defaultdict(list)
    for run in runs:
        workload = replace(run.workload, traits=replace(run.workload.traits, name=program))
        for sample in samples(run):
            found[costs_of(machine, workload, run.options.policy, sample.demand.mode)].append(sample)
    return found


def grouped(found: dict[WorkCost, list[Sample]]) -> dict[tuple[str, str], list[tuple[WorkCost, Sample]]]:
    """The iterations with their costs, by the mode and engine of these."""
    groups: dict[tuple[str, str], list[tuple[WorkCost, Sample]]] = defaultdict(list)
    for work, own in found.items():
        groups[work.mode, work.engine] += [(work, sample) for sample in own]
    return groups


def slowness(found: Iterable[tuple[WorkCost, Sample]]) -> float:
    """How much longer iterations took than they do with these costs.

    A short run counts as much as a long one, as it does when a machine is fitted.
    """
    seconds = predicted = 0.0
    for work, sample in found:
        seconds += sample.seconds / sample.run.seconds
        predicted += work.of(sample.demand, sample.run.workload.vertex_data) / sample.run.seconds
    return seconds / predicted if seconds and predicted else 1.0


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


def adapted(work: WorkCost, found: Sequence[Sample], pace: float) -> WorkCost:
    """`work`, adapted to what iterations took on a machine where everything takes `pace` times as long.

    How costs grow with the data stays as calibrated, because few of these graphs are larger than the caches.
    """
    shown = [name for name in COSTS if may_show(work, name)]
    columns = {name: np.array([count_of(sample, name) for sample in found], float) for name in shown}
    if work.mode != CHAIN and not work.call:
        del columns["call"]  # it would be another cost of each iteration
    columns = {name: column for name, column in columns.items() if column.any()}
    known = {name: getattr(work, name) for name in columns}
    if known.get("gathered", 0.0) is None:
        known["gathered"] = work.edge
    expected = {name: one.base if isinstance(one, UnitCost) else one for name, one in known.items()}
    seconds = []
    for sample in found:
        data = sample.run.workload.vertex_data
        growth = work.of(sample.demand, data) - work.of(replace(sample.demand, graph_bytes=0.0), 0.0)
        seconds.append(sample.seconds / pace - growth)
    wholes = [sample.run.seconds / pace for sample in found]
    fitted = fit(list(columns.values()), seconds, wholes, list(expected.values()))
    costs: dict[str, Any] = dict(zip(columns, fitted, strict=True))
    for name in UNITS:
        if name in costs:
            costs[name] = UnitCost(costs[name], getattr(work, name).doubling)
    return replace(work, **costs)


def count_of(sample: Sample, cost: str) -> float:
    """What is multiplied by a cost in the time of an iteration."""
    if cost == "iteration":
        return 1.0
    return float(getattr(sample.demand, "calls" if cost == "call" else cost))
