"""The scheduler's decisions, as a pure function of what was observed: no clock, thread or file in here."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernel import NOTIFY_PULL, PULL

AUTO_THRESHOLD = 1 / 50
"""``auto``'s bound on f. The paper's 1/2 follows from equal costs of notifying and pulling; but the vertices that a
few active ones notify are the high-degree ones, whose in-edges are many (measured: docs/architecture.md)."""


@dataclass(frozen=True)
class Observation:
    """What the scheduler knows at the beginning of an iteration.

    Attributes
    ----------
    vertices, edges : int
        Of the graph.
    active, active_edges : int
        Vertices active in the last iteration, and the sum of their out-degrees.
    engine : {"auto", "garaph"}
    forced_mode : str or None
        The mode the user asked for.
    everybody : bool
        Every vertex is to be updated, whoever is active: the program aggregates a total that all may depend on.
    k : float
        Sequential over random read speed of the storage; 1 in memory.
    """

    vertices: int
    edges: int
    active: int
    active_edges: int
    engine: str
    forced_mode: str | None = None
    everybody: bool = False
    k: float = 1.0

    @property
    def f(self) -> float:
        """Estimated share of the vertices to update (Garaph section 4.2)."""
        return self.active_edges / self.edges if self.edges else float(self.active > 0)


@dataclass(frozen=True)
class Decision:
    """What to do in one iteration, and why."""

    mode: str
    why: str


def decide(seen: Observation) -> Decision:
    """Pull or notify-pull: notify-pull if f <= 1 / (2 k) (Garaph section 4.2)."""
    if seen.forced_mode is not None:
        return Decision(seen.forced_mode, "as asked")
    if seen.everybody:
        return Decision(PULL, "every vertex is to be updated")
    threshold = 1 / (2 * seen.k) if seen.engine == "garaph" else AUTO_THRESHOLD / seen.k
    if seen.f <= threshold:
        return Decision(NOTIFY_PULL, f"f = {seen.f:.3g} <= {threshold:.3g}")
    return Decision(PULL, f"f = {seen.f:.3g} > {threshold:.3g}")
