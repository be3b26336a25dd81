"""Fit a machine to runs that were measured on it.

CPU: for each program and mode, an iteration takes a constant time, plus a time for each unit of its work
(`demand.Demand`). Costs per active vertex grow with each doubling of the data: in pushes and chains of all bytes of the
graph, in notify-pulls of the vertex data. To fit that, graphs of two sizes are needed. What depends on the shape of a
graph needs several graphs; then the costs of values that are lost from a cache grow with the vertex data, and otherwise
those per edge. Pushes of a GPU are fitted like iterations of the CPU.

The other costs: see `fitting`, `gpu_pulls` for a GPU alone, `sharing` for CPU and GPU together, and `peer_costs` for
several GPUs. The CPU's iterations in such runs have costs of their own.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..events import Iteration
from ..executor.modes import CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..runtime.options import HYBRID
from ..runtime.watching import cpu_chains
from .demand import CHAIN, PULL_ACTIVE, PUSH_FEW, Demand, demand_of, of_push, repeated, supersteps
from .executor import capabilities_of, engine_costs, repeats
from .fitting import Array, fit
from .gpu_pulls import gpu_costs, link_of, with_first, with_launch, with_overheads, with_pulls
from .gpu_pushes import SMALL_EDGES, capabilities_of_gpu, of_gpu_push, ways_of_call
from .machine import ANY, GARAPH, Machine, UnitCost, WorkCost, doublings
from .peer_costs import components_costs, with_peers
from .recorded import Record, RecordedRun, in_supersteps, room_of
from .sharing import with_sharing
from .simulate import observe, scheduler_of, unfinished_edges

SIZES = 8
"""Most over least edges of iterations, from which on their fixed time can be told from that of their edges."""
PULLS = PULL, PULL_ACTIVE, PULL_TILED
"""The modes whose fixed time is that of the shortest iteration in any of them, at most."""
SHAPED = ("near", "far", "fetched", "turn", "irregular", "notified", "active", "graph")
"""The parts of a `Demand` that differ between graphs of one size."""
LEAST_DOUBLINGS = 0.5
"""By how many doublings the data of graphs must differ to show how costs grow with it. A guess: graphs of as many
vertices have nearly as many bytes, and noise would make a slope of the difference."""


def calibrate(runs: Sequence[RecordedRun], cores: int | None = None, gpu_memory: int | None = None) -> Machine:
    """The machine on which `runs` were measured.

    Parameters
    ----------
    runs : sequence of RecordedRun
    cores : int, optional
        By default the largest number of threads of a run.
    gpu_memory : int, optional
        Bytes of a GPU; by default the most that a run used.

    Raises
    ------
    ParameterError
        If the runs have no iteration.
    """
    if not any(run.rows for run in runs):
        raise ParameterError("the runs have no iteration to calibrate with; measure a run")
    if cores is None:
        cores = max(run.threads for run in runs)
    followed = [run for run in runs if run.gpus == 1 and in_supersteps(run.rows)]
    machine = Machine(cores, tuple(cpu_costs(followed)))
    on_gpu = [run for run in followed if any(row["device"] != CPU for row in run.rows)]
    if not on_gpu and len(followed) < len(runs):
        raise ParameterError(
            "runs on several GPUs, or that find components, need others beside them, which show the costs of one GPU; "
            "measure PageRank with gpus = 1, too"
        )
    if not on_gpu:
        return machine
    memory = max(used_memory(run) for run in runs if run.options.device != CPU)
    speeds = next((run.speeds for run in on_gpu if run.speeds is not None), None)
    machine = replace(machine, gpu_memory=gpu_memory or memory, link=link_of(on_gpu), speeds=speeds)
    alone, together = ([run for run in on_gpu if run.options.device == device] for device in (GPU, HYBRID))
    machine = replace(machine, work=(*machine.work, *gpu_costs(on_gpu), *push_costs(alone)))
    machine = with_pulls(machine, alone)
    if len({run.workload.traits.name for run in on_gpu}) > 1:
        machine = with_any(machine, on_gpu, alone)
    machine = with_sharing(machine, together) if together else machine
    machine = replace(machine, work=(*machine.work, *components_costs([run for run in runs if run.gpus == 1])))
    return with_peers(machine, runs)


def used_memory(run: RecordedRun) -> int:
    """Bytes of each GPU's memory that a run used: all that it might, or else with an equal share of the edges."""
    return run.workload.fixed + (room_of(run) // run.gpus if run.room is None else run.room)


@dataclass(frozen=True)
class Sample:
    """A recorded iteration of the CPU, or push of the GPU: its demand, and its time."""

    run: RecordedRun
    demand: Demand
    seconds: float


def samples(run: RecordedRun) -> Iterator[Sample]:
    """The iterations of a run that the CPU did alone; those of a chain, or repeated in one step, too."""
    workload, rows, number = run.workload, run.rows, 0
    chains = chains_of(run) if run.options.device == CPU else {}
    policy, before = run.options.policy, ""
    while number < len(rows):
        mode, count = rows[number]["mode"], chains.get(number, 0)
        in_chain, end = mode == PUSH and count > 0, number + max(count, 1)
        for row, activity in zip(rows[number:end], workload.activities[number:end], strict=True):
            if row["device"] != CPU:
                continue
            if in_chain:
                demand = of_push(workload, activity, CHAIN, 1)
            else:
                demand = demand_of(workload, activity, mode, policy, run.threads)
                demand = replace(demand, first=int(demand.mode != before))
            before = demand.mode
            yield Sample(run, replace(demand, calls=int(row is rows[end - 1])), row["seconds"])
        number = end


def push_samples(run: RecordedRun) -> Iterator[Sample]:
    """The pushes of a run on a GPU that worked alone."""
    workload, rows, number, chains = run.workload, run.rows, 0, chains_of(run)
    residency, first = workload.residency(room_of(run), run.options.policy.keep), 1
    while number < len(rows):
        count = max(chains[number], 1)
        if rows[number]["mode"] == PUSH:
            activities = workload.activities[number : number + count]
            ways = ways_of_call(activities, workload.edges) if chains[number] else [PUSH]
            for late, (way, activity) in enumerate(zip(ways, activities, strict=True), 1):
                demand = of_gpu_push(workload, activity, residency, way)
                demand = replace(demand, calls=int(late == count), first=first)
                yield Sample(run, demand, rows[number + late - 1]["seconds"])
                first = 0
        number += count


def chains_of(run: RecordedRun) -> dict[int, int]:
    """The number of supersteps of the call, or of iterations of the step, that begins with each iteration; 0 if none
    does.

    The policy decides again, because records do not say what its decisions allowed.
    """
    workload, options = run.workload, run.options
    counts = dict.fromkeys(range(len(run.rows)), 0)
    repeating = options.device == CPU and workload.traits.updates_all_vertices
    if options.device == HYBRID or not (repeating or (cpu_chains(options) and workload.traits.is_relaxation)):
        return counts
    can, pages = capabilities_of(workload, run.threads), workload.pages()
    if options.device == GPU:
        residency = workload.residency(room_of(run), options.policy.keep)
        can, pages = capabilities_of_gpu(workload, residency, True, options.policy), residency.pages
    number, unfinished, scheduler = 0, unfinished_edges(workload), scheduler_of(workload, options, can, pages)
    while number < len(run.rows):
        scheduler.number, activity, row = number, workload.activities[number], run.rows[number]
        seen = observe(scheduler, activity, unfinished)
        decision = scheduler.decide(seen)
        if row["mode"] == decision.mode == PUSH and decision.ahead is not None:
            pushes = itertools.takewhile(lambda later: later["mode"] == PUSH, run.rows[number:])
            seconds = [later["seconds"] for later in pushes]
            later = workload.activities[number : number + len(seconds)]
            if options.device == GPU:
                counts[number] = len(ways_of_call(later, workload.edges))
            else:
                counts[number] = supersteps(later, decision.ahead.push_edges, seconds)
        elif repeating and row["pages"] == 1 and repeats(workload, decision._replace(mode=row["mode"])):
            counts[number] = repeated(later["seconds"] for later in run.rows[number:])
        if row["mode"] == PULL and unfinished is not None:
            unfinished = row["edges"]
        if counts[number] <= 1:
            scheduler.done(seen, decision, record_of(row))
        number += max(counts[number], 1)
    return counts


def record_of(row: Record) -> Iteration:
    """The record of an iteration, for a policy that observes it again."""
    names = "number", "mode", "f", "active", "edges", "pages", "pages_skipped", "seconds", "device"
    return Iteration(*(row[name] for name in names))


def cpu_costs(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    """The CPU's costs, for each program and mode; apart for Garaph's pulls, for synchronous runs, for runs that read
    edge values, and for iterations of the CPU in runs on both processors.

    Of several programs, there are also the costs that fit all of them: for others, and for modes that one has not used.
    """
    groups: dict[WorkCost, list[Sample]] = defaultdict(list)
    for run in runs:
        engine, traits = engine_costs(run.options.policy), run.workload.traits
        kind = WorkCost(
            CPU, ANY, PULL, engine=engine, sync=traits.synchronous, values=traits.edge_value_bytes > 0,
            beside_gpu=run.options.device == HYBRID,
        )  # fmt: skip
        for sample in samples(run):
            for program in (traits.name, ANY):
                groups[replace(kind, program=program, mode=sample.demand.mode)].append(sample)
    has_several = len({run.workload.traits.name for run in runs}) > 1
    pulls = (sample.seconds for own in groups.values() for sample in own if is_whole(sample))
    shortest = min(pulls, default=math.inf)
    most = {kind: max(sample.demand.edges for sample in found) for kind, found in groups.items()}
    known = dict[WorkCost, WorkCost]()
    for kind, found in sorted(groups.items(), key=lambda group: group[0].engine == GARAPH):
        of_others = most.get(replace(kind, beside_gpu=False), 0)
        if of_others > SIZES * most[kind]:
            continue  # these iterations beside a GPU are too small to show what edges cost
        if kind.program != ANY or has_several:
            like = known.get(replace(kind, engine=ANY))
            known[kind] = fitted(kind, found, shortest if kind.mode in PULLS else math.inf, like)
    yield from known.values()


def is_whole(sample: Sample) -> bool:
    """Whether it is a pull with all that Python does around one."""
    return sample.demand.mode in PULLS and sample.demand.calls > 0


def push_costs(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    """The costs of pushes on a GPU, for each program and way.

    If all pushes by themselves are small, they show their fixed cost only; the others are those of the larger ones.
    """
    groups: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for sample in push_samples(run) if run.options.lists is None else ():
            groups[run.workload.traits.name][sample.demand.mode].append(sample)
    for program, ways in groups.items():
        known = {way: fitted(WorkCost(GPU, program, way), found) for way, found in ways.items()}
        if {CHAIN, PUSH} <= ways.keys() and all(sample.demand.edges <= SMALL_EDGES for sample in ways[PUSH]):
            known[PUSH] = with_iteration(replace(known[CHAIN], mode=PUSH), ways[PUSH])
        yield from known.values()


def with_any(machine: Machine, on_gpu: Sequence[RecordedRun], alone: Sequence[RecordedRun]) -> Machine:
    """`machine` with the costs of a GPU that fit the runs of all programs: for others. What depends on the machine
    only, such as the time to launch a page, is known already."""
    every, all_alone = ([renamed(run) for run in runs] for runs in (on_gpu, alone))
    launch = max(work.launch for work in machine.work if work.processor == GPU)
    of_cpu = tuple(work for work in machine.work if work.processor == CPU)
    pooled = replace(machine, work=(*of_cpu, *gpu_costs(every), *push_costs(all_alone)))
    pooled = with_first(with_overheads(with_launch(pooled, launch), all_alone), all_alone)
    return replace(machine, work=(*machine.work, *(work for work in pooled.work if work.processor == GPU)))


def renamed(run: RecordedRun) -> RecordedRun:
    """`run` as one of any program."""
    return replace(run, workload=replace(run.workload, traits=replace(run.workload.traits, name=ANY)))


def with_iteration(work: WorkCost, found: Sequence[Sample]) -> WorkCost:
    """`work` with the fixed cost that the samples have beyond its other costs, in the median."""
    work = replace(work, iteration=0.0, call=0.0)
    rests = [sample.seconds - work.of(sample.demand, sample.run.workload.vertex_data) for sample in found]
    return replace(work, iteration=max(float(np.median(rests)), 0.0))


def fitted(
    work: WorkCost, found: Sequence[Sample], most_fixed: float = math.inf, like: WorkCost | None = None
) -> WorkCost:
    """`work` with the costs that fit best; those that the graphs are too few to show stay 0, or near those of `like`.

    What depends on the shape of a graph needs more graphs than there are such costs. A short run counts as much as a
    long one. If all iterations have about as many edges, they do not tell the fixed time of an iteration from the time
    of its edges; then it is at most `most_fixed`.
    """
    columns = columns_of(work, found)
    wholes = [sample.run.seconds for sample in found]
    expected = None if like is None else costs_by_column(like)

    def fit_to(seconds: Sequence[float]) -> dict[str, Any]:
        near = None if expected is None else [expected.get(name, 0.0) for name in columns]
        return dict(zip(columns, fit(list(columns.values()), seconds, wholes, near), strict=True))

    values = fit_to([sample.seconds for sample in found])
    edges = columns["edge"]
    if values.get("iteration", 0.0) > most_fixed and edges.max() < SIZES * edges.min():
        del columns["iteration"]
        values = fit_to([max(sample.seconds - most_fixed, 0.0) for sample in found]) | {"iteration": most_fixed}
    units: dict[str, Any] = {
        name: UnitCost(values.pop(name, 0.0), values.pop(f"{name} doubling", 0.0)) for name in ("edge", "vertex", "far")
    }
    data = {sample.run.workload.vertex_data for sample in found}
    near = [sample.run.workload.shape.near for sample in found]
    return replace(
        work, **units, **values, measured=(float(min(data)), float(max(data))), locality=(min(near), max(near))
    )


def columns_of(work: WorkCost, found: Sequence[Sample]) -> dict[str, Array]:
    """What each cost is multiplied by in each iteration: those costs that these iterations may show."""
    sparse = work.mode in (NOTIFY_PULL, PUSH, CHAIN, PUSH_FEW)
    vertex_data = [sample.run.workload.vertex_data for sample in found]
    graph_bytes = [sample.demand.graph_bytes or nbytes for sample, nbytes in zip(found, vertex_data, strict=True)]
    of_values, of_graph = (np.array([*map(doublings, nbytes)]) for nbytes in (vertex_data, graph_bytes))
    columns: dict[str, Array] = {}

    def add(name: str, counts: Array, grows: bool = False) -> None:
        columns[name], steps = counts, of_graph if name == "vertex" else of_values
        if grows and work.processor == CPU and np.ptp(steps) >= LEAST_DOUBLINGS:
            columns[f"{name} doubling"] = counts * steps

    def column(name: str) -> Array:
        return np.array([getattr(sample.demand, name) for sample in found], float)

    shaped = [name for name in SHAPED if column(name).any() and may_show(work, name)]
    if "fetched" in shaped and (column("fetched") == column("edge")).all():
        shaped.remove("fetched")  # it is part of the cost of an edge
    if len({sample.run.workload.shape for sample in found}) <= len(shaped):
        shaped = []
    add("edge", column("edge"), grows=not shaped)
    if sparse or shaped:  # otherwise, edges and vertices are proportional
        add("vertex", column("vertex"), grows=sparse)
    for name in ("gathered", "waited", "activated", "mixed", "alone", *shaped):
        if column(name).any():
            add(name, column(name), grows=name == "far")
    # otherwise the fit cannot separate it from the unit costs
    if sparse or shaped or len(set(column("edge"))) > len(columns):
        columns["iteration"] = np.ones(len(found))
    if work.mode in (CHAIN, PUSH_FEW) or not column("calls").all():
        columns["call"] = column("calls")
    if (firsts := column("first")).any() and not firsts.all():
        columns["first"] = firsts
    return columns


def may_show(work: WorkCost, cost: str) -> bool:
    """Whether iterations with the costs `work` may show this one. A chain of the CPU does not read lists in their
    order, so what this order says about caches is not true of it."""
    return not (work.processor == CPU and work.mode == CHAIN and cost in ("near", "far"))


def costs_by_column(work: WorkCost) -> dict[str, float]:
    """The costs of `work` by the names of `columns_of`."""
    found: dict[str, float] = {}
    for name, value in vars(work).items():
        if isinstance(value, UnitCost):
            found |= {name: value.base, f"{name} doubling": value.doubling}
        elif isinstance(value, float):
            found[name] = value
    return found
