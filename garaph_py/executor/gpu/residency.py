"""What of a graph stays in the GPU's memory and what is streamed through it: decided once, from sizes alone.

A fixed part stays and the rest goes through N buffers, for every iteration passes over all pages: least-recently-used
would throw out each page just before it comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...pages.layout import Page, layout
from .edges import EdgeLayout, page_bytes

Array = npt.NDArray[Any]

PAGE_EDGES = 1 << 24
"""Largest page that is copied: about a millisecond of the interconnect, so that what lies between two pages does not
count. Smallest of those that stay, where the GPU has hundreds of microseconds of work."""
SMALL_PAGE_EDGES = 1 << 22
"""Smaller ones are copied only if memory is short: what their launches cost begins to show."""
LEAST_PAGE_EDGES = 1 << 16
"""Rather fewer streams than pages smaller than that."""
BUFFERS_SHARE = 4
"""The buffers take a quarter of the memory for edges at most, while pages are not small: what they take cannot stay."""
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
    is_short : bool
        Pages that are copied had to be smaller, or streams fewer, than would be good.
    """

    pages: list[Page]
    resident: int
    streams: int
    buffer_bytes: int
    used: int
    is_short: bool = False


def plan(
    offsets: Array,
    arrays: EdgeLayout,
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
    arrays : EdgeLayout
        What a page's edges take.
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
    edges, left, width = int(offsets[-1]), budget - fixed, arrays.width
    if left < 0:
        raise too_little(fixed, 0, budget)
    most = max(int(budget / streams / width), 1)  # a page is at most 1/N of the memory (section 2.1)
    limit = max(edges // RESIDENT_PAGES, PAGE_EDGES) if page_edges is None else page_edges
    pages = layout(offsets, min(limit, most), VERTICES)
    used = sum(page_bytes(page, arrays) for page in pages)
    if used <= left:
        return Residency(pages, len(pages), streams, 0, fixed + used)
    if page_edges is None:
        small = max(int(left / BUFFERS_SHARE / streams / width), SMALL_PAGE_EDGES)
        limit = max(min(PAGE_EDGES, edges // (PAGES_A_STREAM * streams), small), LEAST_PAGE_EDGES)
    wanted = limit, streams
    limit = min(limit, most)
    while True:
        pages = layout(offsets, limit, VERTICES)
        sizes = [page_bytes(page, arrays) for page in pages]
        largest = max(sizes, default=0)
        if streams * largest <= left:
            break
        if limit > LEAST_PAGE_EDGES and largest > LEAST_PAGE_EDGES * width:
            limit //= 2
        elif streams > 1:
            streams -= 1
        else:
            raise too_little(fixed, largest, budget)
    resident, used = 0, streams * largest
    for size in sizes:
        if used + size > left:
            break
        resident, used = resident + 1, used + size
    return Residency(pages, resident, streams, largest, fixed + used, (limit, streams) != wanted)


def too_little(fixed: int, page: int, budget: int) -> DeviceMemoryError:
    more = f" and {page / 2**20:,.1f} MiB for a page" if page else " alone"
    return DeviceMemoryError(
        f"the run needs {fixed / 2**20:,.1f} MiB of GPU memory for the vertices{more}, and may use "
        f"{budget / 2**20:,.1f} MiB; allow more with gpu_memory, or use the CPU"
    )
