"""`Shape`: what about a graph's lists makes an edge cheap or dear, beside the number of edges.

A processor guesses how long a list is, and which of its vertices change, from the lists before, and pays for a wrong
guess; and it pays for each vertex's value that is no longer in its caches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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
"""Places of the edges, evenly spread, from which the shares of lost lines and of irregular lists are taken."""


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
    irregular : float
        Share of the lists that are not the list of the vertex before with all ids one larger. It is 0 in a grid,
        except at its border.
    imbalance : float
        The lists in that half of the edges which has more of them, divided by half of all lists: from 1 to 2.
    """

    lists: int
    turns: int
    near: float
    far: float
    irregular: float
    imbalance: float

    @classmethod
    def of(cls, edges: Adjacency) -> Shape:
        """The shape of these in-edges; sources on disk are not read, but taken to be random."""
        degrees = np.diff(edges.offsets)
        expected = cls.expected(len(degrees), int(edges.offsets[-1]))
        near, far, uneven = expected.near, expected.far, expected.irregular
        if len(edges.neighbour_array) and not edges.neighbour_array.on_disk:
            near, far = (lost(edges, window) for window in (NEAR, FAR))
            uneven = irregular(edges)
        lists, first = (int(np.count_nonzero(part)) for part in (degrees, degrees[: middle(edges.offsets)]))
        imbalance = max(first, lists - first) / (lists / 2) if lists else 1.0
        return cls(lists, int(np.count_nonzero(np.diff(degrees))), near, far, uneven, imbalance)

    @classmethod
    def expected(cls, vertices: int, edges: int) -> Shape:
        """The shape of a graph of this size whose edges lead from random vertices to random vertices."""
        mean = edges / max(vertices, 1)
        lists = round(vertices * -math.expm1(-mean))
        alike = equal_lengths(mean)
        near, far = (math.exp(-window * LINE / max(vertices, 1)) for window in (NEAR, FAR))
        return cls(lists, round(vertices * (1 - alike)), near, far, 1.0, 1.0)

    def imbalance_of(self, partitions: int) -> float:
        """The most lists that one of so many partitions has, each with equally many edges, divided by their mean.

        Each partition's halves are taken to be as unequal as those of all edges.
        """
        return float(self.imbalance ** math.log2(partitions))


def middle(offsets: Array) -> int:
    """The number of vertices whose lists begin in the first half of the edges."""
    return int(np.searchsorted(offsets[:-1], offsets[-1] / 2))


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
    shares = []
    for _, sources in samples(edges, 2 * window):
        skip = window if len(sources) > window else 0
        shares.append(float(np.mean(since_last(sources // LINE)[skip:] > window)))
    return float(np.mean(shares))


def samples(edges: Adjacency, length: int) -> Iterator[tuple[int, Array]]:
    """The sources of up to `length` edges at each of `SAMPLES` places, with the index of the first edge."""
    sources, count = edges.neighbour_array, len(edges.neighbour_array)
    firsts = np.unique(np.linspace(0, max(count - length, 0), SAMPLES).astype(np.int64) // RUN * RUN)
    for first in firsts.tolist():
        last = min(first + length, count)
        yield first, decoded(sources.slice(first, last), LISTS, None, edges.offsets, first)[: last - first]


def irregular(edges: Adjacency) -> float:
    """The share of the lists that are not the list before with all ids one larger; among the whole lists in samples."""
    alike = lists = 0
    for first, sources in samples(edges, 2 * FAR):
        begin, end = np.searchsorted(edges.offsets, (first, first + len(sources) + 1))
        ends = edges.offsets[begin:end] - first  # those of whole lists
        degrees = np.diff(ends)
        owners = np.repeat(np.arange(len(degrees)), degrees)
        places = np.arange(len(owners)) + ends[:1].sum()
        before = np.maximum(places - degrees[owners], 0)  # the same place of the list before, if that is as long
        others = np.bincount(owners, sources[places] != sources[before] + 1, len(degrees))
        has_edges = degrees[1:] > 0
        alike += int(np.count_nonzero(has_edges & (degrees[1:] == degrees[:-1]) & (others[1:] == 0)))
        lists += int(np.count_nonzero(has_edges))
    return 1 - alike / lists if lists else 1.0


def since_last(lines: Array) -> Array:
    """For each line, how many places before it was read last; very many if it was not."""
    order = np.argsort(lines, kind="stable")
    again = lines[order[1:]] == lines[order[:-1]]
    since = np.full(len(lines), np.iinfo(np.int64).max)
    since[order[1:][again]] = np.diff(order)[again]
    return since
