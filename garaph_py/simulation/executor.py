"""Models of the executors: they track where edges and values are, and predict the time of each iteration."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..dispatch.policy import Policy
from ..errors import ParameterError
from ..executor.costs import EXPECTED
from ..executor.decision import Decision
from ..executor.gpu.gather import AUTO
from ..executor.gpu.named import Named, named_pages
from ..executor.gpu.parts import Part
from ..executor.gpu.pulls_ahead import at_once
from ..executor.gpu.residency import Residency, too_little
from ..executor.modes import COPIED, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..executor.protocol import Capabilities
from ..executor.step import direction_of, whole_pages
from ..pages.layout import Page, commit_plan
from ..pages.queue import PageQueue, device_order, in_order, take_buffered
from .clock import Channel
from .demand import (
    CHAIN,
    PULL_ACTIVE,
    PULL_AHEAD,
    Demand,
    demand_of,
    expected_pages,
    of_gpu_search,
    of_push,
    repeated,
    supersteps,
)
from .gpu import BufferModel
from .gpu_pushes import GPU_PUSHES, can_push, capabilities_of_gpu, of_gpu_push, ways_of_call
from .iteration import GpuPlaces, IterationModel, Listener, PageCosts, Take, ignore
from .machine import ANY, GARAPH, Machine, WorkCost
from .pages import groups_of
from .results import Pulled, SimulatedStep
from .workload import Activity, Workload

FOREVER = float("inf")
READING = EXPECTED.sectors / EXPECTED.link
"""The rate at which kernels read edges in host memory, as a share of that of copies from pinned memory; as on an H200.
The run pins these edges, or a copy of them, in any case."""
EVERY_PAGE = Decision(PULL, "")
"""A decision that names no page."""


class SimulatedCpu:
    """A CPU that works alone, and the disks that it reads.

    Parameters
    ----------
    workload : Workload
    machine : Machine
    cores : int
        Number of the machine's cores that process pages.
    policy : Policy
    chains : bool
        One call may do several supersteps.
    beside_gpu : bool
        The run is on both processors.
    """

    def __init__(
        self, workload: Workload, machine: Machine, cores: int, policy: Policy, chains: bool = False,
        beside_gpu: bool = False,
    ) -> None:  # fmt: skip
        self.workload, self.machine, self.cores, self.policy = workload, machine, cores, policy
        self.beside_gpu = beside_gpu
        self._chains = chains and workload.traits.is_relaxation and not workload.on_disks
        self.pages = workload.pages()
        self._edges_in_memory = self._kept_edges()
        self._before = ""  # the mode of the `Demand` before

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.workload, self.cores)

    def _kept_edges(self) -> float:
        """Number of edges that stay in the host's memory; these are the first ones."""
        workload, machine = self.workload, self.machine
        if not workload.on_disks:
            return FOREVER
        if machine.disks is None:
            raise ParameterError("the graph is on disks, and the machine has none; add [disks], or leave on_disks out")
        if not workload.keep or machine.host_memory is None:
            return 0.0
        return max(machine.host_memory - 2 * workload.vertex_data, 0) / workload.edge_bytes

    def is_on_disk(self, page: Page) -> bool:
        return page.last_edge > self._edges_in_memory

    def disks(self) -> Channel:
        disks = self.machine.disks
        return Channel(FOREVER if disks is None else disks.rate)

    def costs_of(self, *modes: str) -> WorkCost:
        """What the program costs in the first of these modes that is known, under this policy."""
        return costs_of(self.machine, self.workload, self.policy, *modes, beside_gpu=self.beside_gpu)

    def shared_costs(self, mode: str) -> WorkCost:
        """What the program costs in an iteration that is shared with a GPU.

        The notify-pulls that the CPU has for itself beside a GPU are small: they do not tell what edges cost that
        notify from those that are gathered. The larger ones of a CPU that works alone do.
        """
        beside_gpu = self.beside_gpu and mode != NOTIFY_PULL
        return costs_of(self.machine, self.workload, self.policy, mode, beside_gpu=beside_gpu)

    def steps(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """One iteration, or the supersteps of one compiled call, or the iterations that one step repeats."""
        if repeats(self.workload, decision):
            return self._repeated(activities, decision)
        if not (self._chains and decision.mode == PUSH and decision.ahead is not None):
            return [self.step(activities[0], decision)]
        work, data = self.costs_of(CHAIN, PUSH), self.workload.vertex_data
        each = (work.of(of_push(self.workload, activity, CHAIN, 1), data) for activity in activities)
        count = supersteps(activities, decision.ahead.push_edges, each)
        if not count:
            return [self.step(activities[0], decision)]
        pages, done, self._before = dict.fromkeys(self.pages, CPU), list[SimulatedStep](), CHAIN
        for number, activity in enumerate(activities[:count], 1):
            demand = of_push(self.workload, activity, CHAIN, 1)
            seconds = work.of(replace(demand, calls=int(number == count)), data)
            done.append(SimulatedStep(demand.edges, seconds, pages))
        return done

    def _repeated(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """The iterations of one step; the last one's time includes the cost `call` of the step."""
        done = list[SimulatedStep]()

        def seconds() -> Iterator[float]:
            for activity in activities:
                done.append(self.step(activity, decision, calls=0))
                yield done[-1].seconds

        repeated(seconds())
        done[-1] = replace(done[-1], seconds=done[-1].seconds + self.costs_of(decision.mode).call)
        return done

    def step(self, activity: Activity, decision: Decision, calls: int = 1) -> SimulatedStep:
        """One iteration."""
        workload, mode = self.workload, direction_of(decision)
        whole = sum(page.edges for page in whole_pages(decision, self.pages)) if mode == NOTIFY_PULL else 0
        demand = demand_of(workload, activity, mode, self.policy, self.cores, whole)
        demand = replace(demand, first=int(demand.mode != self._before), calls=calls)
        self._before = demand.mode
        work = self.costs_of(demand.mode, mode)
        seconds = work.of(demand, workload.vertex_data)
        if mode in (NOTIFY_PULL, PUSH):
            seconds = max(seconds + work.page * len(self.pages), self._list_seconds(demand.edges))
        else:
            pages = self.pages if decision.order is None else in_order(self.pages, decision.order)
            seconds = self._pull_seconds(pages, (seconds - work.iteration) / max(workload.edges, 1), work.page)
            seconds += work.iteration
        return SimulatedStep(demand.edges, seconds, dict.fromkeys(self.pages, CPU))

    def page_costs(self, activity: Activity, mode: str) -> Callable[[Page], float]:
        """The seconds of a page in an iteration that is shared with a GPU, in which the CPU pulls, or has notified."""
        seconds, page_seconds = self.edge_seconds(activity, mode), self.shared_costs(mode).page
        return lambda page: seconds * page.edges + page_seconds

    def edge_seconds(self, activity: Activity, mode: str) -> float:
        """The seconds of an edge in such an iteration, all cores working, with its part of the vertices' time."""
        work, data = self.shared_costs(mode), self.workload.vertex_data
        demand = demand_of(self.workload, activity, mode, self.policy, self.cores)
        if mode == NOTIFY_PULL:
            shape, gathered = self.workload.shape, demand.gathered
            demand = Demand(mode, 0, 0.0, gathered * shape.near, gathered * shape.far, gathered)
        return (work.of(demand, data) - work.iteration - work.call) / max(self.workload.edges, 1)

    def _list_seconds(self, edges: int) -> float:
        """Seconds to read the lists of single vertices from random places on the disks."""
        workload, disks = self.workload, self.machine.disks
        if not workload.on_disks or disks is None:
            return 0.0
        on_disk = edges * max(1 - self._edges_in_memory / max(workload.edges, 1), 0.0)
        return on_disk * workload.edge_bytes / disks.rate * disks.k

    def _pull_seconds(self, pages: Sequence[Page], edge_seconds: float, page_seconds: float) -> float:
        """Seconds to process `pages` in this order."""
        costs = self.costs(lambda page: edge_seconds * page.edges + page_seconds)
        model = IterationModel(
            PageQueue.of(pages, {}, {}), costs, self.disks(), take=lambda queue: queue.pop_streamed()
        )
        model.run()
        return model.cpu_seconds

    def costs(self, cpu: Callable[[Page], float]) -> PageCosts:
        """The costs of pages, each of which the CPU processes in ``cpu(page)`` seconds."""
        workload = self.workload
        return PageCosts(
            cpu, workload.edge_bytes, workload.traits.value_bytes, workload.back_bytes, is_on_disk=self.is_on_disk
        )

    def notify_demand(self, activity: Activity) -> Demand:
        """The demand of notifying, without gathering."""
        shape, demand = self.workload.shape, demand_of(self.workload, activity, NOTIFY_PULL, self.policy, self.cores)
        return replace(
            demand, near=demand.edge * shape.near, far=demand.edge * shape.far, gathered=0.0, turn=0.0, notified=0.0,
            activated=0.0, mixed=0.0,
        )  # fmt: skip

    def notify_seconds(self, activity: Activity, pages: list[Page], skipped: list[Page]) -> float:
        """Seconds to notify for a GPU that processes `pages`, and to make its new values the current ones."""
        workload, machine = self.workload, self.machine
        # if notify-pull was not measured, take the cost of push, which follows the same edges
        work, demand = self.costs_of(NOTIFY_PULL, PUSH), self.notify_demand(activity)
        if work.mode == PUSH:
            demand = replace(demand, graph_bytes=workload.graph_bytes)
        seconds = work.of(demand, workload.vertex_data)
        copied, _ = commit_plan(pages, skipped)  # as `GpuExecutor.commit` does
        return seconds + machine.copying(sum(page.vertices for page in copied) * workload.traits.value_bytes)


class SimulatedGpu:
    """A GPU that works alone; in notify-pull, a CPU finds the vertices to update.

    Parameters
    ----------
    cpu : SimulatedCpu
    room : int or None
        Bytes of the GPU's memory left for edges; by default all memory minus `Workload.fixed`.
    chains : bool
        One call may do several supersteps.
    part : Part or None
        Its part of the `Workload.offsets`, if there are several GPUs.
    """

    def __init__(self, cpu: SimulatedCpu, room: int | None, chains: bool = False, part: Part | None = None) -> None:
        self.cpu, self.workload, self.machine = cpu, cpu.workload, cpu.machine
        workload, machine = self.workload, self.machine
        assert machine.gpu_memory is not None
        assert machine.link is not None
        left = machine.gpu_memory - workload.fixed if room is None else room
        if left < 0:
            raise too_little(workload.fixed, 0, workload.fixed + left)
        self._chains = chains
        self.residency = residency = workload.residency(left, cpu.policy.keep, part)
        self._share, self._vertices = residency.edges / max(workload.edges, 1), residency.vertices
        self._keeps = residency.keeps
        self.link, self.pages = machine.link, residency.pages
        self._resident = [BufferModel() for _ in residency.here]
        self._free = deque(BufferModel() for _ in range(residency.streams))
        self._done = set[str]()  # the directions of the iterations so far
        self._prefetched = set[Page]()  # copied before the first iteration, and not yet processed
        if not workload.on_disks and self._keeps:
            for page, buffer in zip(residency.here, self._resident, strict=True):
                buffer.page = page
                self._prefetched.add(page)
        self._streamed_edges = sum(page.edges for page in residency.elsewhere)

    @property
    def capabilities(self) -> Capabilities:
        pushes = can_push(self.workload, self.machine)
        found = capabilities_of_gpu(self.workload, self.residency, pushes, self.cpu.policy)
        return replace(found, pulls_end_early=self.ends_early)

    @property
    def load(self) -> tuple[int, int, float]:
        """Edges of the graph, edges copied to the device in every iteration, and bytes per edge."""
        return self.workload.edges, self._streamed_edges, self.workload.edge_bytes

    def steps(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """One iteration, or the pushes of one call."""
        activity = activities[0]
        if decision.mode == PUSH:
            return self.push(activities, decision)
        if direction_of(decision) == PULL:
            count = self._at_once(decision)
            return [self.pull_ahead() for _ in activities[:count]] or [self.pull_alone(activity, decision)]
        chosen = {*expected_pages(self.pages, activity.active_edges), *whole_pages(decision, self.pages)}
        pages = [page for page in self.pages if page in chosen]
        skipped = [page for page in self.pages if page not in chosen]
        done = self.pull(pages, self.costs(), decision).step
        return [replace(
            done, edges=activity.active_edges + done.edges, skipped=len(skipped),
            seconds=self.cpu.notify_seconds(activity, pages, skipped) + done.seconds,
        )]  # fmt: skip

    def _at_once(self, decision: Decision) -> int:
        """How many pulls are launched together; 0 if edges are still to be copied, or if the machine has no costs for
        such pulls."""
        known = self.machine.has_costs(GPU, self.workload.traits.name, PULL_AHEAD)
        arrived = not self._prefetched and all(buffer.page is not None for buffer in self._resident)
        return pulls_ahead(self.workload, self.residency, decision) if known and arrived else 0

    def pull_ahead(self) -> SimulatedStep:
        """One of several pulls that were launched at once."""
        work, edges = self.machine.work_of(GPU, self.workload.traits.name, PULL_AHEAD), self.workload.edges
        seconds = work.iteration + work.seconds(edges, self._vertices, self.workload.vertex_data)
        return SimulatedStep(edges, seconds, dict.fromkeys(self.pages, GPU))

    def pull_alone(self, activity: Activity, decision: Decision = EVERY_PAGE) -> SimulatedStep:
        """Pull over all pages, with no help from a CPU."""
        if not self.ends_early:
            return self.pull(self.pages, self.costs_alone(), decision).step
        demand = replace(of_gpu_search(self.workload, activity, self._share), first=int(PULL not in self._done))
        self._done.add(PULL)
        work = self.machine.work_of(GPU, self.workload.traits.name, PULL_ACTIVE)
        seconds = work.of(demand, self.workload.vertex_data)
        return SimulatedStep(demand.edges, seconds, dict.fromkeys(self.pages, GPU), to_device=self._arrived())

    @property
    def ends_early(self) -> bool:
        """Whether pulls end early, as those of undirected edges in its memory do; if the machine has their costs."""
        traits, policy = self.workload.traits, self.cpu.policy
        visits_all = traits.ends_late or policy.every_edge or policy.gather != AUTO
        visits_all = visits_all or self.workload.directed or bool(self.residency.elsewhere)
        known = self.machine.has_costs(GPU, traits.name, PULL_ACTIVE)
        return known and traits.ends_early and not visits_all

    def push(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """Push in one superstep, or in those of one call."""
        ahead = decision.ahead if self._chains else None
        ways = [PUSH] if ahead is None else ways_of_call(activities, ahead.push_edges) or [PUSH]
        done = list[SimulatedStep]()
        for number, (activity, way) in enumerate(zip(activities, ways, strict=False), 1):
            done.append(self.push_once(activity, way, int(number == len(ways))))
        return done

    def push_once(self, activity: Activity, way: str, calls: int = 1, share: float = 1.0) -> SimulatedStep:
        """Push from a share of the active vertices, in one of the ways of pushes; `calls` as in `Demand`."""
        workload = self.workload
        demand = of_gpu_push(workload, activity, self.residency, way, share)
        demand = replace(demand, calls=calls, first=int(PUSH not in self._done))
        self._done.add(PUSH)
        work = self.machine.work_of(GPU, workload.traits.name, way, *GPU_PUSHES)
        seconds, pages = work.of(demand, workload.vertex_data), dict.fromkeys(self.pages, GPU)
        return SimulatedStep(demand.edges, seconds, pages, to_device=demand.far + self._arrived())

    def _arrived(self) -> float:
        """Bytes that were copied before the first iteration, if these are all edges: pushes wait for no others."""
        if self.residency.elsewhere:
            return 0.0
        edges = sum(page.edges for page in self._prefetched)
        self._prefetched.clear()
        return edges * self.workload.edge_bytes

    def _forget_prefetched(self) -> None:
        """Leave the copies of resident pages to this iteration, for the CPU may take some of these pages first."""
        for buffer in self._resident:
            if buffer.page in self._prefetched:
                buffer.page = None
        self._prefetched.clear()

    def costs(self, cpu: Callable[[Page], float] = lambda page: FOREVER) -> PageCosts:
        """The costs of pages that the CPU processes in ``cpu(page)`` seconds, or that are copied to the GPU."""
        work, size = self.work, self.workload.vertex_data
        return replace(
            self.cpu.costs(cpu),
            gpu=lambda page: work.seconds(self.workload.gpu_edges(page), 0, size) + work.page,
            link_beside_cpu=self.link.beside_cpu,
            launch=work.launch if self.residency.elsewhere else 0.0,
            waits=not self.workload.is_pinned,
            reading=READING * self.link.to_device / self.link.rate(self.workload.is_pinned),
        )

    def costs_alone(self) -> PageCosts:
        """The costs of pages in a pull of the GPU alone: new values stay there."""
        return replace(self.costs(), back_bytes=0.0)

    @property
    def work(self) -> WorkCost:
        """The costs of the GPU's pulls."""
        return self.machine.work_of(GPU, self.workload.traits.name, PULL)

    def pull(
        self, pages: list[Page], costs: PageCosts, decision: Decision = EVERY_PAGE, take: Take | None = None,
        listener: Listener = ignore, share: float = 1.0,
    ) -> Pulled:  # fmt: skip
        """Pull over `pages` on the GPU, as a policy has decided; with `take`, the CPU takes some of them, and gathers
        along a share of their edges."""
        workload, work = self.workload, self.work
        if take is not None:
            self._forget_prefetched()
        to_device = Channel(self.link.rate(workload.is_pinned), self.link.copy)
        from_device = Channel(self.link.from_device)
        ordered = device_order(pages, take is not None, decision.order)
        named = named_pages(ordered, decision.pages or {})
        far = {page.number: BufferModel(page) for page in named.far}
        places = GpuPlaces(self._resident, self._free, to_device, from_device, far)
        queue = self._queue(ordered, named, far.values())
        model = IterationModel(queue, costs, self.cpu.disks(), places, take, listener)
        model.run()
        prefetched = sum(page.edges for page in self._prefetched & model.owners.keys())
        model.ways |= dict.fromkeys(self._prefetched & model.owners.keys(), COPIED)
        self._prefetched -= model.owners.keys()
        # the GPU's fixed cost does not delay the CPU, but it is part of the GPU's measured rate, as in a real run
        gpu_seconds = model.gpu_seconds + work.iteration + work.seconds(0, self._vertices, workload.vertex_data)
        gpu_seconds += 0.0 if PULL in self._done else work.first
        self._done.add(PULL)
        copied = model.copied_edges + prefetched
        step = SimulatedStep(
            sum(model.edges.values()), max(model.cpu_seconds, gpu_seconds), model.owners,
            to_device=copied * workload.edge_bytes, from_device=from_device.nbytes,
            groups=groups_of(model.owners, model.ways, decision.mode, share) if decision.pages else (),
        )  # fmt: skip
        return Pulled(step, model.edges[GPU], copied, gpu_seconds)

    def _queue(self, pages: list[Page], named: Named, far: Iterable[BufferModel]) -> PageQueue[BufferModel]:
        """Make the queue of the pages, like `Streams.order`."""
        in_buffers = {*pages}.difference(named.copied, named.far)
        buffered = take_buffered(self._free, in_buffers) if self._keeps else {}
        resident = {buffer.page: buffer for buffer in (*self._resident, *far) if buffer.page is not None}
        return PageQueue.of(pages, buffered, resident, self.workload.split, named.own)


def repeats(workload: Workload, decision: Decision) -> bool:
    """Whether a CPU that works alone repeats iterations after a decision (executor/repeat.py)."""
    ahead, traits = decision.ahead, workload.traits
    may = ahead is not None and ahead.repeats and traits.synchronous and not (traits.prepares or traits.ends_late)
    in_one = decision.mode == PULL_TILED or (decision.mode == PULL and len(workload.pages()) == 1)
    return may and in_one and not workload.on_disks


def pulls_ahead(workload: Workload, residency: Residency, decision: Decision) -> int:
    """How many pulls a GPU with these pages does at once after a decision; 0 if one by one."""
    ahead, traits = decision.ahead, workload.traits
    if ahead is None or not ahead.repeats or not traits.synchronous or traits.prepares or residency.elsewhere:
        return 0
    return at_once(workload.edges, ahead.most)


def capabilities_of(workload: Workload, cores: int) -> Capabilities:
    """The capabilities of a CPU that works alone."""
    modes = (PULL, NOTIFY_PULL, PULL_TILED) + (PUSH,) * workload.pushes
    deltas = workload.traits.pushes_deltas and workload.traits.synchronous and workload.pushes
    return Capabilities(CPU, modes, has_priorities=True, threads=cores, pushes_deltas=deltas)


def costs_of(machine: Machine, workload: Workload, policy: Policy, *modes: str, beside_gpu: bool = False) -> WorkCost:
    """The costs of a program on the CPU in the first of `modes` that is known, under a policy."""
    traits, values = workload.traits, workload.traits.edge_value_bytes > 0
    engine, sync = engine_costs(policy), traits.synchronous
    return machine.work_of(CPU, traits.name, *modes, engine=engine, sync=sync, values=values, beside_gpu=beside_gpu)


def engine_costs(policy: Policy) -> str:
    """The engine whose costs are those of a policy."""
    return GARAPH if policy.one_partition_per_thread else ANY
