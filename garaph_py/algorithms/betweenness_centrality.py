"""Betweenness centrality."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..native import Kernel, PerCall
from ..output.result import Result
from ..runtime.options import ANY
from ..system.arguments import explained, is_count
from . import dijkstra
from .dependencies import summed_dependencies
from .dijkstra import has_lengths
from .in_memory import Call, in_memory
from .runs import by_programs
from .seeds import generator

Array = npt.NDArray[Any]

UNREACHED = -1
"""The level of a vertex that the search has not reached."""
SOURCES = 8
"""Sources of each thread between two moments at which an interrupt may end the call."""


def count_paths(source, offsets, others, levels, paths, queue):
    """Search from `source`: the levels, how many shortest paths lead to each vertex, and the vertices in a queue.

    Returns how many are in the queue, and how many edges have been followed.
    """
    queue[0], levels[source], paths[source] = source, 0, 1.0
    head, tail, edges = np.int64(0), np.int64(1), np.int64(0)
    while head < tail:
        v = np.int64(queue[head])
        head += 1
        edges += offsets[v + 1] - offsets[v]
        below, before = levels[v] + 1, np.int64(-1)
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if w != before:
                if levels[w] == UNREACHED:
                    levels[w], paths[w] = below, 0.0
                    queue[tail] = w
                    tail += 1
                if levels[w] == below:
                    paths[w] += paths[v]
            before = w
    return tail, edges


# wide: a compiled function takes its arrays one by one.
def add_dependencies(reached, offsets, others, levels, paths, shares, queue, scores, endpoints):
    """Add the dependency of the search's source on each vertex to the scores, from the last vertex in the queue to the
    first.

    ``shares[w]`` is ``(1 + delta_w) / sigma_w``. The levels are those of no search again.
    """
    for place in range(reached - 1, 0, -1):
        v = np.int64(queue[place])
        total, below, before = 0.0, levels[v] + 1, np.int64(-1)
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if w != before and levels[w] == below:
                total += shares[w]
            before = w
        dependency = paths[v] * total
        shares[v] = (1.0 + dependency) / paths[v]
        scores[v] += dependency + endpoints
    scores[queue[0]] += endpoints * (reached - 1)
    for place in range(reached):
        levels[queue[place]] = UNREACHED
    return 0


# wide: a compiled function takes its arrays one by one.
def from_sources(first, last, step, sources, endpoints, offsets, others, levels, paths, shares, queue, scores):
    """Add the dependencies of the sources ``sources[first:last:step]``. Returns the edges followed."""
    followed = np.int64(0)
    place = first
    while place < last:
        reached, edges = count_paths(sources[place], offsets, others, levels, paths, queue)
        add_dependencies(reached, offsets, others, levels, paths, shares, queue, scores, endpoints)
        followed += 2 * edges
        place += step
    return followed


FROM_SOURCES = Kernel("i64 i64 i64 i64* i64 i64* u32* i32* f64* f64* u32* f64*", from_sources)


@explained
# wide: NetworkX's parameters.
def betweenness_centrality(
    graph: Graph,
    *,
    k: int | None = None,
    normalized: bool = True,
    weight: bool = False,
    endpoints: bool = False,
    seed: int | None = None,
    device: str = ANY,
    threads: int | None = None,
) -> Result:
    """Betweenness: ``c_v = sum over s, t of sigma_st(v) / sigma_st``, the share of shortest paths that v is on.

    sigma_st is the number of shortest paths from s to t, and sigma_st(v) is the number of those through v.

    Parameters
    ----------
    graph : Graph
        Paths follow edges forward. Parallel edges count as one, the shortest.
    k : int, optional
        Estimate the scores from `k` sources, chosen at random, and all targets; by default all vertices are sources.
        The error of all normalized values is below e with probability 1 - p if ``k >= ln(2 n / p) / (2 e^2)``, by
        Hoeffding's inequality [2]_. With ``k=1`` the source itself has no estimate, and gets NaN.
    normalized : bool
        Divide by the number of pairs of other vertices: ``(n - 1) (n - 2)`` if the graph is directed, else half of it.
    weight : bool
        Whether edge values, numbers above 0, are lengths; otherwise, and in a graph without edge values, every edge has
        length 1. Paths are equally long if the sums of their lengths are the same in float64.
    endpoints : bool
        Whether a vertex also is on the paths that begin or end there.
    seed : int, optional
        The choice of sources depends only on this number, on `k` and on n; by default it differs from call to call.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, or if the edges are on disk, vertex programs find the scores, on the device
        that `garaph_py.run` would use. Otherwise a kernel on the CPU finds them, which is faster (see Notes).
    threads : int, optional
        By default every core that this process may use. The last bits of sums depend on it, and on `device`.

    Returns
    -------
    Result
        float64.

    Raises
    ------
    ParameterError
        If `k` is not a number of vertices that the graph has, or `seed` is not a whole number, 0 or more.
    GraphError
        With `weight`, if an edge value is 0 or less, infinite, NaN, or so large that distances are not exact. If vertex
        programs would run: if the graph has parallel edges; with `weight`, if all shortest paths to a vertex end with
        edges so short that they do not change a distance in float64, or if a directed graph is on disk without values
        of out-edges; if the edges are on disk, and the graph was opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    In memory, it runs a kernel of its own: each core searches from different sources [1]_. It takes O(n m) time, or O(k
    m), and 32 bytes for each vertex and thread; with `weight` log n times as long, 48 bytes, and 8 for each edge.

    On a GPU, and over edges on disk, the searches are vertex programs. Eight sources, or fewer if the memory is too
    little, share each pass over the edges. For each block, one run counts paths forward, and another adds up
    dependencies backward. Both take an iteration for each level of the search that has most levels; while few vertices
    are active, an iteration reads only their edges. With `weight`, a third run finds distances before. They take 72
    bytes for each vertex and source of a block. A vertex program cannot tell parallel edges apart, so a pass over the
    edges first looks for them. Of edges so short that they do not change a distance in float64, the kernel counts some,
    and the programs none.

    References
    ----------
    .. [1] Brandes, U., "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25, 2001.
    .. [2] Brandes, U., C. Pich, "Centrality estimation in large networks", International Journal of Bifurcation and
       Chaos 17, 2007.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c"], ["b", "c", "d"], directed=False)
    >>> gp.algorithms.betweenness_centrality(graph).top(2)
    [('b', 0.666...), ('c', 0.666...)]
    """
    check_graph(graph, "betweenness_centrality")
    sources = chosen_sources(graph.n, k, generator(seed))
    return betweenness_from(graph, sources, normalized, weight, endpoints, device, threads)


def betweenness_from(
    graph: Graph, sources: Array, normalized: bool, weight: bool, endpoints: bool, device: str = ANY,
    threads: int | None = None,
) -> Result:  # fmt: skip
    """`betweenness_centrality` from sources that are chosen already, by internal ids."""
    by_length = has_lengths(graph, weight, "betweenness_centrality", np.finfo(np.float64).smallest_subnormal)
    how = {"directed": graph.directed, "normalized": normalized, "endpoints": endpoints}
    if by_programs(graph, device):
        scores, runs = summed_dependencies(graph, sources, by_length, endpoints, device, threads)
        scale(scores, sources, **how)
        return runs.result(scores, "betweenness_centrality")
    kernel = dijkstra.FROM_SOURCES if by_length else FROM_SOURCES
    with in_memory(graph, "betweenness_centrality", [kernel], threads) as call:
        add = dijkstra.dependencies_by_length if by_length else dependencies
        scores, edges = add(call, sources, endpoints)
        scale(scores, sources, **how)
        return call.result(scores, edges)


def chosen_sources(n: int, k: Any, random: np.random.Generator) -> Array:
    """The sources, by internal ids in ascending order.

    Raises
    ------
    ParameterError
        If `k` is neither None nor a number from 1 to n.
    """
    if k is None:
        return np.arange(n)
    if not is_count(k) or not 1 <= k <= n:
        raise ParameterError(f"k={k!r}: give a number of sources from 1 to {n}, the number of vertices")
    return np.sort(random.choice(n, k, replace=False))


def dependencies(call: Call, sources: Array, endpoints: bool) -> tuple[Array, int]:
    """The sums of the sources' dependencies on each vertex, and how many edges were followed."""
    n, threads, out = call.graph.n, call.pool.size, call.arrays.out_edges
    levels, queue = np.full((threads, n), UNREACHED, np.int32), np.empty((threads, n), np.uint32)
    paths, shares, scores = np.zeros((3, threads, n))
    followed, batch = 0, SOURCES * threads
    for first in range(0, len(sources), batch):
        last = min(first + batch, len(sources))
        counts = call.by_threads(
            FROM_SOURCES, first + np.arange(threads), last, threads, sources, int(endpoints), out.offsets,
            out.neighbours, PerCall(levels), PerCall(paths), PerCall(shares), PerCall(queue), PerCall(scores),
        )  # fmt: skip
        followed += int(counts.sum())
    return scores.sum(axis=0), followed


def scale(scores: Array, sources: Array, *, directed: bool, normalized: bool, endpoints: bool) -> None:
    """Turn sums of dependencies into centralities, as NetworkX 3.6 does.

    A source is on none of its own paths, unless endpoints count: its estimate is from the other sources.
    """
    n, k = len(scores), len(sources)
    ends = n if endpoints else n - 1
    """How many vertices can be the other end of a path that a vertex is on."""
    if ends < 2:
        return
    used = np.full(n, k)
    used[sources] = k if endpoints else k - 1
    whole, pairs = (1, used * (ends - 1)) if normalized else (ends, used * (1 if directed else 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        scores *= whole / pairs  # as NetworkX rounds
