"""What a push costs a GPU that works alone, compared with a pull: first expected, then measured. Pure."""

from __future__ import annotations

from typing import NamedTuple

from ..executor.costs import EXPECTED
from ..executor.modes import PULL, PUSH

LEAST_EDGES = 1 << 20
"""Edges of the smallest push whose time is measured: fewer take less time than the launches of its kernels."""


class PushCost(NamedTuple):
    """The cost of an active vertex's out-edge in a push, in multiples of an edge's cost in a pull of all edges.

    Attributes
    ----------
    expected : float
        The expected cost, which depends on where the edges are (`Capabilities.push_cost`).
    pull : float
        The shortest time (s) of a pull so far; 0 before the first pull. The first pulls may also make pages resident.
    edge : float
        The shortest time (s) per edge of a push of many edges so far; 0 before the first. The first may also copy
        lists.
    from_disk : bool
        Whether pushes still read lists from disk, because no pull has copied the edges to the device.
    """

    expected: float
    pull: float = 0.0
    edge: float = 0.0
    from_disk: bool = False

    def ratio(self, edges: int) -> float:
        """The cost in a graph with this many edges."""
        if self.from_disk:
            return EXPECTED.push_from_disk
        return self.edge * edges / self.pull if self.edge and self.pull else self.expected

    def copied(self) -> PushCost:
        """The same after a pull of the device, which has copied the edges for which it has room."""
        return self._replace(from_disk=False)

    def after(self, mode: str, active_edges: int, seconds: float) -> PushCost:
        """What is known after an iteration that pushed along this many edges, or pulled."""
        if seconds <= 0:  # nothing is left beside compiling
            return self
        if mode == PULL:
            return self._replace(pull=min(self.pull or seconds, seconds))
        if mode == PUSH and active_edges >= LEAST_EDGES:
            edge = seconds / active_edges
            return self._replace(edge=min(self.edge or edge, edge))
        return self
