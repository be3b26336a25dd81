"""Verifiers of triangles, of the coefficients that follow from them, and of trusses: they list the triangles anew."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...graph import Graph
from ...pages.passes import EdgeChunk, listed
from .evidence import CLOSE, joined, pairs, pairs_both_ways, places_of, refute, require, simple, values_of
from .subgraphs import require_edges, require_vertices

Array = npt.NDArray[Any]

PATHS = 1 << 22
"""Paths of two edges that are looked at together: some 250 MB of arrays."""


class SimpleEdges(NamedTuple):
    """The pairs of neighbours, each once, from the one with fewer neighbours; there are no self-loops.

    Vertices stand in the order of their degrees: ``vertices[i]`` is the internal id of vertex i, whose place in that
    order is ``ranks[vertices[i]] == i``. An edge from u to v has the key ``n * u + v``. Keys ascend.
    """

    vertices: Array
    ranks: Array
    u: Array
    v: Array
    keys: Array

    def at_ends(self, amounts: Array) -> Array:
        """For each vertex, by internal id, the sum of the amounts of its edges."""
        n = len(self.vertices)
        found = np.zeros(n, amounts.dtype)
        found[self.vertices] = np.bincount(self.u, amounts, n) + np.bincount(self.v, amounts, n)
        return found

    def numbers(self, u: Array, v: Array) -> Array:
        """The number of the edge between the internal ids u and v; -1 if there is none."""
        u, v = self.ranks[u], self.ranks[v]
        return self.with_keys(np.minimum(u, v) * len(self.vertices) + np.maximum(u, v))

    def with_keys(self, keys: Array) -> Array:
        """The numbers of the edges with these keys; -1 where there is none."""
        places = np.searchsorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        return np.where(self.keys[places] == keys, places, -1) if len(self.keys) else places - 1


def simple_edges(graph: Graph) -> SimpleEdges:
    """The edges of a graph without its self-loops, each of parallel ones once, in either direction; all in memory."""
    u, v = joined(pairs_both_ways(graph))
    if graph.directed:
        u, v = np.divmod(np.unique(u.astype(np.int64) * graph.n + v), max(graph.n, 1))
    vertices = np.argsort(np.bincount(v, minlength=graph.n), kind="stable")
    ranks = np.empty(graph.n, np.int64)
    ranks[vertices] = np.arange(graph.n)
    first = ranks[u] < ranks[v]
    keys = np.sort(ranks[u[first]] * graph.n + ranks[v[first]])
    return SimpleEdges(vertices, ranks, keys // max(graph.n, 1), keys % max(graph.n, 1), keys)


def triangles_in(edges: SimpleEdges) -> Iterator[Array]:
    """All triangles u < v < w, part by part: the numbers of the edges uv, vw and uw; shape (3, triangles)."""
    n, m = len(edges.vertices), len(edges.keys)
    offsets = np.append(0, np.cumsum(np.bincount(edges.u, minlength=n)))
    lengths = offsets[edges.v + 1] - offsets[edges.v]
    paths, first = np.append(0, np.cumsum(lengths)), 0
    while first < m:
        last = max(int(np.searchsorted(paths, paths[first] + PATHS, "right")) - 1, first + 1)
        some = lengths[first:last]
        uv = np.repeat(np.arange(first, last), some)
        vw = np.repeat(offsets[edges.v[first:last]] - paths[first:last] + paths[first], some) + np.arange(len(uv))
        uw = edges.with_keys(edges.u[uv] * n + edges.v[vw])
        yield np.stack([uv, vw, uw])[:, uw >= 0]
        first = last


def triangle_counts(graph: Graph, roots: bool = False) -> tuple[Array, Array]:
    """The triangles of each vertex, or the sums of their intensities if it is by `roots`; and the neighbours of each.

    A triangle counts once at each of its three vertices: half as often as on the vertex's edges. In a directed graph
    it counts for each choice of directions for which its three edges exist.
    """
    edges = simple_edges(graph)
    weights = root_weights(graph, edges, roots)
    on_edges = np.zeros(len(edges.keys))
    for three in triangles_in(edges):
        for ways in product(range(len(weights)), repeat=3):
            amounts = np.prod([weights[way, each] for way, each in zip(ways, three, strict=True)], axis=0)
            for each in three:
                on_edges += np.bincount(each, amounts, len(on_edges))
    return edges.at_ends(on_edges) / 2, edges.at_ends(np.ones(len(edges.keys)))


def root_weights(graph: Graph, edges: SimpleEdges, roots: bool) -> Array:
    """The cube root of each edge's weight: the largest value of parallel edges, divided by the largest of all.

    Without `roots`, every weight is 1. The shape is (1, edges). For a directed graph it is (2, edges), for the edges
    from the first end, and for those to it; the root is 0 where there is none.
    """
    weights = np.full((1 + graph.directed, len(edges.keys)), -np.inf)
    largest = -np.inf
    for some in listed(graph, values=roots):
        values = np.ones(len(some.sources)) if some.values is None else some.values
        apart = some.sources != some.targets
        u, v = some.sources[apart], some.targets[apart]
        to_first = (edges.ranks[u] > edges.ranks[v]) & graph.directed
        np.maximum.at(weights, (to_first.astype(np.int64), edges.numbers(u, v)), values[apart])
        largest = max(largest, float(values.max())) if len(values) else largest
    return np.cbrt(np.where(weights == -np.inf, 0, weights / largest))


def coefficients(graph: Graph, weight: bool) -> Array:
    """The clustering coefficient of each vertex."""
    counts, neighbours = triangle_counts(graph, roots=weight)
    if graph.directed:
        u, v = joined(pairs(graph))
        degrees = np.bincount(u, minlength=graph.n) + np.bincount(v, minlength=graph.n)
        most = degrees * (degrees - 1) - 2 * (degrees - neighbours)
    else:
        most = neighbours * (neighbours - 1) / 2
    found = np.zeros(graph.n)
    np.divide(counts, most, out=found, where=most > 0)
    return found


def require_values(function: str, graph: Graph, answer: Any, expected: Array, nodes: Any) -> None:
    """Raise `VerificationError` unless the answer has the expected value for each vertex, or each of the `nodes`."""
    found = expected.copy()
    if nodes is None:
        found[:] = values_of(function, graph, answer)
    elif isinstance(answer, dict):
        wanted = graph.ids.take(graph.ids.indices(nodes)).tolist()
        require(set(answer) == set(wanted), function, "it has other vertices")
        found[places_of(function, graph, list(answer))] = list(answer.values())
    else:
        found[graph.ids.index(nodes)] = answer
    wrong = ~np.isclose(found, expected, rtol=CLOSE, atol=CLOSE)
    refute(function, graph, wrong, lambda v: f"has {found[v]}, not {expected[v]}")


def verify_triangles(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless each vertex has as many triangles."""
    require_values("triangles", graph, answer, triangle_counts(graph)[0], given.nodes)


def verify_clustering(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless these are the coefficients."""
    require_values("clustering", graph, answer, coefficients(graph, given.weight), given.nodes)


def verify_average_clustering(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is the mean of the coefficients."""
    values = coefficients(graph, given.weight)
    if given.nodes is not None:
        values = values[np.unique(graph.ids.indices(given.nodes))]
    require_number("average_clustering", answer, (values if given.count_zeros else values[values != 0]).mean())


def verify_transitivity(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is the share of closed paths of two edges."""
    counts, degrees = triangle_counts(graph)
    paths = (degrees * (degrees - 1)).sum()
    require_number("transitivity", answer, 2 * counts.sum() / paths if paths else 0.0)


def require_number(function: str, found: Any, expected: float) -> None:
    """Raise `VerificationError` unless the number is the expected one."""
    require(bool(np.isclose(found, expected, rtol=CLOSE, atol=CLOSE)), function, f"it is {expected}, not {found}")


def verify_k_truss(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is the largest subgraph whose edges all are in k - 2 triangles.

    It removes edges that are in fewer triangles of the edges left, again and again. Those of the truss must be left.
    """
    edges = simple_edges(graph)
    triangles = np.concatenate([np.zeros((3, 0), np.int64), *triangles_in(edges)], axis=1)
    left, before = np.ones(len(edges.keys), bool), -1
    while before != (before := int(np.count_nonzero(left))):
        triangles = triangles[:, left[triangles].all(axis=0)]
        left &= np.bincount(triangles.ravel(), minlength=len(left)) >= given.k - 2
    degrees = edges.at_ends(left.astype(np.float64))
    places = require_vertices("k_truss", graph, answer, degrees > 0)

    def chosen(some: EdgeChunk) -> Array:
        kept = simple(some)
        kept[kept] = left[edges.numbers(some.sources[kept], some.targets[kept])]
        return kept

    require_edges("k_truss", graph, answer, places, chosen)
