"""The protocol of page sources, for edges in memory (memory_source.py) and on disk (disk_source.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ..codec.arrays import EdgeArray
from .layout import Page

Array = npt.NDArray[Any]
Wanted = Callable[[Page], Array]
"""``wanted(page)`` returns the parts of a page that are needed, as first edge and end: int64, shape (parts, 2)."""


class PageEdges(NamedTuple):
    """The edges of one page, in memory.

    Attributes
    ----------
    first_edge : int
        The number of the edge with which both arrays begin: the page's first edge, or one before it if the codec
        decodes only whole units (`EdgeArray.unit`).
    sources : EdgeArray
        The source of each edge.
    values : EdgeArray or None
        The edge values.
    offsets : EdgeArray or None
        The offset of each edge's destination in its shard, if a GPU reads it (`executor.gpu.offset_pages`).
    """

    first_edge: int
    sources: EdgeArray
    values: EdgeArray | None
    offsets: EdgeArray | None = None


class PageSource(Protocol):
    """Provides the pages of one graph to one thread."""

    @property
    def pages(self) -> Sequence[Page]:
        """The pages in the order of their vertices; each vertex is in one of them."""

    @property
    def takes_any_order(self) -> bool:
        """Whether a policy may decide on the order of the pages."""

    @property
    def is_in_memory(self) -> bool:
        """Whether `edges` returns slices of arrays in memory, which stay valid after `release`."""

    @property
    def max_in_flight(self) -> int:
        """The number of pages that the thread may hold at once."""

    @property
    def bytes_read(self) -> int:
        """Bytes read from disks since the source was made."""

    def pages_for(self, ranges: Array) -> Sequence[Page]:
        """The pages to prefetch if only these ranges of edges are needed: int64, shape (k, 2), ascending.

        Consecutive pages of which few edges are needed may be merged.
        """

    def held_first(self, pages: Iterable[Page]) -> list[Page]:
        """An order of these pages in which the fewest are read: it begins with those that are still in memory."""

    def prefetch(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        """Start to read these pages, in the order in which the thread will call `edges`.

        Parameters
        ----------
        pages : iterable of Page
        wanted : callable, optional
            The parts of each page that are needed; by default, whole pages.
        values : bool
            Whether edge values are needed too.
        """

    def prefetch_also(self, page: Page) -> None:
        """Read this page after those that are prefetched, in the same way."""

    def edges(self, page: Page) -> PageEdges:
        """The edges of `page`, which is the next prefetched page or a part of it; valid until `release`."""

    def release(self, page: Page) -> None:
        """End the use of the page's edges; the source may then reuse their memory."""

    def parts(self, page: Page) -> list[Page]:
        """Cut a page of another layout into pages of this one, or parts of them."""

    def close(self) -> None:
        """Free the memory. The source cannot be used afterwards."""


class HostSource(PageSource, Protocol):
    """The source of pages of a CPU that takes turns with a GPU, or works beside it."""

    @property
    def can_be_shared(self) -> bool:
        """Whether two threads may use the source at the same time."""

    def shared(self) -> AbstractContextManager[PageSource]:
        """A source of the same pages for another thread, as long as the context lasts."""

    def give_back(self) -> None:
        """Free the pages whose memory was only lent (`MemoryNeeds.lent`)."""
