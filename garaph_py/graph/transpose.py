"""Groups edges by their other endpoint: makes CSR from CSC, and CSC from CSR."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..codec.codecs import decoded_slice
from ..codec.format import LISTS, NUMBERS
from ..errors import GraphError
from ..native import prepare
from ..native.threads import ThreadPool, even_cuts
from ..system.memory import enough_memory
from . import group
from .adjacency import Adjacency

Array = npt.NDArray[Any]

CHUNK = 1 << 20
"""Edges that `reversed_values` handles at a time: few enough for their columns to stay in the caches. It is a multiple
of `codec.format.RUN`."""


def reversed_edges(adjacency: Adjacency, n: int, pool: ThreadPool) -> Adjacency:
    """The same edges grouped by their other endpoint, without values: makes CSR from CSC."""
    offsets, neighbours, _ = group.group([adjacency.neighbours, group.expand(adjacency.offsets, pool), None], n, pool)
    return Adjacency(offsets, neighbours)


def transposed(adjacency: Adjacency, pool: ThreadPool, listener: events.Listener) -> Adjacency:
    """The same edges, with their values, grouped by their other endpoint and sorted within each group."""
    width = 0 if adjacency.values is None else adjacency.values.dtype.itemsize
    prepare(group.kernels(width), listener)
    columns = [adjacency.neighbours, group.expand(adjacency.offsets, pool), adjacency.values]
    return Adjacency(*group.group(columns, len(adjacency.offsets) - 1, pool))


def reversed_frugally(adjacency: Adjacency, pool: ThreadPool) -> Adjacency:
    """`reversed_edges` in little more memory than the result takes; it takes longer.

    Each thread owns a range of the groups and passes over all edges, in chunks.
    """
    others, m, n = adjacency.neighbours, len(adjacency.neighbours), len(adjacency.offsets) - 1
    offsets = np.zeros(n + 1, np.int64)
    for start in range(0, m, CHUNK):
        np.add.at(offsets[1:], others[start : start + CHUNK], 1)
    np.cumsum(offsets, out=offsets)
    owned = even_cuts(offsets, pool.size).tolist()
    cursor, reverse, carry = offsets[:-1].copy(), np.empty(m, np.uint32), group.carry_kernel(4)
    for start in range(0, m, CHUNK):
        some = others[start : start + CHUNK]
        ends = group.owners(adjacency.offsets, start, start + len(some))
        pool.run(carry, [(some, ends, len(some), *part, cursor, reverse, m) for part in pairwise(owned)])
    return Adjacency(offsets, reverse)


def reversed_values(edges: Adjacency, offsets: Array, pool: ThreadPool) -> Array:
    """The values of `edges` in the order of the same edges grouped by their other endpoint.

    `offsets` are the offsets of those groups. Each thread owns a range of the groups and passes over all edges, in
    chunks of `CHUNK` edges. So no other array is as large as the result.

    Parameters
    ----------
    edges : Adjacency
        Edges with values.
    offsets : ndarray of int64, shape (n + 1,)
    pool : ThreadPool

    Raises
    ------
    GraphError
        If the groups do not have as many edges as `offsets` says, or there is too little memory.
    """
    others, values = edges.neighbour_array, edges.value_array
    assert values is not None
    m, dtype = int(offsets[-1]), values.dtype
    with enough_memory("values of out-edges"):
        cursor, carried = offsets[:-1].copy(), np.empty(m, dtype)
    bits = np.dtype(f"u{dtype.itemsize}")
    parts = pool.parts(m)
    owned = even_cuts(offsets, parts).tolist()
    carry = group.carry_kernel(dtype.itemsize)
    for start in range(0, m, CHUNK):
        to = decoded_slice(others, LISTS, start, start + CHUNK, pool, edges.offsets)
        what = decoded_slice(values, NUMBERS, start, start + CHUNK, pool).view(bits)
        pool.run(carry, [(to, what, len(to), *part, cursor, carried.view(bits), m) for part in pairwise(owned)])
    if not np.array_equal(cursor, offsets[1:]):
        raise GraphError("the graph's out-edges are not its in-edges reversed; import it again")
    return carried
