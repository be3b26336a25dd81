"""What the models of executors return, and the interface that they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..events import PageGroup
from ..executor.decision import Decision, Sharing
from ..executor.protocol import Capabilities
from ..pages.layout import Page
from .workload import Activity


@dataclass(frozen=True)
class SimulatedStep:
    """The result of a simulated iteration.

    Attributes
    ----------
    edges : int
        Edges visited.
    seconds : float
    owners : dict of Page to str
        The processor of each page, or part of one.
    skipped : int
        Pages without a notified vertex.
    to_device, from_device : float
        Bytes of edges copied to the GPU, and of values copied back.
    sharing : tuple of Sharing
        The decision's `sharing`, updated with this iteration's measurements.
    groups : tuple of PageGroup
        The partitions by the way in which their edges reached the GPU, if the engine has partitions; the pages, if the
        policy has decided for single ones.
    """

    edges: int
    seconds: float
    owners: dict[Page, str]
    skipped: int = 0
    to_device: float = 0.0
    from_device: float = 0.0
    sharing: tuple[Sharing, ...] = ()
    groups: tuple[PageGroup, ...] = ()

    @property
    def pages(self) -> int:
        """Pages, or partitions, that were processed."""
        return len(self.owners) or sum(group.pages for group in self.groups)


@dataclass(frozen=True)
class Pulled:
    """The result of a simulated iteration in which the GPU pulled.

    Attributes
    ----------
    step : SimulatedStep
    gpu_edges, copied_edges : int
        Edges of the GPU's pages, and of the pages that were copied.
    gpu_seconds : float
        Time until the GPU has finished.
    """

    step: SimulatedStep
    gpu_edges: int
    copied_edges: int
    gpu_seconds: float


class SimulatedExecutor(Protocol):
    """The interface between `simulate` and the models of a CPU, a GPU, and both."""

    @property
    def capabilities(self) -> Capabilities:
        """See `executor.protocol.Executor`."""

    @property
    def pages(self) -> Sequence[Page]:
        """The pages that a policy sees."""

    def steps(self, activities: Sequence[Activity], decision: Decision) -> list[SimulatedStep]:
        """Simulate the iteration that begins with the first of `activities`, and those done at once with it."""
