"""Divides the destinations of a graph among GPUs: each has the in-edges of one part, and the values of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...graph.vertex_set import WORD
from ...pages.layout import Page

Array = npt.NDArray[Any]


class Part(NamedTuple):
    """The vertices [first, last), both multiples of `WORD` unless `last` is the number of all vertices.

    Attributes
    ----------
    first, last : int
    pages : tuple of Page, optional
        The part's pages, if they must be those that one GPU would have; otherwise the GPU cuts its own.
    """

    first: int
    last: int
    pages: tuple[Page, ...] | None = None

    @property
    def bits(self) -> tuple[int, int]:
        """Where the part's vertices begin in a bitmap of all, and how many bytes of it they take."""
        begin, end = self.first // 8, -(-self.last // WORD) * (WORD // 8)
        return (begin, end - begin) if self.last > self.first else (0, 0)

    def most_others(self, n: int) -> int:
        """The most pages that the other parts of `n` vertices may have: a page has `WORD` vertices, unless it is the
        last."""
        return -(-(n - self.last + self.first) // WORD)


def divide(offsets: Array, speeds: Sequence[float]) -> list[Part]:
    """A contiguous part for each GPU; the edges of each are proportional to its speed, as far as vertices allow.

    A part may be empty.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    speeds : sequence of float
        Of each GPU, in any unit.
    """
    ends = nearest(offsets, shares(int(offsets[-1]), speeds), WORD).tolist()
    return [Part(first, last) for first, last in pairwise([0, *ends, len(offsets) - 1])]


def divide_pages(pages: Sequence[Page], speeds: Sequence[float]) -> list[Part]:
    """The same in whole `pages`, which cover all vertices."""
    ends = np.cumsum([0, *(page.edges for page in pages)])
    cuts = [0, *nearest(ends, shares(int(ends[-1]), speeds)).tolist(), len(pages)]
    begins = [page.first_vertex for page in pages] + [pages[-1].last_vertex if pages else 0]
    return [Part(begins[a], begins[b], tuple(pages[a:b])) for a, b in pairwise(cuts)]


def nearest(ascending: Array, values: Array, step: int = 1) -> Array:
    """For each of the `values`, the index of the nearest of the integers `ascending`: a multiple of `step`, or the last
    index. It does not read them all: that took longer than many runs."""
    last = len(ascending) - 1
    above = -(-ascending.searchsorted(np.ceil(values).astype(ascending.dtype)) // step) * step
    below, above = np.maximum(above - step, 0), np.minimum(above, last)
    found: Array = np.where(values - ascending[below] < ascending[above] - values, below, above)
    return found


def shares(edges: int, speeds: Sequence[float]) -> Array:
    """The edges, counted from the first, at which each part but the last ends."""
    total: Array = np.cumsum(speeds)
    ends: Array = edges * total[:-1] / total[-1]
    return ends
