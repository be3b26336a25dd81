"""What of a graph stays in the GPU's memory and what is streamed through it: decided once, from sizes alone.

A fixed part stays and the rest goes through N buffers, for every iteration passes over all pages in the same order:
least-recently-used would throw out each page just before it comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..errors import DeviceMemoryError
from ..pages.layout import Page, layout
from .ranks import RUN

Array = npt.NDArray[Any]

PAGE_EDGES = 1 << 24
"""Largest page that is copied: about a millisecond of the interconnect, so that what lies between two pages does not
count. Smallest of those that stay, where the GPU has hundreds of microseconds of work."""
LEAST_PAGE_EDGES = 1 << 20
"""Below that a page's launches cost more than its edges."""
PAGES_A_STREAM = 4
"""Every stream has several pages (section 5.2) where pages are copied."""
RESIDENT_PAGES = 16
"""Where everything stays: enough to copy values back while others are computed."""
VERTICES = 64
"""Pages begin at multiples of so many vertices, so that no two share a word of a bitmap."""


@dataclass(frozen=True)
class Residency:
    """Where each page is.

    Attributes
    ----------
    pages : list of Page
    resident : int
        So many of the first pages stay.
    streams : int
    buffer_bytes : int
        Of each stream's buffer; 0 when everything stays.
    used : int
        Bytes of device memory in all.
    """

    pages: list[Page]
    resident: int
    streams: int
    buffer_bytes: int
    used: int


def page_bytes(page: Page, edge_bytes: tuple[int, ...]) -> int:
    """Device memory of a page: its arrays begin and end with whole runs, which keeps them aligned."""
    runs = -(-page.last_edge // RUN) - page.first_edge // RUN
    return runs * RUN * sum(edge_bytes)


def plan(
    offsets: Array,
    edge_bytes: tuple[int, ...],
    fixed: int,
    budget: int,
    streams: int,
    page_edges: int | None = None,
) -> Residency:
    """Lay out pages and choose those that stay within `budget`.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    edge_bytes : tuple of int
        Bytes an edge of every array that a page has: its source, its value.
    fixed : int
        Bytes of everything that is not edges: values, offsets, indexes.
    budget : int
        Bytes of device memory.
    streams : int
        Pages that may be under way; fewer if memory is short.
    page_edges : int, optional
        Bound on a page's edges, where the caller wants another than ours.

    Raises
    ------
    DeviceMemoryError
        If even single pages through one buffer do not fit.
    """
    edges = int(offsets[-1])
    pages = layout(offsets, page_edges or max(edges // RESIDENT_PAGES, PAGE_EDGES), VERTICES)
    used = fixed + sum(page_bytes(page, edge_bytes) for page in pages)
    if used <= budget:
        return Residency(pages, len(pages), streams, 0, used)
    limit = page_edges or max(min(PAGE_EDGES, edges // (PAGES_A_STREAM * streams)), LEAST_PAGE_EDGES)
    limit = min(limit, max(budget // streams // sum(edge_bytes), 1))
    while True:
        pages = layout(offsets, limit, VERTICES)
        sizes = [page_bytes(page, edge_bytes) for page in pages]
        largest = max(sizes, default=0)
        left = budget - fixed - streams * largest
        if left >= 0:
            break
        if limit > LEAST_PAGE_EDGES and largest > page_bytes(Page(0, 0, 0, 0, LEAST_PAGE_EDGES), edge_bytes):
            limit //= 2
        elif streams > 1:
            streams -= 1
        else:
            raise DeviceMemoryError(
                f"the run needs {fixed / 2**20:,.1f} MiB of GPU memory for the vertices and {largest / 2**20:,.1f} MiB "
                f"for a page, and may use {budget / 2**20:,.1f} MiB; allow more with gpu_memory, or use the CPU"
            )
    resident, used = 0, fixed + streams * largest
    for size in sizes:
        if used + size > budget:
            break
        resident, used = resident + 1, used + size
    return Residency(pages, resident, streams, largest, used)
