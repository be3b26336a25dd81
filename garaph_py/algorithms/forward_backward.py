"""Strongly connected components by vertex programs, which a GPU may run, and whose edges may be on disk.

The component of a vertex consists of the vertices that it reaches, and that reach it. Two searches from one vertex,
forward and backward, so find the largest component [Fleischer et al. 2000]. Then searches start at many vertices at
once, in rounds: each vertex gets as its *colour* the largest rank of the vertices that reach it, itself included. The
vertex of that rank is the colour's *root*, and those of its colour that reach it back are its component [Orzan 2004;
Slota et al. 2014].

In the next round, vertices are ranked by their colours first. An edge leads to a colour that is at least as large, so
the ranks that a vertex gets from other colours are below its own, and each colour is coloured by itself. Within colours
ranks are random. So the vertices of its colour that reach a vertex become half as many on the average, and O(log n)
rounds find all components of any graph, as in Blelloch et al. 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import reached_over, strong_components
from ..dispatch.policy import PUSH_THRESHOLD
from ..errors import VerificationError
from ..graph import Graph
from ..pages.passes import listed
from ..program import PerVertex, VertexProgram
from ..program.monoids import add
from ..program.monoids import max as maximum
from ..program.monoids import min as minimum
from .runs import Runs
from .seeds import generator

Array = npt.NDArray[Any]

NONE = 0xFFFFFFFF
"""The label of a vertex whose component is not known yet; vertices have smaller numbers."""
SETTLED, SETTLED_BACK = 0xFFFFFFFF, -1
"""The values of vertices whose component is known, in `Colour` and in `Return`. Nothing replaces them, and no search
goes through these vertices."""
VERTEX_BYTES = 22
"""Bytes of a vertex's label, rank and colour, of the value with which a run starts, and of whether it is left and is a
root."""


class Trim(VertexProgram):
    """Which of the vertices `left` (1, others 0) remain if those without an in-edge from a remaining one are removed,
    again and again: those to which a path leads from a cycle."""

    left: PerVertex

    value = np.int64
    sum = add

    def init(self, left):
        return left

    def gather(self, src):
        return src

    def delta(self, new, old):
        return new - old

    def apply(self, old, acc):
        return old if acc > 0 else 0

    def verify(self, graph, result):
        verify_trimmed(graph, np.broadcast_to(self.left, graph.n) != 0, result.values != 0)


class TrimBack(Trim):
    """The same over out-edges."""

    gathers = "out"


class Colour(VertexProgram):
    """The largest of the first values, which are ranks from 1 on, of the vertices that reach a vertex; 0 for none.

    Paths do not lead through vertices that are `SETTLED`.
    """

    first: PerVertex

    value = np.uint32
    sum = maximum
    monotone = True

    def init(self, first):
        return first

    def frontier(self, value):
        return value != 0 and value != SETTLED

    def gather(self, src):
        return src if src != SETTLED else self.identity

    def verify(self, graph, result):
        verify_spread(graph, np.broadcast_to(self.first, graph.n), result.values, result.values != SETTLED, np.maximum)


class Return(VertexProgram):
    """Which vertices reach the root of their colour.

    The value is twice the colour at the root and at the vertices that have been found to reach it, and 1 more at all
    others. An edge leads to a colour that is at least as large. So from an edge to another colour, a vertex gets a
    larger value than it has, which changes nothing.
    """

    first: PerVertex

    gathers = "out"
    value = np.int64
    sum = minimum
    monotone = True

    def init(self, first):
        return first

    def frontier(self, value):
        return value % 2 == 0

    def gather(self, src):
        return src if src % 2 == 0 else self.identity

    def verify(self, graph, result):
        verify_spread(graph, np.broadcast_to(self.first, graph.n), result.values, result.values % 2 == 0, np.minimum)


def label_components(runs: Runs) -> Array:
    """The least vertex of the strongly connected component of each vertex of a directed graph: uint32, shape (n,)."""
    graph = runs.graph
    alone = (graph.in_degrees == 0) | (graph.out_degrees == 0)  # the first step of trimming, which needs no edges
    labels = np.where(alone, np.arange(graph.n, dtype=np.uint32), np.uint32(NONE))
    ranks, colours = generator(0).permutation(graph.n).astype(np.uint32), np.zeros(graph.n, np.uint32)
    left = ~alone
    if left.any():
        colours = search(runs, labels, first_ranks(graph, left))
        trim(runs, labels)
    while (left := labels == NONE).any():
        rank(left, colours, ranks)
        colours = search(runs, labels, ranks)
    return labels


def first_ranks(graph: Graph, left: Array) -> Array:
    """Rank 1 for one of the vertices that are `left`, and 0 for all others.

    It is the vertex with the most pairs of an in-edge and an out-edge, whose component is probably the largest.
    """
    ranks = np.zeros(graph.n, np.uint32)
    ranks[np.argmax(graph.in_degrees.astype(np.float64) * graph.out_degrees * left)] = 1
    return ranks


def trim(runs: Runs, labels: Array) -> None:
    """Label vertices that are on no cycle of vertices without a label, if these vertices have many edges.

    If they have few, the searches for colours follow only these, and trimming would pass over all edges.
    """
    left = labels == NONE
    if runs.graph.out_degrees[left].sum() > PUSH_THRESHOLD * runs.graph.m:
        for kind in (Trim, TrimBack):
            left = runs(kind(left), sync=False) != 0
        alone = np.flatnonzero((labels == NONE) & ~left)
        labels[alone] = alone


def rank(left: Array, colours: Array, ranks: Array) -> None:
    """Give the vertices that are `left` ranks from 1 on: in the order of their colours and, within one, of `ranks`."""
    places = np.flatnonzero(left)
    order = np.lexsort((ranks[places], colours[places]))
    ranks[places[order]] = np.arange(1, len(places) + 1)


def search(runs: Runs, labels: Array, ranks: Array) -> Array:
    """Label the components of the roots of colours; return the colour of each vertex.

    `ranks` are 0 for vertices that are no roots.
    """
    left = labels == NONE
    colours = runs(Colour(np.where(left, ranks, np.uint32(SETTLED))))
    is_root = (colours == ranks) & (ranks > 0)
    back = runs(Return(np.where(left, 2 * colours.astype(np.int64) + ~is_root, SETTLED_BACK)))
    found = np.flatnonzero(left & (back % 2 == 0))
    least = np.empty(len(labels) + 1, np.uint32)
    least[colours[found[::-1]]] = found[::-1]  # of several vertices of a colour, the first is written last
    labels[found] = least[colours[found]]
    return colours


def verify_spread(graph: Graph, first: Array, values: Array, passes_on: Array, better: Callable[..., Array]) -> None:
    """Raise `VerificationError` unless each value is the best of the vertex's first one and of those that reach it.

    A value goes along the out-edges of vertices that pass it on. It checks three properties: no value is worse than the
    first one; none is worse than one that an in-edge brings; and each was a first one, or came from a vertex where it
    was.
    """
    if (better(values, first) != values).any():
        raise VerificationError("a value is worse than the first one")
    for edges in listed(graph, values=False):
        u, v = edges.sources, edges.targets
        if (passes_on[u] & (better(values[u], values[v]) != values[v])).any():
            raise VerificationError("a value is worse than that of an in-neighbour")
    own = values == first
    reached = reached_over(
        graph, own, ~own, lambda one: passes_on[one.sources] & (values[one.sources] == values[one.targets])
    )
    if not reached.all():
        raise VerificationError("a value is not that of a vertex from which a path leads")


def verify_trimmed(graph: Graph, left: Array, kept: Array) -> None:
    """Raise `VerificationError` unless the vertices `kept` are those of `left` to which a path leads from a cycle.

    It checks three properties: only vertices of `left` are kept; of these, those with an in-edge from one that is kept;
    and the others have no cycle.
    """
    removed, supported, ends = left & ~kept, np.zeros(graph.n, bool), list[Array]()
    for edges in listed(graph, values=False):
        pair = np.stack((edges.sources, edges.targets))
        supported[edges.targets[kept[edges.sources]]] = True
        ends.append(pair[:, removed[pair].all(axis=0)])
    if (kept != (left & supported)).any():
        raise VerificationError("a vertex is kept without an in-neighbour that is, or removed beside one")
    u, v = np.concatenate([np.empty((2, 0), np.uint32), *ends], axis=1)
    if (u == v).any() or strong_components(graph.n, u, v)[0] != graph.n:
        raise VerificationError("a cycle is removed")
