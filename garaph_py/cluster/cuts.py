"""Where to cut a graph into parts: between pieces of work of one machine, at given shares of the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..executor.cpu.runs import VERTEX_EDGES, piece_count, pieces_of
from ..graph import Graph
from ..graph.part import Cuts
from ..pages.memory_source import memory_layout
from ..storage.partition import MOST_PARTS

Array = npt.NDArray[Any]


def cut(graph: Graph, parts: int, shares: Sequence[float] | Array | None = None) -> Cuts:
    """Cut a graph into `parts` parts of contiguous vertices, whose numbers of in-edges are as near to the shares as
    possible.

    A part begins where a piece of work begins, so that totals of floats have the bits of one machine. A graph with
    fewer pieces than parts (less than some 8,192 edges for each) is cut between any vertices.

    Parameters
    ----------
    shares : sequence of float, optional
        The proportions of the parts' edges; by default equal.

    Raises
    ------
    ParameterError
        If `parts` is not a number from 1 to `MOST_PARTS`.
    """
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS:
        raise ParameterError(f"parts={parts!r}: give a number of parts from 1 to {MOST_PARTS:,}")
    offsets = graph._arrays.in_edges.offsets
    pieces = all_pieces(offsets)
    begins = np.unique(pieces[:, 1])
    bounds = begins if len(begins) > parts else np.arange(graph.n + 1)
    until = np.cumsum(np.ones(parts) if shares is None else shares)
    wanted = until[:-1] / until[-1] * cost_before(offsets, np.array([graph.n]))[0]
    costs = cost_before(offsets, bounds)
    after = np.minimum(np.searchsorted(costs, wanted), len(bounds) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(wanted - costs[before] < costs[after] - wanted, before, after)
    return Cuts(np.concatenate(([0], bounds[nearest], [graph.n])).astype(np.int64), pieces)


def most_parts(graph: Graph) -> int:
    """The most parts into which a cluster may cut a graph: one for each piece of work, so that floats have the bits of
    one machine."""
    pieces = all_pieces(graph._arrays.in_edges.offsets)
    return max(1, len(np.unique(pieces[:, 1])) - 1)


def part_edges(graph: Graph, cuts: Cuts) -> Array:
    """How many in-edges each part has: int64, shape (parts,)."""
    edges: Array = np.diff(graph._arrays.in_edges.offsets[cuts.vertices])
    return edges


def part_costs(graph: Graph, cuts: Cuts) -> Array:
    """What each part costs in a superstep over all edges, in units of an edge: int64, shape (parts,)."""
    costs: Array = np.diff(cost_before(graph._arrays.in_edges.offsets, cuts.vertices))
    return costs


def cost_before(offsets: Array, vertices: Array) -> Array:
    """The cost of the vertices before each of these, with their in-edges, in units of an edge."""
    cost: Array = offsets[vertices] + VERTEX_EDGES * vertices
    return cost


def all_pieces(offsets: Array) -> Array:
    """The bounds of all pieces into which one machine divides the in-edges: int64, shape (k, 2), edge and vertex."""
    found = [np.zeros((1, 2), np.int64)]
    for page in memory_layout(offsets):
        count = piece_count(page.edges + VERTEX_EDGES * page.vertices)
        found.append(np.stack(pieces_of(offsets, page, VERTEX_EDGES, count), axis=1))
    return np.concatenate(found)
