"""Chooses the pages that stay in a GPU's memory if kernels read the others in host memory: the pages that are read
most.

A pull that ends early begins the list of each vertex that the search has not reached, and often ends in its first line.
So what a page costs in host memory is the number of lists that are begun there. Before a run has counted them, it is
taken to be the number of vertices with in-edges: hubs, whose lists fill pages with few vertices, come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from ...pages.layout import Page
from .edges import Sizes, page_bytes
from .requests import SECTOR
from .residency import Residency

Array = npt.NDArray[np.int64]


class PageUses:
    """The uses of the pages of one graph, kept from one run to the next.

    Attributes
    ----------
    begun : ndarray of int64, shape (pages,)
        Lists that pulls have begun, in all runs.
    numbers : range or None
        The pages that stayed in the last run.
    """

    def __init__(self, pages: int) -> None:
        self.begun: Array = np.zeros(pages, np.int64)
        self.numbers: range | None = None

    def choose(self, found: Residency, arrays: Sizes, room: int, lists: Array, are_there: bool) -> Residency:
        """Choose the pages that stay in a run that begins.

        Parameters
        ----------
        found : Residency
            The pages.
        arrays : Sizes
            Their layout in the GPU's memory.
        room : int
            Bytes that pages may take there.
        lists : ndarray of int64, shape (pages,)
            The number of lists in each page.
        are_there : bool
            The GPU's memory still has the pages of the last run.
        """
        self._left = lists.astype(np.int64)
        uses = self.begun if self.begun.any() else self._left
        sizes = [page_bytes(page, arrays) for page in found.pages]
        best, last = most_used(sizes, uses.tolist(), room), self.numbers
        if last is not None and are_there and fills(sizes, last, room):
            copied = sum(sizes[number] for number in best if number not in last)
            saved = SECTOR * int(uses[list(best)].sum() - uses[list(last)].sum())
            best = best if saved > copied else last
        self.numbers = best
        return found.moved_to(best, arrays)

    def count(self, pages: Sequence[Page], active: Array) -> None:
        """Count the lists that a pull has begun in each of the `pages` that it has processed: those of vertices that no
        pull of the run had reached. `active` has the number of vertices that became active in each page of the graph.
        """
        numbers = [page.number for page in pages]
        self.begun[numbers] += self._left[numbers]
        self._left[numbers] = np.maximum(self._left[numbers] - active[numbers], 0)


def most_used(sizes: Sequence[int], uses: Sequence[int], room: int) -> range:
    """The consecutive pages that fit `room` and have the most uses together; the first such pages of several."""
    bytes_before, uses_before = (list(accumulate(each, initial=0)) for each in (sizes, uses))
    best, most, first = range(0), 0, 0
    for last in range(1, len(sizes) + 1):
        while bytes_before[last] - bytes_before[first] > room:
            first += 1
        if uses_before[last] - uses_before[first] > most:
            best, most = range(first, last), uses_before[last] - uses_before[first]
    return best


def fills(sizes: Sequence[int], numbers: range, room: int) -> bool:
    """Whether these pages fit `room`, and no page next to them does, too."""
    used = sum(sizes[number] for number in numbers)
    beside = [sizes[number] for number in (numbers.start - 1, numbers.stop) if 0 <= number < len(sizes)]
    return used <= room < used + min(beside, default=room + 1)
