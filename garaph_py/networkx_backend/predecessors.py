"""All predecessors of each node on the shortest paths from a source."""

from __future__ import annotations

from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import edge_numbers
from ..graph import Graph
from ..pages.passes import listed
from ..system.garbage import uncollected
from .functions import implements
from .graph import BackendGraph, vertex_of
from .searches import first_seen, preceding
from .unweighted import lengths_of, searched
from .weighted import callable_weight, distances_of, settled_from

Array = npt.NDArray[Any]


@uncollected()
def predecessors(
    G: BackendGraph, weight: str | None, distance: Array, order: Array, keys: Array
) -> dict[Any, list[Any]]:
    """The nodes before each node on shortest paths: those u with ``d_v == d_u + w_uv``.

    Parameters
    ----------
    G : BackendGraph
    weight : str, optional
        The edge attribute that is the length w. None: all are 1.
    distance : ndarray, shape (n,)
        The distance of each vertex from the source.
    order : ndarray
        The vertices that the source reaches, in the order in which predecessors are to be listed.
    keys : ndarray
        The same vertices in the order of the answer.
    """
    if G.rows is None:
        before, starts = preceding_by_pages(G.weighted(weight), distance, order, keys)
    else:
        lengths = None if weight is None or G.rows.values is None else G.row_lengths
        before, starts = preceding(G.rows, lengths, distance, order, keys)
    names = G.named(before)
    lists = [names[first:last] for first, last in pairwise(starts.tolist())]
    return dict(zip(G.named(keys), lists, strict=True))


def preceding_by_pages(graph: Graph, distance: Array, order: Array, keys: Array) -> tuple[Array, Array]:
    """`preceding` in a graph whose edges may be on disk."""
    n, rank, slot = graph.n, np.full(graph.n, -1, np.int64), np.empty(graph.n, np.int64)
    rank[order] = slot[keys] = np.arange(len(order))
    pairs = [np.zeros(0, np.int64)]
    for edges in listed(graph):
        u, v = edges.sources, edges.targets
        through = distance[u] + edge_numbers(edges).astype(distance.dtype)
        tight = np.flatnonzero((rank[u] >= 0) & (rank[v] >= 0) & (through == distance[v]))
        pairs.append(slot[v[tight]] * n + rank[u[tight]])
    pair = np.sort(np.concatenate(pairs))
    pair = pair[np.diff(pair, prepend=-1) > 0]  # parallel edges count once
    return order[pair % n], np.searchsorted(pair, np.arange(len(keys) + 1) * n)


@implements()
def predecessor(
    G: BackendGraph, source: Any, target: Any = None, cutoff: float | None = None, return_seen: bool | None = None
) -> Any:
    """The nodes before each node on paths of the fewest edges, or before the target; with the numbers of edges too."""
    start = vertex_of(G, source, "Source {} not in G")
    # NetworkX takes one step at least, and all of them if the cutoff is not a number.
    found = searched(G, start, None if not cutoff or isnan(cutoff) else max(cutoff, 1))
    before: Any = predecessors(G, None, found.level, found.order, found.order)
    seen: Any = lengths_of(G, found) if return_seen else {}
    if target is not None:
        before, seen = before.get(target, []), seen.get(target, -1)
    return (before, seen) if return_seen else before


def no_cutoff(cutoff: float | None, weight: Any, **others: Any) -> str | None:
    return callable_weight(weight) if cutoff is None else "a cutoff changes the order of the predecessors"


@implements(no_cutoff)
def dijkstra_predecessor_and_distance(
    G: BackendGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """The nodes before each node on shortest paths, and the distances."""
    found = settled_from(G, weight, [vertex_of(G, source, "Node {} is not found in the graph")])
    keys = found.order if G.rows is None else first_seen(G.rows, found.order)
    return predecessors(G, weight, found.distance, found.order, keys), distances_of(G, found)
