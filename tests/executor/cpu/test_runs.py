"""Which edges of a page are wanted for a set of vertices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.events import ignore
from garaph_py.executor.cpu import runs
from garaph_py.executor.cpu.launch import Launcher
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.layout import Page
from garaph_py.program import bind

N = 300
OFFSETS = np.append(0, np.cumsum(np.random.default_rng(1).integers(0, 9, N)))


def ranges_of(vertices, first, last):
    """The ranges that are wanted of a page for `vertices`."""
    chosen = VertexSet.empty(N)
    for v in vertices:
        chosen.bits[v // 64] |= np.uint64(1) << np.uint64(v % 64)
    return runs.edge_ranges(chosen, OFFSETS, Page(0, first, last, int(OFFSETS[first]), int(OFFSETS[last])))


def edges_of(ranges):
    return [edge for first, last in ranges.tolist() for edge in range(first, last)]


@pytest.mark.parametrize("sparse", [1, 1 << 14])
@given(vertices=st.sets(st.integers(0, N - 1)), bounds=st.sets(st.integers(0, N), min_size=2, max_size=2))
def test_the_lists_of_the_vertices_are_wanted(sparse, vertices, bounds):
    first, last = sorted(bounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "SPARSE_EDGES", sparse)
        ranges = ranges_of(vertices, first, last)
    own = [e for v in sorted(vertices) if first <= v < last for e in range(OFFSETS[v], OFFSETS[v + 1])]
    found = edges_of(ranges)
    assert found == sorted(set(found))
    assert set(found) >= set(own)
    if sparse == 1 and len(vertices) <= OFFSETS[last] - OFFSETS[first]:
        assert found == own


def test_lists_that_follow_each_other_are_one_range(monkeypatch):
    monkeypatch.setattr(runs, "SPARSE_EDGES", 1)
    assert len(ranges_of(range(5, 60), 0, N)) == 1
    assert len(ranges_of([5, 6, 9], 0, N)) == 2


def test_of_many_vertices_the_lists_of_whole_words_are_wanted(monkeypatch):
    monkeypatch.setattr(runs, "SPARSE_EDGES", 1)
    monkeypatch.setattr(runs, "FEW_RANGES", 2)
    assert edges_of(ranges_of([5, 60], 0, N)) == [*range(OFFSETS[5], OFFSETS[6]), *range(OFFSETS[60], OFFSETS[61])]
    assert edges_of(ranges_of([5, 9, 60], 0, N)) == list(range(OFFSETS[64]))


@pytest.mark.parametrize("vertex_edges", [0, 1, 4])
@given(degrees=st.lists(st.integers(0, 9), min_size=1), parts=st.integers(1, 9), first=st.integers(0, 3))
def test_runs_cost_the_same(degrees, parts, first, vertex_edges):
    """By a walk over the lists, one unit of cost after the other."""
    offsets = np.append(0, np.cumsum(degrees)) + first
    whole = int(offsets[-1] - offsets[0]) + vertex_edges * len(degrees)
    costs = runs.bounds_of(whole, parts)
    places = [(int(offsets[0]), 0)]  # at each cost: the edges and the lists that have begun
    for v, degree in enumerate(degrees):
        places += [(int(offsets[v]) + k + 1, v + 1) for k in range(degree)]
        places += [(int(offsets[v + 1]), v + 1)] * vertex_edges
    bounds, cuts = runs.cut_lists(offsets, vertex_edges, costs)
    if vertex_edges:
        assert list(zip(bounds.tolist(), cuts.tolist(), strict=True)) == [places[cost] for cost in costs]
    assert bounds.tolist() == sorted(bounds.tolist())
    assert cuts.tolist() == sorted(cuts.tolist())
    for edge, cut in zip(bounds.tolist(), cuts.tolist(), strict=True):
        assert offsets[cut - 1] <= edge if cut else edge == offsets[0]
        assert edge <= offsets[cut]
    assert (bounds[0], cuts[0], bounds[-1]) == (offsets[0], 0, offsets[-1]) or not vertex_edges


def test_the_runs_of_pages_are_kept_with_the_graph(monkeypatch):
    graph = gp.rmat(10, 8, seed=1)
    asked = []
    monkeypatch.setattr(runs, "cut_lists", lambda *how, cut=runs.cut_lists: asked.append(how) or cut(*how))
    first = gp.run(gp.apps.PageRank(), graph, threads=1)
    assert len(asked) == 1
    assert (gp.run(gp.apps.PageRank(), graph, threads=1).values == first.values).all()
    assert len(asked) == 1
    graph.release()
    gp.run(gp.apps.PageRank(), graph, threads=1)
    assert len(asked) == 2
    gp.run(gp.apps.PageRank(), graph, threads=1, options=gp.Options(engine="garaph"))  # it counts no cost of vertices
    assert len(asked) == 3


@pytest.mark.parametrize("n", [1, 4096, 4097, 70_000])
def test_runs_of_vertices_are_made_once_and_nobody_may_change_them(n):
    graph = gp.from_edges([0], [0], vertices=np.arange(n))
    with ThreadPool(2) as pool:
        made = runs.Runs(graph._arrays, Launcher(bind(gp.apps.BFS(0), graph), graph._arrays, pool, ignore), False)
    for whole in False, True:
        first, last = made.of_vertices(whole)
        assert [first[0], *last[:-1], last[-1]] == [*first, n]
        assert (len(first) == 1) == (whole or n <= 4097)
        assert all(one is other for one, other in zip((first, last), made.of_vertices(whole), strict=True))
        with pytest.raises(ValueError, match="read-only"):
            last[0] = 0
