"""Fit a machine to runs that were measured on it, by least squares with non-negative coefficients.

CPU: for each program and mode, an iteration takes a constant time, plus a time for each unit of its work
(`demand.Demand`). Costs per active vertex grow with each doubling of the vertex data; to fit that, graphs of two sizes
are needed. What depends on the shape of a graph needs several graphs; then the costs of values that are lost from a
cache grow likewise, and otherwise those per edge.

GPU: the time per edge is fitted to iterations that copy almost nothing, the link's rate to iterations that copy more.
If all iterations copy, the time per edge is the estimate of `dispatch.rates`. The rest of an iteration's time is
fitted as a constant plus a time per vertex. Pushes are fitted like iterations of the CPU.

CPU and GPU together: see `sharing`. The CPU's iterations in such runs have costs of their own.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from ..errors import ParameterError
from ..events import Iteration
from ..executor.costs import EXPECTED
from ..executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..runtime.options import HYBRID, cpu_chains
from .demand import CHAIN, PULL_ACTIVE, PUSH_FEW, Demand, demand_of, of_push, supersteps
from .executor import capabilities_of, engine_costs
from .gpu_pushes import SMALL_EDGES, capabilities_of_gpu, of_gpu_push, ways_of_call
from .machine import ANY, GARAPH, Link, Machine, UnitCost, WorkCost, doublings
from .recorded import Record, RecordedRun, is_first, room_of
from .sharing import with_sharing
from .simulate import observe, scheduler_of, simulate, unfinished_edges

Array = npt.NDArray[Any]

STREAMING_SHARE = 0.05
"""Share of the edges: iterations that copy more are fitted for the link's rate, all others for the GPU's time."""
ROUNDS = 20
"""Number of rounds in which `fit` finds its weights."""
SIZES = 8
"""Most over least edges of iterations, from which on their fixed time can be told from that of their edges."""
MIN_SECONDS = 1e-9
"""Lower bound (s) on the fitted times from which `fit` computes its weights."""
TRUST = 0.03
"""Weight of what `fit` expects, as a share of that of the measurements. On graphs that were not compared, 0.003 to 0.03
predicted 68 to 71 runs of 84 within 15 % for other programs' costs (`compare`), 0.1 and 0.3 predicted 63 and 57."""
PULLS = PULL, PULL_ACTIVE, PULL_TILED
"""The modes whose fixed time is that of the shortest iteration in any of them, at most."""
SHAPED = ("near", "far", "fetched", "turn", "irregular", "notified", "active", "graph")
"""The parts of a `Demand` that differ between graphs of one size."""


def calibrate(runs: Sequence[RecordedRun], cores: int | None = None, gpu_memory: int | None = None) -> Machine:
    """The machine on which `runs` were measured.

    Parameters
    ----------
    runs : sequence of RecordedRun
    cores : int, optional
        By default the largest number of threads of a run.
    gpu_memory : int, optional
        Bytes; by default the most that a run used.

    Raises
    ------
    ParameterError
        If the runs have no iteration.
    """
    if not any(run.rows for run in runs):
        raise ParameterError("the runs have no iteration to calibrate with; measure a run")
    if cores is None:
        cores = max(run.threads for run in runs)
    machine = Machine(cores, tuple(cpu_costs(runs)))
    on_gpu = [run for run in runs if any(row["device"] != CPU for row in run.rows)]
    if not on_gpu:
        return machine
    memory = max(run.workload.fixed + room_of(run) for run in on_gpu)
    speeds = next((run.speeds for run in on_gpu if run.speeds is not None), None)
    machine = replace(machine, gpu_memory=gpu_memory or memory, link=link_of(on_gpu), speeds=speeds)
    alone, together = ([run for run in on_gpu if run.options.device == device] for device in (GPU, HYBRID))
    machine = replace(machine, work=(*machine.work, *gpu_costs(on_gpu), *push_costs(alone)))
    machine = with_host_copy(with_first(with_copies(with_overheads(machine, alone), alone), alone), alone)
    return with_sharing(machine, together) if together else machine


def iterations(runs: Iterable[RecordedRun], device: str) -> Iterator[tuple[RecordedRun, Record]]:
    """The iterations of `runs` on a device, each with its run."""
    return ((run, row) for run in runs for row in run.rows if row["device"] == device)


def fit(
    columns: Sequence[Any], seconds: Sequence[float], wholes: Sequence[float] | None = None,
    expected: Sequence[float] | None = None,
) -> list[float]:  # fmt: skip
    """Find the non-negative coefficients of `columns` whose weighted sum is the best fit to `seconds`.

    Weighted least squares: the weight of each square is one over the fitted value, found in a few rounds. With these
    weights, the fitted values have the same sum as `seconds`. If the `wholes` are given, of which each of the `seconds`
    is a part, it is the shares of these that have the same sum. If coefficients are `expected`, those that the
    columns do not tell apart stay near them: a deviation weighs `TRUST` times as much as one from the `seconds`.
    """
    measured = np.asarray(seconds, float)
    parts = np.ones(len(measured)) if wholes is None else np.asarray(wholes, float)
    table = np.asarray(columns, float).T
    scale = np.maximum(table.max(axis=0), 1e-300)
    table = table / scale
    found, fitted = np.zeros(len(scale)), measured
    for _ in range(ROUNDS):
        weights = 1 / np.sqrt(np.maximum(fitted, MIN_SECONDS) * np.maximum(parts, MIN_SECONDS))
        rows, right = table * weights[:, None], measured * weights
        if expected is not None:
            held = math.sqrt(TRUST) * np.linalg.norm(rows, axis=0)
            rows, right = np.vstack([rows, np.diag(held)]), np.append(right, held * scale * np.asarray(expected))
        found, _ = nnls(rows, right)
        fitted = table @ found
    return [float(value) for value in found / scale]


def unit_columns(counts: Array, steps: Array) -> list[Array]:
    """The columns of a `UnitCost`: the counts, and the counts times `steps`, the doublings of the vertex data.

    If all graphs have the same size, only the counts are returned.
    """
    return [counts, counts * steps] if len(set(steps)) > 1 else [counts]


def pop_unit_cost(values: list[float], grows: bool) -> UnitCost:
    """Take the coefficients of `unit_columns` from the front of `values`."""
    return UnitCost(values.pop(0), values.pop(0) if grows else 0.0)


def sizes(runs: Iterable[RecordedRun]) -> tuple[float, float]:
    """The least and the most vertex data (bytes) of the runs."""
    data = [float(run.workload.vertex_data) for run in runs]
    return min(data), max(data)


@dataclass(frozen=True)
class Sample:
    """A recorded iteration of the CPU, or push of the GPU: its demand, and its time."""

    run: RecordedRun
    demand: Demand
    seconds: float


def samples(run: RecordedRun) -> Iterator[Sample]:
    """The iterations of a run that the CPU did alone; those of a chain too."""
    workload, rows, number = run.workload, run.rows, 0
    chains = chains_of(run) if run.options.device == CPU else {}
    policy, seen = run.options.policy, set[str]()
    while number < len(rows):
        row, activity = rows[number], workload.activities[number]
        count = chains.get(number, 0)
        for late in range(number + 1, number + count + 1):
            demand = of_push(workload, workload.activities[late - 1], CHAIN, 1)
            yield Sample(run, replace(demand, calls=int(late == number + count)), rows[late - 1]["seconds"])
        if not count and row["device"] == CPU:
            demand = demand_of(workload, activity, row["mode"], policy, run.threads)
            yield Sample(run, replace(demand, first=int(demand.mode not in seen)), row["seconds"])
            seen.add(demand.mode)
        number += max(count, 1)


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
    """For each iteration, how many supersteps the call did that began with it; 0 if it was none.

    The policy decides again, because records do not say what its decisions allowed.
    """
    workload, options = run.workload, run.options
    counts = dict.fromkeys(range(len(run.rows)), 0)
    if options.device == HYBRID or not (cpu_chains(options) and workload.traits.is_relaxation):
        return counts
    can, pages = capabilities_of(workload, run.threads), workload.pages()
    if options.device == GPU:
        residency = workload.residency(room_of(run), options.policy.keep)
        can, pages = capabilities_of_gpu(workload, residency, True), residency.pages
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
    pulls = (sample.seconds for own in groups.values() for sample in own if sample.demand.mode in PULLS)
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
    steps = np.array([doublings(sample.run.workload.vertex_data) for sample in found])
    columns: dict[str, Array] = {}

    def add(name: str, counts: Array, grows: bool = False) -> None:
        columns[name] = counts
        if grows and work.processor == CPU and len(set(steps)) > 1:
            columns[f"{name} doubling"] = counts * steps

    def column(name: str) -> Array:
        return np.array([getattr(sample.demand, name) for sample in found], float)

    shaped = [name for name in SHAPED if column(name).any()]
    if "fetched" in shaped and (column("fetched") == column("edge")).all():
        shaped.remove("fetched")  # it is part of the cost of an edge
    if len({sample.run.workload.shape for sample in found}) <= len(shaped):
        shaped = []
    add("edge", column("edge"), grows=not shaped)
    if sparse or shaped:  # otherwise, edges and vertices are proportional
        add("vertex", column("vertex"), grows=sparse)
    for name in ("gathered", "waited", "activated", "mixed", *shaped):
        if column(name).any():
            add(name, column(name), grows=name == "far")
    # otherwise the fit cannot separate it from the unit costs
    if sparse or shaped or len(set(column("edge"))) > len(columns):
        columns["iteration"] = np.ones(len(found))
    if work.mode in (CHAIN, PUSH_FEW):
        columns["call"] = column("calls")
    if (firsts := column("first")).any() and not firsts.all():
        columns["first"] = firsts
    return columns


def costs_by_column(work: WorkCost) -> dict[str, float]:
    """The costs of `work` by the names of `columns_of`."""
    found: dict[str, float] = {}
    for name, value in vars(work).items():
        if isinstance(value, UnitCost):
            found |= {name: value.base, f"{name} doubling": value.doubling}
        elif isinstance(value, float):
            found[name] = value
    return found


def link_of(runs: Sequence[RecordedRun]) -> Link:
    """The link, from the recorded rate of single copies, or else fitted to iterations that copy."""
    rates = [run.copy_rate for run in runs if run.copy_rate is not None]
    if rates:
        rate = float(np.median(rates))
        return Link(rate, rate)
    found = [(run, row) for run, row in iterations(runs, GPU) if is_streaming(run, row)]
    found = found or [(run, row) for run, row in iterations(runs, BOTH) if is_streaming(run, row)]
    # a run's first iteration also counts the bytes copied before it began
    found = [(run, row) for run, row in found if row is not run.rows[0]] or found
    if not found:
        raise ParameterError("no run copies edges to the GPU, so the link's rate is unknown; measure a run that does")
    names = sorted({run.workload.traits.name for run, _ in found})
    columns = [[row["to_device"] for _, row in found]]
    columns += [[float(run.workload.traits.name == name) for run, _ in found] for name in names]
    values = fit(columns, [row["seconds"] for _, row in found])
    # Iterations that differ in more than what they copy may not tell the copies' time: then the fastest is the bound.
    rate = 1 / values[0] if values[0] else max(row["to_device"] / row["seconds"] for _, row in found)
    return Link(rate, rate)


def is_streaming(run: RecordedRun, row: Record) -> bool:
    """Whether an iteration copies enough edges to fit the link's rate."""
    return bool(row["to_device"] > STREAMING_SHARE * run.workload.edges * run.workload.edge_bytes)


def gpu_costs(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    """The GPU's time per edge, for each program."""
    for program in dict.fromkeys(run.workload.traits.name for run in runs):
        own = [run for run in runs if run.workload.traits.name == program]
        recorded = [run.edge_seconds for run in own if run.edge_seconds is not None]
        resident = [
            (run, row) for run, row in iterations(own, GPU) if row["mode"] == PULL and not is_streaming(run, row)
        ]
        if recorded:
            edge = UnitCost(float(np.median(recorded)))
        elif resident:
            steps = np.array([doublings(run.workload.vertex_data) for run, _ in resident])
            columns = unit_columns(np.array([row["edges"] for _, row in resident], float), steps)
            values = fit([*columns, np.ones(len(resident))], [row["seconds"] for _, row in resident])
            edge = pop_unit_cost(values, len(set(steps)) > 1)
        else:
            edge = UnitCost(1 / EXPECTED.gpu)
        yield WorkCost(GPU, program, PULL, edge, measured=sizes(own))


def residuals(
    machine: Machine, runs: Iterable[RecordedRun], device: str, mode: str = PULL
) -> Iterator[tuple[RecordedRun, Record, float]]:
    """The measured minus the simulated seconds of iterations on `device`, corrected for different numbers of copied
    bytes."""
    assert machine.link is not None
    for run in runs:
        simulated = simulate(run.workload, machine, run.options, room_of(run)).iterations
        for row, again in zip(run.rows, simulated, strict=True):
            if row["device"] == device == again.device and row["mode"] == again.mode == mode:
                more = (row["to_device"] - again.to_device) / machine.link.to_device
                yield run, row, max(row["seconds"] - again.seconds - more, 0.0)


def with_overheads(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the GPU's time per iteration beyond its pages' time, fitted to the median of each graph size.

    The first iteration of a run takes longer (`with_first`), and so does one that copies edges (`with_copies`): these
    count only if a program has no others.
    """
    for mode in (PULL, PUSH):
        own_runs = runs if mode == PULL else [run for run in runs if run.options.lists is not None]
        rests = list(residuals(machine, own_runs, GPU, mode))
        plain = [one for one in rests if not is_first(one[0], one[1]) and not is_streaming(one[0], one[1])]
        known = {run.workload.traits.name for run, *_ in plain}
        found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for run, _, rest in (*plain, *(one for one in rests if one[0].workload.traits.name not in known)):
            found[run.workload.traits.name][run.workload.vertices].append(rest)
        for program, sizes in found.items():
            work = machine.work_of(GPU, program, mode, PULL)
            others = (one for one in machine.work if (one.processor, one.program, one.mode) != (GPU, program, mode))
            medians = [float(np.median(each)) for each in sizes.values()]
            values = fit([[float(size) for size in sizes], np.ones(len(sizes))], medians)
            own = replace(work, program=program, mode=mode, vertex=UnitCost(values[0]), iteration=values[1])
            machine = replace(machine, work=(*others, own))
    return machine


def with_copies(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the time of each copy beside its bytes, fitted to iterations that copy pages."""
    assert machine.link is not None
    copies, rests = list[float](), list[float]()
    for run, row, rest in residuals(machine, runs, GPU):
        if is_streaming(run, row) and not is_first(run, row):  # which also counts what was copied before it
            pages = run.workload.residency(room_of(run)).pages
            copies.append(row["to_device"] / (run.workload.edges * run.workload.edge_bytes) * len(pages))
            rests.append(rest)
    return replace(machine, link=replace(machine.link, copy=fit([copies], rests)[0])) if copies else machine


def with_first(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with what the first pull of a run on the GPU takes beyond any other: the median for a program."""
    found: dict[str, list[float]] = defaultdict(list)
    for run, row, rest in residuals(machine, runs, GPU):
        if is_first(run, row):
            found[run.workload.traits.name].append(rest)
    first = {program: float(np.median(rests)) for program, rests in found.items()}
    return replace(machine, work=tuple(
        replace(one, first=first.get(one.program, 0.0)) if (one.processor, one.mode) == (GPU, PULL) else one
        for one in machine.work
    ))  # fmt: skip


def with_host_copy(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the rate at which a host thread copies values, fitted to iterations that skip pages."""
    copied = list[tuple[float, float]]()
    for run, row, rest in residuals(machine, runs, GPU, NOTIFY_PULL):
        processed = row["from_device"] / run.workload.back_bytes
        fewer = min(processed, max(run.workload.vertices - processed, 0.0))  # see `pages.layout.commit_plan`
        if row["pages_skipped"]:
            copied.append((fewer * run.workload.traits.value_bytes, rest))
    if not copied:
        return machine
    nbytes, seconds = zip(*copied, strict=True)
    constant = [np.ones(len(copied))] * (len(set(nbytes)) > 1)  # the time of an iteration that copies no values
    byte_seconds, *_ = fit([nbytes, *constant], seconds)
    return replace(machine, host_copy=1 / byte_seconds) if byte_seconds else machine
