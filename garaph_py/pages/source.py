"""Where pages come from: the protocol that memory implements now and SSDs will."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from .layout import Page

Array = npt.NDArray[Any]

RAW = "raw"


@dataclass(frozen=True)
class PageEdges:
    """The edges of one page, in memory.

    Attributes
    ----------
    first_edge : int
        Number of the edge that ``sources[0]`` belongs to.
    sources : ndarray of uint32
    values : ndarray, optional
        Edge values beside the sources.
    encoding : str
        How they are stored: ``"raw"`` is the arrays as they are.
    """

    first_edge: int
    sources: Array
    values: Array | None
    encoding: str = RAW


class PageSource(Protocol):
    """Gives out the pages of one graph."""

    @property
    def pages(self) -> Sequence[Page]:
        """The layout, in vertex order, covering every vertex once."""

    def edges(self, page: Page) -> PageEdges:
        """The edges of `page`; valid until the next call from the same thread."""
