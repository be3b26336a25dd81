"""Ranks of destinations. The rank of a destination is its index among the vertices with in-edges.

A destination is a vertex with in-edges; a run is `RUN` consecutive edges.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec import format as packed
from ...native.threads import ThreadPool, split
from ...pages.layout import Page

Array = npt.NDArray[Any]

RUN = packed.RUN
"""Edges of a run, which one warp gathers."""
MANY_RUNS = 32
"""A destination is a hub if its edges continue in more than this many runs after the one in which they begin."""
WARP = 32
"""Threads of a warp."""
EVERY = 1 << 12
"""Distance, in vertices, at which the host keeps ranks: counting so many vertices takes some 10 microseconds."""
PIECE = 1 << 18
"""Vertices that are counted together, so that what is computed for them stays in a core's cache."""
SHARE = 1 << 20
"""Vertices for which another thread is worth waking: one thread takes about 2 ms for them."""
BITS_SET = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
"""The number of bits that are set in each byte."""


def run_range(page: Page) -> range:
    """The runs that contain edges of a page."""
    return range(page.first_edge // RUN, -(-page.last_edge // RUN))


def runs_of(page: Page) -> int:
    """The number of runs that contain edges of a page."""
    return len(run_range(page))


def starts_bytes(edges: int) -> int:
    """Bytes of the bitmap `starts`: one bit per edge, rounded up to whole runs, plus one more run."""
    return (-(-edges // RUN) + 1) * RUN // 8


@dataclass(frozen=True)
class Ranks:
    """The ranks of a graph's destinations.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    kept : ndarray of uint32
        The destinations before every `EVERY`-th vertex; then the number of all destinations.
    words : ndarray of uint32 or None
        What `by_word` returns, if it is kept: then `before` takes less time.
    """

    offsets: Array
    kept: Array
    words: Array | None = None

    @classmethod
    def of(cls, offsets: Array, threads: int | None = None, keeps_words: bool = True) -> Ranks:
        """The ranks for these offsets, made by `threads` threads; None for one per available core."""
        words = destinations_by_word(offsets, threads)
        kept = np.append(words[: -1 : EVERY // WARP], words[-1])
        return cls(offsets, kept, words if keeps_words else None)

    def by_word(self, threads: int | None = None) -> Array:
        """For each word w of 32 vertices: the destinations before vertex 32 w; then the number of all destinations.

        The device derives what else it needs (rank_edges.cu).
        """
        return destinations_by_word(self.offsets, threads) if self.words is None else self.words

    @property
    def count(self) -> int:
        """The number of destinations."""
        return int(self.kept[-1])

    def before(self, vertices: npt.ArrayLike) -> Array:
        """For each of some vertices, which may be n: the number of destinations before it; uint32, the same shape."""
        given = np.asarray(vertices, np.int64)
        if self.words is not None:
            word = given // WARP
            edges = self.offsets.take(word[..., None] * WARP + np.arange(WARP + 1), mode="clip")
            are_before = (np.diff(edges) > 0) & (np.arange(WARP) < (given - word * WARP)[..., None])
            counted: Array = self.words[word] + are_before.sum(axis=-1, dtype=np.uint32)
            return counted
        found = np.empty(given.shape, np.uint32)
        parts = given // EVERY
        for part in np.unique(parts).tolist():
            own, offsets = parts == part, self.offsets[part * EVERY : (part + 1) * EVERY + 1]
            counts = np.append(0, np.cumsum(offsets[1:] != offsets[:-1], dtype=np.uint32))
            found[own] = self.kept[part] + counts[given[own] - part * EVERY]
        return found[()]  # a number for a number

    @cached_property
    def divisions(self) -> dict[Hashable, Any]:
        """Divisions of pages into shards, which `kept_division` keeps."""
        return {}

    @cached_property
    def hub_ranks(self) -> Array:
        """The rank of each of the `hubs`; uint32."""
        return self.before(self.hubs)

    @cached_property
    def hubs(self) -> Array:
        """The hubs (see `MANY_RUNS`), ascending; int64."""
        some = np.arange(0, int(self.offsets[-1]), MANY_RUNS * RUN)  # every hub has at least one of these edges
        large = np.unique(np.searchsorted(self.offsets, some, side="right") - 1)
        found: Array = large[(self.offsets[large + 1] - 1) // RUN - self.offsets[large] // RUN > MANY_RUNS]
        return found


def destinations_by_word(offsets: Array, threads: int | None) -> Array:
    """What `Ranks.by_word` returns."""
    n = len(offsets) - 1
    words = -(-n // WARP)
    by_word = np.zeros(words + 1, np.uint32)

    def count(first: int, last: int) -> None:
        """Count the destinations of each of these words."""
        for begin in range(first, last, PIECE // WARP):
            end = min(begin + PIECE // WARP, last)
            vertices = slice(begin * WARP, min(end * WARP, n))
            counts = np.zeros((end - begin, WARP // 8), np.uint8)  # of each byte of a bitmap of the destinations
            bitmap = np.packbits(offsets[1:][vertices] != offsets[:-1][vertices])
            np.take(BITS_SET, bitmap, out=counts.reshape(-1)[: len(bitmap)])
            np.sum(counts.T, axis=0, out=by_word[begin + 1 : end + 1])

    with ThreadPool(threads) as pool:
        pool.run(count, parts_of(words, pool, SHARE // WARP))
    return np.cumsum(by_word, dtype=np.uint32)


def parts_of(count: int, pool: ThreadPool, share: int = 1 << 16) -> list[tuple[int, int]]:
    """``range(count)`` in a part for each thread that is worth waking: one more for every `share` numbers."""
    return list(pairwise(split(count, min(pool.size, 1 + count // share))))
