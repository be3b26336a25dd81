"""Ranks of destinations. The rank of a destination is its index among the vertices with in-edges.

A destination is a vertex with in-edges; a run is `RUN` consecutive edges.
"""

from __future__ import annotations

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

    The host keeps them for every 32nd vertex. The device derives what else it needs (rank_edges.cu).

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    by_word : ndarray of uint32, shape (ceil(n / 32) + 1,)
        For each word w of 32 vertices: the destinations before vertex 32 w; then the number of all destinations.
    """

    offsets: Array
    by_word: Array

    @classmethod
    def of(cls, offsets: Array, threads: int | None = None) -> Ranks:
        """The ranks for these offsets, made by `threads` threads; None for one per available core."""
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
        return cls(offsets, np.cumsum(by_word, dtype=np.uint32))

    @property
    def count(self) -> int:
        """The number of destinations."""
        return int(self.by_word[-1])

    def before(self, vertices: npt.ArrayLike) -> Array:
        """For each of some vertices, which may be n: the number of destinations before it; uint32, the same shape."""
        given = np.asarray(vertices, np.int64)
        word = given // WARP
        edges = self.offsets.take(word[..., None] * WARP + np.arange(WARP + 1), mode="clip")
        are_before = (np.diff(edges) > 0) & (np.arange(WARP) < (given - word * WARP)[..., None])
        found: Array = self.by_word[word] + are_before.sum(axis=-1, dtype=np.uint32)
        return found

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


def parts_of(count: int, pool: ThreadPool, share: int = 1 << 16) -> list[tuple[int, int]]:
    """``range(count)`` in a part for each thread that is worth waking: one more for every `share` numbers."""
    return list(pairwise(split(count, min(pool.size, 1 + count // share))))
