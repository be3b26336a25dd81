"""Shards: runs of destinations whose replicated accumulators fit a block's share of shared memory (Garaph section 2.1).

An index over a page's vertices, computed for a device and a program. A shard with many edges is divided into work items
of bounded edge count, so that no hub's shard runs alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel
from ...pages.layout import Page
from .ranks import Ranks
from .replication import Replication

Array = npt.NDArray[Any]

MOST_VERTICES = 1 << 16
"""A destination's offset in its shard fits 16 bits."""
ITEM_EDGES = 1 << 15


@cache
def cutting() -> Kernel:
    """The greedy layout, one shard after the other."""

    def cut(offsets, first, last, copies, bounds, degrees, factors, firsts, chosen):
        """Cut the vertices [first, last) into shards; their first vertices and factors, and how many."""
        shards, v = 0, first
        while v < last:
            start, destinations, factor = v, 0, factors[0]
            while v < last and v - start < 65536:
                more = destinations + np.int64(offsets[v + 1] > offsets[v])
                degree = np.float64(offsets[v + 1] - offsets[start]) / np.float64(max(more, 1))
                k = 0
                while k < degrees and bounds[k] < degree:
                    k += 1
                if v > start and more * factors[k] > copies:
                    break
                destinations, factor = more, factors[k]
                v += 1
            firsts[shards], chosen[shards] = start, factor
            shards += 1
        return shards

    return Kernel("i64* i64 i64 i64 f64* i64 i64* i64* i64*", cut)


def shards(offsets: Array, page: Page, copies: int, replication: Replication) -> tuple[Array, Array]:
    """First vertices (with the page's end behind them) and replication factors of the page's shards.

    A shard is extended while destinations times factor stay within `copies`, the factor recomputed at each extension;
    vertices without in-edges need no accumulator.
    """
    vertices = page.vertices
    firsts, chosen = np.empty(vertices + 1, np.int64), np.empty(vertices, np.int64)
    count = cutting()(
        offsets, page.first_vertex, page.last_vertex, copies, replication.bounds, len(replication.bounds),
        replication.factors, firsts, chosen,
    )  # fmt: skip
    firsts[count] = page.last_vertex
    return firsts[: count + 1], chosen[:count]


def work_items(ranks: Ranks, firsts: Array, factors: Array, dtype: np.dtype[Any]) -> tuple[Array, int]:
    """The work items of a page's shards, as the kernels' ``Item``, and how many shards are split.

    Parameters
    ----------
    firsts, factors : ndarray of int64
        From `shards`.
    dtype : dtype
        `Layouts.item`.
    """
    edges = ranks.offsets[firsts]
    pieces = np.maximum(-(-np.diff(edges) // ITEM_EDGES), 1)
    shard = np.repeat(np.arange(len(factors)), pieces)
    piece = np.arange(len(shard)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    items = np.zeros(len(shard), dtype)
    size = np.diff(edges)[shard]
    items["first_edge"] = edges[shard] + size * piece // pieces[shard]
    items["last_edge"] = edges[shard] + size * (piece + 1) // pieces[shard]
    items["first_vertex"], items["last_vertex"] = firsts[shard], firsts[shard + 1]
    items["first_rank"] = ranks.before[firsts[shard]]
    items["ranks"] = ranks.before[firsts[shard + 1]] - ranks.before[firsts[shard]]
    items["replication"], items["pieces"] = factors[shard], pieces[shard]
    split = pieces > 1
    items["ticket"] = (np.cumsum(split) - 1)[shard]
    return items, int(split.sum())
