"""The scheduler of one run: a policy, its observations, and what it has learned so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import PolicyError
from ..events import Iteration
from ..executor.decision import Decision, Sharing
from ..executor.modes import COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..executor.protocol import Capabilities
from ..executor.results import OpenBucket, Supersteps
from ..pages.layout import Page
from .far_pushes import FarPushes
from .observation import NOTIFY_BOUND, Observation
from .policy import Policy, notify_bound_after, saving
from .push_cost import PushCost
from .rates import Speeds
from .reentry import DiskPushes
from .refusal import refusal

Array = npt.NDArray[Any]

USUAL = {item.name: item.default for item in fields(Observation) if item.default is not MISSING}
"""What an `Observation` has unless it is given something else."""
COPIES_TO_HOST = 3
"""Copies of the values if the host does some iterations: to its two arrays, and later back to the device."""


class Traits(Protocol):
    """What the scheduler needs to know about a program: a `BoundProgram`, or one that a trace has recorded."""

    @property
    def is_relaxation(self) -> bool:
        """Whether the program's active vertices may push."""

    @property
    def updates_all_vertices(self) -> bool:
        """Whether every iteration updates every vertex."""


@dataclass
class Schedule:
    """How a run is to be scheduled.

    Attributes
    ----------
    policy : Policy
    iterations : int or None
        Maximum number of iterations.
    mode : str or None
        The direction of every iteration; None leaves it to the policy.
    tiles : bool
        The graph has tiles, or the run makes them, and they suit the program.
    k : float
        Sequential over random read speed of the storage that holds the edges.
    components : bool
        The answer is the sum over each connected component, and the user wants no single supersteps.
    ends_early : bool
        The program's pulls end where `done` holds.
    buckets : bool
        Changed vertices may stay pending until their bucket is opened: less work, in more iterations.
    pass_bytes : int
        Bytes of all out-edges on disk, if pushes may use reentry; else 0.
    speeds : Speeds or None
        The hardware's measured speeds, from which rates begin; None: from the policy's estimates.
    sees_each : bool
        Somebody looks at each iteration, so that no executor may do several at once.
    """

    policy: Policy
    iterations: int | None = None
    mode: str | None = None
    tiles: bool = False
    k: float = 1.0
    components: bool = False
    ends_early: bool = False
    buckets: bool = True
    pass_bytes: int = 0
    speeds: Speeds | None = None
    sees_each: bool = False

    def pushes(self, modes: tuple[str, ...]) -> bool:
        """Whether an executor that supports `modes` may push, if the program is a relaxation."""
        return PUSH in self.policy.modes and self.mode in (None, PUSH) and PUSH in modes


@dataclass
class Scheduler:
    """Observes, decides, learns.

    Parameters
    ----------
    schedule : Schedule
    vertices, edges : int
        Size of the graph.
    program : Traits
    can : Capabilities
        Capabilities of the executor, once it is open.
    pages : sequence of Page
        The pages of an iteration (`Observation.pages`).
    orders_pages : bool
        The policy may decide on their order.

    Attributes
    ----------
    rates : tuple of Sharing
        For each device that shares pages with the host, the speed of both.
    notify_bound : float
        Upper bound on f for notify-pull on a GPU that works alone.
    missed : float
        What the other processor would have saved in the last iterations (`Observation.missed`).
    in_buckets : bool
        Changed vertices stay pending until their bucket is opened.
    step : number, optional
        If so, how far the next bucket reaches beyond the least priority.
    bucket : OpenBucket, optional
        The bucket that the executor opened last, if it opened any in the last iteration.
    has_converged : bool
        The executor has asked the program's `converged` after that iteration, and it has ended the run.
    followed : int
        Edges followed in the last iteration, or in all iterations that the executor did at once.
    disk_pushes : DiskPushes
        What pushes have read from disk.
    push_cost : PushCost
        What a push costs a GPU that works alone.
    far_pushes : FarPushes
        What it costs along lists in host memory, in either way.
    own : object
        What the policy knows (`Policy.observe`).
    number : int
        The iteration that is observed.
    """

    schedule: Schedule
    vertices: int
    edges: int
    program: Traits
    can: Capabilities
    pages: Sequence[Page] = ()
    orders_pages: bool = False
    rates: tuple[Sharing, ...] = ()
    notify_bound: float = NOTIFY_BOUND
    in_buckets: bool = False
    step: Any = None
    bucket: OpenBucket | None = None
    has_converged: bool = False
    followed: int = 0
    missed: float = 0.0
    disk_pushes: DiskPushes = field(init=False)
    push_cost: PushCost = field(init=False)
    far_pushes: FarPushes = field(init=False)
    own: Any = field(init=False)
    number: int = 0
    _facts: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        schedule, can = self.schedule, self.can
        if type(schedule.policy).decide is Policy.decide:
            raise PolicyError(f"policy {schedule.policy.name!r} has no decide(self, seen), which returns a gp.Decision")
        self.disk_pushes = DiskPushes(schedule.pass_bytes)
        self.push_cost = PushCost(can.push_cost, from_disk=can.reads_disk)
        self.far_pushes = FarPushes(can.far_lists)
        try:
            self.own = schedule.policy.start()
        except Exception as error:
            raise failed(schedule.policy.name, None, error) from error
        self.rates = tuple(self._first_rates(load) for load in can.loads)
        self._facts = {
            **USUAL,
            "vertices": self.vertices,
            "edges": self.edges,
            "device": can.name,
            "forced_mode": schedule.mode,
            "updates_all_vertices": self.program.updates_all_vertices,
            "is_relaxation": self.program.is_relaxation,
            "deltas": can.pushes_deltas,
            "pushes": PUSH in can.modes,
            "device_pushes": can.devices_push and PUSH in schedule.policy.modes and self.program.is_relaxation,
            "device_pulls_end_early": can.pulls_end_early,
            "tiles": schedule.tiles and PULL_TILED in can.modes,
            "components": schedule.components and COMPONENTS in can.modes,
            "k": schedule.k,
            "pages": self.pages,
            "orders_pages": self.orders_pages,
            "transfers": tuple(each.ways for each in can.transfers),
        }

    def _first_rates(self, load: tuple[int, int, float]) -> Sharing:
        """The rates with which the run begins, for a device with this `load`."""
        rates, speeds = self.schedule.policy.first_rates(self.can.threads, load), self.schedule.speeds
        rates = rates._replace(from_disk=self.can.reads_disk)
        return rates if speeds is None else rates.on(speeds, load[2])

    @property
    def counts_pages(self) -> bool:
        """Whether `observe` is to be told how many vertices of each page are active."""
        return self.schedule.policy.sees_pages and self.orders_pages

    def observe(
        self, active: int, active_edges: int, missing: int = 0, has_sums: bool = False,
        active_by_page: tuple[int, ...] = (), unfinished_edges: int | None = None,
    ) -> Observation:  # fmt: skip
        """The observation at the beginning of an iteration.

        Parameters
        ----------
        active, active_edges : int
            Number of active vertices, and the sum of their out-degrees.
        missing : int
            Bytes of vertex values that the host lacks, because only a device has them; negative if devices lack them.
        has_sums : bool
            Whether the state has sums for deltas (`State.has_sums`).
        active_by_page : tuple of int
            Active vertices of each page, if it `counts_pages`.
        unfinished_edges : int or None
            An upper estimate of the edges that a pull would visit (`State.unfinished_edges`).
        """
        shared: dict[str, Any] = {}
        if self.rates:
            shared = {"ratio": sum(rates.ratio for rates in self.rates), **self.rates[0].seen}
            if missing:
                copies = COPIES_TO_HOST if missing > 0 else 1
                shared |= {"moving": self.rates[0].moving(copies * missing), "missed": self.missed}
        elif self.can.loads:
            shared = {"transfers": ()}  # all devices have failed
        seen = object.__new__(Observation)  # takes 1 microsecond, its constructor 4
        seen.__dict__.update(
            self._facts, active=active, active_edges=active_edges, has_sums=has_sums, in_buckets=self.in_buckets,
            step=self.step, reenters=self.disk_pushes.reenters, notify_bound=self.notify_bound, own=self.own,
            only_pushes=self.schedule.ends_early and self.disk_pushes.has_reentered,
            device_push_cost=self.push_cost.ratio(self.edges), active_by_page=active_by_page,
            compacts=self.far_pushes.compacts(active, active_edges), least_compacted=self.far_pushes.least,
            unfinished_edges=unfinished_edges, **shared,
        )  # fmt: skip
        return seen

    def decide(self, seen: Observation) -> Decision:
        """The policy's decision, with the rates by which the host and the devices share pages."""
        policy = self.schedule.policy
        try:
            decision = policy.decide(seen)
        except Exception as error:
            raise failed(policy.name, self.number, error) from error
        if (why := refusal(decision, seen, self.can)) is not None:
            raise PolicyError(f"policy {policy.name!r}, iteration {self.number}: {why}")
        limit, sees = self.schedule.iterations, self.schedule.sees_each or type(policy).observe is not Policy.observe
        if sees:
            decision = decision._replace(ahead=None)
        elif decision.ahead is not None and limit is not None:
            decision = decision._replace(ahead=decision.ahead._replace(most=limit - self.number))
        if decision.order is not None:
            decision = decision._replace(order=tuple(map(int, decision.order)))
        if decision.order is not None or decision.pages:
            decision = decision._replace(ahead=None)
        f = 1.0 if seen.updates_all_vertices or seen.forced_mode else seen.f
        return decision._replace(sharing=tuple(rates.at(f) for rates in self.rates)) if self.rates else decision

    def done(self, seen: Observation, decision: Decision, record: Iteration) -> None:
        """Learn from the record of an iteration, and let the policy do so."""
        policy = self.schedule.policy
        if decision.mode == PULL and GPU in (self.can.name, decision.device):
            self.push_cost = self.push_cost.copied()
        if self.can.name == GPU:
            self.push_cost = self.push_cost.after(decision.mode, seen.active_edges, record.seconds)
            if decision.mode == PUSH:
                self.pushed(decision.compacts, seen.active, seen.active_edges, record.seconds)
        try:
            self.own = policy.observe(self.own, seen, decision, record)
        except Exception as error:
            raise failed(policy.name, self.number, error) from error

    def pushed(self, compacted: bool, active: int, edges: int, seconds: float) -> None:
        """Learn from a push of a GPU that works alone."""
        self.far_pushes = self.far_pushes.after(compacted, active, edges, seconds)

    def pushed_several(self, seen: Observation, steps: Supersteps) -> None:
        """Learn from supersteps that a GPU that works alone has done at once: from the one that took longest."""
        if self.far_pushes.lists is None:
            return
        active, edges = before_each(seen.active, steps.active), before_each(seen.active_edges, steps.active_edges)
        longest = int(np.argmax(np.where(steps.pulled, 0, steps.seconds)))
        if not steps.pulled[longest]:
            self.pushed(False, int(active[longest]), int(edges[longest]), float(steps.seconds[longest]))

    def read(self, decision: Decision, nbytes: int, followed: int) -> None:
        """Learn from an iteration that read this many bytes from disk, and followed this many edges."""
        if decision.mode == PUSH:
            self.disk_pushes = self.disk_pushes.after(nbytes, followed, decision.reenters)

    def learn(
        self, seen: Observation, decision: Decision, sharing: tuple[Sharing, ...], skipped: int, pages: int
    ) -> None:
        """Learn from an iteration, which skipped `skipped` of `pages` pages and measured `sharing`."""
        self.rates = sharing
        alpha = decision.alpha
        if alpha is not None:
            slower = decision.device == (GPU if alpha < 1 else CPU)
            self.missed = self.missed + saving(seen, alpha) if slower else 0.0
        if self.can.name == GPU and decision.mode == NOTIFY_PULL:
            self.notify_bound = notify_bound_after(self.notify_bound, seen.f, skipped, pages, self.edges)


def before_each(first: int, after: Array) -> Array:
    """A number before each superstep: `first` before the first one, then what it was `after` the one before."""
    return np.append(first, after[:-1])


def failed(name: str, iteration: int | None, error: Exception) -> PolicyError:
    """The error of a run whose policy has raised an exception in an iteration or, with None, before the first one."""
    when = "before the first iteration" if iteration is None else f"iteration {iteration}"
    return PolicyError(f"policy {name!r}, {when}: {type(error).__name__}: {error}; correct the policy")
