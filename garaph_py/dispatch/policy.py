"""Policies: the rules of an engine. An observation goes in, a decision comes out; no clock, thread or file is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from ..executor.modes import BOTH, COPIED, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..executor.protocol import Decision
from .observation import Observation
from .rates import Rates

AUTO_THRESHOLD = 1 / 50
"""``auto``'s bound on f. The paper's 1/2 follows from equal costs of notifying and pulling; but the vertices that a
few active ones notify are the high-degree ones, whose in-edges are many (measured: docs/results/cpu.md)."""
PUSH_THRESHOLD = 1 / 15
"""``auto`` pushes up to this f, where the program is a relaxation (Beamer et al., SC 2012, alpha)."""
RELAXING_THRESHOLD = 1 / 1000
"""``auto``'s bound on f where a program is a relaxation and the processor cannot push: pull from active vertices passes
over most edges, which notified vertices gather from."""


class Policy(Protocol):
    """The rules of an engine.

    Attributes
    ----------
    name : str
        The engine's name, as users give it.
    modes : tuple of str
        Directions that it may be forced to.
    chooses_asynchrony : bool
        It runs programs to the end asynchronously where the answer does not depend on it and the user does not say.
    one_partition_per_thread : bool
        The CPU cuts a page into one run of edges a thread, and all sources contribute (Garaph section 4.1).
    opens_buckets : bool
        It lets changed vertices wait for their bucket, where the program has a priority.
    gather : str
        How a GPU sums where the user does not say.
    transfer : str
        How edges that do not stay on a GPU get there: a name in ``executor.gpu.transfer.TRANSFERS``.
    """

    name: ClassVar[str]
    modes: ClassVar[tuple[str, ...]]
    chooses_asynchrony: ClassVar[bool]
    one_partition_per_thread: ClassVar[bool]
    opens_buckets: ClassVar[bool]
    gather: ClassVar[str]
    transfer: ClassVar[str]

    def decide(self, seen: Observation) -> Decision:
        """What to do in the iteration that begins."""

    def first_rates(self, threads: int, load: tuple[int, int, float]) -> Rates:
        """How fast a host of so many threads and a device with this `load` are, before anything was measured."""


def decide(seen: Observation, policy: Policy) -> Decision:
    """What `policy` makes of an observation."""
    return policy.decide(seen)


@dataclass(frozen=True)
class _Rules:
    """What both policies share: the mode that the user asked for, and alpha."""

    def decide(self, seen: Observation) -> Decision:
        """Both processors work if alpha >= 1 (Garaph section 5.1), and then they pull; else one, as `alone` says.

        Where `alone` says notify-pull, pages may still be divided once it is known who is notified (`Rates.divide`).
        The GPU works without the CPU where the CPU would not help.
        """
        forced = seen.forced_mode
        solo = self.alone(seen) if forced is None else Decision(forced, "as asked", seen.device)
        if seen.ratio is None:
            return solo
        alpha = alpha_of(seen, solo.mode, seen.ratio)
        if alpha >= 1 and seen.forced_mode in (None, PULL):
            why = f"alpha = {alpha:.3g} >= 1"
            if seen.cpu_helps:
                return Decision(PULL, why, BOTH, alpha)
            return Decision(PULL, f"{why}, the CPU would not help", GPU, alpha)
        return solo._replace(alpha=alpha)

    def alone(self, seen: Observation) -> Decision:
        """What one processor should do."""
        raise NotImplementedError


def alpha_of(seen: Observation, mode: str, ratio: float) -> float:
    """T_CPU / T_GPU (Garaph equation 3, rho being k): below 1 a CPU that works alone in `mode` is faster."""
    if mode in (PULL, PULL_TILED):
        return ratio
    f = seen.f + seen.vertex * seen.active / max(seen.edges, 1)
    return min(seen.start + seen.sparse * f * seen.k, 1.0) * ratio


@dataclass(frozen=True)
class GaraphPolicy(_Rules):
    """Garaph's rules to the letter (sections 3.2, 4.2 and 5.1)."""

    name: ClassVar[str] = "garaph"
    modes: ClassVar[tuple[str, ...]] = (PULL, NOTIFY_PULL)
    chooses_asynchrony: ClassVar[bool] = False
    one_partition_per_thread: ClassVar[bool] = True
    opens_buckets: ClassVar[bool] = False
    gather: ClassVar[str] = "replicated"
    transfer: ClassVar[str] = COPIED

    def first_rates(self, threads: int, load: tuple[int, int, float]) -> Rates:
        """Rates by which whoever is free takes the next page, and costs are as the paper has them."""
        return Rates.expected(threads, *load, reactive=True)

    def alone(self, seen: Observation) -> Decision:
        """Notify-pull if f <= 1 / (2 k) (section 4.2); the GPU only pulls (section 2.2)."""
        if seen.updates_all_vertices:
            return Decision(PULL, "every vertex is to be updated", seen.device)
        if seen.device == GPU:
            return Decision(PULL, "the GPU only pulls (section 2.2)", seen.device)
        return by_threshold(seen, 1 / (2 * seen.k)) or Decision(PULL, above(seen, 1 / (2 * seen.k)), seen.device)


@dataclass(frozen=True)
class AutoPolicy(_Rules):
    """What was measured to be fastest: the paper's two directions, push, tiles, and pages divided by their cost."""

    name: ClassVar[str] = "auto"
    modes: ClassVar[tuple[str, ...]] = (PULL, NOTIFY_PULL, PUSH, PULL_TILED)
    chooses_asynchrony: ClassVar[bool] = True
    one_partition_per_thread: ClassVar[bool] = False
    opens_buckets: ClassVar[bool] = True
    gather: ClassVar[str] = "auto"
    transfer: ClassVar[str] = COPIED

    def first_rates(self, threads: int, load: tuple[int, int, float]) -> Rates:
        """Rates that follow what the processors were measured to do."""
        return Rates.expected(threads, *load, reactive=False)

    def alone(self, seen: Observation) -> Decision:
        """Push along few edges of a relaxation, notify where few vertices are active, else pull: by tiles if it can."""
        if seen.updates_all_vertices:
            return dense(seen, "every vertex is to be updated")
        if seen.is_relaxation and seen.pushes:
            if seen.in_buckets:
                return Decision(PUSH, "the vertices of the open bucket push", seen.device)
            if seen.f <= PUSH_THRESHOLD:
                return Decision(PUSH, f"f = {seen.f:.3g} <= {PUSH_THRESHOLD:.3g}", seen.device)
            return Decision(PULL, above(seen, PUSH_THRESHOLD), seen.device)
        if seen.device == GPU:
            bound = seen.notify_bound
        else:
            bound = RELAXING_THRESHOLD if seen.is_relaxation else AUTO_THRESHOLD
        return by_threshold(seen, bound / seen.k) or dense(seen, above(seen, bound / seen.k))


def by_threshold(seen: Observation, threshold: float) -> Decision | None:
    """Notify-pull if f does not exceed the threshold."""
    if seen.f <= threshold:
        return Decision(NOTIFY_PULL, f"f = {seen.f:.3g} <= {threshold:.3g}", seen.device)
    return None


def above(seen: Observation, threshold: float) -> str:
    """The reason of a decision that f exceeds the threshold."""
    return f"f = {seen.f:.3g} > {threshold:.3g}"


def dense(seen: Observation, why: str) -> Decision:
    """Pull, by tiles where there are some and most edges lead from active vertices."""
    if seen.tiles and seen.f > 1 / 2:
        return Decision(PULL_TILED, f"{why}, and there are tiles", seen.device)
    return Decision(PULL, why, seen.device)


def notify_bound_after(bound: float, f: float, skipped: int, pages: int, edges: int) -> float:
    """The bound on f for notifying on a GPU, after an iteration at `f` that left out `skipped` of so many `pages`.

    f does not predict how many pages can be left out: that depends on where the notified vertices are. So notifying is
    tried once; if it spared fewer than half of the pages, then it is tried again only where there are no more active
    edges than pages.
    """
    least = pages / max(edges, 1)
    return bound if 2 * skipped >= pages else least if f > least else 0.0


POLICIES: dict[str, Policy] = {policy.name: policy for policy in (AutoPolicy(), GaraphPolicy())}
"""Engines by their names."""
