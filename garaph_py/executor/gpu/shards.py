"""Shards: ranges of destinations whose replicated accumulators fit in a block's shared memory (Garaph section 2.1).

Shards are an index over a page's vertices, computed for one device and one program. A shard with many edges is divided
into work items of bounded size, so that the shard of a hub does not keep the GPU waiting for one block. In the paper, a
block has a whole shard (section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel
from ...pages.layout import Page
from .ranks import Ranks
from .replication import Replication

Array = npt.NDArray[Any]

MAX_SHARD_VERTICES = 1 << 16
"""Maximal vertices of a shard: in Garaph, a destination's offset in its shard has 16 bits (section 2.1)."""
ITEM_EDGES = 1 << 15
"""Maximal edges of a work item, unless a block is to have a whole shard."""


@dataclass(frozen=True)
class Division:
    """A page's shards, divided into work items.

    Attributes
    ----------
    items : ndarray of `Layouts.item`
    split : int
        The number of shards that have several items.
    shapes : tuple of ndarray of float64
        For each item: destinations, edges, the shard's average degree, and the replication factor.
    """

    items: Array
    split: int
    shapes: tuple[Array, ...]


def divided(
    ranks: Ranks, page: Page, copies: int, replication: Replication, dtype: np.dtype[Any], most: int
) -> Division:
    """Divide a page, as `shards` and `work_items` say."""
    firsts, factors = shards(ranks.offsets, page, copies, replication)
    items, split = work_items(ranks, firsts, factors, dtype, most)
    shard = np.searchsorted(firsts, items["first_vertex"], side="right") - 1
    destinations, edges = items["ranks"].astype(np.float64), items["last_edge"] - items["first_edge"]
    degrees = np.diff(ranks.offsets[firsts])[shard] / np.maximum(destinations, 1)
    shapes = destinations, edges.astype(np.float64), degrees, items["replication"].astype(np.float64)
    return Division(items, split, shapes)


def kept_division(
    ranks: Ranks, page: Page, copies: int, replication: Replication, dtype: np.dtype[Any], most: int
) -> Division:
    """What `divided` returns, which is kept with the ranks for later runs: some 100 bytes for each item."""
    key = page.first_vertex, page.last_vertex, copies, most, replication.key
    if key not in ranks.divisions:
        ranks.divisions[key] = divided(ranks, page, copies, replication, dtype, most)
    division: Division = ranks.divisions[key]
    return division


@cache
def cutting() -> Kernel:
    """The compiled kernel that makes shards greedily, one after the other."""

    # wide: a compiled kernel takes numbers and arrays, not objects
    def cut(offsets, first, last, all_vertices, copies, bounds, degrees, factors, firsts, chosen):
        """Cut the vertices [first, last) into shards; write their first vertices and factors, return their number."""
        shards, v = 0, first
        while v < last:
            start, counted, factor = v, 0, factors[0]
            while v < last and v - start < MAX_SHARD_VERTICES:
                more = counted + np.int64(all_vertices or offsets[v + 1] > offsets[v])
                degree = np.float64(offsets[v + 1] - offsets[start]) / np.float64(max(more, 1))
                k = 0
                while k < degrees and bounds[k] < degree:
                    k += 1
                if v > start and more * factors[k] > copies:
                    break
                counted, factor = more, factors[k]
                v += 1
            firsts[shards], chosen[shards] = start, factor
            shards += 1
        return shards

    return Kernel("i64* i64 i64 i64 i64 f64* i64 i64* i64* i64*", cut)


def shards(offsets: Array, page: Page, copies: int, replication: Replication) -> tuple[Array, Array]:
    """The first vertices of a page's shards, followed by the page's end, and the shards' replication factors.

    A shard grows as long as the vertices that count times its factor is at most `copies`. The factor is computed again
    for each vertex that is added. All vertices count, or those with in-edges, as the rule says.
    """
    vertices = page.vertices
    firsts, chosen = np.empty(vertices + 1, np.int64), np.empty(vertices, np.int64)
    count = cutting()(
        offsets, page.first_vertex, page.last_vertex, replication.all_vertices, copies, replication.bounds,
        len(replication.bounds), replication.factors, firsts, chosen,
    )  # fmt: skip
    firsts[count] = page.last_vertex
    return firsts[: count + 1], chosen[:count]


def work_items(
    ranks: Ranks, firsts: Array, factors: Array, dtype: np.dtype[Any], most: int = ITEM_EDGES
) -> tuple[Array, int]:
    """The work items of a page's shards, as the kernels' struct ``Item``, and the number of split shards.

    Parameters
    ----------
    firsts, factors : ndarray of int64
        From `shards`.
    dtype : dtype
        `Layouts.item`.
    most : int
        Maximal edges of a work item.
    """
    edges = ranks.offsets[firsts]
    pieces = np.maximum(-(-np.diff(edges) // most), 1)
    shard = np.repeat(np.arange(len(factors)), pieces)
    piece = np.arange(len(shard)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    items = np.zeros(len(shard), dtype)
    size = np.diff(edges)[shard]
    items["first_edge"] = edges[shard] + size * piece // pieces[shard]
    items["last_edge"] = edges[shard] + size * (piece + 1) // pieces[shard]
    items["first_vertex"], items["last_vertex"] = firsts[shard], firsts[shard + 1]
    before = ranks.before(firsts)
    items["first_rank"], items["ranks"] = before[shard], np.diff(before)[shard]
    items["replication"], items["pieces"] = factors[shard], pieces[shard]
    split = pieces > 1
    items["ticket"] = (np.cumsum(split) - 1)[shard]
    return items, int(split.sum())
