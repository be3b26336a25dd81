"""What several GPUs cost each other, fitted to measured runs.

An iteration on several GPUs takes longer than the GPU with most work computes: `gpus.Traffic` counts what it does
besides, and each count has a cost. Runs may show none of a cost, or only the sum of two, such as that of three steps
and six copies in every pull. Such costs keep the values that two H200s had.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..executor.decision import Decision
from ..executor.modes import COMPONENTS, GPU, PULL, PUSH
from .fitting import Array, least_errors
from .gpu_pulls import pairs, per_vertex
from .gpus import SimulatedGpus, Traffic
from .machine import Machine, UnitCost, WorkCost
from .peers import COSTS, TWO_H200S, Peers
from .recorded import Record, RecordedRun, in_supersteps, is_first, room_of

ROUNDS = 3
"""Fits: each takes from the last one whether an iteration waits for its GPUs or for the thread."""
MOST_UNSURE = 0.25
"""The standard error of a cost, as a share of it and of that of `TWO_H200S`, up to which the runs show the cost."""
LEAST_NOISE = 0.01
"""Standard error of a measured time, as a share, at least: that of the median of repeats on an idle host."""
LEAST_BYTE = 1e-15
"""Seconds for a byte between GPUs, at least: 1 PB/s, where a rate is not seen."""
EDGES_ALIKE = 0.02
"""How far the edges that an iteration visits in the simulation may be from those that it visited, as a share."""


@dataclass(frozen=True)
class Exchange:
    """A measured iteration on several GPUs.

    Attributes
    ----------
    traffic : Traffic
        What the GPUs had to do in it.
    seconds : float
    weight : float
        How much it counts: all iterations of a run count as the root of their number.
    """

    traffic: Traffic
    seconds: float
    weight: float


def components_costs(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    """What it costs one GPU to find components in one iteration, for each program."""
    found: dict[str, dict[int, list[float]]] = {}
    for run in runs:
        if not in_supersteps(run.rows):
            each_size = found.setdefault(run.workload.traits.name, {})
            each_size.setdefault(run.workload.vertices, []).append(run.seconds)
    for program, each_size in found.items():
        vertex, iteration = per_vertex(each_size)
        yield WorkCost(GPU, program, COMPONENTS, vertex=UnitCost(vertex), iteration=iteration)


def with_peers(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine`, whose costs of one GPU are known, with those of several, as `runs` show them; without, if none was on
    several, and their rate is not known either."""
    rates = [run.peer_rate for run in runs if run.peer_rate is not None]
    if not rates and all(run.gpus == 1 for run in runs):
        return machine
    found = list(exchanges(machine, runs))
    known = frozenset({"bandwidth"} if rates else set())
    costs = in_seconds(replace(TWO_H200S, bandwidth=float(np.median(rates))) if rates else TWO_H200S)
    sure = set(known)
    for _ in range(ROUNDS if found else 0):
        costs, sure = shown(*table_of(found, peers_with(costs)), costs, known)
    return replace(machine, peers=replace(peers_with(costs), assumed=tuple(key for key in COSTS if key not in sure)))


def exchanges(machine: Machine, runs: Sequence[RecordedRun]) -> Iterator[Exchange]:
    """The iterations of `runs` on several GPUs whose work is known from runs on one.

    A pull counts if the same one on one GPU was measured by itself. Its work is as much off as that one's.
    """
    factors = measured_by_simulated(machine, [run for run in runs if run.gpus == 1])
    for run in runs:
        own = list(traffic_of(machine, run)) if run.gpus > 1 else []
        for row, traffic in own:
            factor = factors.get((key_of(run), row["number"])) if row["mode"] == PULL else 1.0
            if factor is not None:
                traffic = replace(traffic, computing=factor * traffic.computing)
                yield Exchange(traffic, row["seconds"], 1 / math.sqrt(len(own)))


def measured_by_simulated(machine: Machine, runs: Sequence[RecordedRun]) -> dict[tuple[Any, int], float]:
    """The measured over the simulated time of each pull of one GPU that was not launched together with others; but for
    the first of a run, which takes longer."""
    on_gpu = [run for run in runs if run.options.device == GPU and in_supersteps(run.rows)]
    return {
        (key_of(run), row["number"]): row["seconds"] / again.seconds
        for run, row, again in pairs(machine, on_gpu)
        if again.seconds and not is_first(run, row)
    }


def key_of(run: RecordedRun) -> tuple[Any, ...]:
    """What runs on one GPU and on several have in common."""
    return run.graph, run.start, run.workload.traits, run.options, run.room


def traffic_of(machine: Machine, run: RecordedRun) -> Iterator[tuple[Record, Traffic]]:
    """The iterations of a run on several GPUs, as far as the machine knows the costs of one, each with its traffic."""
    program = run.workload.traits.name
    if not machine.has_costs(GPU, program, PULL, COMPONENTS):
        return
    gpus = SimulatedGpus(run.workload, machine, run.options, TWO_H200S, run.gpus, memory_of(machine, run))
    can = {PULL, PUSH} & set(gpus.capabilities.modes) if machine.has_costs(GPU, program, PULL) else set[str]()
    for row, activity in zip(run.rows, run.workload.activities, strict=True):
        if row["mode"] == COMPONENTS and machine.has_costs(GPU, program, COMPONENTS):
            yield row, gpus.components()
        elif row["mode"] in can:
            (step,) = gpus.steps([activity], Decision(row["mode"], "", GPU))
            if abs(step.edges - row["edges"]) <= EDGES_ALIKE * max(row["edges"], run.gpus / EDGES_ALIKE):
                yield row, gpus.traffic[-1]


def memory_of(machine: Machine, run: RecordedRun) -> int:
    """Bytes of each GPU's memory in a run on several: all that the machine's have, if the run did not say."""
    memory = run.workload.fixed + room_of(run)
    return memory if run.room is not None else max(memory, machine.gpu_memory or 0)


def in_seconds(peers: Peers) -> Array:
    """The `COSTS`, each in seconds for one of what it is for: a byte, a step, a copy, a vertex."""
    return np.array([1 / peers.bandwidth, *(getattr(peers, name) for name in COSTS[1:])])


def peers_with(costs: Array) -> Peers:
    """The reverse of `in_seconds`."""
    byte, turn, copy, received, joined = map(float, costs)
    return Peers(1 / max(byte, LEAST_BYTE), turn, copy, received, joined)


def table_of(found: Sequence[Exchange], peers: Peers) -> tuple[Array, Array]:
    """How often each cost is paid in each iteration, and the seconds that all take, as shares of its measured time.

    An iteration that waits for the thread, as far as is known from `peers`, pays for all that the thread does, and for
    nothing that GPUs compute.
    """
    rows, rights = [], []
    for one in found:
        it, driven = one.traffic, one.traffic.is_driven(peers)
        scale = one.weight / it.waits(peers).seconds
        counts = it.nbytes / it.pieces, it.turns, it.copies + it.hidden * driven, it.received, it.joined
        rows.append([scale * count for count in counts])
        rights.append(scale * (one.seconds - it.computing * (not driven)))
    return np.array(rows, float), np.array(rights, float)


def shown(table: Array, right: Array, costs: Array, known: frozenset[str]) -> tuple[Array, set[str]]:
    """The costs that fit best, and the names of those that the iterations show; others keep what `TWO_H200S` have.

    While one of them is unsure, the least sure one gets its usual value, and the others are fitted again.
    """
    usual = in_seconds(TWO_H200S)
    scaled, found = table * usual, np.where([name in known for name in COSTS], costs / usual, 1.0)
    free = [k for k, name in enumerate(COSTS) if name not in known]
    while free:
        rest = right - np.delete(scaled, free, axis=1) @ np.delete(found, free)
        own = scaled[:, free]
        found[free] = least_errors(own, rest)
        noise = max(float(np.abs(rest - own @ found[free]).mean()), LEAST_NOISE)
        unsure = noise * spreads(own) / np.maximum(found[free], 1.0)
        worst = int(np.argmax(unsure))
        if unsure[worst] <= MOST_UNSURE:
            break
        found[free.pop(worst)] = 1.0
    return found * usual, {*known, *(COSTS[k] for k in free)}


def spreads(table: Array) -> Array:
    """The standard errors of the coefficients of the columns, if that of each row is 1; infinite if other columns, or
    none, make up a column."""
    found = []
    for k, column in enumerate(table.T):
        others = np.delete(table, k, axis=1)
        left = column - others @ np.linalg.lstsq(others, column, rcond=None)[0] if others.size else column
        size = float(np.linalg.norm(left))
        found.append(1 / size if size > 1e-6 * np.linalg.norm(column) else math.inf)
    return np.array(found)
