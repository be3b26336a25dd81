"""Records in which superstep each vertex was first reached from each of up to 64 sources.

A search from many sources keeps one bit for each in a vertex's value, and forgets when a bit changed. So levels are
noted here after each superstep: only vertices of the frontier have changed. They are kept in *planes*: plane j has, for
each vertex, a word whose bit k is bit j of the vertex's level from source k. To note a superstep is then to set bits in
a word or two of a vertex, whatever the number of sources. The table is made once, when the search has ended.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.vertex_set import WORD
from ...native import Kernel, reuse, trailing_zeros
from ...native.threads import ThreadPool, bounds_of
from ..levels import NARROW, bit_of, table_of
from ..state import State
from .sets import copy_words
from .walk import NO_BITS

Array = npt.NDArray[Any]

WIDE = 31
"""Planes of levels that fit int32."""
PARTS = 8
"""Parts of the vertices per thread, a guess. A free thread takes the next part, because frontiers are uneven."""
BYTE, TOP = np.uint64(0xFF), np.uint64(7)
"""The lowest byte of a word; the number of a byte's top bit."""
DIGITS = 3
"""Planes that are put together at a time."""
COPIES, TOPS = np.uint64(0x8040201008040201), np.uint64(0x8080808080808080)
"""Factor that copies a byte eight times, 9 bits apart and without overlap; the top bits of all bytes."""
MINUS_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Eight bytes of -1."""


# wide: the arguments of a kernel
def note(frontier, values, left, planes, live, n, level, clear, depth, part, first_word, last_word):
    """For the vertices of `frontier` in a range of words, note `level` for each bit that is in `left`, but no longer in
    the vertex's value; then make `left` the value. ``live[part]`` gets the bits that have been noted.

    The planes from `clear` up to `depth` are new, so the range's words there are set to 0 first.
    """
    for j in range(clear, depth):
        for v in range(first_word << 6, min(last_word << 6, n)):
            planes[j * n + v] = NO_BITS
    noted = NO_BITS
    for w in range(first_word, last_word):
        vertices = frontier[w]
        while vertices != NO_BITS:
            v = (w << 6) + trailing_zeros(vertices)
            vertices &= vertices - np.uint64(1)
            bits = np.uint64(left[v] & ~values[v])
            left[v] = values[v]
            noted |= bits
            digits, at = level, v
            while digits != 0:
                if digits & 1:
                    planes[at] |= bits
                digits, at = digits >> 1, at + n
    live[part] = noted
    return 0


def tops_of(bits, shift):
    """Eight bytes whose top bits are the eight bits from `shift` on, the last of these first."""
    return (bits >> shift & BYTE) * COPIES & TOPS


def plane_of(planes, j, v, n, depth):
    """A vertex's word in plane `j`, of `depth` planes; further planes have no bits."""
    return planes[j * n + v] if j < depth else NO_BITS


def digits_of(one, two, four, shift):
    """Eight bytes with numbers below 8, whose bits are those from `shift` on in the words `one`, `two` and `four`."""
    ones, twos, fours = tops_of(one, shift) >> TOP, tops_of(two, shift) >> TOP, tops_of(four, shift) >> TOP
    return ones | twos << np.uint64(1) | fours << np.uint64(2)


# wide: the arguments of a kernel
def spread(planes, left, words, n, count, depth, first, last, everyone):
    """Write `count` words for each of the vertices [first, last): a byte for each source, which is made of `depth`
    planes, or -1 for a bit that is still in `left`, of those of `everyone`.

    Three planes at a time, because the compiler does several words at once in a loop without another one inside.
    """
    for v in range(first, last):
        unreached, begin, end = np.uint64(left[v]), v * count, (v + 1) * count
        if left[v] == everyone:  # as at every vertex without edges
            for k in range(begin, end):
                words[k] = MINUS_ONES
            continue
        for k in range(begin, end):
            words[k] = (tops_of(unreached, np.uint64(8 * (k - begin))) >> TOP) * BYTE
        for j in range(0, depth, DIGITS):
            one, two = plane_of(planes, j, v, n, depth), plane_of(planes, j + 1, v, n, depth)
            four = plane_of(planes, j + 2, v, n, depth)
            for k in range(begin, end):
                words[k] |= digits_of(one, two, four, np.uint64(8 * (k - begin))) << np.uint64(j)
    return 0


NOTE = Kernel("u64* i64* i64* u64* u64* i64 i64 i64 i64 i64 i64 i64", note)
SPREAD = Kernel("u64* i64* u64* i64 i64 i64 i64 i64 i64", spread)


def planes_of(depth: int, n: int) -> Array:
    """Uninitialized planes; the system provides their memory when they are written to.

    Returns
    -------
    ndarray of uint64, shape (depth, n)
    """
    return reuse.empty(depth * n, np.uint64).reshape(depth, n)


class Levels:
    """The levels of all vertices from several sources.

    Parameters
    ----------
    sources : ndarray of int64
        Internal ids of the sources, at most `SOURCES`.

    Attributes
    ----------
    everyone : int
        The bits of all sources.
    """

    def __init__(self, sources: Array) -> None:
        self._sources = sources
        self.everyone = sum(map(bit_of, range(len(sources))))

    def begin(self, state: State, pool: ThreadPool) -> None:
        """Begin before the first superstep: clear each source's bit at the source, and make it active."""
        n, values, frontier = len(state.values), state.values, state.frontier
        for k, source in enumerate(self._sources.tolist()):
            values[source] &= ~bit_of(k)
            frontier.bits[source // WORD] |= np.uint64(1 << source % WORD)
        frontier.mark()
        self._planes, self._depth, self._left = planes_of(NARROW, n), 0, reuse.empty(n, np.int64)
        copy_words(values, self._left, pool)

    def after(self, state: State, iterations: int, pool: ThreadPool) -> int:
        """Record the levels of the vertices that the last of these `iterations` has reached; return the bits of the
        sources from which it has reached some, as a number with a sign. The searches from all others have ended."""
        n = len(self._left)
        if iterations >> len(self._planes):
            narrow, self._planes = self._planes, planes_of(WIDE, n)
            self._planes[: self._depth] = narrow[: self._depth]
        clear, self._depth = self._depth, max(self._depth, iterations.bit_length())
        bounds = bounds_of(-(-n // WORD), PARTS * pool.size)
        planes, parts = self._planes.reshape(-1), len(bounds) - 1
        live = np.zeros(parts, np.uint64)
        pool.launch(
            NOTE.rows(
                parts, state.frontier.bits, state.values, self._left, planes, live, n, iterations,
                clear, self._depth, np.arange(parts), bounds[:-1], bounds[1:],
            )
        )  # fmt: skip
        return int(np.bitwise_or.reduce(live).view(np.int64))

    def table(self, pool: ThreadPool) -> Array:
        """The number of edges on a shortest path to each vertex from each source, or -1 where there is none.

        Returns
        -------
        ndarray of int8 or int32, shape (n, number of sources)
            Levels are as narrow as the last one allows.
        """
        return table_of(partial(self._table_of, pool=pool), self._depth)

    def _table_of(self, first: int, depth: int, pool: ThreadPool) -> Array:
        """A table of the bits of levels that are in `depth` planes, at most `NARROW`, from plane `first` on."""
        n, count = len(self._left), len(self._sources)
        words = -(-count // 8)
        table = reuse.empty(n * words, np.uint64)
        planes, bounds = self._planes[first:].reshape(-1), bounds_of(n, PARTS * pool.size)
        pool.launch(
            SPREAD.rows(
                len(bounds) - 1, planes, self._left, table, n, words, depth, bounds[:-1], bounds[1:], self.everyone
            )
        )  # fmt: skip
        return table.view(np.int8).reshape(n, -1)[:, :count]
