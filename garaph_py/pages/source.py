"""Where pages come from: the protocol that memory (memory_source.py) and disks (disk_source.py) implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ..codec.arrays import EdgeArray
from .layout import Page

Array = npt.NDArray[Any]
Wanted = Callable[[Page], Array]
"""``wanted(page)``: the parts of a page that are needed, as first and last edge: int64, shape (parts, 2)."""


class PageEdges(NamedTuple):
    """The edges of one page, in memory.

    Attributes
    ----------
    first_edge : int
        The number of the edge that both arrays begin with: the page's first one, or one before it where the codec
        decodes whole units only (`EdgeArray.unit`).
    sources : EdgeArray
        The source of each edge.
    values : EdgeArray or None
        The edge values.
    """

    first_edge: int
    sources: EdgeArray
    values: EdgeArray | None


class PageSource(Protocol):
    """Gives out the pages of one graph, to one thread."""

    @property
    def pages(self) -> Sequence[Page]:
        """The layout, in vertex order, covering every vertex once."""

    @property
    def max_in_flight(self) -> int:
        """How many pages may be given out at once."""

    @property
    def bytes_read(self) -> int:
        """Bytes read from disks since the source was made."""

    def prefetch(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        """Begin to read these pages, in the order in which `edges` will ask for them.

        Parameters
        ----------
        pages : iterable of Page
        wanted : callable, optional
            The parts of each page that are needed; by default all of it.
        values : bool
            Whether edge values are needed too.
        """

    def edges(self, page: Page) -> PageEdges:
        """The edges of `page`, the next of those that are prefetched, or of a part of it; valid until `release`."""

    def release(self, page: Page) -> None:
        """Give the page's edges back: their memory may be used again."""

    def parts(self, page: Page) -> list[Page]:
        """A page of another layout as pages of this one, or parts of these."""

    def close(self) -> None:
        """Free the memory; no page is given out any more."""
