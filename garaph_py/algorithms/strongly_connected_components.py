"""Strongly connected components."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import BFS
from ..errors import GraphError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..native import Kernel
from ..output.result import Result
from ..runtime.options import ANY
from ..system.arguments import explained
from .forward_backward import NONE, VERTEX_BYTES, label_components
from .in_memory import Call, in_memory
from .runs import Runs, by_programs

Array = npt.NDArray[Any]

SEARCHED = 1 << 20
"""Edges from which on the component of a vertex with many edges is searched from it, forward and backward: two
searches then take less time than a depth-first search over that component (docs/results/library.md)."""
SAMPLE = 1 << 12
"""Edges that are looked at to see how close together the numbers of neighbours are."""
NEAR, MANY_NEAR = 1 / 64, 0.25
"""If of a quarter of the edges the ends' numbers differ by at most a 64th of all vertices, a depth-first search finds
most of what it needs in the cache, and takes less time than two searches (docs/decisions/algorithms.md)."""


# wide: a compiled function takes its arrays one by one.
def search_depth_first(n, offsets, others, least, cursors, path, entered, stack, labels, finished):
    """Label the strongly connected components of the vertices without a label: a depth-first search [Tarjan 1972].

    ``path[: depth + 1]`` are the vertices from the root of the search to the present one, ``entered`` says when the
    search came to them, ``cursors`` at which of their edges it is, and the stack holds all visited vertices without a
    label. ``least[v]`` is the earliest time at which the search came to a vertex that v is known to reach, 0 if it has
    not come to v, and `NONE` if v has a label. The labelled vertices are written to `finished`, a component after
    those that it leads to. Returns how many they are.
    """
    time, held, done = np.int64(0), np.int64(0), np.int64(0)
    for root in range(n):
        if least[root] != 0:
            continue
        depth, v, enters = np.int64(-1), np.int64(root), True
        while True:
            if enters:
                time += 1
                depth += 1
                path[depth], entered[depth], stack[held] = v, time, v
                held += 1
                least[v], cursors[depth] = time, offsets[v]
                enters = False
            low, e, end = np.int64(least[v]), cursors[depth], offsets[v + 1]
            w = v
            while e < end and not enters:
                w = np.int64(others[e])
                e += 1
                enters = least[w] == 0
                if not enters:
                    low = min(low, np.int64(least[w]))
            least[v] = low
            if enters:
                cursors[depth], v = e, w
                continue
            if low == entered[depth]:
                begin = pop_component(stack, held, v, labels, least)
                for place in range(begin, held):
                    finished[done] = stack[place]
                    done += 1
                held = begin
            depth -= 1
            if depth < 0:
                break
            parent = np.int64(path[depth])
            if low < least[parent]:  # not so if v has a label: it then is later than its parent
                least[parent] = low
            v = parent
    return done


def pop_component(stack, held, v, labels, least):
    """Take the vertices from `v` on off the stack, which are a component, and label them with the least of them."""
    begin, name = held - 1, np.int64(stack[held - 1])
    while stack[begin] != v:
        begin -= 1
        name = min(name, np.int64(stack[begin]))
    for place in range(begin, held):
        labels[stack[place]], least[stack[place]] = name, NONE
    return begin


SEARCH_DEPTH_FIRST = Kernel("i64 i64* u32* u32* i64* u32* u32* u32* u32* u32*", search_depth_first)


def check_directed(graph: Any, function: str, advice: str = "call weakly_connected_components") -> None:
    """Refuse what is no directed graph, in a call of `function`."""
    check_graph(graph, function)
    if not graph.directed:
        raise GraphError(f"{function} needs a directed graph, and this one is undirected; {advice}")


def neighbours_are_near(graph: Graph) -> bool:
    """Whether the numbers of neighbours are often close together, as in meshes and in files that crawlers write."""
    offsets, others = lists_of(graph)
    edges = np.linspace(0, graph.m - 1, SAMPLE).astype(np.int64)
    owners = np.searchsorted(offsets, edges, "right") - 1
    return bool((np.abs(owners - others[edges]) <= NEAR * graph.n).mean() >= MANY_NEAR)


def label_largest(call: Call, labels: Array) -> None:
    """Label the component of the vertex with the most pairs of an in-edge and an out-edge, probably the largest.

    It consists of the vertices that this one reaches, and that reach it.
    """
    graph = call.graph
    pivot = int(np.argmax(graph.in_degrees.astype(np.float64) * graph.out_degrees))
    program = BFS(source=graph.ids[pivot])
    forward, backward = (call.run(program, each) for each in (graph, graph._reversed(valued=False)))
    found = (forward.values["level"] >= 0) & (backward.values["level"] >= 0)
    labels[found] = np.argmax(found)


@explained
def strongly_connected_components(graph: Graph, *, device: str = ANY, threads: int | None = None) -> Result:
    """The strongly connected components of a directed graph: each vertex of one reaches all others of it.

    Parameters
    ----------
    graph : Graph
        Directed.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, or if the edges are on disk, vertex programs find the components, on the
        device that `garaph_py.run` would use. Otherwise a kernel on the CPU finds them, which is faster (see Notes).
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        The component of each vertex: the vertex with the smallest internal id in it, as `ConnectedComponents` reports.
        ``result.column()`` and tables have the user's id of that vertex. NetworkX gives sets of vertices:
        ``result.to_pandas().groupby("value").groups`` has these.

    Raises
    ------
    GraphError
        If the graph is undirected, or its edges are on disk, and it was opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used. If each vertex has only in-edges or only
        out-edges, nothing is run, and no GPU is looked for.

    Notes
    -----
    Real graphs have one large component. Two searches find it, which run as vertex programs: forward and backward from
    a vertex with many edges [1]_ [2]_.

    In memory, a kernel of its own labels all others by a depth-first search of what is left, on one core [3]_; this
    removes what [1]_ trims, too. The depth-first search alone is faster if the graph has few edges, or if neighbours
    have numbers that are close together. It takes O(n + m) time and, with the answer, 40 bytes for each vertex.

    On a GPU, and over edges on disk, vertices that are on no cycle are trimmed, if vertices outside the large component
    have many edges. Then each round searches forward and backward from many vertices at once, by colours [2]_ [4]_.
    Each round about halves the vertices of a component's colour that reach it, so that there are O(log n) rounds, with
    high probability, whatever the shape of the graph [5]_. The answer is the same.

    References
    ----------
    .. [1] Fleischer, L. K., B. Hendrickson, A. Pinar, "On identifying strongly connected components in parallel",
       IPDPS workshops 2000.
    .. [2] Slota, G. M., S. Rajamanickam, K. Madduri, "BFS and coloring-based parallel algorithms for strongly connected
       components and related problems", IPDPS 2014.
    .. [3] Tarjan, R., "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1, 1972.
    .. [4] Orzan, S., "On distributed verification and verified distribution", thesis, Vrije Universiteit Amsterdam,
       2004.
    .. [5] Blelloch, G. E., Y. Gu, J. Shun, Y. Sun, "Parallelism in randomized incremental algorithms", SPAA 2016.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "b", "c"], ["b", "a", "c", "d"])
    >>> gp.algorithms.strongly_connected_components(graph).to_dict()
    {'a': 'a', 'b': 'a', 'c': 'c', 'd': 'd'}
    """
    name = "strongly_connected_components"
    check_directed(graph, name)
    if by_programs(graph, device):
        runs = Runs(graph, device, threads, VERTEX_BYTES)
        return runs.result(label_components(runs).astype(np.int64), name, ("value",))
    with in_memory(graph, name, [SEARCH_DEPTH_FIRST], threads) as call:
        labels = np.full(graph.n, NONE, np.uint32)
        if graph.m >= SEARCHED and not neighbours_are_near(call.graph):
            label_largest(call, labels)
        label_rest(labels, lists_of(call.graph))
        return call.result(labels.astype(np.int64), 2 * graph.m, ("value",))


def label_rest(labels: Array, lists: tuple[Array, Array]) -> Array:
    """Label the components of the vertices without a label; return these, a component after those that it leads to.

    `lists` are the offsets and the neighbours of out-edges.
    """
    n = len(labels)
    path, entered, stack, finished = np.empty((4, n), np.uint32)
    done = SEARCH_DEPTH_FIRST(
        n, *lists, np.where(labels == NONE, np.uint32(0), np.uint32(NONE)), np.empty(n, np.int64), path, entered, stack,
        labels, finished,
    )  # fmt: skip
    return finished[:done]


def lists_of(graph: Graph) -> tuple[Array, Array]:
    """The offsets and the neighbours of out-edges."""
    out = graph._arrays.out_edges
    return out.offsets, out.neighbours


def components_in_order(lists: tuple[Array, Array]) -> tuple[Array, Array]:
    """All vertices, a component after those that it leads to, and where in that order components begin.

    It is the order in which a depth-first search from each vertex in turn finishes them, along `lists`: the offsets and
    the neighbours of out-edges, in any order.
    """
    labels = np.full(len(lists[0]) - 1, NONE, np.uint32)
    order = label_rest(labels, lists)
    found = labels[order]
    return order, np.append(0, np.flatnonzero(found[1:] != found[:-1]) + 1)[: len(order)]
