"""The scheduler's decisions, as a pure function of what was observed: no clock, thread or file in here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH

AUTO_THRESHOLD = 1 / 50
"""``auto``'s bound on f. The paper's 1/2 follows from equal costs of notifying and pulling; but the vertices that a
few active ones notify are the high-degree ones, whose in-edges are many (measured: docs/results/cpu.md)."""
PUSH_THRESHOLD = 1 / 15
"""``auto`` pushes up to this f, where the program relaxes (Beamer et al., SC 2012, alpha)."""

GPU_THRESHOLD = 1 / 1000
"""``auto``'s bound on f where the GPU pulls, until it is known better (`bound_of_notifying`): notifying, which spares
it pages, is the CPU's work, an edge of which takes as long as a hundred of the GPU's and more."""
RELAXING_THRESHOLD = 1 / 1000
"""``auto``'s bound on f where a program relaxes and the processor cannot push: pull from active vertices passes over
most edges, which notified vertices gather from."""


@dataclass  # not frozen, which takes three times as long in every iteration; nobody changes one
class Observation:
    """What the scheduler knows at the beginning of an iteration.

    Attributes
    ----------
    vertices, edges : int
        Of the graph.
    active, active_edges : int
        Vertices active in the last iteration, and the sum of their out-degrees.
    engine : {"auto", "garaph"}
    device : {"cpu", "gpu"}
        The processor that works alone if both do not.
    forced_mode : str or None
        The mode the user asked for.
    updates_all_vertices : bool
        Every vertex is to be updated, whoever is active: the program aggregates a total that all may depend on.
    is_relaxation : bool
        The program's active vertices may push (`BoundProgram.is_relaxation`).
    pushes : bool
        The processor can: not the GPU, nor the CPU where the program reads edge values that out-edges have not.
    tiles : bool
        The graph has tiles, and they suit the program.
    in_turns : bool
        Changed vertices wait for their turn (`VertexProgram.priority`).
    k : float
        Sequential over random read speed of the storage; 1 in memory.
    ratio : float or None
        T_pull / T_GPU, the CPU's time to pull over all pages over the GPU's; None where only one of them works.
    sparse : float
        What an out-edge of an active vertex costs the CPU alone, over an in-edge that it pulls: 2 in the paper.
    vertex : float
        As how many such out-edges an active vertex itself counts: 0 in the paper.
    start : float
        What an iteration of the CPU alone costs whoever is active, over that of pulling over all pages.
    cpu_helps : bool
        It is worth it that the CPU takes pages where the GPU does.
    notifying : float
        ``auto``'s bound on f where the GPU works alone: see `bound_of_notifying`.
    """

    vertices: int
    edges: int
    active: int
    active_edges: int
    engine: str
    device: str = CPU
    forced_mode: str | None = None
    updates_all_vertices: bool = False
    is_relaxation: bool = False
    pushes: bool = True
    tiles: bool = False
    in_turns: bool = False
    k: float = 1.0
    ratio: float | None = None
    sparse: float = 2.0
    vertex: float = 0.0
    start: float = 0.0
    cpu_helps: bool = True
    notifying: float = GPU_THRESHOLD

    @cached_property
    def alpha(self) -> float | None:
        """T_CPU / T_GPU (Garaph equation 3, rho being k): below 1 the CPU is faster alone."""
        if self.ratio is None:
            return None
        if alone(self).mode in (PULL, PULL_TILED):
            return self.ratio
        f = self.f + self.vertex * self.active / max(self.edges, 1)
        return min(self.start + self.sparse * f * self.k, 1.0) * self.ratio

    @cached_property
    def f(self) -> float:
        """Estimated share of the vertices to update (Garaph section 4.2)."""
        return self.active_edges / self.edges if self.edges else float(self.active > 0)


class Decision(NamedTuple):
    """What to do in one iteration, why, and who does it: ``"cpu"``, ``"gpu"``, or ``"both"`` take pages."""

    mode: str
    why: str
    device: str = CPU


def bound_of_notifying(bound: float, f: float, skipped: int, pages: int, edges: int) -> float:
    """Up to which f a GPU that works alone leaves out pages in which nobody is notified, after it left out so many.

    How many these are f does not say, for it depends on where the notified vertices are. So it is tried once; if fewer
    than half of the pages were, then again only where there are no more active edges than pages.
    """
    least = pages / max(edges, 1)
    return bound if 2 * skipped >= pages else least if f > least else 0.0


TINY = 1e-30


@dataclass(frozen=True)
class Bucket:
    """The supersteps between two rises of the limit.

    Attributes
    ----------
    edges : int
        Out-edges of the vertices active at the first.
    followed : int
        Edges followed in all of them.
    """

    edges: int
    followed: int


def first_step(least: float) -> float:
    """By how much the limit of priorities rises at first: little, for `next_step` doubles it."""
    return 1 if isinstance(least, int) else max(abs(least), TINY) / 64


def next_step(step: float, turn: Bucket, before: Bucket | None, edges: int) -> float:
    """By how much the limit of priorities rises for the next turn, after it rose by `step` for the last one.

    A turn too small to keep the threads busy costs more than the waiting saves; one too large, or of many supersteps,
    changes vertices again and again. So delta-stepping's delta follows the graph, and the wave through it.
    """
    if turn.followed > 8 * turn.edges or turn.edges * 8 > edges:
        return max(step // 2, 1) if isinstance(step, int) else step / 2
    growing = before is not None and turn.edges > 2 * before.edges
    if turn.edges * 32 < edges and turn.followed <= 3 * turn.edges and not growing:
        return step * 2
    return step


def decide(seen: Observation) -> Decision:
    """Who works, and how: both if alpha >= 1 (Garaph section 5.1), and then they pull; else one, as `alone` says.

    Where that is notify-pull, pages may still be divided, once it is known who is notified (`Rates.divide`).

    The GPU works without the CPU where that takes nothing off it.
    """
    if seen.alpha is not None and seen.alpha >= 1 and seen.forced_mode in (None, PULL):
        why = f"alpha = {seen.alpha:.3g} >= 1"
        return Decision(PULL, why, BOTH) if seen.cpu_helps else Decision(PULL, f"{why}, the CPU would not help", GPU)
    return alone(seen)


def alone(seen: Observation) -> Decision:
    """Pull or notify-pull: notify-pull if f <= 1 / (2 k) (Garaph section 4.2). ``auto`` knows push and tiles."""
    if seen.forced_mode is not None:
        return Decision(seen.forced_mode, "as asked", seen.device)
    if seen.updates_all_vertices:
        return dense(seen, "every vertex is to be updated")
    if seen.is_relaxation and seen.pushes and seen.engine == "auto":
        if seen.in_turns:
            return Decision(PUSH, "those whose turn it is push", seen.device)
        if seen.f <= PUSH_THRESHOLD:
            return Decision(PUSH, f"f = {seen.f:.3g} <= {PUSH_THRESHOLD:.3g}", seen.device)
        return Decision(PULL, f"f = {seen.f:.3g} > {PUSH_THRESHOLD:.3g}", seen.device)
    if seen.device == GPU and seen.engine == "garaph":
        return Decision(PULL, "the GPU only pulls (section 2.2)", seen.device)
    auto = seen.notifying if seen.device == GPU else RELAXING_THRESHOLD if seen.is_relaxation else AUTO_THRESHOLD
    threshold = 1 / (2 * seen.k) if seen.engine == "garaph" else auto / seen.k
    if seen.f <= threshold:
        return Decision(NOTIFY_PULL, f"f = {seen.f:.3g} <= {threshold:.3g}", seen.device)
    return dense(seen, f"f = {seen.f:.3g} > {threshold:.3g}")


def dense(seen: Observation, why: str) -> Decision:
    """Pull, by tiles where there are some."""
    if seen.engine == "auto" and seen.tiles and seen.f > 1 / 2:
        return Decision(PULL_TILED, f"{why}, and there are tiles", seen.device)
    return Decision(PULL, why, seen.device)
