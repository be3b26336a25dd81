"""The model of a GPU that pushes along lists in host memory, partition by partition (HyTGraph) or by zero copy (EMOGI).

The engine's own function chooses how the edges of each partition reach the GPU; the model plays its tasks. Copies
follow each other on the link, kernels on the GPU; all cores compact, one task after the other, from the beginning on.
A kernel that reads host memory takes the GPU and the link for as long as the slower one needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..dispatch.hytgraph import HYBRID, REQUEST_BYTES, combine_tasks
from ..dispatch.policy import Policy
from ..errors import ParameterError
from ..events import PageGroup
from ..executor.decision import Decision
from ..executor.gpu.settings import ListPush
from ..executor.modes import COMPACTED, GPU, PULL, PUSH, ZERO_COPY
from ..executor.partitions import PartitionCounts, TransferTask
from ..executor.protocol import Capabilities
from ..pages.layout import Page
from .clock import Channel
from .machine import Machine, WorkCost
from .results import SimulatedStep
from .workload import Activity, Workload


def check_lists(engine: object, lists: ListPush | None) -> None:
    """Refuse an engine that pushes along lists which no model of this package plays."""
    if lists is None:
        return
    ways = (lists.where,) if lists.partitions is None else lists.partitions.ways
    if not set(ways) <= set(HYBRID):
        raise ParameterError(
            f"engine={engine!r} cannot be simulated, because the driver moves the pages of unified memory, or all "
            "edges are on the GPU; take auto, garaph, a policy of your own, emogi or hytgraph"
        )


@dataclass(frozen=True)
class PlayedTask:
    """A task of a superstep, and when its kernels began and ended (s after the superstep did)."""

    task: TransferTask
    began: float
    ended: float


@dataclass(frozen=True)
class SimulatedLists:
    """A GPU that pushes along lists in host memory.

    Attributes
    ----------
    workload : Workload
    machine : Machine
    policy : Policy
        Its `lists` say what it does.
    pages : sequence of Page
        None: it has partitions.
    """

    workload: Workload
    machine: Machine
    policy: Policy
    pages: Sequence[Page] = ()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(GPU, (PUSH,))

    def steps(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """One superstep."""
        counts = activities[0].counts
        if counts is None:
            raise ParameterError(
                f"engine={self.policy.name!r} needs the active edges of each partition; record a run of hytgraph with "
                '`garaph run --trace`, or give a spec a graph with a source, and active = "run"'
            )
        tasks = plan_of(self.policy, counts)
        played, to_device = self.play(tasks, counts)
        groups = tuple(groups_of(tasks, counts))
        seconds = max((one.ended for one in played), default=0.0) + self._work.iteration
        seconds += self._work.seconds(0, self.workload.vertices, self.workload.vertex_data)
        skipped = len(counts.edges) - sum(group.pages for group in groups)
        edges = int(counts.active_edges.sum())
        return [SimulatedStep(edges, seconds, {}, skipped, to_device, groups=groups)]

    def play(self, tasks: Sequence[TransferTask], counts: PartitionCounts) -> tuple[list[PlayedTask], float]:
        """The tasks with their times, and the bytes that cross the link."""
        assert self.machine.link is not None
        link, compacted, gpu, played = Channel(self.machine.link.to_device), 0.0, 0.0, list[PlayedTask]()
        assert self.policy.lists is not None
        how = self.policy.lists.partitions
        overlaps = how is None or how.overlaps
        for task in tasks:
            chosen = list(task.partitions)
            begins = 0.0 if overlaps else gpu
            kernels = self._work.edge.seconds(self.workload.vertex_data) * int(counts.active_edges[chosen].sum())
            if task.transfer == ZERO_COPY:
                began = gpu
                read = link.transfer(int(counts.requests[chosen].sum()) * REQUEST_BYTES, began)
                gpu = max(began + kernels, read)
            else:
                if task.transfer == COMPACTED:
                    nbytes = int(counts.compacted_bytes[chosen].sum())
                    compacted = max(compacted, begins) + self.machine.copying(nbytes) / self.machine.cores
                    begins = compacted
                else:
                    nbytes = int(counts.edges[chosen].sum()) * counts.edge_bytes
                began = max(link.transfer(nbytes, begins), gpu)
                gpu = began + kernels
            played.append(PlayedTask(task, began, gpu))
        return played, link.nbytes

    @property
    def _work(self) -> WorkCost:
        """What a push costs the GPU; as much as a pull, if that alone was measured."""
        return self.machine.work_of(GPU, self.workload.traits.name, PUSH, PULL)


def groups_of(tasks: Sequence[TransferTask], counts: PartitionCounts) -> Iterator[PageGroup]:
    """The partitions by the way in which their edges reach the GPU."""
    for way in dict.fromkeys(task.transfer for task in tasks):
        chosen = [number for task in tasks if task.transfer == way for number in task.partitions]
        yield PageGroup(PUSH, GPU, way, len(chosen), int(counts.active_edges[chosen].sum()))


def plan_of(policy: Policy, counts: PartitionCounts) -> list[TransferTask]:
    """The tasks of a superstep: those of the engine's selection, or all partitions by zero copy."""
    lists = policy.lists
    assert lists is not None
    if lists.partitions is not None:
        return lists.partitions.plan(counts)
    return combine_tasks([ZERO_COPY if active else None for active in np.asarray(counts.active_edges) > 0])
