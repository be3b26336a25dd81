"""Where pages come from: the protocol that memory implements now and SSDs will."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from ..graph.graph import RAW
from ..graph.packed import Packed
from .layout import Page

Array = npt.NDArray[Any]


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

    def edges(self, page: Page) -> PageEdges:
        """The edges of `page`; valid until the next call from the same thread."""
