"""Core numbers by a vertex program, which a GPU may run, and whose edges may be on disk.

Each vertex has an *estimate*, which is never below its core number. A vertex of core number k or more has k neighbours
whose core numbers, and so whose estimates, are at least k. Therefore, for any number t, if only c neighbours have
estimates of t or more, the core number is at most c, or below t [Montresor et al. 2013]. Once each vertex has as many
neighbours with at least its own estimate, all estimates are core numbers.

The largest k for which k neighbours have estimates of k or more, an h-index, would be the best next estimate [Lü et al.
2016]. It needs all estimates of the neighbours at once. A sum over neighbours can count those with at least t. It
counts them for four t at a time: the vertex's own estimate, and less by a 32nd, an 8th and a half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..pages.passes import listed
from ..program import PerVertex, VertexProgram
from ..program.monoids import add
from .parallel_edges import refuse_parallel
from .runs import Runs

Array = npt.NDArray[Any]

NEAR, FAR, FARTHEST = 5, 3, 1
"""Binary logarithms of the parts by which the second, third and fourth t are less than the estimate: with these, R-MAT
graphs of scale 14 and 15 took 19 and 25 synchronous iterations, with h-indices 18 and 23, and with two numbers, t and
half of it, 111 and more (docs/decisions/algorithms.md)."""
VERTEX_BYTES = 8
"""Bytes of a vertex's number of self-loops."""


def less(estimate, part):
    """The estimate less a part of it, but at least 1."""
    return estimate - max(estimate >> part, 1)


def counted(src, dst):
    """What a neighbour's estimate adds to the four sums."""
    return (
        1 if src >= dst else 0,
        1 if src >= less(dst, NEAR) else 0,
        1 if src >= less(dst, FAR) else 0,
        1 if src >= less(dst, FARTHEST) else 0,
    )


def bound(old, same, near, far, farthest):
    """The next estimate, by the number of neighbours with at least `old`, and of those with at least each lesser t."""
    closest = min(max(same, old - 1), max(near, less(old, NEAR) - 1))
    return min(old, closest, max(far, less(old, FAR) - 1), max(farthest, less(old, FARTHEST) - 1))


class Cores(VertexProgram):
    """The core number of each vertex of an undirected graph without parallel edges, which has these many self-loops."""

    loops: PerVertex

    gathers = "both"
    value = np.int64
    accumulator = {"same": np.int64, "near": np.int64, "far": np.int64, "farthest": np.int64}  # noqa: RUF012
    sum = add

    def init(self, in_degree, loops):
        return in_degree - loops

    def gather(self, src, dst):
        return counted(src, dst)

    def apply(self, old, acc, loops):  # a self-loop always adds 1
        return bound(old, acc.same - loops, acc.near - loops, acc.far - loops, acc.farthest - loops)


class CoresBothWays(Cores):
    """The same for a directed graph, whose in-edges and out-edges both count."""

    gathers = "in"

    def init(self, in_degree, out_degree, loops):
        return in_degree + out_degree - 2 * loops

    def gather_out(self, src, dst):
        return counted(src, dst)

    def apply(self, old, acc, acc_out, loops):
        return bound(
            old, acc.same + acc_out.same - 2 * loops, acc.near + acc_out.near - 2 * loops,
            acc.far + acc_out.far - 2 * loops, acc.farthest + acc_out.farthest - 2 * loops,
        )  # fmt: skip


def estimated_cores(runs: Runs) -> Array:
    """The core number of each vertex: int64, shape (n,).

    Raises
    ------
    GraphError
        If there are parallel edges.
    """
    loops = self_loops(runs.graph)
    if runs.graph.directed:
        return runs(CoresBothWays(loops))
    return runs(Cores(loops), sync=False)


def self_loops(graph: Graph) -> Array:
    """How many self-loops each vertex has: int64, shape (n,).

    Raises
    ------
    GraphError
        If there are parallel edges.
    """
    loops = np.zeros(graph.n, np.int64)
    for edges in listed(graph, values=False):
        refuse_parallel("core_number", graph, edges, ~edges.first)
        u = edges.sources
        loops[u[u == edges.targets]] += 1
    return loops
