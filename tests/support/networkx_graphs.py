"""Small graphs of ours beside the same of NetworkX, and a fixture that divides the work even on these."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import in_memory, peeling
from tests.support.stored_graphs import opened

FIRST = 10
"""The least vertex id: ids are not numbers from 0."""


@dataclass(frozen=True)
class Pair:
    """A graph of ours, and NetworkX's, the latter without parallel edges and self-loops.

    Both have the same vertices in the same order.
    """

    ours: gp.Graph
    theirs: nx.Graph

    def with_loops(self):
        """NetworkX's, with self-loops."""
        looped = self.theirs.copy()
        looped.add_edges_from((v, v) for v in self.ours.ids if v in self.ours.neighbors(v))
        return looped


def pair(n, edges, directed):
    """A `Pair` with vertices `FIRST` to ``FIRST + n - 1``."""
    sources, targets = np.array(edges, np.int64).reshape(-1, 2).T + FIRST
    ours = gp.from_edges(sources, targets, vertices=np.arange(FIRST, FIRST + n), directed=directed)
    theirs = nx.DiGraph() if directed else nx.Graph()
    theirs.add_nodes_from(range(FIRST, FIRST + n))
    theirs.add_edges_from((u, v) for u, v in zip(sources.tolist(), targets.tolist(), strict=True) if u != v)
    return Pair(ours, theirs)


@st.composite
def pairs(draw, directed=None, least=0, most=9):
    """Graphs with `least` to `most` vertices, with self-loops, parallel edges and vertices without edges."""
    n = draw(st.integers(least, most))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=3 * most)) if n else []
    return pair(n, edges, draw(st.booleans()) if directed is None else directed)


def random_pair(seed, n, m, directed):
    """A `Pair` with `m` random edges, of which a few vertices have many."""
    ends = np.random.default_rng(seed).power(0.4, (m, 2)) * n
    return pair(n, ends.astype(np.int64), directed)


def assert_same_edges(ours, theirs):
    """Both have the same edges, but for loops of ours."""
    found = {(u, v) for u, v in zip(*ours.edges().to_pydict().values(), strict=True) if u != v}
    assert found | {pair[::-1] for pair in found if not ours.directed} == set(theirs.to_directed().edges)


def valued(n, edges, directed, kind=np.int64):
    """A graph of ours, and NetworkX's, with the least length of parallel edges."""
    sources, targets, lengths = np.array(edges, np.int64).reshape(-1, 3).T
    ours = gp.from_edges(sources, targets, lengths.astype(kind), vertices=np.arange(n), directed=directed)
    theirs = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    theirs.add_nodes_from(range(n))
    theirs.add_weighted_edges_from(edges)
    return ours, theirs


@st.composite
def valued_graphs(draw, n=8, least=0):
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex, st.integers(least, 3)), max_size=24))
    return valued(n, edges, draw(st.booleans()), draw(st.sampled_from([np.int64, np.float64])))


def random_valued(seed, n, m, directed):
    """A graph of ours with `m` random edges whose lengths are multiples of 0.1, and NetworkX's."""
    random = np.random.default_rng(seed)
    ends, lengths = (random.power(0.4, (m, 2)) * n).astype(np.int64), random.integers(1, 30, m) / 10
    edges = [(int(u), int(v), length) for (u, v), length in zip(ends, lengths.tolist(), strict=True)]
    ours = gp.from_edges(*ends.T, lengths, vertices=np.arange(n), directed=directed)
    theirs = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    theirs.add_nodes_from(range(n))
    theirs.add_weighted_edges_from(edges)
    return ours, theirs


def on_disk(graph, path):
    """The graph, saved at `path` and opened with its edges on disk, and room for runs."""
    gp.save(graph, path)
    return opened(path, 1 << 24)


@pytest.fixture(params=[1, 3])
def threads(request, monkeypatch):
    """Numbers of threads; with several, even the smallest work is divided."""
    monkeypatch.setattr(in_memory, "LEAST_PIECE", 1)
    monkeypatch.setattr(peeling, "FEW", 0)
    monkeypatch.setattr(peeling, "PIECE", 1)
    return request.param
