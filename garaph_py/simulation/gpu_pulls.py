"""What pulls of a GPU cost, fitted to measured runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import ParameterError
from ..events import Iteration
from ..executor.costs import EXPECTED
from ..executor.modes import BOTH, GPU, NOTIFY_PULL, PULL, PUSH
from .fitting import fit, fit_edges, iterations, sizes
from .gpu_ahead import ahead, ahead_costs
from .machine import Link, Machine, UnitCost, WorkCost
from .recorded import Record, RecordedRun, is_first, room_of
from .simulate import simulate

STREAMING_SHARE = 0.05
"""Share of the edges: iterations that copy more are fitted for the link's rate, all others for the GPU's time."""
LAUNCH_STEP, LAUNCHES, HALVINGS = 2e-5, 6, 2
"""The seconds to launch a page that are tried: so many multiples of a step, and around the best, of half the step and
of a quarter."""
ALIKE = 3
"""Pulls of a run that are simulated to find these: later ones are like the third."""


def link_of(runs: Sequence[RecordedRun]) -> Link:
    """The link, from the recorded rate of single copies, or else fitted to iterations that copy."""
    rates = [run.copy_rate for run in runs if run.copy_rate is not None]
    if rates:
        rate = float(np.median(rates))
        return Link(rate, rate)
    pinned = [run for run in runs if run.workload.is_pinned] or runs
    found = [(run, row) for run, row in iterations(pinned, GPU) if is_streaming(run, row)]
    found = found or [(run, row) for run, row in iterations(pinned, BOTH) if is_streaming(run, row)]
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
    """The GPU's time per edge, for each program, and the costs of pulls that are launched together."""
    yield from ahead_costs(runs)
    for program in dict.fromkeys(run.workload.traits.name for run in runs):
        own = [run for run in runs if run.workload.traits.name == program]
        recorded = [run.edge_seconds for run in own if run.edge_seconds is not None]
        resident = resident_pulls(one_by_one(own)) or resident_pulls(iterations(own, GPU))
        if recorded:
            edge = UnitCost(float(np.median(recorded)))
        elif resident:
            edge, _ = fit_edges(resident)
        else:
            edge = UnitCost(1 / EXPECTED.gpu)
        yield WorkCost(GPU, program, PULL, edge, measured=sizes(own))


def resident_pulls(found: Iterable[tuple[RecordedRun, Record]]) -> list[tuple[RecordedRun, Record]]:
    """Those of the iterations `found` that pull and copy no edges."""
    return [(run, row) for run, row in found if row["mode"] == PULL and not is_streaming(run, row)]


def one_by_one(runs: Iterable[RecordedRun]) -> Iterator[tuple[RecordedRun, Record]]:
    """The iterations of `runs` on the GPU, but for pulls that were launched together."""
    for run in runs:
        for row, is_ahead in zip(run.rows, ahead(run), strict=True):
            if row["device"] == GPU and not is_ahead:
                yield run, row


def with_pulls(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with what pulls take beside their edges, as fitted to `runs` on a GPU alone."""
    machine = with_unpinned(with_launches(with_overheads(machine, runs), runs), runs)
    return with_host_copy(with_first(machine, runs), runs)


def pairs(
    machine: Machine, runs: Iterable[RecordedRun], mode: str = PULL
) -> Iterator[tuple[RecordedRun, Record, Iteration]]:
    """The iterations in `mode` on a GPU alone both as recorded in `runs` and as simulated, without pulls that were
    launched together."""
    for run in runs:
        simulated = simulate(run.workload, machine, run.options, room_of(run)).iterations
        for row, again, is_ahead in zip(run.rows, simulated, ahead(run), strict=True):
            if not is_ahead and row["device"] == GPU == again.device and row["mode"] == again.mode == mode:
                yield run, row, again


def residuals(
    machine: Machine, runs: Iterable[RecordedRun], mode: str = PULL
) -> Iterator[tuple[RecordedRun, Record, float]]:
    """The measured minus the simulated seconds of iterations on a GPU alone, corrected for different numbers of copied
    bytes."""
    assert machine.link is not None
    for run, row, again in pairs(machine, runs, mode):
        more = (row["to_device"] - again.to_device) / machine.link.to_device
        yield run, row, max(row["seconds"] - again.seconds - more, 0.0)


def with_overheads(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the GPU's time per iteration beyond its pages' time, fitted to the median of each graph size.

    The first iteration of a run takes longer (`with_first`), and so does one that copies edges (`with_copies`): these
    count only if a program has no others.
    """
    for mode in (PULL, PUSH):
        own_runs = runs if mode == PULL else [run for run in runs if run.options.lists is not None]
        rests = list(residuals(machine, own_runs, mode))
        plain = [one for one in rests if not is_first(one[0], one[1]) and not is_streaming(one[0], one[1])]
        known = {run.workload.traits.name for run, *_ in plain}
        found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for run, _, rest in (*plain, *(one for one in rests if one[0].workload.traits.name not in known)):
            found[run.workload.traits.name][run.workload.vertices].append(rest)
        for program, each_size in found.items():
            work = machine.work_of(GPU, program, mode, PULL)
            others = (one for one in machine.work if (one.processor, one.program, one.mode) != (GPU, program, mode))
            vertex, iteration = per_vertex(each_size)
            own = replace(work, program=program, mode=mode, vertex=UnitCost(vertex), iteration=iteration)
            machine = replace(machine, work=(*others, own))
    return machine


def per_vertex(each_size: Mapping[int, Sequence[float]]) -> list[float]:
    """The seconds for each vertex, and the fixed ones, that fit the median for each number of vertices."""
    medians = [float(np.median(seconds)) for seconds in each_size.values()]
    return fit([[float(size) for size in each_size], np.ones(len(medians))], medians)


def with_launches(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the time that the GPU's thread takes to launch a page, if some pages are not resident, and with
    the time of each copy beside its bytes, which is fitted beside it.

    A copy and the launches behind it take place at the same time, so the launch is found by trial.
    """
    pulls = [run for run in pulling(runs) if run.workload.is_pinned]
    if not pulls:
        return machine
    tried: dict[float, tuple[float, Machine]] = {}
    best, step = 0.0, LAUNCH_STEP
    around = [k * step for k in range(LAUNCHES)]
    for _ in range(HALVINGS + 1):
        for launch in around:
            if launch >= 0 and launch not in tried:
                one = with_copies(with_launch(machine, launch), pulls)
                tried[launch] = misfit(one, pulls), one
        best, step = min(tried, key=lambda launch: tried[launch][0]), step / 2
        around = [best - step, best + step]
    return tried[best][1]


def with_launch(machine: Machine, launch: float) -> Machine:
    """`machine` on which it takes so long to launch a page."""
    return with_pull_costs(machine, lambda one: replace(one, launch=launch))


def with_pull_costs(machine: Machine, change: Callable[[WorkCost], WorkCost]) -> Machine:
    """`machine` with its costs of pulls on a GPU changed."""
    return replace(machine, work=tuple(
        change(one) if (one.processor, one.mode) == (GPU, PULL) else one for one in machine.work
    ))  # fmt: skip


def pulling(runs: Iterable[RecordedRun]) -> Iterator[RecordedRun]:
    """Those of `runs` whose pulls copy pages, each up to its third pull that does: all later ones are like these."""
    for run in runs:
        copying = [k for k, row in enumerate(run.rows) if row["mode"] == PULL and is_streaming(run, row)]
        if len(copying) > 1:  # the first also counts the copies of resident pages
            end = copying[:ALIKE][-1] + 1
            workload = replace(run.workload, activities=run.workload.activities[:end])
            yield replace(run, workload=workload, rows=run.rows[:end])


def copies_of(machine: Machine, runs: Sequence[RecordedRun]) -> Iterator[tuple[RecordedRun, Record, float]]:
    """The pulls that copy pages, but for the first of a run, and the simulated seconds of one that copies as much."""
    assert machine.link is not None
    for run, row, again in pairs(machine, runs):
        if is_streaming(run, row) and not is_first(run, row):
            rate = machine.link.rate(run.workload.is_pinned)
            yield run, row, again.seconds + (row["to_device"] - again.to_device) / rate


def misfit(machine: Machine, runs: Sequence[RecordedRun]) -> float:
    """The mean error of the pulls of `runs` that copy pages: of the logarithm of the time."""
    errors = [abs(math.log(seconds / row["seconds"])) for _, row, seconds in copies_of(machine, runs) if seconds > 0]
    return float(np.mean(errors)) if errors else 0.0


def with_copies(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the time of each copy beside its bytes, fitted to pulls that copy pages."""
    assert machine.link is not None
    copies, rests = list[float](), list[float]()
    for run, row, seconds in copies_of(machine, runs):
        pages = run.workload.residency(room_of(run)).pages
        copies.append(row["to_device"] / (run.workload.edges * run.workload.edge_bytes) * len(pages))
        rests.append(max(row["seconds"] - seconds, 0.0))
    return replace(machine, link=replace(machine.link, copy=fit([copies], rests)[0])) if copies else machine


def with_unpinned(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the rate of copies from memory that is not pinned: the median over pulls that make such copies.

    The thread waits for these copies, so what a pull takes longer than simulated is their time.
    """
    assert machine.link is not None
    pulls = [run for run in pulling(runs) if not run.workload.is_pinned]
    rate, rates = machine.link.rate(False), list[float]()
    for _, row, seconds in copies_of(machine, pulls):
        left = row["seconds"] - (seconds - row["to_device"] / rate)
        rates += [row["to_device"] / left] * (left > 0)
    if not rates:
        return machine
    unpinned = min(float(np.median(rates)), machine.link.to_device)
    return replace(machine, link=replace(machine.link, unpinned=unpinned))


def with_first(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with what the first pull of a run on the GPU takes beyond any other: the median for a program."""
    found: dict[str, list[float]] = defaultdict(list)
    for run, row, rest in residuals(machine, runs):
        if is_first(run, row):
            found[run.workload.traits.name].append(rest)
    first = {program: float(np.median(rests)) for program, rests in found.items()}
    return with_pull_costs(machine, lambda one: replace(one, first=first.get(one.program, 0.0)))


def with_host_copy(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the rate at which a host thread copies values, fitted to iterations that skip pages."""
    copied = list[tuple[float, float]]()
    for run, row, rest in residuals(machine, runs, NOTIFY_PULL):
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
