"""Simulate a run: the scheduler's own code, over a model of the machine and the sizes of pages."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import ParameterError
from ..events import Iteration
from ..executor.gpu.residency import too_little
from ..executor.gpu.streams import Buffer, PageQueue, best_order
from ..executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL, PUSH
from ..pages.layout import Page, commit_plan
from ..runtime.run import SPARED
from .machine import Machine
from .play import Channel, Costs, Play
from .scheduler import GARAPH, HYBRID, Policy, Scheduler
from .workload import Activity, Workload

FOREVER = float("inf")


@dataclass(frozen=True)
class Simulation:
    """What a run would do.

    Attributes
    ----------
    iterations : list of Iteration
    owners : list of dict of Page to str
        For each iteration, who processed which pages, or parts of them.
    """

    iterations: list[Iteration] = field(default_factory=list)
    owners: list[dict[Page, str]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.iterations)


def simulate(workload: Workload, machine: Machine, policy: Policy, room: int | None = None) -> Simulation:
    """Play `workload` on `machine`.

    Parameters
    ----------
    workload : Workload
    machine : Machine
    policy : Policy
    room : int, optional
        Bytes of the GPU's memory that are left for edges; by default what the machine has beside `Workload.fixed`.

    Raises
    ------
    ParameterError
        If the machine lacks what the run needs: a GPU, disks, or the cost of this work.
    DeviceMemoryError
        If a page does not fit the GPU.
    """
    return Run(workload, machine, policy, room).play()


@dataclass(frozen=True)
class Row:
    """What an iteration did: edges visited, seconds, bytes of edges to the device and of values from there, and who
    processed which page.
    """

    edges: int
    seconds: float
    owners: dict[Page, str]
    skipped: int = 0
    to_device: float = 0.0
    from_device: float = 0.0


class Run:
    """One simulated run: what stays where, from iteration to iteration."""

    def __init__(self, workload: Workload, machine: Machine, policy: Policy, room: int | None) -> None:
        self._workload, self._machine, self._policy = workload, machine, policy
        self._program = workload.traits.name
        spared = policy.device == HYBRID and machine.cores > 2 * SPARED  # as `runtime.run` has it
        self._cores = machine.cores - SPARED * spared
        self._kept, self._pages = self._kept_edges(), workload.pages()
        self._stale = False  # the device has not got the values of the last iteration
        streamed = 0 if policy.device == CPU else self._lay_out(room)
        k = machine.disks.k if workload.on_disks and machine.disks else 1.0
        self._scheduler = Scheduler(policy, workload, self._cores, k, streamed)

    def _kept_edges(self) -> float:
        """Edges that stay in the host's memory, the first ones."""
        workload, machine = self._workload, self._machine
        if not workload.on_disks:
            return FOREVER
        if machine.disks is None:
            raise ParameterError("the graph is on disks, and the machine has none; add [disks], or leave on_disks out")
        if not workload.keep or machine.host_memory is None:
            return 0.0
        return max(machine.host_memory - 2 * workload.vertex_data, 0) / workload.edge_bytes

    def _lay_out(self, room: int | None) -> int:
        """Decide what stays on the GPU; edges that an iteration copies there."""
        workload, machine = self._workload, self._machine
        if machine.gpu_memory is None or machine.link is None:
            raise ParameterError(f"device={self._policy.device!r}: the machine has no GPU; add one, or take the CPU")
        left = machine.gpu_memory - workload.fixed if room is None else room
        if left < 0:
            raise too_little(workload.fixed, 0, workload.fixed + left)
        residency = workload.residency(left)
        self._device_pages, self._link = residency.pages, machine.link
        self._resident = {
            page.number: Buffer(0, None, None, None, None) for page in residency.pages[: residency.resident]
        }
        self._ahead = set[Page]()  # pages that are copied while the run is set up, and have not been processed
        if not workload.on_disks and workload.keep:
            for page in residency.pages[: residency.resident]:
                self._resident[page.number].page = page
                self._ahead.add(page)
        self._buffers = [Buffer(0, None, None, None, None) for _ in range(residency.streams)]
        return sum(page.edges for page in residency.pages[residency.resident :])

    def play(self) -> Simulation:
        done, started = Simulation(), 0.0
        for number, activity in enumerate(self._workload.activities):
            seen = self._scheduler.observe(activity)
            decision = self._scheduler.decide(seen)
            mode, device = decision.mode, decision.device
            row = self._alone(activity, mode) if device == CPU else self._on_gpu(activity, mode, device)
            done.iterations.append(
                Iteration(
                    number, mode, seen.f, activity.active, row.edges, len(row.owners), row.skipped, row.seconds, device,
                    round(row.to_device), round(row.from_device), started, decision.why, decision.alpha,
                )
            )  # fmt: skip
            done.owners.append(row.owners)
            if self._policy.device == GPU and mode == NOTIFY_PULL:
                self._scheduler.notified(seen.f, row.skipped, len(self._device_pages))
            started += row.seconds
        return done

    def _alone(self, activity: Activity, mode: str) -> Row:
        """An iteration of the CPU alone."""
        workload, machine = self._workload, self._machine
        work = machine.work_of(CPU, self._program, mode)
        sparse = {NOTIFY_PULL: activity.active_edges + workload.gathered(activity), PUSH: activity.active_edges}
        edges = sparse.get(mode, workload.edges)
        looked_at = activity.active if mode in sparse else workload.vertices
        seconds = work.seconds(edges, looked_at, workload.vertex_data, self._cores)
        pages = self._pages
        owners = dict.fromkeys(pages, CPU)
        if mode in sparse:
            seconds += work.page * len(pages)
            if workload.on_disks and machine.disks is not None:  # lists of single vertices, wherever they are
                missing = edges * max(1 - self._kept / max(workload.edges, 1), 0.0)
                seconds = max(seconds, missing * workload.edge_bytes / machine.disks.rate * machine.disks.k)
        else:
            share = seconds / max(edges, 1)
            play = Play(
                PageQueue.of(pages, {}, {}), deque(), {}, Channel(FOREVER), Channel(FOREVER), self._disks(),
                self._costs(lambda page: share * page.edges + work.page, lambda page: FOREVER),
                lambda waiting: waiting.steal(None),
            )  # fmt: skip
            play.run()
            seconds, owners = play.cpu_seconds, play.done
        seconds += work.iteration
        self._stale = True
        self._scheduler.alone(mode, activity, edges, seconds)
        return Row(edges, seconds, owners)

    def _on_gpu(self, activity: Activity, mode: str, device: str) -> Row:
        """An iteration of the GPU alone or, on device ``"both"``, of both; these pull."""
        workload, machine, link = self._workload, self._machine, self._link
        hybrid = self._policy.device == HYBRID
        before, pages, followed = 0.0, self._device_pages, 0
        if mode == NOTIFY_PULL:  # the CPU finds whom to notify, and pages without any are left out
            # along the same edges as a push: that is the nearest, where no notifying was measured
            work, followed = machine.work_of(CPU, self._program, mode, PUSH), activity.active_edges
            before = work.iteration + work.seconds(followed, activity.active, workload.vertex_data, self._cores)
            pages = some(pages, followed)
            hit = set(pages)
            copied, _ = commit_plan(
                pages, [page for page in self._device_pages if page not in hit]
            )  # `GpuExecutor.commit`
            before += machine.copying(sum(page.vertices for page in copied) * workload.traits.value_bytes)
        gpu = machine.work_of(GPU, self._program, PULL)
        to_device, from_device = Channel(link.to_device), Channel(link.from_device)
        if hybrid and self._stale:
            before += to_device.serve(workload.vertex_data, 0.0)
            to_device.free = 0.0
        self._stale = False
        takes = device == BOTH
        cpu = machine.work_of(CPU, self._program, PULL) if takes else gpu
        size = workload.vertex_data
        waiting, free = self._waiting(pages, takes)
        play = Play(
            waiting, free, self._resident, to_device, from_device, self._disks(),
            self._costs(
                lambda page: cpu.seconds(page.edges, page.vertices, size, self._cores) + cpu.page,
                lambda page: gpu.seconds(workload.gpu_edges(page), 0, size) + gpu.page,
                takes,
            ),
            self._scheduler.steal if takes else None, self._scheduler.took,
        )  # fmt: skip
        play.run()
        ahead = sum(page.edges for page in self._ahead & play.done.keys())
        self._ahead -= play.done.keys()
        # what the GPU takes beside its pages, the CPU need not wait for, and the real rates count it as well
        gpu_seconds = play.gpu_seconds + gpu.iteration + gpu.seconds(0, workload.vertices, size)
        seconds = max(play.cpu_seconds, gpu_seconds)
        if hybrid:
            self._scheduler.shared(play.edges[GPU], gpu_seconds, play.copied + ahead)
        if takes:
            overhead = machine.overhead(self._program)
            before += overhead.iteration + overhead.seconds(0, workload.vertices, size)
        return Row(
            followed + sum(play.edges.values()), before + seconds, play.done,
            len(self._device_pages) - len(pages), (play.copied + ahead) * workload.edge_bytes, from_device.nbytes,
        )  # fmt: skip

    def _waiting(self, pages: list[Page], shared: bool) -> tuple[PageQueue, deque[Buffer]]:
        """The pages of an iteration as `gpu.streams.Streams.order` has them, and the buffers that hold none of them."""
        ordered = best_order(pages, shared)
        wanted = set(ordered)
        held, free = {}, deque[Buffer]()
        for buffer in self._buffers:
            if buffer.page is not None and buffer.page in wanted and self._workload.keep:
                held[buffer.page] = buffer
            else:
                free.append(buffer)
        here = {buffer.page: buffer for buffer in self._resident.values() if buffer.page is not None}
        return PageQueue.of(ordered, held, here, self._workload.split), free

    def _disks(self) -> Channel:
        disks = self._machine.disks
        return Channel(FOREVER if disks is None else disks.rate)

    def _costs(self, cpu: Callable[[Page], float], gpu: Callable[[Page], float], shared: bool = False) -> Costs:
        workload, machine, link = self._workload, self._machine, self._machine.link
        traits = workload.traits
        in_place = traits.synchronous or (
            traits.is_relaxation and self._policy.engine != GARAPH
        )  # as `HybridExecutor` has it
        landing = machine.copying(traits.value_bytes) if shared and not in_place else 0.0
        handing = machine.overhead(self._program).page if shared else 0.0
        return Costs(
            cpu, gpu, workload.edge_bytes, traits.value_bytes,
            workload.back_bytes, 1.0 if link is None else link.beside_cpu, landing, handing,
            lambda page: page.last_edge > self._kept,
        )  # fmt: skip


def some(pages: list[Page], notified: int) -> list[Page]:
    """Those of `pages` in which somebody is, where so many are notified anywhere: as many as are to be expected."""
    edges, due, hit = sum(page.edges for page in pages), 0.5, []
    for page in pages:
        share = page.edges / max(edges, 1)
        due += 1.0 if share == 1 else -math.expm1(notified * math.log1p(-share))
        if due >= 1:
            hit.append(page)
            due -= 1
    return hit
