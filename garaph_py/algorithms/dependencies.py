"""Dependencies by vertex programs, which a GPU may run, and whose edges may be on disk [Brandes 2001].

A source's dependency on a vertex v, delta_v, is the sum over all targets of the share of shortest paths on which v is.
A run counts the shortest paths to each vertex, sigma, forward from the source. Another one then adds backward, over the
edges v -> w that are on shortest paths:

    (1 + delta_v) / sigma_v = 1 / sigma_v + sum over w of (1 + delta_w) / sigma_w

Each sum is taken once, when it is complete, because rounding depends on the order in which it is made: a sum that was
made anew would differ, and start further iterations. The first sum of paths is complete, as a superstep reaches what is
one edge farther. A share, like a number of paths by length, is infinite until it is known, and so are all sums with it.

A pass over the edges serves a block of sources: each has a column of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..graph import Graph
from ..pages.passes import listed
from ..program import Monoid, PerVertex, VertexId, VertexProgram, bind, oriented
from ..program.monoids import add
from ..program.monoids import min as minimum
from ..runtime.many_blocks import width_of
from .parallel_edges import refuse_parallel
from .runs import Runs

Array = npt.NDArray[Any]

VERTEX_BYTES = 8
"""Bytes of a vertex's score."""
COLUMN_BYTES = 16
"""Bytes of a vertex's distance and number of paths, which stay while shares are added, for each source of a block."""
NAME = "betweenness_centrality"


def nearer(a, b):
    """The smaller of two distances, and the number of paths of that length."""
    distance = min(a.distance, b.distance)
    return distance, (a.paths if a.distance == distance else 0.0) + (b.paths if b.distance == distance else 0.0)


def leads(near, length, far):
    """Whether an edge of this length is on a shortest path, by the distances of its ends."""
    return near < far and near + length == far


def own_share(paths):
    """The share of a vertex that is on no shortest path to another; 0 if the source does not reach it."""
    return 1.0 / paths if paths > 0.0 else 0.0


class Paths(VertexProgram):
    """The distance of each vertex from the source, in edges, and the number of shortest paths to it.

    They are infinite and 0 if the source does not reach it. The run must be synchronous.
    """

    source: VertexId

    value = {"distance": np.float64, "paths": np.float64}  # noqa: RUF012
    sum = Monoid(nearer, (np.inf, 0.0), "nearer")

    def init(self, id):
        return (0.0, 1.0) if id == self.source else (np.inf, 0.0)

    def frontier(self, id):
        return id == self.source

    def gather(self, src):
        return src.distance + 1.0, src.paths

    def apply(self, old, acc):
        return old if old.distance <= acc.distance else acc


class Dependencies(VertexProgram):
    """The source's dependency on each vertex, by what `Paths` reports; that on itself counts all vertices it reaches.

    The second field of a value is the vertex's share.
    """

    distance: PerVertex
    paths: PerVertex

    gathers = "out"
    value = {"distance": np.float64, "share": np.float64}  # noqa: RUF012
    accumulator = np.float64
    sum = add
    reports = np.float64

    def init(self, distance, paths):
        return distance, np.inf if paths > 0.0 else 0.0

    def frontier(self, paths):
        return paths > 0.0

    def gather(self, src, dst):
        return src.share if src.distance == dst.distance + 1.0 else 0.0

    def apply(self, old, acc, paths):
        return old.distance, own_share(paths) + acc if old.share == np.inf else old.share

    def result(self, value, paths):
        return paths * (value.share - own_share(paths)) if paths > 0.0 else 0.0


class Distances(VertexProgram):
    """The distance of each vertex from the source, by edge values above 0, which are added in float64."""

    source: VertexId

    value = np.float64
    sum = minimum
    monotone = True

    def init(self, id):
        return 0.0 if id == self.source else np.inf

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return src + edge


class PathsByLength(VertexProgram):
    """The number of shortest paths to each vertex, by what `Distances` reports."""

    distance: PerVertex

    value = {"distance": np.float64, "paths": np.float64}  # noqa: RUF012
    accumulator = np.float64
    sum = add
    reports = np.float64

    def init(self, distance):
        return distance, 1.0 if distance == 0.0 else np.inf if distance < np.inf else 0.0

    def frontier(self, distance):
        return distance < np.inf

    def gather(self, src, dst, edge):
        return src.paths if leads(src.distance, edge, dst.distance) else 0.0

    def apply(self, old, acc):
        return old.distance, acc if old.paths == np.inf else old.paths

    def result(self, value):
        return value.paths


class DependenciesByLength(Dependencies):
    """`Dependencies` by what `Distances` and `PathsByLength` report."""

    def gather(self, src, dst, edge):
        return src.share if leads(dst.distance, edge, src.distance) else 0.0


def summed_dependencies(
    graph: Graph, sources: Array, by_length: bool, endpoints: bool, device: str, threads: int | None
) -> tuple[Array, Runs]:
    """The sums of the sources' dependencies on each vertex, and the runs that have found them.

    Parameters
    ----------
    graph : Graph
    sources : ndarray of int, shape (k,)
        Internal ids.
    by_length : bool
        Whether edge values are lengths.
    endpoints : bool
        Whether a vertex also is on the paths that begin or end there.
    device, threads
        As for `Runs`.

    Returns
    -------
    ndarray of float64, shape (n,)
    Runs

    Raises
    ------
    GraphError
        If there are parallel edges; if lengths are too different for float64.
    """
    kind = DependenciesByLength if by_length else Dependencies
    first = kind(0.0, 0.0)
    width = width_of(bind(first, oriented(first, graph)), graph, COLUMN_BYTES)
    runs, scores = Runs(graph, device, threads, VERTEX_BYTES + COLUMN_BYTES * width), np.zeros(graph.n)
    for edges in listed(graph, values=False):
        refuse_parallel(NAME, graph, edges, ~edges.first & (edges.sources != edges.targets))
    for block, done in blocks(sources.tolist(), width):
        found = paths_by_length(runs, block) if by_length else paths_by_steps(runs, block)
        added = runs.together([kind(*each) for each in found])
        for source, (distance, _), dependency in list(zip(block, found, added, strict=True))[done:]:
            reached = distance < np.inf
            dependency[source] = 0.0
            if endpoints:
                dependency += reached
                dependency[source] = np.count_nonzero(reached) - 1
            scores += dependency
    return scores, runs


def blocks(sources: list[int], width: int) -> Iterator[tuple[list[int], int]]:
    """Yield blocks of sources; with each, how many of its first sources were in an earlier block.

    Only the last block has such sources: it is filled up to the width of the others, because programs of another width
    would be compiled anew.
    """
    for end in range(width, len(sources) + width, width):
        begin = max(0, min(end, len(sources)) - width)
        yield sources[begin:end], end - width - begin


def paths_by_steps(runs: Runs, block: list[int]) -> list[tuple[Array, Array]]:
    """For each source of a block, all distances in edges, and the numbers of shortest paths."""
    found = runs.together([Paths(source=runs.graph.ids[source]) for source in block])
    return [(each["distance"], each["paths"]) for each in found]


def paths_by_length(runs: Runs, block: list[int]) -> list[tuple[Array, Array]]:
    """`paths_by_steps`, by the lengths of edges.

    Raises
    ------
    GraphError
        If no edge leads to a reached vertex from a nearer one, because lengths are too different for float64.
    """
    ids = runs.graph.ids
    distances = runs.together([Distances(source=ids[source]) for source in block])
    counts = runs.together([PathsByLength(distance) for distance in distances])
    for distance, paths in zip(distances, counts, strict=True):
        absorbed = (paths == 0) & (distance < np.inf)
        if absorbed.any():
            raise GraphError(
                f"{NAME}: the last edge of the shortest path to {ids[absorbed.argmax()]} is so short that it does not "
                f"change the length of the path, {distance[absorbed.argmax()]}, in float64; make such edges longer"
            )
    return list(zip(distances, counts, strict=True))
