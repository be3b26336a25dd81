"""The real scheduler in a simulated run: all that a simulation asks of `dispatch/` goes through here.

It asks in the order in which `dispatch/loop.py` and `dispatch/together.py` do, and decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..dispatch.observation import Observation
from ..dispatch.policy import POLICIES, notify_bound_after
from ..dispatch.scheduler import Schedule
from ..dispatch.scheduler import Scheduler as RealScheduler
from ..executor.gpu.streams import PageQueue
from ..executor.modes import CPU, GPU, NOTIFY_PULL, PULL, PUSH
from ..executor.protocol import Capabilities, Decision
from ..pages.layout import Page
from .workload import Activity, Workload

HYBRID = "hybrid"
GARAPH = "garaph"


@dataclass(frozen=True)
class Policy:
    """How to run, as `garaph_py.run` is asked.

    Attributes
    ----------
    device : {"cpu", "gpu", "hybrid"}
    engine : {"auto", "garaph"}
    mode : str or None
        Forced in every iteration.
    pushes : bool
        The CPU may: see `Graph.has_valued_out_edges`.
    """

    device: str = HYBRID
    engine: str = "auto"
    mode: str | None = None
    pushes: bool = True


class Scheduler:
    """The decisions of one run.

    Parameters
    ----------
    policy : Policy
    workload : Workload
    threads : int
        Of the CPU.
    k : float
        Sequential over random read speed of where the edges are.
    streamed : int
        Edges that an iteration copies to the GPU.

    Attributes
    ----------
    rates : Rates
        In hybrid runs.
    """

    def __init__(self, policy: Policy, workload: Workload, threads: int, k: float, streamed: int) -> None:
        traits, both = workload.traits, policy.device == HYBRID
        pushes = policy.device != GPU and policy.pushes
        modes = (PULL, NOTIFY_PULL, PUSH) if pushes else (PULL, NOTIFY_PULL)
        loads = ((workload.edges, streamed, workload.edge_bytes),) if both else ()
        can = Capabilities(GPU if policy.device == GPU else CPU, modes, threads=threads, loads=loads)
        schedule = Schedule(POLICIES[policy.engine], mode=policy.mode, k=k)
        self._real = RealScheduler(schedule, workload.vertices, workload.edges, traits, can)
        in_buckets = traits.in_turns and policy.device == CPU and pushes and policy.mode in (None, PUSH)
        self._real.in_buckets = in_buckets

    @property
    def rates(self) -> Any:
        return self._real.rates[0]

    @rates.setter
    def rates(self, rates: Any) -> None:
        self._real.rates = (rates,)

    def observe(self, activity: Activity) -> Observation:
        """What the scheduler knows at the beginning of an iteration."""
        return self._real.observe(activity.active, activity.active_edges)

    def decide(self, seen: Observation) -> Decision:
        return self._real.decide(seen)

    def steal(self, waiting: PageQueue) -> Page | None:
        """The next pages for the CPU, or part of one, if there is any and it is worth it."""
        return self.rates.steal(waiting)  # type: ignore[no-any-return]

    def took(self, edges: int, seconds: float) -> None:
        """After pages, or parts of one, that the CPU has stolen."""
        self.rates = self.rates.measured(edges, seconds)

    def shared(self, edges: int, seconds: float, copied_edges: int) -> None:
        """After an iteration in which the GPU worked."""
        self.rates = self.rates.measured(gpu_edges=edges, gpu_seconds=seconds, copied_edges=copied_edges)

    def notified(self, f: float, skipped: int, pages: int) -> None:
        """After an iteration of a run on the GPU in notify-pull."""
        self._real.notify_bound = notify_bound_after(self._real.notify_bound, f, skipped, pages, self._real.edges)

    def alone(self, mode: str, activity: Activity, edges: int, seconds: float) -> None:
        """After an iteration of a hybrid run that the CPU did alone."""
        if self._real.rates:
            self.rates = self.rates.without_gpu(mode, activity.active, activity.active_edges, edges, seconds)
