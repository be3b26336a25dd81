"""`Shape`: what about a graph's lists makes an edge cheap or dear, beside the number of edges.

A processor guesses how long a list is from the lists before, and pays for a wrong guess; and it pays for each vertex's
value that is no longer in its caches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.codecs import decoded
from ..codec.format import LISTS, RUN
from .adjacency import Adjacency

Array = npt.NDArray[Any]

LINE = 16
"""Vertices whose values, of 4 bytes, share a cache line of 64 bytes."""
NEAR, FAR = 1 << 9, 1 << 13
"""Edges after which a line that was not read again counts as lost: as many lines as 32 KiB hold, which is a core's
first cache, and 512 KiB, a part of its second one, in which edges pass as well."""
SAMPLES = 16
"""Places of the edges, evenly spread, from which the shares of lost lines are taken."""


@dataclass(frozen=True)
class Shape:
    """The shape of a graph's lists of in-edges.

    Attributes
    ----------
    lists : int
        Vertices with in-edges.
    turns : int
        Vertices that have more or fewer in-edges than the vertex before.
    near, far : float
        Share of the edges whose source's value is no longer in a cache of 32 KiB, and in one of 512 KiB, if a core
        gathers along all edges in order.
    """

    lists: int
    turns: int
    near: float
    far: float

    @classmethod
    def of(cls, edges: Adjacency) -> Shape:
        """The shape of these in-edges; sources on disk are not read, but taken to be random."""
        degrees = np.diff(edges.offsets)
        expected = cls.expected(len(degrees), int(edges.offsets[-1]))
        near, far = expected.near, expected.far
        if len(edges.neighbour_array) and not edges.neighbour_array.on_disk:
            near, far = (lost(edges, window) for window in (NEAR, FAR))
        return cls(int(np.count_nonzero(degrees)), int(np.count_nonzero(np.diff(degrees))), near, far)

    @classmethod
    def expected(cls, vertices: int, edges: int) -> Shape:
        """The shape of a graph of this size whose edges lead from random vertices to random vertices."""
        mean = edges / max(vertices, 1)
        lists = round(vertices * -math.expm1(-mean))
        alike = equal_lengths(mean)
        near, far = (math.exp(-window * LINE / max(vertices, 1)) for window in (NEAR, FAR))
        return cls(lists, round(vertices * (1 - alike)), near, far)


def equal_lengths(mean: float) -> float:
    """The chance that two lists are equally long if lengths have a Poisson distribution with this mean."""
    if mean > LINE:
        return 1 / math.sqrt(4 * math.pi * mean)
    chances = np.cumprod(np.append(1.0, mean / np.arange(1, 8 * LINE))) * math.exp(-mean)
    return float((chances**2).sum())


def lost(edges: Adjacency, window: int) -> float:
    """The share of the edges whose source's line no edge has read among the `window` ones before; a mean of samples.

    In a graph with few edges, the first ones of a sample count too.
    """
    sources, count = edges.neighbour_array, len(edges.neighbour_array)
    firsts = np.unique(np.linspace(0, max(count - 2 * window, 0), SAMPLES).astype(np.int64) // RUN * RUN)
    shares = []
    for first in firsts.tolist():
        last = min(first + 2 * window, count)
        read = decoded(sources.slice(first, last), LISTS, None, edges.offsets, first)[: last - first] // LINE
        skip = window if len(read) > window else 0
        shares.append(float(np.mean(since_last(read)[skip:] > window)))
    return float(np.mean(shares))


def since_last(lines: Array) -> Array:
    """For each line, how many places before it was read last; very many if it was not."""
    order = np.argsort(lines, kind="stable")
    again = lines[order[1:]] == lines[order[:-1]]
    since = np.full(len(lines), np.iinfo(np.int64).max)
    since[order[1:][again]] = np.diff(order)[again]
    return since
