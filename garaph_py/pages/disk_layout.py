"""How a graph's edges on disk are cut into pages, and which pages stay in memory. Pure functions of sizes.

Resident pages stay in memory once they have been read; all others are read into a few frames, again in each iteration.
`DiskPageSource` carries a layout out, and ``garaph run --explain`` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress, groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.format import RUN
from ..errors import GraphError
from ..graph.vertex_set import WORD
from ..storage.reader import ArrayReader
from ..system.sizes import show_bytes
from .layout import Page, layout

Array = npt.NDArray[Any]

BUFFERS = 4
"""Frames for pages that are not resident: a thread works on one page while the disks read the others. Processors that
take turns use the same frames."""
PAGE_SHARE = 10
"""A page that is not resident takes 1/10 of the memory for edges, within the two bounds that follow."""
LEAST_PAGE_BYTES, MOST_PAGE_BYTES = 1 << 20, 12 << 20
"""Bounds on the bytes of such a page, as stored on disk. Two cores take as long with pages of 12 MiB as with larger
ones, and longer with 8 MiB (docs/results/ssd.md). Larger frames would leave less memory for resident pages."""
LARGE = 3
"""Factor by which most resident pages are larger: a page holds the whole blocks in which it begins and ends, which are
a larger part of a small page. While a thread works on such a page, the disks fill the frames."""
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
    later : DiskLayout or None
        If some pages stay in memory that is only lent: the layout for when that is needed for something else. The pages
        that stay then stay now, too.
    """

    pages: Sequence[Page]
    stays: list[bool]
    room_of: list[list[int]]
    frames: list[list[int]]
    later: DiskLayout | None = None

    def read_bytes(self, arrays: Sequence[ArrayReader], stays: bool, skips: bool = False) -> int:
        """Bytes that it takes at most to read all resident pages, or all others, in order and each as a whole.

        A page has the block that it shares with the page before from there, unless that one was skipped, as far as the
        pass `skips` pages.
        """
        chosen, found = self._pages_that_stay(stays), 0
        for array in arrays:
            times = pages_of_blocks(array, chosen)
            most = -(-pages_of_blocks(array, self.pages) // 2) if skips else 1
            found += array.bytes_of(np.repeat(np.arange(len(times)), np.minimum(times, most)))
            found += sum(array.rounding(span_of(array, page)) for page in chosen)
        return found

    def each_read_bytes(self, arrays: Sequence[ArrayReader], stays: bool) -> list[int]:
        """Bytes that it takes at most to read each resident page, or each of the others, by parts or as a whole, if no
        other page has read the blocks that they share."""
        chosen = self._pages_that_stay(stays)
        return [sum(array.most_read(*edges_of(page)) for array in arrays) for page in chosen]

    def _pages_that_stay(self, stays: bool) -> list[Page]:
        """All resident pages, or all others."""
        return [page for page, kept in zip(self.pages, self.stays, strict=True) if kept == stays]

    def bytes_from(self, arrays: Sequence[ArrayReader], first_edge: int) -> int:
        """Bytes that a pass over the edges from `first_edge` on reads once all resident pages are in memory."""
        both = zip(self.pages, self.stays, strict=True)
        others = [page for page, stays in both if not stays and page.last_edge > first_edge]
        rest = [replace(page, first_edge=max(page.first_edge, first_edge)) for page in others]
        return sum(blocks_bytes(array, rest) for array in arrays)


def blocks_bytes(array: ArrayReader, pages: Sequence[Page]) -> int:
    """Bytes of the blocks that hold these pages' elements of an array."""
    return array.bytes_of(pages_of_blocks(array, pages) > 0)


def pages_of_blocks(array: ArrayReader, pages: Sequence[Page]) -> Array:
    """The number of these pages that each block of an array has elements of."""
    found = np.zeros(array.array.blocks, np.int64)
    for page in pages:
        span = span_of(array, page)
        found[span.start : span.stop] += 1
    return found


def span_of(array: ArrayReader, page: Page) -> range:
    """The blocks of an array with elements of a page."""
    return array.span(*edges_of(page))


def edges_of(page: Page) -> tuple[int, int]:
    """The edges that a page reads: its own, and those of its first run that belong to the page before."""
    return page.first_edge // RUN * RUN, page.last_edge


# wide: made in two places only, by `memory.EdgeMemory` for in-edges and for out-edges.
def lay_out(
    arrays: Sequence[ArrayReader], offsets: Array, room: int, page_edges: int | None = None,
    parts: Sequence[Page] | None = None, elsewhere: int = 0, lent: int = 0,
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
    parts : sequence of Page, optional
        The pages of a GPU, each of which is in one page of the layout.
    elsewhere : int
        How many of the first `parts` are in the GPU's memory.
    lent : int
        Bytes of memory for more pages that stay, until they are needed for something else.

    Raises
    ------
    RoomError
        If `room` is too small for one page. If there are no `parts`, the smallest pages are tried first.
    """
    found = cut_and_choose(arrays, offsets, room, page_edges, parts, elsewhere)
    first = parts[elsewhere - 1].last_edge if parts and elsewhere else 0
    if first:  # the pages of a run on the CPU may fit better if the GPU holds little
        other = cut_and_choose(arrays, offsets, room, page_edges, parts)
        found = min(found, other, key=lambda each: each.bytes_from(arrays, first))
    return lending(arrays, found, lent, first) if lent else found


# wide: see `lay_out`, which tries it in two ways.
def cut_and_choose(
    arrays: Sequence[ArrayReader], offsets: Array, room: int, page_edges: int | None, parts: Sequence[Page] | None,
    elsewhere: int = 0,
) -> DiskLayout:  # fmt: skip
    """Like `lay_out`, but no page with the `elsewhere` first parts is resident."""
    bound = page_edges_within(arrays, offsets, room) if page_edges is None else page_edges
    if parts is not None:
        there = joined(parts[:elsewhere], bound)
        cut, skipped = there + joined(parts[elsewhere:], bound), len(there)
    else:
        cut, skipped = pages_of_words(offsets, bound) if page_edges is None else layout(offsets, bound), 0
    if page_edges is None and (found := lay_out_mixed(arrays, cut, room, skipped)):
        return found
    sizes = Sizes(arrays, numbered(cut))
    if sizes.least(skipped) > room:
        smallest = layout(offsets, min(bound, block_edges(arrays))) if parts is None else parts
        skipped, sizes = elsewhere, Sizes(arrays, smallest)
    if sizes.least(skipped) > room:
        raise RoomError(sizes.least(skipped))
    buffers = 0 if sum(sizes.totals) <= room and not skipped else min(room // max(sizes.frame, 1), BUFFERS)
    stays = [False] * skipped + spread(sizes.totals[skipped:], room - buffers * sizes.frame)
    return DiskLayout(sizes.pages, stays, sizes.of_pages, [sizes.largest] * buffers)


def lending(arrays: Sequence[ArrayReader], later: DiskLayout, nbytes: int, first_edge: int) -> DiskLayout:
    """The layout in which more pages from `first_edge` on are resident while `nbytes` are lent; afterwards the layout
    is `later`.

    These pages are large if the room suffices.
    """

    def is_free(page: Page) -> bool:
        return not later.stays[page.number] and page.last_edge > first_edge

    groups = list[list[Page]]()
    for free, run in groupby(later.pages, is_free):
        own, most = list(run), LARGE if free else 1
        groups += [own[k : k + most] for k in range(0, len(own), most)]
    large = [whole(group) for group in groups]
    sizes, offered = Sizes(arrays, large).totals, [k for k, group in enumerate(groups) if is_free(group[0])]
    taken = set(compress(offered, spread([sizes[k] for k in offered], nbytes)))
    spare = nbytes - sum(sizes[k] for k in taken)
    pages, stays = list[Page](), list[bool]()
    for k, group in enumerate(groups):
        for page in [large[k]] if k in taken else group:
            size = sum(later.room_of[page.number])
            fits = k not in taken and is_free(page) and size <= spare
            spare -= size * fits
            pages.append(page)
            stays.append(later.stays[page.number] or k in taken or fits)
    pages = numbered(pages)
    return DiskLayout(pages, stays, Sizes(arrays, pages).of_pages, later.frames, later)


def page_edges_within(arrays: Sequence[ArrayReader], offsets: Array, room: int) -> int:
    """The bound on the edges of a page that is not resident, if frames and resident pages share `room` bytes."""
    width = max(sum(array.stored_bytes for array in arrays) / max(int(offsets[-1]), 1), 1e-3)
    nbytes = min(max(room / PAGE_SHARE, min(LEAST_PAGE_BYTES, room / BUFFERS)), MOST_PAGE_BYTES)
    return max(int(nbytes / width), 1)


def pages_of_words(offsets: Array, page_edges: int) -> list[Page]:
    """Pages that begin at multiples of 64 vertices, as on a GPU, so that runs with and without one read the same; other
    pages if these exceed the bound."""
    pages = layout(offsets, page_edges, WORD)
    return pages if all(page.edges <= page_edges for page in pages) else layout(offsets, page_edges)


def joined(pages: Sequence[Page], page_edges: int) -> list[Page]:
    """Pages that consist of consecutive `pages`, as many as have at most `page_edges` edges, and at least one."""
    found = list[Page]()
    for page in pages:
        if found and page.last_edge - found[-1].first_edge <= page_edges:
            found[-1] = whole([found[-1], page])
        else:
            found.append(page)
    return found


def whole(pages: Sequence[Page]) -> Page:
    """Consecutive pages merged into one."""
    return replace(pages[0], last_vertex=pages[-1].last_vertex, last_edge=pages[-1].last_edge)


def numbered(pages: Sequence[Page]) -> list[Page]:
    """The pages with numbers from 0 on."""
    return [replace(page, number=k) for k, page in enumerate(pages)]


def lay_out_mixed(arrays: Sequence[ArrayReader], cut: Sequence[Page], room: int, skipped: int = 0) -> DiskLayout | None:
    """Large resident pages, each of several pages of `cut`, and other pages; None if there is no room for a large one.

    The `skipped` first pages do not stay.
    """
    share = room / max(sum(blocks_bytes(array, cut[skipped:]) for array in arrays), 1)
    for _ in range(TRIALS):
        pages, stays = mixed(cut, share, skipped)
        if not any(stays) or all(stays):
            break
        sizes = Sizes(arrays, pages)
        kept = sum(size for size, stay in zip(sizes.totals, stays, strict=True) if stay)
        streamed = [each for each, stay in zip(sizes.of_pages, stays, strict=True) if not stay]
        frame = [max(column) for column in zip(*streamed, strict=True)]
        spare = room - BUFFERS * sum(frame)
        if kept <= spare:
            others = [k for k, stay in enumerate(stays) if not stay and k >= skipped]
            for k, stay in zip(others, spread([sizes.totals[k] for k in others], spare - kept), strict=True):
                stays[k] = stay
            return DiskLayout(pages, stays, sizes.of_pages, [frame] * BUFFERS)
        share *= min(max(spare, 0) / kept, 0.99)
    return None


def mixed(cut: Sequence[Page], share: float, skipped: int = 0) -> tuple[list[Page], list[bool]]:
    """The pages of `cut`, of which `LARGE` are merged if they are resident, and whether each is resident.

    Those that stay are spread evenly over all but the `skipped` first, and have at most `share` of these edges.
    """
    pages, stays, k, kept = list(cut[:skipped]), [False] * skipped, skipped, 0
    while k < len(cut):
        few = cut[k : k + LARGE]
        last = few[-1]
        stay = kept + last.last_edge - few[0].first_edge <= share * (last.last_edge - cut[skipped].first_edge)
        page = whole(few) if stay else few[0]
        pages.append(page)
        stays.append(stay)
        k, kept = k + (len(few) if stay else 1), kept + page.edges * stay
    return numbered(pages), stays


class Sizes:
    """The memory that pages take, in bytes.

    Parameters
    ----------
    arrays : sequence of ArrayReader
    pages : sequence of Page

    Attributes
    ----------
    of_pages : list of list of int
        Bytes of each page, for each array.
    totals : list of int
        Bytes of each page, for all arrays.
    largest : list of int
        For each array, the bytes of the largest page.
    frame : int
        Bytes of a frame for the largest page.
    """

    def __init__(self, arrays: Sequence[ArrayReader], pages: Sequence[Page]) -> None:
        self.pages = pages
        self.of_pages: list[list[int]] = [[room_of(array, page) for array in arrays] for page in pages]
        self.totals: list[int] = [sum(sizes) for sizes in self.of_pages]
        self.largest = [max(column) for column in zip(*self.of_pages, strict=True)] or [0] * len(arrays)
        self.frame: int = sum(self.largest)

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


def least_room(arrays: Sequence[ArrayReader], offsets: Array) -> int:
    """The least memory, in bytes, with which a `DiskPageSource` can be made."""
    return Sizes(arrays, layout(offsets, block_edges(arrays))).least()


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
