"""Programs whose answer is the sum over each connected component, and graphs with many kinds of components."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.graph.build import from_numbered_edges
from tests.support import twins


class Smallest(gp.VertexProgram):
    """A user's own connected components, under another name, and without a promise to be monotone."""

    value = np.int64
    sum = gp.min

    def init(self, id):
        return 1000 - id

    def gather(self, src):
        return src


class Largest(Smallest):
    sum = gp.max
    value = np.uint32

    def init(self, id, in_degree):
        return (id * 7919 + in_degree) % 10007


class Flood(Smallest):
    """The seeds in the same component, a bit each; the others begin with nothing to tell."""

    sum = gp.bitwise_or
    value = np.uint64

    def init(self, id):
        return 1 << id if id < 64 else 0

    def frontier(self, id):
        return id < 64


class Common(Smallest):
    sum = gp.bitwise_and
    value = np.int32

    def init(self, id):
        return -2 - (id % 13 == 0) * 4

    def result(self, value, id):
        return value + id % 2


class Own(Smallest):
    sum = gp.Monoid(lambda a, b: a if a >= b else b, -(1 << 62), idempotent=True)


PROGRAMS = {kind.__name__: kind() for kind in (gp.apps.ConnectedComponents, Smallest, Largest, Flood, Common, Own)}
programs = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
few_programs = pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=name, marks=pytest.mark.full if name in ("Smallest", "Common") else ())
        for name, program in PROGRAMS.items()
    ],
)
"""The same for tests on the CPU, which compile each; two are much like others."""


def sparse(seed, n, m):
    """Random edges: one large component, small ones, and vertices without edges."""
    return twins.skewed(seed, n, m)


def path(n):
    order = np.random.default_rng(5).permutation(n)
    return twins.Edges(n, order[:-1], order[1:])


GRAPHS = {
    "sparse": sparse(1, 9000, 5000),
    "dense": sparse(2, 3000, 40000),
    "path": path(5000),
    "star": twins.Edges(5000, np.zeros(4999, int), np.arange(1, 5000)),
    "loops": twins.Edges(200, np.arange(200), np.arange(200)),
    "edgeless": twins.Edges(100, np.empty(0, int), np.empty(0, int)),
}


def lengthen(parents):
    """Make the last vertex of each tree the parent of its other vertices, except the root; each had the root."""
    (below,) = (parents != np.arange(len(parents))).nonzero()
    last = np.arange(len(parents))
    np.maximum.at(last, parents[below], below)
    rest = below[last[parents[below]] != below]
    parents[rest] = last[parents[rest]]


def undirected(edges):
    return from_numbered_edges(edges.sources, edges.targets, edges.n, directed=False)


def modes_of(result):
    return [row.mode for row in result.stats.iterations]
