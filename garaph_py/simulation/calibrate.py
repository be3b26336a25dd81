"""A machine from runs that were measured on it: least squares, with coefficients that are not negative.

Of the CPU, for each program and mode, seconds of an iteration are a constant, and for each edge visited and each
active vertex a constant and something more with each doubling of the vertex data: so two sizes of graphs give a slope.
Of the GPU, edges that stay give its own pace, edges that are copied the link's; where all are copied its own does not
show, and is as `dispatch/rates.py` expects. What then is left of its iterations is so much an iteration and so much a
vertex. Of both, what the CPU took beyond its edges is so much a piece that it was handed, and what is left of their
iterations so much an iteration and so much a byte copied; these have few iterations, and are the same for all programs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from ..dispatch.rates import GPU_RATE
from ..errors import ParameterError
from ..executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL, PUSH
from ..runtime.options import HYBRID
from .machine import ANY, Link, Machine, UnitCost, WorkCost, doublings
from .recorded import Record, RecordedRun
from .simulate import simulate

Array = npt.NDArray[Any]

COPIED = 0.05
"""Of the edges: an iteration that copies less says what the GPU does, one that copies more what the link does."""
ROUNDS, LEAST_SECONDS = 20, 1e-9


def calibrate(runs: Sequence[RecordedRun], cores: int | None = None, gpu_memory: int | None = None) -> Machine:
    """The machine on which `runs` were measured.

    Parameters
    ----------
    runs : sequence of Recorded
    cores : int, optional
        By default as many as a run on the CPU had threads.
    gpu_memory : int, optional
        Bytes; by default the most that a run used.

    Raises
    ------
    ParameterError
        If there is no iteration to learn from.
    """
    if not any(run.rows for run in runs):
        raise ParameterError("there is no iteration to calibrate by; measure a run")
    if cores is None:
        cores = max(run.threads for run in runs)
    machine = Machine(cores, tuple(cpu_work(runs)))
    on_gpu = [run for run in runs if any(row["device"] != CPU for row in run.rows)]
    if not on_gpu:
        return machine
    memory = max(run.workload.fixed + whole_room(run) for run in on_gpu)
    machine = replace(machine, gpu_memory=gpu_memory or memory, link=link_of(on_gpu))
    machine = replace(machine, work=machine.work + tuple(gpu_work(on_gpu)))
    alone, together = ([run for run in on_gpu if run.options.device == device] for device in (GPU, HYBRID))
    machine = with_copies(with_rests(machine, alone), alone)
    return beside(machine, together) if together else machine


def whole_room(run: RecordedRun) -> int:
    """Bytes that were left for edges; what all take, where nothing bounded them."""
    return int(run.workload.edges * run.workload.edge_bytes * 1.01) + (1 << 20) if run.room is None else run.room


def iterations(runs: Iterable[RecordedRun], device: str) -> Iterator[tuple[RecordedRun, Record]]:
    return ((run, row) for run in runs for row in run.rows if row["device"] == device)


def fit(columns: Sequence[Any], seconds: Sequence[float]) -> list[float]:
    """Coefficients, 0 or more, of `columns` whose sum is nearest to `seconds`.

    Squares are weighed by one over what is fitted, found in rounds: then all fitted seconds add up to those given.
    """
    taken = np.asarray(seconds, float)
    table = np.asarray(columns, float).T
    scale = np.maximum(table.max(axis=0), 1e-300)
    table = table / scale
    found, fitted = np.zeros(len(scale)), taken
    for _ in range(ROUNDS):
        weights = 1 / np.sqrt(np.maximum(fitted, LEAST_SECONDS))
        found, _ = nnls(table * weights[:, None], taken * weights)
        fitted = table @ found
    return [float(value) for value in found / scale]


def sloped(counts: Array, steps: Array) -> list[Array]:
    """Columns of something that is counted, and of it for each doubling of the vertex data if there are several."""
    return [counts, counts * steps] if len(set(steps)) > 1 else [counts]


def line(values: list[float], slope: bool) -> UnitCost:
    """The next coefficients, as `sloped` made their columns."""
    return UnitCost(values.pop(0), values.pop(0) if slope else 0.0)


def cpu_work(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    groups: dict[tuple[str, str], list[tuple[RecordedRun, Record]]] = defaultdict(list)
    for run, row in iterations(runs, CPU):
        groups[run.workload.traits.name, row["mode"]].append((run, row))
    for (program, mode), found in groups.items():
        threads = np.array([run.threads for run, _ in found], float)
        steps = np.array([doublings(run.workload.vertex_data) for run, _ in found])
        edges = np.array([row["edges"] for _, row in found]) / threads
        slope = len(set(steps)) > 1
        columns = sloped(edges, steps)
        if sparse := mode in (NOTIFY_PULL, PUSH):  # where everybody is looked at, vertices are as edges are
            columns += sloped(np.array([row["active"] for _, row in found]) / threads, steps)
        if constant := sparse or len(set(edges)) > len(columns):  # else it cannot be told from a slope
            columns.append(np.ones(len(found)))
        values = fit(columns, [row["seconds"] for _, row in found])
        edge = line(values, slope)
        vertex = line(values, slope) if sparse else UnitCost()
        yield WorkCost(CPU, program, mode, edge, vertex, iteration=values.pop() if constant else 0.0)


def link_of(runs: Sequence[RecordedRun]) -> Link:
    """The link's pace: that of single copies, where it is told, else of iterations that copy."""
    told = [run.copying for run in runs if run.copying is not None]
    if told:
        rate = float(np.median(told))
        return Link(rate, rate)
    found = [(run, row) for run, row in iterations(runs, GPU) if copies(run, row)]
    found = found or [(run, row) for run, row in iterations(runs, BOTH) if copies(run, row)]
    # the first one counts what was copied while the run was set up
    found = [(run, row) for run, row in found if row is not run.rows[0]] or found
    if not found:
        raise ParameterError("no run copies edges to the GPU, so the link's pace is not known; measure one that does")
    names = sorted({run.workload.traits.name for run, _ in found})
    columns = [[row["to_device"] for _, row in found]]
    columns += [[float(run.workload.traits.name == name) for run, _ in found] for name in names]
    values = fit(columns, [row["seconds"] for _, row in found])
    return Link(1 / values[0], 1 / values[0])


def copies(run: RecordedRun, row: Record) -> bool:
    return bool(row["to_device"] > COPIED * run.workload.edges * run.workload.edge_bytes)


def gpu_work(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    for program in dict.fromkeys(run.workload.traits.name for run in runs):
        own = [run for run in runs if run.workload.traits.name == program]
        told = [run.gathering for run in own if run.gathering is not None]
        stays = [(run, row) for run, row in iterations(own, GPU) if not copies(run, row) and row["mode"] == PULL]
        if told:
            edge = UnitCost(float(np.median(told)))
        elif stays:
            steps = np.array([doublings(run.workload.vertex_data) for run, _ in stays])
            columns = sloped(np.array([row["edges"] for _, row in stays], float), steps)
            values = fit([*columns, np.ones(len(stays))], [row["seconds"] for _, row in stays])
            edge = line(values, len(set(steps)) > 1)
        else:
            edge = UnitCost(1 / GPU_RATE)
        yield WorkCost(GPU, program, PULL, edge)


def rests(
    machine: Machine, runs: Iterable[RecordedRun], device: str, mode: str = PULL
) -> Iterator[tuple[RecordedRun, Record, float]]:
    """What iterations on `device` took beyond what they are simulated to take, if as many edges are copied."""
    assert machine.link is not None
    for run in runs:
        simulated = simulate(run.workload, machine, run.options, whole_room(run)).iterations
        for row, played in zip(run.rows, simulated, strict=True):
            if row["device"] == device == played.device and row["mode"] == played.mode == mode:
                more = (row["to_device"] - played.to_device) / machine.link.to_device
                yield run, row, max(row["seconds"] - played.seconds - more, 0.0)


def with_rests(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with what iterations of the GPU alone take beside all else: of each size the median."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run, _, rest in rests(machine, runs, GPU):
        found[run.workload.traits.name][run.workload.vertices].append(rest)
    for program, sizes in found.items():
        work = machine.work_of(GPU, program, PULL)
        others = tuple(one for one in machine.work if one is not work)
        medians = [float(np.median(each)) for each in sizes.values()]
        values = fit([[float(size) for size in sizes], np.ones(len(sizes))], medians)
        own = replace(work, program=program, vertex=UnitCost(values[0]), iteration=values[1])
        machine = replace(machine, work=(*others, own))
    return machine


def with_copies(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the pace at which a thread copies values, as it does where pages are skipped (`commit_plan`)."""
    copied = list[tuple[float, float]]()
    for run, row, rest in rests(machine, runs, GPU, NOTIFY_PULL):
        processed = row["from_device"] / run.workload.back_bytes
        fewer = min(processed, max(run.workload.vertices - processed, 0.0))
        if row["pages_skipped"]:
            copied.append((fewer * run.workload.traits.value_bytes, rest))
    if not copied:
        return machine
    nbytes, seconds = zip(*copied, strict=True)
    others = [np.ones(len(copied))] * (len(set(nbytes)) > 1)  # where few are copied, the rest is something else
    pace, *_ = fit([nbytes, *others], seconds)
    return replace(machine, host_copy=1 / pace) if pace else machine


def handed(machine: Machine, run: RecordedRun, row: Record) -> tuple[float, float]:
    """How many pieces the CPU was handed in an iteration of both, and what is left of its seconds beside their edges:
    both end together.
    """
    work, program = run.workload, run.workload.traits.name
    cpu, gpu = (machine.work_of(device, program, PULL) for device in (CPU, GPU))
    share = row["from_device"] / (work.vertices * work.back_bytes)  # of the GPU, in vertices as in edges
    pieces = row["pages"] - share * len(work.residency(whole_room(run)).pages)
    left = row["seconds"] - gpu.iteration - gpu.seconds(0, work.vertices, work.vertex_data)
    left -= cpu.seconds((1 - share) * work.edges, (1 - share) * work.vertices, work.vertex_data, run.threads)
    return max(pieces, 0.0), max(left, 0.0)


def beside(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with what it costs that both work: of each piece, of the beginning and the end, and of the link."""
    assert machine.link is not None
    shared = [handed(machine, run, row) for run, row in iterations(runs, BOTH) if row["mode"] == PULL]
    if not shared:
        return machine
    pieces, left = zip(*shared, strict=True)
    both = WorkCost(BOTH, ANY, PULL, page=fit([pieces, np.ones(len(pieces))], left)[0])
    found = list(rests(replace(machine, work=(*machine.work, both)), runs, BOTH))
    if found:
        copying = [row["to_device"] / machine.link.to_device for _, row, _ in found]
        slower, start = fit([copying, np.ones(len(found))], [rest for *_, rest in found])
        machine = replace(machine, link=replace(machine.link, beside_cpu=1 / (1 + slower)))
        both = replace(both, iteration=start)
    return replace(machine, work=(*machine.work, both))
