"""Where pages come from: the protocol that memory (memory.py) and disks (stored.py) implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from ..codec.format import Packed
from ..graph.graph import RAW
from .layout import Page

Array = npt.NDArray[Any]
Wanted = Callable[[Page], Array]
"""``wanted(page)``: first and last edge of what is needed of a page, int64, shape (ranges, 2)."""


@dataclass(frozen=True)
class PageEdges:
    """The edges of one page, in memory.

    Attributes
    ----------
    first_edge : int
        Number of the edge that ``sources[0]`` belongs to, or the first number of ``sources``, which begins a run.
    sources : ndarray of uint32, or Packed
    values : ndarray or Packed, optional
        Edge values; raw ones begin with that of ``first_edge``, packed ones with a run as packed sources do.
    encoding : {"raw", "packed"}
        How the sources are stored.
    """

    first_edge: int
    sources: Array | Packed
    values: Array | Packed | None
    encoding: str = RAW


class PageSource(Protocol):
    """Gives out the pages of one graph."""

    @property
    def pages(self) -> Sequence[Page]:
        """The layout, in vertex order, covering every vertex once."""

    @property
    def max_in_flight(self) -> int:
        """So many pages may be given out at once."""

    @property
    def bytes_read(self) -> int:
        """From disks, since the beginning."""

    def expect(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        """These pages' edges will be asked for, in this order; of each all, or those that are `wanted`, with their
        `values` or without."""

    def edges(self, page: Page) -> PageEdges:
        """The edges of `page`, which is expected, or of a part of it; valid until it is released."""

    def release(self, page: Page) -> None:
        """Nobody needs the page's edges any more."""

    def parts(self, page: Page) -> list[Page]:
        """A page of another layout as pages of this one, or parts of these."""

    def close(self) -> None:
        """Give memory back; no page is given out any more."""
