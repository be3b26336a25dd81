"""Weakly connected components."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import ConnectedComponents
from ..codec.arrays import RAW
from ..executor.components import FIRST_EDGES
from ..executor.cpu.components import find_root, link, most_frequent, root_of
from ..graph import Graph
from ..graph.arguments import check_graph
from ..native import Kernel
from ..output.result import Result
from ..pages.memory import MemoryNeeds, pass_page_edges
from ..pages.passes import plain
from ..pages.provider import SourceFactory
from ..runtime.run import run
from ..system.arguments import explained
from .in_memory import Call, called

Array = npt.NDArray[Any]

VERTEX_BYTES = 13
"""Bytes of a vertex's parent, of whether it is chosen, and of its label."""


# wide: a compiled function takes its arrays one by one.
def link_lists(first, last, offsets, others, base, most, chosen, parents):
    """Join the trees of each vertex of [first, last) that is `chosen` and of the first `most` vertices in its list.

    The vertex at place e of the lists is ``others[e - base]``. Returns how many were joined.
    """
    linked = np.int64(0)
    for v in range(first, last):
        if chosen[v]:
            end = min(offsets[v + 1], offsets[v] + most)
            for e in range(offsets[v], end):
                link(parents, np.int64(others[e - base]), v)
            linked += end - offsets[v]
    return linked


def flatten(first, last, parents):
    """Make the root of its tree the parent of each vertex of [first, last)."""
    for v in range(first, last):
        parents[v] = np.uint32(root_of(parents, v))
    return 0


def label(first, last, parents):
    """The same after `flatten`, of which a thread may have given a vertex of another one a parent that is no root."""
    for v in range(first, last):
        parents[v] = np.uint32(find_root(parents, v))
    return 0


LINK_LISTS = Kernel("i64 i64 i64* u32* i64 i64 u8* u32*", link_lists)
FLATTEN, LABEL = Kernel("i64 i64 u32*", flatten), Kernel("i64 i64 u32*", label)


@explained
def weakly_connected_components(graph: Graph, *, threads: int | None = None) -> Result:
    """The components of a graph whose edges can be followed in both directions.

    Parameters
    ----------
    graph : Graph
        If it is undirected, these are its connected components.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        The component of each vertex: the vertex with the smallest internal id in it. ``result.column()`` and tables
        have the user's id of that vertex.

    Raises
    ------
    GraphError
        If the edges are on disk, and the graph was opened with too little memory to read them.

    Notes
    -----
    On an undirected graph, it runs the vertex program `garaph_py.apps.ConnectedComponents`. On a directed one, kernels
    of its own join the ends of edges by union-find on all cores of the CPU, which needs each edge in one direction
    only. If the edges are in memory and not packed, most are left out as in [1]_: two in-edges of each vertex are
    joined first, and then the in-edges and out-edges of those vertices that are outside the largest tree. Packed edges
    and edges on disk are all read once.

    References
    ----------
    .. [1] Sutton, M., T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via subgraph sampling",
       IPDPS 2018.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b"], ["b", "c"], vertices=["a", "b", "c", "d"])
    >>> gp.algorithms.weakly_connected_components(graph).to_dict()
    {'a': 'a', 'b': 'a', 'c': 'a', 'd': 'd'}
    """
    name = "weakly_connected_components"
    check_graph(graph, name)
    if not graph.directed:
        return run(ConnectedComponents(), graph, threads=threads)
    with called(graph, name, [LINK_LISTS, FLATTEN, LABEL], threads) as call:
        parents = np.arange(graph.n, dtype=np.uint32)
        linked = (link_most if graph.encoding == RAW and not graph.on_disk else link_all)(call, parents)
        call.on_vertices(FLATTEN, parents)
        call.on_vertices(LABEL, parents)
        labels = parents.view(np.int32) if graph.n < 1 << 31 else parents.astype(np.int64)
        return call.result(labels, linked, ("value",))


def link_most(call: Call, parents: Array) -> int:
    """Join the ends of all edges in memory, but not of those between vertices that are in the largest tree already.

    Such an edge is found neither at its target nor at its source. Returns how many edges were visited.
    """
    arrays, chosen = call.arrays, np.ones(call.graph.n, np.uint8)
    into, out = arrays.in_edges, arrays.out_edges
    linked = call.on_vertices(LINK_LISTS, into.offsets, into.neighbours, 0, FIRST_EDGES, chosen, parents).sum()
    call.on_vertices(FLATTEN, parents)
    if call.graph.n:
        np.not_equal(parents, most_frequent(parents), out=chosen)
    for side in (into, out):
        linked += call.on_vertices(
            LINK_LISTS, side.offsets, side.neighbours, 0, call.graph.m, chosen, parents, offsets=side.offsets
        ).sum()
    return int(linked)


def link_all(call: Call, parents: Array) -> int:
    """Join the ends of all edges, page by page; return how many there are."""
    graph, offsets = call.graph, call.arrays.in_edges.offsets
    everywhere = np.ones(graph.n, np.uint8)
    with SourceFactory(graph, reads_values=False) as sources:
        sources.divide(MemoryNeeds(graph.nbytes + graph.ids.nbytes + VERTEX_BYTES * graph.n))
        source = sources.into(pass_page_edges(graph, sources.room))
        for first, last, others, _ in plain(source, offsets, call.pool, values=False):
            call.on_vertices(
                LINK_LISTS, offsets, others, offsets[first], graph.m, everywhere, parents,
                offsets=offsets, first=first, last=last,
            )  # fmt: skip
    return graph.m


def count_labels(label: Array) -> int:
    """The number of components, each labelled by its least vertex."""
    return int(np.count_nonzero(label == np.arange(len(label))))
