"""How a graph's edges on disk are cut into pages, and which pages stay in memory. Pure functions of sizes.

Resident pages stay in memory once they have been read; all others are read into a few frames, again in each iteration.
`DiskPageSource` carries a layout out, and ``garaph run --explain`` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.format import RUN
from ..errors import GraphError
from ..storage.disks import ALIGNMENT
from ..storage.reader import ArrayReader
from ..system.sizes import show_bytes
from .layout import Page, layout

Array = npt.NDArray[Any]

BUFFERS = 4
"""Frames for pages that are not resident: a thread works on one page while the disks read the others."""
PAGE_SHARE = 10
"""A page that is not resident takes 1/10 of the memory for edges, within the two bounds that follow."""
LEAST_PAGE_BYTES, MOST_PAGE_BYTES = 1 << 20, 12 << 20
"""Bounds on the bytes of such a page, as stored on disk. Two cores take as long with pages of 12 MiB as with larger
ones, and longer with 8 MiB (docs/results/ssd.md). Larger frames would leave less memory for resident pages."""
LARGE = 3
"""Most resident pages are so many times as large: a page holds all of the blocks in which it begins and ends, which is
a larger part of a small one. While a thread works on such a page, the disks fill the frames."""
TRIALS = 8
"""Attempts to find pages that just fit the memory."""


class RoomError(GraphError):
    """There is too little memory for the pages of a source; it needs at least `least` bytes."""

    def __init__(self, least: int) -> None:
        super().__init__(f"a page of edges takes {show_bytes(least)} of memory, more than is available")
        self.least = least


@dataclass(frozen=True)
class DiskLayout:
    """Pages of edges on disk.

    Attributes
    ----------
    pages : sequence of Page
    stays : list of bool
        Whether each page is resident. Resident pages are spread evenly, so that the disks always have something to read
        while the thread works.
    room_of : list of list of int
        Bytes of memory that each page takes, for each array.
    frames : list of list of int
        Bytes of each frame for pages that are not resident, for each array.
    """

    pages: Sequence[Page]
    stays: list[bool]
    room_of: list[list[int]]
    frames: list[list[int]]

    def read_bytes(self, arrays: Sequence[ArrayReader], stays: bool) -> int:
        """Bytes that reading all pages takes at most that stay, or all that do not, each as a whole."""
        chosen = [page for page, kept in zip(self.pages, self.stays, strict=True) if kept == stays]
        ends = ALIGNMENT * len(chosen) * len(arrays)  # a read is rounded to whole sectors
        return sum(blocks_bytes(array, chosen) for array in arrays) + ends


def blocks_bytes(array: ArrayReader, pages: Sequence[Page]) -> int:
    """Bytes of the blocks that hold these pages' elements of an array."""
    spans = [array.span(page.first_edge // RUN * RUN, page.last_edge) for page in pages]
    wanted = np.zeros(array.array.blocks, np.bool_)
    for span in spans:
        wanted[span.start : span.stop] = True
    return array.bytes_of(wanted)


# wide: made in two places only, by `memory.EdgeMemory` for in-edges and for out-edges.
def lay_out(
    arrays: Sequence[ArrayReader], offsets: Array, room: int, page_edges: int | None = None,
    pages: Sequence[Page] | None = None, elsewhere: int = 0, readers: int = 1,
) -> DiskLayout:  # fmt: skip
    """Cut edges on disk into pages, and choose those that stay within `room` bytes of memory.

    Parameters
    ----------
    arrays : sequence of ArrayReader
        The other endpoints, and the edge values if the program reads them.
    offsets : ndarray of int64, shape (n + 1,)
    room : int
    page_edges : int, optional
        Bound on a page's edges; by default pages grow with `room`.
    pages : sequence of Page, optional
        The pages, if they have been cut already.
    elsewhere : int
        The number of first pages that are never resident here, because the caller keeps them in its own memory (a GPU).
    readers : int
        The number of sources that share `room`.

    Raises
    ------
    RoomError
        If `room` is too small for one page. If the pages are cut here, the smallest ones are tried first.
    """
    if page_edges is None:
        width = max(sum(array.stored_bytes for array in arrays) / max(int(offsets[-1]), 1), 1e-3)
        page_edges = max(int(page_bytes_within(room, readers) / width), 1)
        if pages is None and (found := lay_out_mixed(arrays, offsets, room, page_edges, readers)):
            return found
    sizes = Sizes(arrays, layout(offsets, page_edges) if pages is None else pages, readers)
    if pages is None and sizes.least(elsewhere) > room:  # try the smallest pages
        sizes = Sizes(arrays, layout(offsets, min(page_edges, block_edges(arrays))), readers)
    if sizes.least(elsewhere) > room:
        raise RoomError(sizes.least(elsewhere))
    buffers = 0 if sum(sizes.totals) <= room and not elsewhere else min(room // max(sizes.frame, 1), BUFFERS)
    stays = [False] * elsewhere + spread(sizes.totals[elsewhere:], room - buffers * sizes.frame)
    return DiskLayout(sizes.pages, stays, sizes.of_pages, [sizes.largest] * buffers)


def page_bytes_within(room: int, readers: int) -> float:
    """Bytes of a page that is not resident, of which each of some readers has frames within `room` bytes of memory."""
    each = room / readers
    return min(max(each / PAGE_SHARE, min(LEAST_PAGE_BYTES, each / BUFFERS)), MOST_PAGE_BYTES)


def lay_out_mixed(
    arrays: Sequence[ArrayReader], offsets: Array, room: int, page_edges: int, readers: int
) -> DiskLayout | None:
    """Large resident pages, and others of `page_edges` edges; None if there is no room for a large one."""
    share = room / max(sum(array.stored_bytes for array in arrays), 1)
    for _ in range(TRIALS):
        pages, stays = mixed(offsets, page_edges, share)
        if not any(stays) or all(stays):
            break
        sizes = Sizes(arrays, pages, readers)
        kept = sum(size for size, stay in zip(sizes.totals, stays, strict=True) if stay)
        streamed = [each for each, stay in zip(sizes.of_pages, stays, strict=True) if not stay]
        frame = [max(column) for column in zip(*streamed, strict=True)]
        left = room - BUFFERS * readers * sum(frame)
        if kept <= left:
            others = [k for k, stay in enumerate(stays) if not stay]
            for k, stay in zip(others, spread([sizes.totals[k] for k in others], left - kept), strict=True):
                stays[k] = stay
            return DiskLayout(pages, stays, sizes.of_pages, [frame] * BUFFERS)
        share *= min(max(left, 0) / kept, 0.99)
    return None


def mixed(offsets: Array, page_edges: int, share: float) -> tuple[list[Page], list[bool]]:
    """Pages of at most `page_edges` edges, and larger ones that stay, which have at most `share` of the edges.

    A vertex with more edges has a page of its own. The pages that stay are spread evenly over all.
    """
    pages, stays, first, n, kept = list[Page](), list[bool](), 0, len(offsets) - 1, 0
    while first < n:
        start = int(offsets[first])
        stay = kept + LARGE * page_edges <= share * (start + LARGE * page_edges)
        limit = LARGE * page_edges if stay else page_edges
        last = min(max(int(offsets.searchsorted(start + limit, side="right")) - 1, first + 1), n)
        pages.append(Page(len(pages), first, last, start, int(offsets[last])))
        stays.append(stay)
        first, kept = last, kept + pages[-1].edges * stay
    return pages, stays


class Sizes:
    """The memory that pages take, in bytes.

    Parameters
    ----------
    arrays : sequence of ArrayReader
    pages : sequence of Page
    readers : int
        Threads that read pages, each into frames of its own.

    Attributes
    ----------
    of_pages : list of list of int
        Bytes of each page, for each array.
    totals : list of int
        Bytes of each page, for all arrays.
    largest : list of int
        For each array, the bytes of the largest page.
    frame : int
        Bytes of a frame for the largest page, times the number of readers.
    """

    def __init__(self, arrays: Sequence[ArrayReader], pages: Sequence[Page], readers: int) -> None:
        self.pages = pages
        self.of_pages: list[list[int]] = [[room_of(array, page) for array in arrays] for page in pages]
        self.totals: list[int] = [sum(sizes) for sizes in self.of_pages]
        self.largest = [max(column) for column in zip(*self.of_pages, strict=True)] or [0] * len(arrays)
        self.frame: int = readers * sum(self.largest)

    def least(self, elsewhere: int = 0) -> int:
        """The least memory with which the pages can be read, in bytes: one frame, or all pages if they take less.

        If some pages stay `elsewhere`, it is one frame in any case.
        """
        return self.frame if elsewhere else min(self.frame, sum(self.totals))


def room_of(array: ArrayReader, page: Page) -> int:
    """Bytes that a page takes of one array."""
    first = page.first_edge // RUN * RUN
    return array.room(first, page.last_edge) + array.records_bytes(array.span(first, page.last_edge))


def block_edges(arrays: Sequence[ArrayReader]) -> int:
    """The edges of a block: a smaller page does not take less memory, because it usually touches two blocks."""
    return min(array.block_elements for array in arrays)


def least_room(arrays: Sequence[ArrayReader], offsets: Array, readers: int = 1) -> int:
    """The least memory, in bytes, with which a `DiskPageSource` can be made."""
    return Sizes(arrays, layout(offsets, block_edges(arrays)), readers).least()


def spread(sizes: Sequence[int], room: int) -> list[bool]:
    """Whether each page is resident. Resident pages are spread evenly over all pages.

    `sizes` are the bytes of each page, `room` the bytes of memory for resident pages.
    """
    stays, share, passed, used = [], room / max(sum(sizes), 1), 0, 0
    for size in sizes:
        passed += size
        stays.append(used + size <= min(passed * share, room))
        used += size * stays[-1]
    return stays
