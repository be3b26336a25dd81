"""The real scheduler in a simulated run: all that a simulation asks of `dispatch/` goes through here.

It asks in the order in which `dispatch/loop.py` and `dispatch/together.py` do, and decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..dispatch.policy import GPU_THRESHOLD, Observation, bound_of_notifying, decide
from ..dispatch.rates import Rates
from ..executor.modes import CPU, GPU, PUSH
from ..pages.layout import Page
from ..pages.queue import PageQueue
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
        self._policy, self._workload, self._k = policy, workload, k
        self._notifying = GPU_THRESHOLD
        self.rates = Rates.expected(threads, workload.edges, streamed, workload.edge_bytes, policy.engine == GARAPH)

    def observe(self, activity: Activity) -> Observation:
        """What the scheduler knows at the beginning of an iteration."""
        policy, traits, both = self._policy, self._workload.traits, self._policy.device == HYBRID
        pushes = policy.device != GPU and policy.pushes
        return Observation(
            self._workload.vertices,
            self._workload.edges,
            activity.active,
            activity.active_edges,
            policy.engine,
            device=GPU if policy.device == GPU else CPU,
            forced_mode=policy.mode,
            updates_all_vertices=traits.updates_all_vertices,
            is_relaxation=traits.is_relaxation,
            pushes=pushes,
            in_turns=traits.in_turns and policy.device == CPU and pushes and policy.mode in (None, PUSH),
            k=self._k,
            notifying=self._notifying,
            **({"ratio": self.rates.ratio, **self.rates.seen} if both else {}),
        )

    decide = staticmethod(decide)

    def steal(self, waiting: PageQueue[Any]) -> Page | None:
        """The next pages for the CPU, or part of one, if there is any and it is worth it."""
        return self.rates.steal(waiting)

    def took(self, edges: int, seconds: float) -> None:
        """After pages, or parts of one, that the CPU has stolen."""
        self.rates = self.rates.measured(edges, seconds)

    def shared(self, edges: int, seconds: float, copied_edges: int) -> None:
        """After an iteration in which the GPU worked."""
        self.rates = self.rates.measured(gpu_edges=edges, gpu_seconds=seconds, copied_edges=copied_edges)

    def notified(self, f: float, skipped: int, pages: int) -> None:
        """After an iteration of a run on the GPU in notify-pull."""
        self._notifying = bound_of_notifying(self._notifying, f, skipped, pages, self._workload.edges)

    def alone(self, mode: str, activity: Activity, edges: int, seconds: float) -> None:
        """After an iteration of a hybrid run that the CPU did alone."""
        self.rates = self.rates.without_gpu(mode, activity.active, activity.active_edges, edges, seconds)
