"""Notes at which superstep each vertex was first reached from each of up to 64 sources.

A search from many sources keeps one bit for each in a vertex's value, and forgets when a bit changed. So levels are
noted here after each superstep: only vertices of the frontier have changed. They are kept in *planes*: plane j has, for
each vertex, a word whose bit k is bit j of the vertex's level from source k. To note a superstep is then to set bits in
a word or two of a vertex, whatever the number of sources. The table is made once, when the search has ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.vertex_set import WORD
from ...native import Kernel, reuse, trailing_zeros
from ...native.threads import ThreadPool, split
from ..state import State

Array = npt.NDArray[Any]

SOURCES = 64
"""The most sources: one bit for each, in a value of 64 bits."""
NARROW, WIDE = 7, 31
"""Planes of levels that fit int8, and int32. Memory that has not been written to takes no room."""
PARTS = 8
"""Parts of the vertices for each thread, which takes the next when it has finished one: frontiers are uneven."""
ONES, DIAGONAL = np.uint64(0x0101010101010101), np.uint64(0x8040201008040201)
"""Words of eight bytes: each is 1; byte k has bit k alone."""
BYTE, UP_TO_TOP, TOP = np.uint64(0xFF), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(7)
"""The lowest byte; what added to a byte that is not 0 and at most 128 sets its top bit; the top bit's number."""


# wide: the arguments of a kernel
def note(frontier, values, left, planes, n, level, first_word, last_word):
    """For the vertices of `frontier` in a range of words, note `level` for each bit that is in `left`, but no longer in
    the vertex's value; then make `left` the value."""
    for w in range(first_word, last_word):
        vertices = frontier[w]
        while vertices != np.uint64(0):
            v = (w << 6) + trailing_zeros(vertices)
            vertices &= vertices - np.uint64(1)
            bits = np.uint64(left[v] & ~values[v])
            left[v] = values[v]
            digits, at = level, v
            while digits != 0:
                if digits & 1:
                    planes[at] |= bits
                digits, at = digits >> 1, at + n
    return 0


def bytes_of(bits):
    """A word with eight bytes, which are the eight lowest bits of `bits`."""
    return (((bits & BYTE) * ONES & DIAGONAL) + UP_TO_TOP) >> TOP & ONES


# wide: the arguments of a kernel
def spread(planes, left, words, n, count, depth, first, last):
    """Write `count` words for each of the vertices [first, last): a byte for each source, which is made of `depth`
    planes, or -1 for a bit that is still in `left`."""
    for v in range(first, last):
        for k in range(count):
            shift = np.uint64(8 * k)
            word = bytes_of(np.uint64(left[v]) >> shift) * BYTE
            for j in range(depth):
                word |= bytes_of(planes[j * n + v] >> shift) << np.uint64(j)
            words[v * count + k] = word
    return 0


NOTE = Kernel("u64* i64* i64* u64* i64 i64 i64 i64", note)
SPREAD = Kernel("u64* i64* u64* i64 i64 i64 i64 i64", spread)


class Levels:
    """The levels of all vertices from several sources.

    Parameters
    ----------
    sources : ndarray of int64
        Internal ids of the sources, at most `SOURCES`.
    n : int
        Number of vertices.
    """

    def __init__(self, sources: Array, n: int) -> None:
        self._count, self._last = len(sources), 0
        self._planes = np.zeros((NARROW, n), np.uint64)
        self._left = np.full(n, self.all_bits(len(sources)), np.int64)
        for bit, source in enumerate(sources.tolist()):
            self._left[source] &= ~np.uint64(1 << bit).astype(np.int64)

    @staticmethod
    def all_bits(count: int) -> np.int64:
        """A word with a bit set for each of so many sources."""
        return np.uint64((1 << count) - 1).astype(np.int64)

    @property
    def first_values(self) -> Array:
        """For each vertex a bit for each source that has not reached it, at the start."""
        return self._left.copy()

    def after(self, state: State, iterations: int, pool: ThreadPool) -> None:
        """Note the vertices that the last of so many `iterations` has reached."""
        self._last, n = iterations, len(self._left)
        if iterations >> len(self._planes):
            narrow, self._planes = self._planes, np.zeros((WIDE, n), np.uint64)
            self._planes[:NARROW] = narrow
        bounds = np.array(split(-(-n // WORD), PARTS * pool.size))
        planes = self._planes.reshape(-1)
        pool.launch(
            NOTE.rows(
                len(bounds) - 1, state.frontier.bits, state.values, self._left, planes, n, iterations,
                bounds[:-1], bounds[1:],
            )
        )  # fmt: skip

    def table(self, pool: ThreadPool) -> Array:
        """The number of edges on a shortest path to each vertex from each source, or -1 where there is none.

        Returns
        -------
        ndarray of int8 or int32, shape (n, number of sources)
            Levels are as narrow as the last one allows.
        """
        depth = self._last.bit_length()
        levels = self._table_of(0, min(depth, NARROW), pool)
        if depth <= NARROW:
            return levels
        levels = levels.astype(np.int32)
        for first in range(NARROW, depth, NARROW):
            part = self._table_of(first, min(depth - first, NARROW), pool).astype(np.int32)
            part <<= first
            levels |= part
        return levels

    def _table_of(self, first: int, depth: int, pool: ThreadPool) -> Array:
        """A table of the bits of levels that are in `depth` planes, at most `NARROW`, from plane `first` on."""
        n, words = len(self._left), -(-self._count // 8)
        table = reuse.empty(n * words, np.uint64)
        planes, bounds = self._planes[first:].reshape(-1), np.array(split(n, PARTS * pool.size))
        pool.launch(SPREAD.rows(len(bounds) - 1, planes, self._left, table, n, words, depth, bounds[:-1], bounds[1:]))
        return table.view(np.int8).reshape(n, -1)[:, : self._count]
