"""A model of the executor of hybrid runs: a CPU and a GPU that share iterations."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from ..executor.decision import Decision, Sharing
from ..executor.modes import CPU, GPU, NOTIFY_PULL, PULL, PUSH
from ..executor.protocol import Capabilities
from ..pages.layout import Page
from ..pages.queue import PageQueue
from .demand import notified_vertices
from .executor import SimulatedCpu, SimulatedGpu
from .gpu import BufferModel
from .results import Pulled, SimulatedStep
from .workload import Activity


class SimulatedHybrid:
    """A CPU and a GPU that share iterations: the model of `HybridExecutor`.

    Parameters
    ----------
    cpu : SimulatedCpu
    gpu : SimulatedGpu
    in_place : bool
        The GPU's new values are copied directly to the vertex values; otherwise through a staging buffer.
    """

    def __init__(self, cpu: SimulatedCpu, gpu: SimulatedGpu, in_place: bool) -> None:
        self.cpu, self.gpu, self._in_place = cpu, gpu, in_place
        self._gpu_has_values = True

    @property
    def capabilities(self) -> Capabilities:
        gpu = self.gpu.capabilities
        return replace(
            self.cpu.capabilities, has_priorities=False, loads=(self.gpu.load,), devices_push=PUSH in gpu.modes,
            push_cost=gpu.push_cost, pushes_deltas=False, transfers=gpu.transfers,
        )  # fmt: skip

    @property
    def pages(self) -> Sequence[Page]:
        return self.gpu.pages

    def steps(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """One iteration, or the pushes of one call of the GPU."""
        (sharing,), activity = decision.sharing, activities[0]
        if decision.device == CPU:
            self._gpu_has_values = False
            done = self.cpu.step(activity, decision)
            sharing = sharing.without_gpu(
                decision.mode, activity.active, activity.active_edges, done.edges, done.seconds
            )
            return [replace(done, sharing=(sharing,))]
        before = self._send_values()
        if decision.device == GPU and decision.mode == PUSH:
            pushed = [replace(step, sharing=(sharing,)) for step in self.gpu.push(activities, decision)]
            return [replace(pushed[0], seconds=before + pushed[0].seconds), *pushed[1:]]
        if decision.device == GPU:
            pulled = self.gpu.pull(self.gpu.pages, self.gpu.costs_alone(), decision)
        else:
            pulled, sharing, overhead = self._work_together(activity, decision, sharing)
            self._gpu_has_values = decision.mode == PULL  # else it lacks those of the CPU's pages
            before += overhead
        sharing = sharing.measured(
            gpu_edges=pulled.gpu_edges, gpu_seconds=pulled.gpu_seconds, copied_edges=pulled.copied_edges
        )
        return [replace(pulled.step, seconds=before + pulled.step.seconds, sharing=(sharing,))]

    def _send_values(self) -> float:
        """Seconds to send all values to the GPU, if the CPU has newer ones."""
        if self._gpu_has_values:
            return 0.0
        self._gpu_has_values = True
        return self.gpu.workload.vertex_data / self.gpu.link.to_device

    def _work_together(self, activity: Activity, decision: Decision, sharing: Sharing) -> tuple[Pulled, Sharing, float]:
        """Simulate an iteration in which the CPU pulls pages, or does what has been notified: those that the decision
        gives it, and then others that it steals.

        Returns its result, the rates, and the seconds for sharing and for notifying.
        """
        workload, machine, mode = self.cpu.workload, self.cpu.machine, decision.mode
        work, overhead = self.cpu.shared_costs(mode), machine.overhead(workload.traits.name, mode)
        size, share, followed, notifying = workload.vertex_data, 1.0, 0, 0.0
        if mode == NOTIFY_PULL:
            followed = activity.active_edges
            share = workload.gathered(activity) / max(workload.edges, 1)
            notifying = work.of(self.cpu.notify_demand(activity), size) - work.iteration
            notifying += overhead.notified * notified_vertices(workload, activity)

        own, offered, done = deque[Page](), list[Page](), list[tuple[int, float]]()
        for page in self.gpu.pages:
            how = (decision.pages or {}).get(page.number)
            (own if how is not None and how.processor == CPU else offered).append(page)
        given = len(own)

        def take(queue: PageQueue[BufferModel]) -> Page | None:
            return own.popleft() if own else sharing.steal(queue)

        def measure(edges: int, seconds: float) -> None:
            """The CPU does its own pages as one, and measures them together."""
            nonlocal sharing
            done.append((edges, seconds))
            if len(done) > given:
                sharing = sharing.paged(edges, round(share * edges), seconds)
            elif len(done) == given:
                every, taken = map(sum, zip(*done, strict=True))
                gathered = sharing.gathered(round(share * every), taken)
                sharing = sharing.measured(every, taken) if mode == PULL else gathered

        costs = replace(
            self.gpu.costs(self.cpu.page_costs(activity, mode)),
            staging=0.0 if self._in_place else machine.copying(workload.traits.value_bytes),
            handover=overhead.page,
            launch=overhead.launch,
        )
        pulled = self.gpu.pull(offered, costs, decision, take, measure, share)
        edges = followed + pulled.gpu_edges + round(share * (pulled.step.edges - pulled.gpu_edges))
        pulled = replace(pulled, step=replace(pulled.step, edges=edges))
        return pulled, sharing, notifying + overhead.iteration + overhead.seconds(0, workload.vertices, size)
