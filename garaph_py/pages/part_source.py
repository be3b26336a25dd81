"""The pages of a GPU, as parts of pages that are read from disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .disk_source import DiskPageSource
from .layout import Page
from .source import Array, PageEdges, Wanted


class PartSource:
    """`PageSource` of smaller pages than those of `whole`, so that these do not depend on the GPU's memory.

    Parameters
    ----------
    whole : DiskPageSource
        Reads the edges. While this source has pages prefetched, nobody else uses it.
    pages : sequence of Page
        Each is a part of one page of `whole`.
    """

    takes_any_order = False  # parts of one page of `whole` follow each other
    is_in_memory = False

    def __init__(self, whole: DiskPageSource, pages: Sequence[Page]) -> None:
        self.whole, self.pages = whole, pages
        self._read = dict[int, Page]()  # what is read of each page of `whole`, by its number
        self._left = Counter[int]()  # how many of its parts have yet to be released
        self._given = set[int]()  # the pages of `whole` that it has given
        self._is_whole = True  # these pages are read whole

    @property
    def max_in_flight(self) -> int:
        """The number of pages that a thread may hold at once while the next one is still prefetched."""
        return self.whole.max_in_flight

    @property
    def bytes_read(self) -> int:
        """Bytes read from all disks since they were opened."""
        return self.whole.bytes_read

    def pages_for(self, ranges: Array) -> Sequence[Page]:
        """See `PageSource`. These pages are not merged: their parts would be in several pages of `whole`."""
        return self.pages

    def held_first(self, pages: Iterable[Page]) -> list[Page]:
        """See `PageSource`. Parts of one page of `whole` stay together."""
        return self.whole.held_first(pages)

    def prefetch(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        self._read, self._left, self._given, self._is_whole = {}, Counter(), set(), wanted is None
        for page in pages:
            number = self.whole.number_at(page.first_vertex)
            first = self._read.get(number, page)
            self._read[number] = replace(first, number=number, last_vertex=page.last_vertex, last_edge=page.last_edge)
            self._left[number] += 1
        self.whole.prefetch(self._read.values(), wanted, values)

    def prefetch_also(self, page: Page) -> None:
        """Read this page after those that are prefetched, all of which are in other pages of `whole`."""
        number = self.whole.number_at(page.first_vertex)
        self._read[number], self._left[number] = replace(page, number=number), 1
        self._given.discard(number)
        self.whole.prefetch_also(self._read[number])

    def edges(self, page: Page) -> PageEdges:
        """The edges of the next prefetched page, or of a part of it; valid until `release`."""
        number = self.whole.number_at(page.first_vertex)
        if number not in self._given:
            self.whole.edges(self._read[number])
            self._given.add(number)
        return self.whole.part(replace(page, number=number), self._is_whole)

    def release(self, page: Page) -> None:
        """End the use of the page's edges."""
        number = self.whole.number_at(page.first_vertex)
        self._left[number] -= 1
        if not self._left[number]:
            self.whole.release(self._read[number])

    def parts(self, page: Page) -> list[Page]:
        """A part of one of these pages is read as it is."""
        return [page]

    def close(self) -> None:
        self.whole.close()
