"""What the scheduler knows when it decides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..executor.costs import EXPECTED
from ..executor.modes import CPU
from ..pages.layout import Page

NOTIFY_BOUND = 1 / 1000
"""Initial upper bound on f for notify-pull on a GPU that works alone (`policy.notify_bound_after` adapts it). The CPU
notifies, and takes as long for one edge as the GPU for more than a hundred."""


@dataclass  # not frozen: a frozen one takes three times as long to make, in every iteration; no code changes one
class Observation:
    """What the scheduler knows at the beginning of an iteration.

    Attributes
    ----------
    vertices, edges : int
        Size of the graph.
    active, active_edges : int
        Number of active vertices, and the sum of their out-degrees.
    device : {"cpu", "gpu"}
        The processor of iterations that only one processor does.
    forced_mode : str or None
        The mode that the user asked for.
    updates_all_vertices : bool
        Every iteration must update every vertex, because each may depend on the total that the program aggregates.
    is_relaxation : bool
        The program's active vertices may push (`BoundProgram.is_relaxation`).
    deltas : bool
        Active vertices may push deltas (`BoundProgram.pushes_deltas`) to sums that a pull has made.
    has_sums : bool
        The last iteration has left these sums (`State.has_sums`).
    pushes : bool
        The processor can push. The CPU cannot if the program reads edge values that out-edges lack.
    device_pushes : bool
        In a hybrid run, the GPU can push if it works alone.
    device_push_cost : float
        The cost of an active vertex's out-edge in a push on the GPU, in multiples of an edge's in a pull of all edges.
    compacts : bool
        If lists of active vertices are in host memory: an edge list reaches the GPU sooner than its kernels read them.
    least_compacted : float
        Fewest edges of active vertices for which that may be so.
    device_pulls_end_early : bool
        When the GPU pulls, it ends a vertex's gather where the program's `done` says so.
    tiles : bool
        The graph has tiles, or the run makes them, and they suit the program.
    components : bool
        The answer is the sum over each connected component, and one iteration may find it by union-find.
    in_buckets : bool
        Changed vertices stay pending until their bucket is opened (`VertexProgram.priority`).
    step : number, optional
        If so, how far the next bucket reaches beyond the least priority.
    reenters : bool
        Pushes over edges on disk process each page until none of its vertices is active (`reentry.DiskPushes`).
    only_pushes : bool
        Vertices may have got values that `done` takes for final and pushes may yet improve, so that a pull is wrong.
    k : float
        Sequential over random read speed of the storage; 1 in memory.
    ratio : float or None
        T_pull / T_GPU: the CPU's time to pull all pages over the GPU's; None if only one of them works.
    sparse : float
        Cost of an active vertex's out-edge when the CPU works alone, in units of one pulled in-edge; 2 in the paper.
    vertex : float
        Cost of an active vertex, in units of one such out-edge; 0 in the paper.
    start : float
        Fixed cost of an iteration of the CPU alone, in units of the time that it takes to pull all pages.
    from_disk : bool
        The edges that the GPU lacks come from disk.
    cpu_helps : bool
        The CPU should take pages in iterations in which the GPU works.
    moving : float
        Time to copy the vertex values to the other processor, in units of the time that the GPU takes to pull all
        pages: positive if only the GPU has them, negative if only the host does, 0 if both do.
    missed : float
        What the processor without the values would have saved in the last iterations, in the same unit.
    notify_bound : float
        The ``auto`` engine's bound on f for a GPU that works alone (`policy.notify_bound_after`).
    pages : sequence of Page
        The pages of the iteration by number, each with its vertices [first_vertex, last_vertex) and number of `edges`;
        empty on a part of a graph, whose pages no policy decides on.
    active_by_page : tuple of int
        How many vertices of each page are active, if the policy `sees_pages`; else empty.
    orders_pages : bool
        A policy may decide on the order of the pages (`Decision.order`).
    transfers : tuple of tuple of str
        For each page, the ways in which its edges may reach the GPU in a pull (`PageDecision.transfer`), first the one
        that a run chooses by itself: ``"resident"``, ``"copied"``, ``"zero-copy"``. Empty if no GPU works, or several.
    unfinished_edges : int or None
        An upper estimate of the edges that a pull would visit, of a program whose pulls end late
        (`State.unfinished_edges`); None for others.
    own : object
        What the policy knows: what its `Policy.observe` has returned last.
    """

    vertices: int
    edges: int
    active: int
    active_edges: int
    device: str = CPU
    forced_mode: str | None = None
    updates_all_vertices: bool = False
    is_relaxation: bool = False
    deltas: bool = False
    has_sums: bool = False
    pushes: bool = True
    device_pushes: bool = False
    device_push_cost: float = EXPECTED.push_edge
    compacts: bool = False
    least_compacted: float = math.inf
    device_pulls_end_early: bool = False
    tiles: bool = False
    components: bool = False
    in_buckets: bool = False
    step: Any = None
    reenters: bool = False
    only_pushes: bool = False
    k: float = 1.0
    ratio: float | None = None
    sparse: float = 2.0
    vertex: float = 0.0
    start: float = 0.0
    from_disk: bool = False
    cpu_helps: bool = True
    moving: float = 0.0
    missed: float = 0.0
    notify_bound: float = NOTIFY_BOUND
    pages: Sequence[Page] = ()
    active_by_page: tuple[int, ...] = ()
    orders_pages: bool = False
    transfers: tuple[tuple[str, ...], ...] = ()
    unfinished_edges: int | None = None
    own: Any = None

    @cached_property
    def f(self) -> float:
        """Estimated fraction of the vertices to update (Garaph section 4.2)."""
        return self.active_edges / self.edges if self.edges else float(self.active > 0)
