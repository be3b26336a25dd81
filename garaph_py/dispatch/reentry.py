"""Whether pushes over edges on disk read lists or whole pages, from what both have read so far. Pure.

A push from lists reads the lists of the active vertices. A search along long paths does that in hundreds of supersteps,
and reads the same sectors again in most of them. A push with reentry (executor/cpu/reentry.py) reads whole pages, and
processes each page until none of its vertices is active. Which kind of push reads less depends on how the vertices are
numbered: if neighbours are far apart, a page has few edges to follow. So a run tries reentry once many pushes have read
half as many bytes as all pages have, and keeps reentry while it follows more edges per byte. A trial visits at most
twice as many pages as there are, so it reads at most four times the bytes that were read before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

PATIENCE = 0.5
"""Passes over all out-edges whose bytes pushes read before reentry is tried for the first time. A guess: with 1.0, a
BFS over a grid of 2000 x 2000 spent half of its time before it tried."""
LEAST_PUSHES = 16
"""Pushes before reentry is tried: on graphs with short paths, a search has fewer (R-MAT: 4), and some read much."""


@dataclass
class DiskPushes:
    """What the pushes of a run have read from disk since the run last gave up one of the two kinds of push.

    Attributes
    ----------
    pass_bytes : int
        Bytes of all out-edges on disk; 0 if the run may not use reentry.
    patience : float
        Number of passes, in bytes, that pushes from lists may read before the run tries reentry.
    pushes : int
        Pushes from lists.
    by_lists, by_pages : tuple of int
        Bytes read, and edges followed, by each kind of push. With each push by pages, the earlier numbers count half as
        much, because pages have fewer edges to follow towards the end of a search.
    has_reentered : bool
        A push of this run has used reentry.
    """

    pass_bytes: int = 0
    patience: float = PATIENCE
    pushes: int = 0
    by_lists: tuple[int, int] = 0, 0
    by_pages: tuple[int, int] = 0, 0
    has_reentered: bool = False

    @property
    def reenters(self) -> bool:
        """Whether the next push uses reentry."""
        return self.pushes >= LEAST_PUSHES and 0 < self.pass_bytes * self.patience <= self.by_lists[0]

    def after(self, read: int, followed: int, reentered: bool) -> DiskPushes:
        """What is known after a push that read this many bytes and followed this many edges, with reentry or
        without."""
        if not self.pass_bytes:
            return self
        if not reentered:
            lists = self.by_lists[0] + read, self.by_lists[1] + followed
            return replace(self, pushes=self.pushes + 1, by_lists=lists)
        (read_lists, followed_lists), (before, edges) = self.by_lists, self.by_pages
        read, followed = before // 2 + read, edges // 2 + followed
        if followed * read_lists >= followed_lists * read:
            return replace(self, by_pages=(read, followed), has_reentered=True)
        return DiskPushes(self.pass_bytes, 2 * self.patience, has_reentered=True)
