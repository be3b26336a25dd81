"""Graphs from adjacency lists in a file: `graph.csr`, with errors that name the file."""

from __future__ import annotations

from pathlib import Path

from ... import events
from ...errors import FormatError
from ...graph import csr
from ...graph.adjacency import Adjacency
from ...graph.arrays import GraphArrays
from ...graph.csr import Lists, directed_graph
from ...graph.graph import Graph
from ...graph.ids import VertexIds
from ...graph.transpose import transposed
from ...native.threads import ThreadPool


def checked(
    path: Path, adjacency: Adjacency, place: int, width: int, pool: ThreadPool, listener: events.Listener
) -> Lists:
    """Check the neighbours of `adjacency`, whose offsets have been checked.

    Parameters
    ----------
    place, width : int
        Offset of the first neighbour in the file, and bytes of each: for messages.

    Raises
    ------
    FormatError
        If a neighbour is not below the number of vertices.
    """
    offsets, neighbours = adjacency.offsets, adjacency.neighbours

    def wrong(edge: int) -> FormatError:
        problem = f"edge {edge} leads to vertex {neighbours[edge]}, but there are {len(offsets) - 1}"
        return FormatError(path, problem, offset=place + width * edge)

    return csr.inspected(adjacency, pool, listener, wrong)


def undirected_graph(path: Path, lists: Lists, ids: VertexIds, pool: ThreadPool, listener: events.Listener) -> Graph:
    """The undirected graph of lists that have every edge in both directions.

    Raises
    ------
    FormatError
        If they have not.
    """

    def wrong() -> FormatError:
        return FormatError(
            path,
            "not an undirected graph: not every edge is there in both directions, with equal values; read it with "
            "directed=True, and symmetrize it if you like",
        )

    return csr.undirected_graph(lists, ids, pool, listener, wrong)


def graph_of(path: Path, out: Lists, directed: bool, pool: ThreadPool, listener: events.Listener) -> Graph:
    """The directed or undirected graph of out-lists; vertices are 0 to n - 1."""
    ids = VertexIds(len(out.adjacency.offsets) - 1)
    if directed:
        return directed_graph(out, ids, pool, listener)
    return undirected_graph(path, out, ids, pool, listener)


def weighted_out_edges(arrays: GraphArrays) -> Adjacency:
    """The out-edges with their values, for writers; a directed graph has values at its in-edges only."""
    if not arrays.directed:
        return arrays.in_edges
    with ThreadPool() as pool:
        return transposed(arrays.in_edges, pool, events.ignore)
