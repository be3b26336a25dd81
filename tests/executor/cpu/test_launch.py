"""What a graph keeps of a run's tables of arguments for its next run."""

import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.events import ignore
from garaph_py.executor.cpu import launch
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind

EDGES = [0, 0, 1, 2, 2, 3, 4, 5, 6, 6], [1, 2, 3, 3, 4, 5, 6, 0, 7, 2]
LEVELS = [0, 1, 1, 2, 2, 3, 3, 4], [3, 0, 4, 1, 5, 2, 6, 7]
"""From the vertices 0 and 1."""


def levels(graph: gp.Graph, source: int = 0) -> gp.Result:
    return gp.run(gp.apps.BFS(source), graph, device="cpu", threads=1)


def test_next_run_finds_the_tables_of_the_last(made):
    graph = gp.from_edges(*EDGES)
    first = levels(graph)
    assert made
    made.clear()
    second = levels(graph, source=1)
    assert not made
    # The second run has written nothing to the answer of the first.
    assert [result.column("level").tolist() for result in (first, second)] == list(LEVELS)


def test_release_gives_up_the_tables(made):
    graph = gp.from_edges(*EDGES)
    levels(graph)
    graph.release()
    made.clear()
    levels(graph)
    assert made


def test_tables_go_with_the_graph():
    graph = gp.from_edges(*EDGES)
    levels(graph)
    kept = weakref.ref(graph._arrays)
    del graph
    assert kept() is None


@pytest.mark.parametrize("bound", ["MOST_KEPT_VERTICES", "MOST_KEPT_EDGES"])
def test_a_large_graph_keeps_none(made, monkeypatch, bound):
    monkeypatch.setattr(launch, bound, 7)
    graph = gp.from_edges(*EDGES)
    for _ in range(2):
        made.clear()
        levels(graph)
        assert made


def test_too_many_tables_are_given_up(made, monkeypatch):
    monkeypatch.setattr(launch, "MOST_KEPT", 1)
    graph = gp.from_edges(*EDGES)
    for _ in range(2):
        made.clear()
        levels(graph)
        assert made


def test_a_set_that_the_last_run_left_is_empty_for_the_next():
    graph = gp.from_edges(*EDGES)
    with ThreadPool(1) as pool:
        first, second = (launch.Launcher(bind(gp.apps.BFS(0), graph), graph._arrays, pool, ignore) for _ in range(2))
        left, *_ = first.vertex_sets(4)
        left.put(0, 8)
        left.is_summary_loose = True
        first.close()
        third = launch.Launcher(bind(gp.apps.BFS(0), graph), graph._arrays, pool, ignore)
    assert second.vertex_sets(4)[0] is not left
    assert third.vertex_sets(4)[0] is left
    assert not left.bits.any()
    assert not left.blocks.any()
    assert not left.is_summary_loose


def test_threads_share_no_tables():
    graph = gp.rmat(8, 4, seed=1)
    expected = [levels(graph, source).column("level") for source in range(8)]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            found = list(threads.map(lambda source: levels(graph, source).column("level"), range(8)))
            assert all(map(np.array_equal, found, expected))
