"""Simulated runs on several GPUs of one host, which one thread drives: the model of `MultiGpuExecutor`.

Each GPU has the edges of a part, as `executor.gpu.parts` divides them, and the values of all vertices. GPUs and their
links are equal, so none steals pages of another (`executor.gpu.stealing`). Every iteration waits for the GPU that has
most to do. Then come what the GPUs send to each other, and what the thread takes for the steps and the copies of all of
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..errors import ParameterError
from ..events import Iteration
from ..executor.components import NO_VERTEX
from ..executor.costs import EXPECTED
from ..executor.decision import Decision
from ..executor.gpu.memory_plan import ExchangePlan, plan_exchange
from ..executor.gpu.parts import divide
from ..executor.modes import COMPONENTS, GPU, NOTIFY_PULL, PULL, PUSH
from ..executor.protocol import Capabilities
from ..executor.step import direction_of
from ..pages.layout import Page
from ..runtime.options import RunOptions, may_find_components
from .demand import Demand
from .executor import SimulatedCpu, SimulatedGpu
from .gpu_pushes import can_push, expected_seconds
from .machine import Machine
from .peers import Peers
from .results import SimulatedStep
from .simulate import simulate
from .workload import ACTIVE_BITS, Activity, Workload

COMPUTING, LINK, THREAD = "computing", "link", "thread"
"""What an iteration may wait for most."""
NUMBER_BYTES = NO_VERTEX.nbytes
"""Bytes of a vertex's number."""
PULL_TURNS = 3
"""Steps of the thread for each GPU in a pull: it launches, launches the rest, and collects (`MultiGpuExecutor`)."""
PUSH_TURNS, ROUND_TURNS = 3, 4
"""The same in a push, which it begins, counts and collects; and in each round of an exchange (`exchange.exchange`)."""
ROUND_COPIES = 3
"""What it starts in a round for each pair of GPUs: copies of numbers and of values, and a kernel for the received."""
UNION_TURNS, JOINS = 6, 2
"""Its steps when the GPUs find components, without those of the exchanges of trees; and the number of these
(`exchange_trees`)."""


@dataclass(frozen=True)
class Waits:
    """What an iteration waits for.

    Attributes
    ----------
    computing : float
        Seconds that the GPU with most work takes, also for what it receives.
    link : float
        Seconds that bytes between GPUs take while no GPU computes.
    thread : float
        Seconds that the thread which drives the GPUs takes while no GPU computes.
    received : float
        Bytes that the GPU which receives most gets.
    """

    computing: float
    link: float = 0.0
    thread: float = 0.0
    received: float = 0.0

    @property
    def seconds(self) -> float:
        return self.computing + self.link + self.thread


@dataclass(frozen=True)
class Traffic:
    """What several GPUs have to do in an iteration; `Peers` has the costs of all but `computing`.

    Attributes
    ----------
    computing : float
        Seconds of the GPU with most work.
    nbytes : float
        Bytes that a GPU receives from the others.
    pieces : int
        In so many pieces: all but the last arrive while GPUs compute.
    turns, copies : int
        The thread's steps for all GPUs but the first, and the copies that it starts, while no GPU computes.
    hidden : int
        The copies that it starts while GPUs compute.
    received, joined : float
        Vertices of each GPU that others have changed, and whose trees it joins.
    """

    computing: float
    nbytes: float
    turns: int
    copies: int
    pieces: int = 1
    hidden: int = 0
    received: float = 0.0
    joined: float = 0.0

    def is_driven(self, peers: Peers) -> bool:
        """Whether hidden copies take the thread longer than GPUs compute, which then wait for it."""
        return self.hidden * peers.copy > self.computing

    def waits(self, peers: Peers) -> Waits:
        """What the iteration waits for."""
        thread = self.turns * peers.turn + self.copies * peers.copy
        if self.is_driven(peers):
            thread += self.hidden * peers.copy - self.computing
        computing = self.computing + self.received * peers.received + self.joined * peers.joined
        return Waits(computing, self.nbytes / peers.bandwidth / self.pieces, thread, self.nbytes)


@dataclass(frozen=True)
class GpusRun:
    """A simulated run on several GPUs.

    Attributes
    ----------
    gpus : int
    iterations : list of Iteration
    waits : list of Waits
        For each iteration.
    """

    gpus: int
    iterations: list[Iteration]
    waits: list[Waits]

    @property
    def seconds(self) -> float:
        """Total seconds of all iterations."""
        return sum(one.seconds for one in self.waits)

    @property
    def waits_for(self) -> str:
        """What the run waits for most, by time."""
        each = {name: sum(getattr(one, name) for one in self.waits) for name in (COMPUTING, LINK, THREAD)}
        return max(each, key=each.__getitem__)


@dataclass
class SimulatedGpus:
    """Several GPUs that work without a CPU.

    Parameters
    ----------
    workload : Workload
    machine : Machine
        With one of the GPUs.
    options : RunOptions
    peers : Peers
    count : int
    memory : int or None
        Bytes of each GPU's memory; by default all.

    Attributes
    ----------
    gpus : list of SimulatedGpu
        Each with its part of the edges.
    traffic : list of Traffic
        For each iteration so far.
    """

    workload: Workload
    machine: Machine
    options: RunOptions
    peers: Peers
    count: int
    memory: int | None = None
    gpus: list[SimulatedGpu] = field(init=False)
    traffic: list[Traffic] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        workload = self.workload
        room = None if self.memory is None else self.memory - workload.fixed
        # one thread launches the pages of all GPUs, so those of each take it as long as those of all
        slower = tuple(replace(one, launch=self.count * one.launch) for one in self.machine.work)
        cpu = SimulatedCpu(workload, replace(self.machine, work=slower), self.machine.cores, self.options.policy)
        parts = divide(workload.offsets, [1.0] * self.count)
        self.gpus = [SimulatedGpu(cpu, room, part=part) for part in parts]
        self._exchange = self._planned(room)

    def _planned(self, room: int | None) -> ExchangePlan | None:
        """Where the GPU with least memory left receives what others have changed in a push; None if none pushes."""
        workload, traits = self.workload, self.workload.traits
        if self.count == 1 or not can_push(workload, self.machine):
            return None
        left = (self.machine.gpu_memory or 0) - workload.fixed if room is None else room
        free = min(self._free(gpu, left) for gpu in self.gpus)
        return plan_exchange(workload.vertices, traits.value_bytes, self.count - 1, traits.synchronous, free)

    def _free(self, gpu: SimulatedGpu, room: int) -> int:
        """Bytes of the `room` for edges that may go to the exchange: a quarter, if edges are streamed (`Placer`)."""
        if gpu.residency.elsewhere:
            return room // 4
        return room - int(gpu.residency.edges * self.workload.edge_bytes)

    @property
    def is_resident(self) -> bool:
        """Whether all edges stay on the GPUs."""
        return not any(gpu.residency.elsewhere for gpu in self.gpus)

    @property
    def pages(self) -> Sequence[Page]:
        every = (page for gpu in self.gpus for page in gpu.pages)
        return [replace(page, number=number) for number, page in enumerate(every)]

    @property
    def capabilities(self) -> Capabilities:
        cost = EXPECTED.push_cost(*(expected_seconds(self.workload, gpu.residency, False) for gpu in self.gpus))
        modes = (PULL, NOTIFY_PULL) + (PUSH,) * (self._exchange is not None)
        return Capabilities(GPU, modes, push_cost=cost, pulls_end_early=all(gpu.ends_early for gpu in self.gpus))

    def steps(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """One iteration: several GPUs do one at a time."""
        if direction_of(decision) == NOTIFY_PULL:
            raise ParameterError(
                f"{self.workload.traits.name} on {self.count} GPUs gathers for notified vertices, and a simulation has "
                "no costs of that on several GPUs; give the machine the program's costs of pushes, or more memory"
            )
        done, traffic = (self._push if decision.mode == PUSH else self._pull)(activities[0])
        self.traffic.append(traffic)
        return [replace(
            done[0], edges=sum(one.edges for one in done), seconds=traffic.waits(self.peers).seconds,
            owners=dict.fromkeys(self.pages, GPU), to_device=sum(one.to_device for one in done),
        )]  # fmt: skip

    def _pull(self, activity: Activity) -> tuple[list[SimulatedStep], Traffic]:
        """Each GPU pulls its part, and sends whole slices and bitmaps to all others: piece by piece while it computes
        the next one, or at the end if edges are streamed and nobody reads new values before.

        The thread starts the copies of the first pieces while GPUs wait for it, and of the last ones when nothing else
        is left; those between are hidden.
        """
        done, others, traits = [gpu.pull_alone(activity) for gpu in self.gpus], self.count - 1, self.workload.traits
        at_end = traits.synchronous and not self.is_resident
        pieces = [1 if at_end or gpu.ends_early else len(gpu.pages) for gpu in self.gpus]
        received = self.workload.vertices * (traits.value_bytes + ACTIVE_BITS / 8) * others / self.count
        copies, hidden = (
            others * sum(one + more for one in each)
            for each, more in (([min(one, 2) for one in pieces], 1), ([max(one - 2, 0) for one in pieces], 0))
        )
        computing = max(one.seconds for one in done)
        return done, Traffic(computing, received, others * PULL_TURNS, copies, max(*pieces, 1), hidden)

    def _push(self, activity: Activity) -> tuple[list[SimulatedStep], Traffic]:
        """Each GPU pushes from the active vertices of its part, which has an equal share of them, and sends what that
        changes to all others, by rounds; no vertex's edges are divided."""
        assert self._exchange is not None
        others = self.count - 1
        senders = min(self.count, max(activity.active, 1))
        sent = sent_by_each(activity, senders)
        done = [
            gpu.push_once(activity, PUSH, share=1 / senders if k < senders else 0.0) for k, gpu in enumerate(self.gpus)
        ]
        vertices = sent * (senders if senders < self.count else others)
        rounds = math.ceil(sent / self._exchange.most)
        return done, Traffic(
            max(one.seconds for one in done), vertices * (NUMBER_BYTES + self.workload.traits.value_bytes),
            others * (PUSH_TURNS + rounds * ROUND_TURNS), rounds * ROUND_COPIES * self.count * others,
            received=vertices,
        )  # fmt: skip

    def components(self) -> Traffic:
        """Find components: each GPU links the edges of its part, and joins its trees with those of every other GPU."""
        workload, others = self.workload, self.count - 1
        work, n = self.machine.work_of(GPU, workload.traits.name, COMPONENTS), workload.vertices
        edges = max(gpu.residency.edges for gpu in self.gpus)
        computing = work.of(Demand(COMPONENTS, edges, edges, 0.0, 0.0, vertex=n), workload.vertex_data)
        turns = UNION_TURNS + JOINS * (1 + ROUND_TURNS * others) if others else 0
        return Traffic(
            computing, float(JOINS * others * NUMBER_BYTES * n), others * turns, (JOINS * self.count + 1) * others,
            joined=float(JOINS * others * n),
        )  # fmt: skip


def sent_by_each(activity: Activity, senders: int) -> float:
    """The vertices that each GPU is expected to change in a push, if each follows an equal share of the edges.

    Each changed vertex is reached along one edge, and by chance along others, any of which may be any sender's.
    """
    edges = activity.active_edges if activity.followed is None else activity.followed
    more = max(edges / activity.activated - 1, 0.0) if activity.activated else 0.0
    return activity.activated * (1 - (1 - 1 / senders) * math.exp(-more / senders))


def simulate_gpus(
    workload: Workload, machine: Machine, options: RunOptions, peers: Peers, count: int, memory: int | None = None
) -> GpusRun:
    """Simulate `workload` on so many GPUs of a host, each of which may use `memory` bytes; by default all it has.

    Raises
    ------
    ParameterError
        As `simulate`; and if a run on several GPUs would not be one on GPUs alone, or has no costs.
    DeviceMemoryError
        If a page does not fit in the memory of its GPU.
    """
    check(workload, machine, options)
    gpus = SimulatedGpus(workload, machine, options, peers, count, memory)
    if prices_components(workload, machine, options) and gpus.is_resident:
        waits = gpus.components().waits(peers)
        edges = workload.edges
        row = Iteration(0, COMPONENTS, 1.0, workload.vertices, edges, len(gpus.pages), 0, waits.seconds, GPU, 0, 0)
        return GpusRun(count, [row], [waits])
    if count == 1:
        room = None if memory is None else memory - workload.fixed
        done = simulate(workload, machine, options, room)
        return GpusRun(1, done.iterations, [Waits(one.seconds) for one in done.iterations])
    done = simulate(workload, machine, options, executor=gpus)
    return GpusRun(count, done.iterations, [one.waits(peers) for one in gpus.traffic])


def prices_components(workload: Workload, machine: Machine, options: RunOptions) -> bool:
    """Whether a run finds components by union-find: the machine says what that costs, and the policy may."""
    return machine.has_costs(GPU, workload.traits.name, COMPONENTS) and may_find_components(options)


def check(workload: Workload, machine: Machine, options: RunOptions) -> None:
    """Refuse runs that are not simulated on several GPUs, with the reason."""
    check_devices([options.device])
    refused = {
        f"engine={options.engine!r} uses one GPU; leave [gpus] out": options.lists is not None,
        "on_disks: one GPU is as fast as the disks; leave [gpus] out": workload.on_disks,
        "the machine has no GPU; add gpu_memory and [link], or leave [gpus] out": machine.gpu_memory is None,
    }
    for why in (why for why, is_refused in refused.items() if is_refused):
        raise ParameterError(f"several GPUs: {why}")


def check_devices(devices: Iterable[str]) -> None:
    """Refuse devices other than GPUs that work alone."""
    for device in devices:
        if device != GPU:
            raise ParameterError(
                f"several GPUs: device={device!r}: [gpus] simulates GPUs that work alone; write device = 'gpu'"
            )
