"""Simulate a run: the policies of real runs decide; models of the executors predict the times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..dispatch.observation import Observation
from ..dispatch.policy import Policy
from ..dispatch.rates import Speeds
from ..dispatch.scheduler import Schedule, Scheduler
from ..errors import ParameterError
from ..events import Iteration
from ..executor.decision import Decision
from ..executor.modes import CPU, GPU, PULL, PUSH
from ..executor.protocol import Capabilities
from ..pages.layout import Page
from ..runtime.cores import cores_beside_gpu
from ..runtime.options import ANY, HYBRID, RunOptions
from ..runtime.tiling import LEAST_TILED_EDGES, LEAST_TILED_ITERATIONS
from ..runtime.watching import cpu_chains, looks_at_each
from .executor import SimulatedCpu, SimulatedGpu
from .hybrid import SimulatedHybrid
from .machine import Machine
from .partitions import SimulatedLists, check_lists
from .results import SimulatedExecutor, SimulatedStep
from .workload import Activity, Workload

LEAST_SECONDS = 1e-15
"""Least cost (s) of an edge in a model, where a division by it follows."""


@dataclass(frozen=True)
class Simulation:
    """The result of a simulated run.

    Attributes
    ----------
    iterations : list of Iteration
    owners : list of dict of Page to str
        For each iteration, the processor of each page, or part of one.
    """

    iterations: list[Iteration] = field(default_factory=list)
    owners: list[dict[Page, str]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Total seconds of all iterations."""
        return sum(row.seconds for row in self.iterations)

    def add(self, decision: Decision, activity: Activity, step: SimulatedStep, edges: int) -> None:
        """Add an iteration over a graph with so many edges."""
        number, f = len(self.iterations), activity.active_edges / edges if edges else float(activity.active > 0)
        started = self.iterations[-1].ended if self.iterations else 0.0
        self.iterations.append(Iteration(
            number, decision.mode, f, activity.active, step.edges, step.pages, step.skipped, step.seconds,
            decision.device, round(step.to_device), round(step.from_device), started, decision.why, decision.alpha,
            groups=step.groups, partitions=activity.counts,
        ))  # fmt: skip
        self.owners.append(step.owners)


def simulate(
    workload: Workload, machine: Machine, options: RunOptions, room: int | None = None,
    executor: SimulatedExecutor | None = None,
) -> Simulation:  # fmt: skip
    """Simulate `workload` on `machine`.

    Parameters
    ----------
    workload : Workload
    machine : Machine
    options : RunOptions
        ``device`` (not ``"auto"``), ``engine`` and ``mode`` are used, and all that decides whether a processor may do
        several iterations at once: ``iterations``, ``check``, ``checkpoint``, ``trace`` and ``report``.
    room : int, optional
        Bytes of the GPU's memory left for edges; by default all memory minus `Workload.fixed`.
    executor : SimulatedExecutor, optional
        By default the one for the device of `options`.

    Raises
    ------
    ParameterError
        If the machine lacks what the run needs: a GPU, disks, or the cost of this work. If the policy has vertices
        push deltas.
    DeviceMemoryError
        If a page does not fit in the GPU's memory.
    """
    executor = executor or executor_of(workload, machine, options, room)
    k = machine.disks.k if workload.on_disks and machine.disks else 1.0
    policy, activities = options.policy, workload.activities
    measures = options.device == HYBRID and policy.hardware and activities
    speeds = machine.speeds or speeds_of(workload, machine, policy) if measures else None
    scheduler = scheduler_of(workload, options, executor.capabilities, executor.pages, k, speeds)
    done = Simulation()
    unfinished = unfinished_edges(workload)
    while (number := len(done.iterations)) < len(activities):
        scheduler.number, activity = number, activities[number]
        seen = observe(scheduler, activity, unfinished)
        decision = scheduler.decide(seen)
        check_priced(decision, f"iteration {number} of {workload.traits.name} ({decision.device})", policy)
        steps = executor.steps(activities[number:], decision)
        last, pages = steps[-1], steps[-1].pages + steps[-1].skipped
        scheduler.learn(seen, decision, last.sharing, last.skipped, pages)
        for step, activity in zip(steps, activities[number:], strict=False):
            done.add(decision, activity, step, workload.edges)
        if decision.mode == PULL and unfinished is not None:
            unfinished = last.edges
        if len(steps) == 1:
            scheduler.done(seen, decision, done.iterations[-1])
    return done


def check_priced(decision: Decision, what: str, policy: Policy) -> None:
    """Refuse a decision, for an iteration of which errors say `what` it is, that leads to work without costs."""
    if decision.keeps_sums:
        raise ParameterError(
            f"{what}: engine {policy.name!r} makes sums, so that later iterations push deltas, and a simulation has no "
            "costs of such pushes; choose engine='garaph', which does without"
        )


def unfinished_edges(workload: Workload) -> int | None:
    """The edges that a first pull would visit, if they count (`Observation.unfinished_edges`): all."""
    return workload.edges if workload.traits.ends_late else None


def observe(scheduler: Scheduler, activity: Activity, unfinished: int | None) -> Observation:
    """What the scheduler sees of an iteration; active vertices are spread evenly over the pages.

    `unfinished` are the edges that the last pull visited, or all before one, if they count.
    """
    counts: tuple[int, ...] = ()
    if scheduler.counts_pages:
        counts = tuple(activity.active * page.vertices // scheduler.vertices for page in scheduler.pages)
    return scheduler.observe(activity.active, activity.active_edges, active_by_page=counts, unfinished_edges=unfinished)


def scheduler_of(
    workload: Workload, options: RunOptions, can: Capabilities, pages: Sequence[Page], k: float = 1.0,
    speeds: Speeds | None = None,
) -> Scheduler:  # fmt: skip
    """The scheduler of a run on an executor with these capabilities and pages."""
    buckets = workload.traits.has_buckets and (not workload.on_disks or options.mode == PUSH)  # as in `schedule_of`
    tiles = options.device == CPU and makes_tiles(workload)
    schedule = Schedule(
        options.policy, options.iterations, options.forced_mode, tiles, k, buckets=buckets, speeds=speeds,
        sees_each=looks_at_each(options),
    )  # fmt: skip
    orders = not (workload.on_disks and (can.name == GPU or can.loads))  # as of `PartSource`
    scheduler = Scheduler(schedule, workload.vertices, workload.edges, workload.traits, can, pages, orders)
    scheduler.in_buckets = buckets and can.has_priorities and schedule.pushes(can.modes)
    return scheduler


def makes_tiles(workload: Workload) -> bool:
    """Whether a run on the CPU makes tiles unasked, as `runtime.tiling.pays_tiles` says: if they fit in memory, and no
    thread has much more of them than others."""
    traits, is_long = workload.traits, len(workload.activities) >= LEAST_TILED_ITERATIONS
    is_large = workload.edges >= LEAST_TILED_EDGES and not workload.on_disks
    return traits.tiles and traits.updates_all_vertices and is_long and is_large and not workload.nearby


def speeds_of(workload: Workload, machine: Machine, policy: Policy) -> Speeds:
    """What `runtime.speeds` would measure on the modelled machine, if its gathers were those of this program."""
    assert machine.link is not None
    cpu = SimulatedCpu(workload, machine, cores_beside_gpu(machine.cores), policy)
    cpu_seconds = cpu.edge_seconds(workload.activities[0], PULL)
    gpu_seconds = machine.work_of(GPU, workload.traits.name, PULL).seconds(1, 0, workload.vertex_data)
    return Speeds(1 / max(cpu_seconds, LEAST_SECONDS), 1 / max(gpu_seconds, LEAST_SECONDS), machine.link.to_device)


def executor_of(workload: Workload, machine: Machine, options: RunOptions, room: int | None) -> SimulatedExecutor:
    """The model of the executor for the device of `options`."""
    device = options.device
    check_lists(options.engine, options.lists)
    if options.lists is not None:
        check_gpu(GPU, machine)
        return SimulatedLists(workload, machine, options.policy)
    if device == HYBRID and workload.traits.pushes_deltas and options.engine == ANY:
        raise ParameterError(
            f"device='hybrid': {workload.traits.name} pushes deltas, for which a real run under 'auto' has one "
            "processor work alone, and a simulation has no costs of such pushes; choose engine='garaph'"
        )
    if device == CPU:
        return SimulatedCpu(workload, machine, machine.cores, options.policy, cpu_chains(options))
    cores = cores_beside_gpu(machine.cores) if device == HYBRID else machine.cores
    cpu = SimulatedCpu(workload, machine, cores, options.policy, beside_gpu=device == HYBRID)
    check_gpu(device, machine)
    gpu = SimulatedGpu(cpu, room, cpu_chains(options))
    if device == GPU:
        return gpu
    traits = workload.traits
    reads_any_value = traits.is_relaxation and not options.policy.every_edge  # as in `CpuExecutor`
    return SimulatedHybrid(cpu, gpu, in_place=traits.synchronous or reads_any_value)


def check_gpu(device: str, machine: Machine) -> None:
    """Refuse a machine without a GPU for a run on one."""
    if machine.gpu_memory is None or machine.link is None:
        raise ParameterError(f"device={device!r}: the machine has no GPU; add one, or take the CPU")
