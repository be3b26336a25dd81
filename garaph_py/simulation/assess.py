"""How well a calibrated machine predicts runs that it was fitted to, and others; what lies beyond both."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..dispatch.policy import Policy
from ..errors import DeviceMemoryError, ParameterError
from ..executor.modes import BOTH, CPU, GPU, PULL, PUSH
from ..system.sizes import show_bytes
from .calibrate import calibrate
from .demand import CHAIN, PULL_ACTIVE
from .executor import costs_of, engine_costs
from .gpu_pushes import GPU_PUSHES
from .gpus import simulate_gpus
from .machine import ANY, GARAPH, UNPINNED_SHARE, Machine, WorkCost
from .peer_costs import memory_of
from .peers import TWO_H200S
from .recorded import RecordedRun, in_supersteps, room_of
from .simulate import Simulation, simulate
from .workload import Traits, Workload

WAYS = {PUSH: CHAIN, PULL: PULL_ACTIVE}
"""Directions for which the CPU has a second kernel, with costs of its own."""


@dataclass(frozen=True)
class Assessment:
    """A measured run, and what a calibrated machine predicts for it.

    Attributes
    ----------
    run : RecordedRun
    fitted : float or None
        Seconds on the machine that was fitted to all runs; None if these do not show what the run needs.
    held_out : float or None
        The same on a machine that was fitted to the runs over graphs of other sizes alone.
    """

    run: RecordedRun
    fitted: float | None
    held_out: float | None

    @property
    def error(self) -> float | None:
        """The residual over the measured seconds; None if `fitted` is."""
        return None if self.fitted is None else self.fitted / self.run.seconds - 1

    @property
    def held_out_error(self) -> float | None:
        """The same for `held_out`."""
        return None if self.held_out is None else self.held_out / self.run.seconds - 1


def assess(runs: Sequence[RecordedRun], machine: Machine) -> list[Assessment]:
    """Simulate the `runs` that `machine` was calibrated with, and again without those over graphs of their size."""
    without = {size: calibrated([run for run in runs if size_of(run) != size]) for size in map(size_of, runs)}
    return [Assessment(run, predicted(run, machine), predicted(run, without[size_of(run)])) for run in runs]


def size_of(run: RecordedRun) -> tuple[int, int]:
    """The numbers of vertices and edges of a run's graph."""
    return run.workload.vertices, run.workload.edges


def calibrated(runs: Sequence[RecordedRun]) -> Machine | None:
    """A machine that is fitted to `runs`; None if they are too few."""
    try:
        return calibrate(runs)
    except ParameterError:
        return None


def seconds(run: RecordedRun, machine: Machine) -> float:
    """The seconds of a run on a machine."""
    if run.gpus == 1 and in_supersteps(run.rows):
        return simulate(run.workload, machine, run.options, room_of(run)).seconds
    peers, memory = machine.peers or TWO_H200S, memory_of(machine, run)
    return simulate_gpus(run.workload, machine, run.options, peers, run.gpus, memory).seconds


def predicted(run: RecordedRun, machine: Machine | None) -> float | None:
    """The seconds of a run on a machine; None if it cannot be simulated there."""
    try:
        return None if machine is None else seconds(run, machine)
    except (ParameterError, DeviceMemoryError):
        return None


def spread(errors: Iterable[float | None]) -> tuple[float, float] | None:
    """The median and the largest of the errors, without their signs; None if there are none."""
    known = [abs(error) for error in errors if error is not None]
    return (statistics.median(known), max(known)) if known else None


def extrapolations(machine: Machine, workload: Workload, done: Simulation, policy: Policy) -> list[str]:
    """In which respects a simulation under a policy extrapolates beyond the calibrated runs, in words."""
    if all(work.measured is None for work in machine.work):
        return []
    used = dict.fromkeys(
        (processor, row.mode if processor == CPU or row.mode == PUSH else PULL)
        for row in done.iterations
        for processor in ((CPU, GPU) if row.device == BOTH else (row.device,))
    )
    found = list[str]()
    for processor, mode in used:
        if processor == CPU:
            unlike, work = nearest_costs(machine, workload, policy, mode)
        else:
            ways = GPU_PUSHES if mode == PUSH else (mode,)
            work = machine.work_of(processor, workload.traits.name, *ways)
            unlike = list(other_costs(work, workload.traits, ways, work.engine))
        what = f"{workload.traits.name} on the {processor.upper()}, {mode}: "
        found += [what + one for one in itertools.chain(unlike, beyond(work, workload))]
    link, later = machine.link, (row for row in done.iterations[1:] if row.mode == PULL and row.to_device)
    if link is not None and link.unpinned is None and not workload.is_pinned and any(later):
        found.append(f"copies from memory that is not pinned: not measured; {UNPINNED_SHARE:.0%} of the link's rate")
    return found


def nearest_costs(machine: Machine, workload: Workload, policy: Policy, mode: str) -> tuple[list[str], WorkCost]:
    """The costs of a direction on the CPU, by either of its kernels, that were measured under the most similar
    conditions; and how these differ, in words: a program may run only one of the two under an engine."""
    ways: tuple[str, ...] = (mode, WAYS[mode]) if mode in WAYS else (mode,)
    found = []
    for own in (ways, ways[::-1]):
        work = costs_of(machine, workload, policy, *own)
        found.append((list(other_costs(work, workload.traits, ways, engine_costs(policy))), work))
    return min(found, key=lambda one: len(one[0]))


def other_costs(work: WorkCost, traits: Traits, ways: Collection[str], engine: str) -> Iterator[str]:
    """Conditions under which the costs `work` of a program, in one of these `ways`, were not measured, in words."""
    values, sync = traits.edge_value_bytes > 0, traits.synchronous
    if work.program == ANY:
        yield "not measured; it has the costs of any program"
    elif work.like is not None:
        yield f"not measured; it has the costs of {work.like}, adapted to a comparison here"
    elif work.mode not in ways:
        yield f"not measured; it has the costs of {work.mode}"
    elif work.values not in (None, values):
        without, other = ("with", "without") if values else ("without", "with")
        yield f"not measured {without} edge values; it has the costs {other} them"
    elif work.engine != engine:
        now, other = ("garaph", "another engine") if engine == GARAPH else ("such an engine", "garaph")
        yield f"not measured under {now}; it has the costs under {other}"
    elif work.sync not in (None, sync):
        now, other = ("synchronous", "asynchronous") if sync else ("asynchronous", "synchronous")
        yield f"not measured in {now} runs; it has the costs of {other} ones"


def beyond(work: WorkCost, workload: Workload) -> Iterator[str]:
    """How a workload's graph differs from those that the costs `work` are fitted to, in words."""
    size, near = workload.vertex_data, workload.shape.near
    if work.measured is not None and not work.measured[0] <= size <= work.measured[1]:
        least, most = map(show_bytes, work.measured)
        yield f"{show_bytes(size)} of vertex data, beyond the {least} to {most} that were measured"
    if work.locality is not None and not work.locality[0] <= near <= work.locality[1]:
        least, most = (f"{share:.2g}" for share in work.locality)
        yield f"near = {near:.2g}, beyond the {least} to {most} that were measured"
