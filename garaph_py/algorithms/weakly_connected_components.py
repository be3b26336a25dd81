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
from ..native.threads import ThreadPool
from ..output.result import Result
from ..pages.memory import MemoryNeeds, pass_page_edges
from ..pages.passes import plain
from ..pages.provider import SourceFactory
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from . import hooking
from .in_memory import Call, Work, called
from .runs import Runs, wants_gpu

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
def weakly_connected_components(graph: Graph, *, device: str = ANY, threads: int | None = None) -> Result:
    """The components of a graph whose edges can be followed in both directions.

    Parameters
    ----------
    graph : Graph
        If it is undirected, these are its connected components.
    device : {"auto", "cpu", "gpu", "hybrid"}
        Where the vertex program runs, as for `garaph_py.run`. Over a directed graph it runs only if this is ``"gpu"``
        or ``"hybrid"``. Otherwise a kernel on the CPU finds the components, which is faster (see Notes).
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
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    On an undirected graph, it runs the vertex program `garaph_py.apps.ConnectedComponents`.

    On a directed one, kernels of its own join the ends of edges by union-find on all cores of the CPU, which needs each
    edge in one direction only. If the edges are in memory and not packed, most are left out as in [1]_: two in-edges of
    each vertex are joined first, and then the in-edges and out-edges of those vertices that are outside the largest
    tree. Packed edges and edges on disk are all read once. On a GPU, a vertex program passes over all edges in both
    directions a few times, and the CPU joins trees in between [2]_.

    References
    ----------
    .. [1] Sutton, M., T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via subgraph sampling",
       IPDPS 2018.
    .. [2] Zhang, Y., A. Azad, Z. Hu, "FastSV: a distributed-memory connected component algorithm with fast
       convergence", SIAM Conference on Parallel Processing for Scientific Computing 2020.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b"], ["b", "c"], vertices=["a", "b", "c", "d"])
    >>> gp.algorithms.weakly_connected_components(graph).to_dict()
    {'a': 'a', 'b': 'a', 'c': 'a', 'd': 'd'}
    """
    name = "weakly_connected_components"
    check_graph(graph, name)
    if not graph.directed:
        return run(ConnectedComponents(), graph, device=device, threads=threads)
    if wants_gpu(device):
        runs = Runs(graph, device, threads, hooking.VERTEX_BYTES)
        return runs.result(as_labels(hooking.hooked(runs)), name, ("value",))
    with called(graph, name, [LINK_LISTS, FLATTEN, LABEL], threads) as call:
        parents = np.arange(graph.n, dtype=np.uint32)
        if graph.encoding == RAW and not graph.on_disk:
            sides = [(side.offsets, side.neighbours) for side in (call.arrays.in_edges, call.arrays.out_edges)]
            linked = link_most(call, sides, parents)
        else:
            linked = link_all(call, parents)
        settle(call, parents)
        return call.result(as_labels(parents), linked, ("value",))


def as_labels(vertices: Array) -> Array:
    """Vertices, which are uint32, in the type of `ConnectedComponents`."""
    return vertices.view(np.int32) if len(vertices) < 1 << 31 else vertices.astype(np.int64)


def link_most(work: Work, sides: list[tuple[Array, Array]], parents: Array) -> int:
    """Join the ends of all edges in memory, but not of those between vertices that are in the largest tree already.

    Together, the lists of `sides` have each edge at both ends, so an edge between the largest tree and another vertex
    is found in that vertex's list. Returns how many entries of lists were visited.
    """
    chosen = np.ones(work.n, np.uint8)
    linked = work.on_vertices(LINK_LISTS, *sides[0], 0, FIRST_EDGES, chosen, parents).sum()
    work.on_vertices(FLATTEN, parents)
    if work.n:
        np.not_equal(parents, most_frequent(parents), out=chosen)
    return int(linked) + sum(link_chosen(work, side, chosen, parents) for side in sides)


def link_chosen(work: Work, side: tuple[Array, Array], chosen: Array, parents: Array) -> int:
    """Join the ends of all edges in the lists of the `chosen` vertices; return how many there are."""
    offsets, others = side
    return int(
        work.on_vertices(LINK_LISTS, offsets, others, 0, len(others), chosen, parents, offsets=offsets).sum()
    )  # fmt: skip


def labels_of(offsets: Array, others: Array, both: bool, threads: int | None) -> Array:
    """The component of each vertex, as its least vertex. The lists of edges are in memory, and may be in any order.

    `both` says whether each edge is in the lists of both its ends.
    """
    n = len(offsets) - 1
    parents, lists = np.arange(n, dtype=np.uint32), (offsets, others)
    with ThreadPool(threads) as pool:
        work = Work(pool, n)
        if both:
            link_most(work, [lists], parents)
        else:
            link_chosen(work, lists, np.ones(n, np.uint8), parents)
        settle(work, parents)
    return parents


def settle(work: Work, parents: Array) -> None:
    """Make each vertex's parent the root of its tree, which is the tree's least vertex."""
    work.on_vertices(FLATTEN, parents)
    work.on_vertices(LABEL, parents)


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
