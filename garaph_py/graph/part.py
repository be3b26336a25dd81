"""`Part`: some of a graph's vertices with all their in-edges, as a graph of its own.

A part *owns* a range of the vertices of the undivided graph. The sources of its in-edges that other parts own are its
*mirrors*. Its graph numbers both in the order of the undivided graph, so lists of edges stay in order, the own vertices
are a range here too, and the mirrors that another part owns are one. Mirrors have no in-edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..native.threads import ThreadPool
from .adjacency import Adjacency
from .arrays import GraphArrays
from .graph import Graph
from .ids import IntegerIds
from .place import Place, pieces_within
from .transpose import reversed_edges

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Cuts:
    """Where a graph is cut into parts.

    Attributes
    ----------
    vertices : ndarray of int64, shape (parts + 1,)
        Part p owns the vertices from ``vertices[p]`` up to ``vertices[p + 1]``.
    pieces : ndarray of int64, shape (k, 2)
        First edge and first vertex of each piece of work into which one machine divides the graph, and its end: so
        sums of floats have the same bits (`Place.pieces`).
    """

    vertices: Array
    pieces: Array

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.vertices) - 1


@dataclass(frozen=True)
class Part:
    """One part of a graph.

    Attributes
    ----------
    graph : Graph
        The own vertices and the mirrors, with the in-edges of the own ones. The ids are the numbers that the vertices
        have in the undivided graph.
    place : Place
        What the undivided graph knows of these vertices.
    """

    graph: Graph
    place: Place = field(repr=False)

    @property
    def own(self) -> tuple[int, int]:
        """First and last of the own vertices, as the part's graph numbers them."""
        return self.place.own

    def mirrors(self, part: int) -> tuple[int, int]:
        """First and last of the mirrors that another `part` owns, as the part's graph numbers them."""
        return self.place.of_part(part)

    def wanted(self, part: int) -> Array:
        """The mirrors that another `part` owns: uint32, by their numbers in the undivided graph, ascending."""
        return self.place.wanted(part)

    def local(self, numbers: Array) -> Array:
        """How the part's graph numbers own vertices or mirrors, which are given by their `numbers`.

        Raises
        ------
        GraphError
            If it lacks one of them.
        """
        found = np.searchsorted(self.place.numbers, numbers)
        if not np.array_equal(self.place.numbers[np.minimum(found, len(self.place.numbers) - 1)], numbers):
            raise GraphError(f"part {self.place.part} lacks vertices that another part mirrors; partition again")
        return found

    def arrays(self) -> dict[str, Array]:
        """The part as named arrays, of which `of` makes it again; its edges must be in memory, and are raw there."""
        into = self.graph._arrays.in_edges
        edges = {"offsets": into.offsets, "sources": into.neighbours}
        if into.values is not None:
            edges["values"] = into.values
        return edges | self.place.arrays()

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Part:
        """The part that `arrays` describe, without out-edges: a run that only pulls needs none."""
        into = Adjacency(arrays["offsets"], arrays["sources"], arrays.get("values"))
        return without_out_edges(into, Place.of(arrays))

    def with_out_edges(self, threads: int | None = None) -> Part:
        """The part with the reverse of its edges, which is made here if it has none."""
        into, out = self.graph._arrays.in_edges, self.graph._arrays.out_edges
        if out.offsets is not self.place.degree_offsets:
            return self
        with ThreadPool(threads) as pool:
            return of_edges(into, reversed_edges(into, len(into.offsets) - 1, pool), self.place)

    def on(self, graph: Graph) -> Part:
        """The same part, with the same edges in another form: `graph` has them packed, or on disk."""
        return replace(self, graph=graph._replace(place=self.place))


def of_edges(into: Adjacency, out: Adjacency, place: Place) -> Part:
    """The part with these edges in both directions."""
    return Part(Graph(GraphArrays(into, out, IntegerIds(place.numbers.astype(np.int64)), place=place)), place)


def without_out_edges(into: Adjacency, place: Place) -> Part:
    """The part with these in-edges alone. The offsets of its out-edges are sums of the undivided graph's degrees."""
    return of_edges(into, Adjacency(place.degree_offsets, np.empty(0, np.uint32)), place)


def part_of(graph: Graph, cuts: Cuts, part: int, threads: int | None = None) -> Part:
    """Cut one part out of a graph in memory, with its out-edges.

    Raises
    ------
    GraphError
        If the edges are on disk, and do not fit in memory.
    """
    return cut_out(graph, cuts, part).with_out_edges(threads)


def cut_out(graph: Graph, cuts: Cuts, part: int) -> Part:
    """Cut one part out of a graph in memory, without out-edges.

    Raises
    ------
    GraphError
        If the edges are on disk, and do not fit in memory.
    """
    arrays = graph._arrays
    first, last = map(int, cuts.vertices[part : part + 2])
    offsets = arrays.in_edges.offsets
    first_edge, last_edge = int(offsets[first]), int(offsets[last])
    sources, values = arrays.in_edges.part(first_edge, last_edge)
    is_there = np.zeros(graph.n, np.bool_)
    is_there[sources] = True
    is_there[first:last] = True
    numbers = np.flatnonzero(is_there).astype(np.uint32)
    place = placed(
        part, (graph.n, graph.m, graph.directed), cuts, numbers,
        (np.diff(offsets)[numbers], np.diff(arrays.out_edges.offsets)[numbers]), (first_edge, last_edge),
    )  # fmt: skip
    local = places_of(numbers, graph.n)[sources]
    return without_out_edges(Adjacency(local_offsets(place, offsets[first : last + 1]), local, values), place)


def placed(
    part: int, whole: tuple[int, int, bool], cuts: Cuts, numbers: Array, degrees: tuple[Array, Array],
    edges: tuple[int, int],
) -> Place:  # fmt: skip
    """The place of a part.

    Parameters
    ----------
    part : int
    whole : tuple
        Vertices and edges of the undivided graph, and whether it is directed.
    cuts : Cuts
        Of the pieces, those that have edges of the part are enough.
    numbers : ndarray of uint32
        The numbers of the part's vertices, ascending.
    degrees : tuple of ndarray
        Their in-degrees and out-degrees in the undivided graph.
    edges : tuple of int
        The first of the part's in-edges in the undivided graph, and the one after the last.
    """
    first, last = map(int, cuts.vertices[part : part + 2])
    own = int(np.searchsorted(numbers, first))
    pieces = pieces_within(cuts.pieces, (edges[0], first), (edges[1], last)) - (edges[0], first - own)
    return Place(part, *whole, cuts.vertices, numbers, *degrees, pieces)


def places_of(numbers: Array, n: int) -> Array:
    """How a part numbers its vertices, by their `numbers` in the undivided graph: uint32, shape (n,)."""
    places = np.empty(n, np.uint32)
    places[numbers] = np.arange(len(numbers), dtype=np.uint32)
    return places


def local_offsets(place: Place, offsets: Array) -> Array:
    """The offsets of the part's graph; `offsets` are those of the own vertices in the undivided graph."""
    first, last = place.own
    local = np.zeros(len(place.numbers) + 1, np.int64)
    local[first : last + 1] = offsets - offsets[0]
    local[last + 1 :] = offsets[-1] - offsets[0]
    return local
