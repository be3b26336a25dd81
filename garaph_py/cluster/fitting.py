"""`cut_to_fit`: cuts a graph among workers that differ in speed and in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError
from ..graph import Graph
from ..graph.part import Cuts
from ..program import BoundProgram
from ..storage.partition import MOST_PARTS
from ..system.sizes import show_bytes
from .cuts import cut, most_parts, part_costs
from .memory import PROCESS, bytes_at_most, most_mirrors, part_bytes, part_needs, rooms

Array = npt.NDArray[Any]
Bytes = Callable[[Cuts], Array]
"""What each part takes in a worker."""

ROUNDS = 10
"""Maximum number of times that a graph is cut until all parts fit. If memory is not scarce, two or three are enough,
because the bytes of a part are nearly in proportion to its edges."""
SLACK = 0.98
"""Share of a worker's memory that the first round fills; each later round fills this share of the one before. Parts end
where pieces of work end, so they may be larger than intended."""


def workers_for(graph: Graph, bound: BoundProgram, shares: Sequence[float], limits: Sequence[int]) -> list[int]:
    """The numbers of the workers that get a part, ascending.

    These are the workers that have room for a part; if there are fewer pieces of work, those with the largest shares.
    `limits` are memory limits in bytes, 0 for none. If no worker has room, all count as if they had.
    """
    nothing = Cuts(np.zeros(2, np.int64), np.zeros((0, 2), np.int64))
    least = part_bytes(graph, nothing, bound, np.zeros(1, np.int64))[0]
    able = np.flatnonzero(rooms(limits) >= least)
    able = able if len(able) else np.arange(len(limits))
    largest = able[np.argsort(-np.array(shares)[able], kind="stable")]
    return sorted(largest[: most_parts(graph)].tolist())


def cut_to_fit(graph: Graph, bound: BoundProgram, shares: Sequence[float], limits: Sequence[int]) -> Cuts:
    """Cut a graph into a part for each worker, in proportion to their `shares` as far as their memory allows.

    `limits` are their memory limits in bytes, 0 for none. The edges of a graph on disk are in memory if all parts fit
    there.

    Raises
    ------
    ClusterError
        If the parts do not fit. The message says how many workers with as much memory would be enough.
    """
    room = rooms(limits)
    if np.isinf(room).all():
        return cut(graph, len(shares), shares)
    for taken in ways(graph, bound):
        cuts, fits = fitted(graph, np.array(shares, float), room, taken)
        if fits:
            return cuts
    raise too_little(graph, bound, room, taken(cuts))


def ways(graph: Graph, bound: BoundProgram) -> list[Bytes]:
    """Functions for the bytes of parts, one for each way in which workers may hold them, the best way first."""

    def least(cuts: Cuts) -> Array:
        return part_bytes(graph, cuts, bound)

    def in_memory(cuts: Cuts) -> Array:
        need = part_needs(graph, cuts, bound, most_mirrors(graph, cuts))
        held: Array = np.maximum(need.raw, need.loading)
        return held

    def at_most(cuts: Cuts) -> Array:
        return bytes_at_most(graph, cuts, bound)

    return [in_memory, at_most, least] if graph.on_disk else [least]


def fitted(graph: Graph, shares: Array, room: Array, taken: Bytes) -> tuple[Cuts, bool]:
    """The cuts that fit in the workers' `room`, or the last that were tried, and whether they fit.

    If a part is too large, its worker next gets as many edges as would fit at the same number of bytes per edge; the
    other workers get the rest. This takes several rounds, because the mirrors of a part take memory too.
    """
    wanted = shares
    for number in range(1, ROUNDS + 1):
        cuts = cut(graph, len(shares), wanted)
        needed, costs = taken(cuts), part_costs(graph, cuts)
        if (needed <= room).all():
            return cuts, True
        per_edge = np.where(costs > 0, needed / np.maximum(costs, 1), needed.sum() / max(1, costs.sum()))
        wanted = filled(shares, SLACK**number * room / np.maximum(per_edge, 1.0), costs.sum())
        if not wanted.any():
            break
    return cuts, False


def filled(shares: Array, most: Array, total: float) -> Array:
    """Divide a `total` in proportion to `shares`, but give each no more than its `most`. If these do not add up to the
    total, return them."""
    if most.sum() <= total:
        return most
    given, is_full = np.zeros(len(shares)), np.zeros(len(shares), np.bool_)
    while True:
        given[is_full] = most[is_full]
        given[~is_full] = (total - most[is_full].sum()) * shares[~is_full] / shares[~is_full].sum()
        over = given > most
        if not over.any():
            return given
        is_full |= over


def too_little(graph: Graph, bound: BoundProgram, room: Array, needed: Array) -> ClusterError:
    """The error for workers that have too little `room` for the parts."""
    worker, most = int(np.argmax(needed - room)), int(room.max())
    parts = len(room)
    while parts < MOST_PARTS:
        parts = min(MOST_PARTS, max(parts + 1, parts * 5 // 4))
        if int(bytes_at_most(graph, cut(graph, parts), bound).max()) <= most:
            break
    else:
        parts = 0
    like = "these" if room.min() == room.max() else "the largest of these"
    advice = f"{parts} workers like {like} would do" if parts else f"no number of workers like {like} would do"
    on_disk = ", even with its edges on disk" * graph.on_disk
    return ClusterError(
        f"a part takes {show_bytes(int(needed[worker]) + PROCESS, up=True)} in a worker{on_disk}, which may use "
        f"{show_bytes(int(room[worker]) + PROCESS)} before Dask pauses it; {advice}, or give each more memory "
        "(memory_limit)"
    )
