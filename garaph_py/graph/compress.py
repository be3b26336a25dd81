"""Compresses columns of edges between internal ids to CSC and CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..native import prepare
from ..native.threads import ThreadPool
from ..system.arguments import check_listener
from . import group
from .adjacency import Adjacency
from .ids import VertexIds
from .order import check_order, vertex_order
from .transpose import reversed_edges

Array = npt.NDArray[Any]


# wide: the options by which users build graphs, passed on as they are
def compress(
    columns: list[Any],
    ids: VertexIds,
    *,
    directed: bool = True,
    drop_self_loops: bool = False,
    drop_parallel: bool = False,
    order: str = "none",
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> tuple[Adjacency, Adjacency, VertexIds]:
    """Build the CSC and CSR arrays of edges between internal ids. The in-edges of a vertex are sorted by source.

    Parameters
    ----------
    columns : list
        Sources and targets (uint32), and values or None. The list is emptied. If the caller keeps no other reference to
        the columns, they are freed as soon as they are sorted, and building needs about twice the graph's memory.
    ids : VertexIds
        The user's ids.
    directed, drop_self_loops, drop_parallel, order, threads, on_event
        As for `build.from_edges`.

    Returns
    -------
    in_edges, out_edges : Adjacency
        The same object if the graph is undirected.
    ids : VertexIds
        The user's ids in the new order.
    """
    check_listener(on_event)
    n = ids.n
    sources, targets, values = columns
    columns.clear()
    if not directed:
        sources, targets, values = both_directions(sources, targets, values)
    if check_order(order) != "none":
        old = vertex_order(order, np.bincount(sources, minlength=n), np.bincount(targets, minlength=n))
        new = np.empty(n, np.uint32)
        new[old] = np.arange(n, dtype=np.uint32)
        sources, targets, ids = new[sources], new[targets], ids.reordered(old)
    total = 3 * len(sources)
    with ThreadPool(threads) as pool:
        prepare(group.kernels(0) + (group.kernels(values.dtype.itemsize) if values is not None else []), on_event)
        on_event(events.Step("sorting edges", 0, total, "edges"))
        columns[:] = sources, targets, values
        del sources, targets, values
        offsets, *columns[:] = group.group(columns, n, pool)
        on_event(events.Step("sorting edges", total // 3, total, "edges"))
        columns.insert(1, group.expand(offsets, pool))
        incoming = Adjacency(*group.group(columns, n, pool))
        if drop_self_loops or drop_parallel:
            incoming = simplified(incoming, pool, drop_self_loops, drop_parallel)
        on_event(events.Step("sorting edges", 2 * total // 3, total, "edges"))
        outgoing = reversed_edges(incoming, n, pool) if directed else incoming
        on_event(events.Step("sorting edges", total, total, "edges"))
    return incoming, outgoing, ids


def both_directions(sources: Array, targets: Array, values: Array | None) -> tuple[Array, Array, Array | None]:
    """The edges, each followed by its reverse. So parallel edges have the same order in both directions."""
    forth, back = np.stack([sources, targets], axis=1).ravel(), np.stack([targets, sources], axis=1).ravel()
    values = None if values is None else np.repeat(values, 2)
    loops = sources == targets
    if loops.any():  # a self-loop is its own reverse, and counts once
        keep = np.ones(len(forth), np.bool_)
        keep[1::2] = ~loops
        forth, back = forth[keep], back[keep]
        values = None if values is None else values[keep]
    return forth, back, values


def simplified(adjacency: Adjacency, pool: ThreadPool, self_loops: bool, parallel: bool) -> Adjacency:
    """The edges without self-loops, if `self_loops`, and without all but the first of parallel edges, if `parallel`."""
    owners = group.expand(adjacency.offsets, pool)
    keep = np.ones(len(owners), np.bool_)
    if self_loops:
        keep &= owners != adjacency.neighbours
    if parallel:
        keep[1:] &= (owners[1:] != owners[:-1]) | (adjacency.neighbours[1:] != adjacency.neighbours[:-1])
    kept_before = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    values = None if adjacency.values is None else adjacency.values[keep]
    return Adjacency(kept_before[adjacency.offsets], adjacency.neighbours[keep], values)
