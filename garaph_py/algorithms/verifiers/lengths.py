"""Shortest paths by SciPy, for verifiers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...apps.checks import edge_numbers
from ...graph import Graph
from ...pages.passes import listed
from .evidence import require

Array = npt.NDArray[Any]


class Lengths(NamedTuple):
    """Edges u -> v and their lengths, of parallel ones the shortest; there are no self-loops."""

    n: int
    u: Array
    v: Array
    lengths: Array

    @classmethod
    def of(cls, graph: Graph, by_length: bool) -> Lengths:
        """Those of a graph; without values, or unless it is `by_length`, each length is 1."""
        parts = [(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.bool_))]
        for edges in listed(graph, values=by_length):
            u, v, numbers = edges.sources, edges.targets, edge_numbers(edges)
            first = edges.first
            shortest = np.minimum.reduceat(numbers, np.flatnonzero(first)) if len(u) else numbers
            u, v = u[first], v[first]
            parts.append((u[u != v], v[u != v], shortest[u != v]))
        return cls(graph.n, *map(np.concatenate, zip(*parts, strict=True)))

    def of_steps(self, function: str, graph: Graph, u: Array, v: Array) -> Array:
        """The lengths of the edges u -> v of this graph; `VerificationError` if there is none."""
        keys = self.v.astype(np.int64) * self.n + self.u  # ascending
        steps = v.astype(np.int64) * self.n + u
        places = np.searchsorted(keys, steps)
        absent = np.append(keys, -1)[places] != steps
        if absent.any():
            at = int(np.argmax(absent))
            one, other = graph.ids.take(np.array([u[at], v[at]]))
            require(False, function, f"there is no edge {one} -> {other}")
        return self.lengths[places]

    def distances_from(self, source: int) -> Array:
        """The distance of each vertex from the source; infinite if it is not reached."""
        return distances(self.n, self.u, self.v, self.lengths, source)

    def distances_to(self, target: int) -> Array:
        """The distance from each vertex to the target; infinite if it does not reach it."""
        return distances(self.n, self.v, self.u, self.lengths, target)

    def steps_to(self, target: int) -> int:
        """The most edges on one of the shortest paths to the target that SciPy finds: one from each vertex."""
        _, following = searched(self.n, self.v, self.u, self.lengths, target)
        starts = np.flatnonzero(following >= 0)
        steps = distances(self.n, following[starts], starts, np.ones(len(starts)), target)
        return int(steps[np.isfinite(steps)].max())

    def dependencies(self, source: int, endpoints: bool) -> Array:
        """The source's dependency on each vertex (Brandes 2001); lengths are above 0.

        With `endpoints`, a path counts at its ends, too.
        """
        far = self.distances_from(source)
        tight = np.flatnonzero(np.isfinite(far[self.u]) & (far[self.u] + self.lengths == far[self.v]))
        tight = tight[np.argsort(far[self.v[tight]], kind="stable")]
        u, v = self.u[tight], self.v[tight]
        ends = np.append(0, np.flatnonzero(np.diff(far[v])) + 1)
        levels = [slice(*bounds) for bounds in zip(ends, np.append(ends[1:], len(v)), strict=True)]
        paths, shares = np.zeros((2, self.n))
        paths[source] = 1
        for level in levels:
            np.add.at(paths, v[level], paths[u[level]])
        for level in levels[::-1]:
            np.add.at(shares, u[level], paths[u[level]] / paths[v[level]] * (1 + shares[v[level]]))
        reached = np.isfinite(far)
        shares[source] = np.count_nonzero(reached) - 1 if endpoints else 0
        reached[source] = False
        return shares + reached if endpoints else shares


def distances(n: int, u: Array, v: Array, lengths: Array, source: int) -> Array:
    """The distance of each of `n` vertices from the source: float64, shape (n,); infinite if it is not reached.

    The edges u -> v, with their lengths, are three arrays of shape (edges,); there are no parallel edges.
    """
    return searched(n, u, v, lengths, source)[0]


def searched(n: int, u: Array, v: Array, lengths: Array, source: int) -> tuple[Array, Array]:
    """`distances`, and the vertex before each one on a shortest path to it: int32, shape (n,); negative for none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    found: tuple[Array, Array] = dijkstra(
        csr_array((lengths, (u, v)), shape=(n, n)), indices=source, return_predecessors=True
    )
    return found
