"""Decides which pages are resident in the GPU's memory and which are not, once in a run.

Those that are not are streamed through one buffer per stream, or stay in host memory, where kernels read them
(mapped.py). If they are streamed, every iteration copies all of them, whichever these are; so the first ones are
resident, and a least-recently-used cache would evict each page just before it is needed again. Where kernels read them,
some are read more than others: `Residency.moved_to` makes those resident (page_uses.py). In Garaph, no page is
resident: `plan_to_copy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...pages.layout import Page, joined, layout
from ...system.sizes import show_bytes
from .edges import ALIGNMENT, Sizes, page_bytes
from .parts import Part
from .ranks import RUN

Array = npt.NDArray[Any]

PAGE_EDGES = 1 << 24
"""Maximal edges of a streamed page. Its copy takes about a millisecond, so the gap between two copies hardly matters.
If all pages are resident, this is the minimal bound on a page's edges: hundreds of microseconds of work for the GPU."""
SMALL_PAGE_BYTES = 1 << 24
"""Bytes of a page below which the time that its thread takes to copy and launch it begins to matter: 130 microseconds,
in which the link moves 7 MB. Streamed pages have a smaller bound only if memory is short; resident ones are then joined
up to this size."""
LEAST_PAGE_EDGES = 1 << 16
"""The smallest bound on a page's edges. If memory is shorter than that, the run uses one stream."""
BUFFERS_SHARE = 8
"""The buffers of streams take at most 1/8 of the memory for edges, because they leave less for resident pages. They may
take more if pages would otherwise be smaller than `SMALL_PAGE_BYTES`. With room for 1/64 of the raw edges of R-MAT 24,
a pull of SSSP streams 1,125 MB of packed edges, and 1,149 with buffers of 1/4 (H200; docs/results/budgets.md)."""
FEW_STREAMS = 2
"""Streams that are left, if memory is short, before pages are smaller: enough to copy a page while the one before it is
processed. A page takes its thread some 52 microseconds, in which the link moves 2.6 MB, so smaller pages make a pull
slower: one of DeltaPageRank over linux-symrefs took 12.5 ms in 238 pages, and 5 in 66 (packed, H200;
docs/decisions/gpu.md, "A fixed part of the edges is resident")."""
MOST_OF_LIMIT = 7 / 8
"""A smaller bound on a page's edges is at most so much of the last one that was too large."""
PAGES_A_STREAM = 4
"""Minimal pages per stream if pages are streamed, so that copies and kernels overlap (Garaph section 5.2)."""
RESIDENT_PAGES = 16
"""Pages of a large graph if all are resident. In an asynchronous run, a page sees what the pages before it have
computed: with 16 pages SSSP over R-MAT 24 takes 8 iterations, with 4 pages 10."""
FEW_PAGES = 2
"""The same for a program that updates all vertices in every iteration. Each further page costs some 6 microseconds in
which its kernels do not fill the GPU; with one page, the GPU is partly idle while the last blocks of the gather
finish."""
VERTICES = 64
"""A page begins at a multiple of this many vertices, so that no two pages share a word of a bitmap."""


@dataclass(frozen=True)
class Residency:
    """The pages, and which of them are resident.

    Attributes
    ----------
    pages : list of Page
    resident : int
        The number of resident pages.
    streams : int
        Streamed pages that may be in flight at once.
    buffer_bytes : int
        Bytes of each stream's buffer; 0 if no page is streamed.
    used : int
        Bytes of device memory that are used in total.
    is_short : bool
        Memory is short: streamed pages are smaller, or streams fewer, than would be fast.
    keeps : bool
        A page that is still in a stream's buffer is not copied again in the next iteration.
    first : int
        The number of the first resident page. Resident pages are consecutive, so that kernels tell by two numbers where
        an edge is.
    within : Page or None
        All edges as one page, if the device has them since an earlier run, and the resident pages are among them.
    """

    pages: list[Page]
    resident: int
    streams: int
    buffer_bytes: int
    used: int
    is_short: bool = False
    keeps: bool = True
    first: int = 0
    within: Page | None = None

    @property
    def edges(self) -> int:
        """The edges of all pages: those of the graph, or of a part of it."""
        return sum(page.edges for page in self.pages)

    @property
    def vertices(self) -> int:
        """The vertices of all pages."""
        return sum(page.vertices for page in self.pages)

    @property
    def numbers(self) -> range:
        """The numbers of the resident pages."""
        return range(self.first, self.first + self.resident)

    @property
    def here(self) -> list[Page]:
        """The resident pages."""
        return self.pages[self.first : self.first + self.resident]

    @property
    def elsewhere(self) -> list[Page]:
        """The other pages."""
        return self.pages[: self.first] + self.pages[self.first + self.resident :]

    def moved_to(self, numbers: range, arrays: Sizes) -> Residency:
        """The same with other pages resident, if none is streamed."""
        found = replace(self, first=numbers.start, resident=len(numbers))
        before, after = (sum(page_bytes(page, arrays) for page in each.here) for each in (self, found))
        return replace(found, used=self.used - before + after)


def plan(  # wide: what the pages depend on
    offsets: Array, arrays: Sizes, fixed: int, budget: int, streams: int, page_edges: int | None = None,
    resident_pages: int = RESIDENT_PAGES, part: Part | None = None,
) -> Residency:  # fmt: skip
    """Lay out pages and choose the resident ones, within `budget`.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    arrays : Sizes
        The layout of edges in device memory, which gives the bytes of a page.
    fixed : int
        Bytes of everything except edges: values, offsets, indexes.
    budget : int
        Bytes of device memory that may be used.
    streams : int
        Streamed pages that may be in flight at once; the plan has fewer if memory is short. 0 if no page is streamed.
    page_edges : int, optional
        Bound on a page's edges; by default it is chosen here.
    resident_pages : int
        Pages of a large graph if all are resident and `page_edges` is not given.
    part : Part, optional
        The vertices whose in-edges the GPU processes; by default all.

    Raises
    ------
    DeviceMemoryError
        If not even one buffer for the smallest pages fits.
    """
    part = part or Part(0, len(offsets) - 1)
    edges, left, width = int(offsets[part.last] - offsets[part.first]), budget - fixed, arrays.width
    if left < 0:
        raise too_little(fixed, 0, budget)
    limit = max(edges // resident_pages, PAGE_EDGES) if page_edges is None else page_edges
    most = max(int(budget / streams / width), 1) if streams else limit  # 1/N of the memory (section 2.1)
    pages = cut(offsets, min(limit, most), page_edges, part)
    used = sum(page_bytes(page, arrays) for page in pages)
    if used <= left:
        return Residency(pages, len(pages), streams, 0, fixed + used)
    if page_edges is None and streams:
        small = int(max(left / BUFFERS_SHARE / streams, SMALL_PAGE_BYTES) / width)
        limit = max(min(PAGE_EDGES, edges // (PAGES_A_STREAM * streams), small), LEAST_PAGE_EDGES)
    wanted = limit, streams
    least = min(streams, FEW_STREAMS)
    pages, limit, streams = to_stream(offsets, arrays, fixed, budget, streams, limit, page_edges, part, least, most)
    largest = max((page_bytes(page, arrays) for page in pages), default=0)
    joins = page_edges is None and part.pages is None and streams > 0
    here, used = first_that_fit(pages, arrays, left - streams * largest, SMALL_PAGE_BYTES if joins else 0)
    others = [page for page in pages if not here or page.first_vertex >= here[-1].last_vertex]
    pages = [replace(page, number=k) for k, page in enumerate([*here, *others])]
    used, buffer = fixed + used + streams * largest, largest if streams else 0
    return Residency(pages, len(here), streams, buffer, used, (limit, streams) != wanted)


def first_that_fit(pages: Sequence[Page], arrays: Sizes, room: int, small: int) -> tuple[list[Page], int]:
    """The first of `pages` that take `room` bytes at most, and their bytes; neighbours are joined to pages of at most
    `small` bytes."""
    found, used, last = list[Page](), 0, 0
    for page in pages:
        at, before, size = len(found), 0, page_bytes(page, arrays)
        if found and small and (of_both := page_bytes(joined(found[-1], page), arrays)) <= small:
            page, at, before, size = joined(found[-1], page), at - 1, last, of_both
        if used - before + size > room:
            break
        found[at:], used, last = [page], used - before + size, size
    return found, used


def plan_to_copy(
    offsets: Array, arrays: Sizes, fixed: int, budget: int, streams: int, page_edges: int | None = None,
    part: Part | None = None,
) -> Residency:  # fmt: skip
    """Lay out pages that every iteration copies: each as large as fits 1/N of the memory for edges (section 2.1).

    Parameters
    ----------
    offsets, arrays, fixed, budget, streams, page_edges, part
        As for `plan`.

    Raises
    ------
    DeviceMemoryError
        If not even one buffer for the smallest pages fits.
    """
    part = part or Part(0, len(offsets) - 1)
    left, edges = budget - fixed, int(offsets[part.last] - offsets[part.first])
    if left < 0:
        raise too_little(fixed, 0, budget)
    share = int(left / streams / arrays.width)
    rounding = 2 * RUN + ALIGNMENT  # edges: buffers begin and end where runs do, and are aligned
    most = max(share - rounding, share // 2, 1)
    wanted = min(most, max(edges, 1) if page_edges is None else page_edges), streams
    pages, limit, streams = to_stream(offsets, arrays, fixed, budget, *wanted[::-1], None, part, streams, most)
    largest = max((page_bytes(page, arrays) for page in pages), default=0)
    resident = 0 if largest else len(pages)  # without edges there is nothing to copy
    used = fixed + streams * largest
    return Residency(pages, resident, streams, largest, used, (limit, streams) != wanted, keeps=False)


def cut(offsets: Array, limit: int, page_edges: int | None, part: Part) -> list[Page]:
    """Pages of at most `limit` edges; each is a part of a page of at most `page_edges`, which may come from disk.

    If the part has pages, these.
    """
    if part.pages is not None:
        return [replace(page, number=k) for k, page in enumerate(part.pages)]
    pages, most = list[Page](), limit if page_edges is None else max(limit, page_edges)
    for whole in layout(offsets[: part.last + 1], most, VERTICES, part.first):
        for piece in layout(offsets[: whole.last_vertex + 1], limit, VERTICES, whole.first_vertex):
            pages.append(replace(piece, number=len(pages)))
    return pages


def to_stream(  # wide: what the pages depend on
    offsets: Array, arrays: Sizes, fixed: int, budget: int, streams: int, limit: int, page_edges: int | None,
    part: Part, least: int, most: int,
) -> tuple[list[Page], int, int]:  # fmt: skip
    """Pages that fit the buffers of streams, the bound on their edges, and the number of streams.

    They have at most `limit` edges. If memory is short, `least` streams are left, and then the bound is smaller. If not
    even one buffer fits then, pages have at most `most` edges, and half of `LEAST_PAGE_EDGES`. See `cut`.
    """
    room, fewest = budget - fixed, min(most, LEAST_PAGE_EDGES // 2)
    while True:
        pages = cut(offsets, limit, page_edges, part)
        largest = max((page_bytes(page, arrays) for page in pages), default=0)
        if streams * largest > room:
            streams = least
        if streams * largest <= room:
            return pages, limit, streams
        if limit > LEAST_PAGE_EDGES and largest > LEAST_PAGE_EDGES * arrays.width:
            limit = max(int(limit * min(room / (streams * largest), MOST_OF_LIMIT)), LEAST_PAGE_EDGES)
        elif least > 1:
            least -= 1
        elif limit > fewest:
            limit = fewest
        else:
            raise too_little(fixed, largest, budget)


def pages_if_resident(updates_all_vertices: bool) -> int:
    """Pages of a large graph if all are resident, for a program that updates all vertices in every iteration or not."""
    return FEW_PAGES if updates_all_vertices else RESIDENT_PAGES


def too_little(fixed: int, page: int, budget: int) -> DeviceMemoryError:
    """The error that the vertices, and a page of `page` bytes unless that is 0, exceed the budget."""
    more = f" and {show_bytes(page, up=True)} for a page" if page else " alone"
    return DeviceMemoryError(
        f"the run needs {show_bytes(fixed, up=True)} of GPU memory for the vertices{more}, and may use "
        f"{show_bytes(budget)}; allow more with gpu_memory, or use the CPU"
    )
