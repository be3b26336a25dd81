"""What the scheduler knows when it decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..executor.modes import CPU

NOTIFY_BOUND = 1 / 1000
"""First bound on f up to which a GPU that works alone notifies (`policy.notify_bound_after` adapts it). The CPU finds
the vertices to notify, and takes as long for an edge as the GPU does for a hundred and more."""


@dataclass  # not frozen: that takes three times as long in every iteration, and nobody changes one
class Observation:
    """What the scheduler knows at the beginning of an iteration.

    Attributes
    ----------
    vertices, edges : int
        Of the graph.
    active, active_edges : int
        Vertices active in the last iteration, and the sum of their out-degrees.
    device : {"cpu", "gpu"}
        The processor that works where not both do.
    forced_mode : str or None
        The mode that the user asked for.
    updates_all_vertices : bool
        Every vertex is to be updated, whoever is active: the program aggregates a total that all may depend on.
    is_relaxation : bool
        The program's active vertices may push (`BoundProgram.is_relaxation`).
    pushes : bool
        The processor can push: not the GPU, nor the CPU where the program reads edge values that out-edges lack.
    tiles : bool
        The graph has tiles, and they suit the program.
    in_buckets : bool
        Changed vertices wait for their bucket (`VertexProgram.priority`).
    k : float
        Sequential over random read speed of the storage; 1 in memory.
    ratio : float or None
        T_pull / T_GPU, the CPU's time to pull over all pages over the GPU's; None where only one of them works.
    sparse : float
        Cost of an active vertex's out-edge to the CPU alone, in units of an in-edge that it pulls; 2 in the paper.
    vertex : float
        Cost of an active vertex, in units of one such out-edge; 0 in the paper.
    start : float
        Fixed cost of an iteration of the CPU alone, in units of the time it takes to pull over all pages.
    cpu_helps : bool
        The CPU should take pages where the GPU works.
    notify_bound : float
        ``auto``'s bound on f where the GPU works alone (`policy.notify_bound_after`).
    """

    vertices: int
    edges: int
    active: int
    active_edges: int
    device: str = CPU
    forced_mode: str | None = None
    updates_all_vertices: bool = False
    is_relaxation: bool = False
    pushes: bool = True
    tiles: bool = False
    in_buckets: bool = False
    k: float = 1.0
    ratio: float | None = None
    sparse: float = 2.0
    vertex: float = 0.0
    start: float = 0.0
    cpu_helps: bool = True
    notify_bound: float = NOTIFY_BOUND

    @cached_property
    def f(self) -> float:
        """Estimated share of the vertices to update (Garaph section 4.2)."""
        return self.active_edges / self.edges if self.edges else float(self.active > 0)
