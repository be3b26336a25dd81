"""What a graph derives from its arrays: made once, counted, released, made anew."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.graph.derived import Derived
from garaph_py.native.threads import ThreadPool
from tests.support import twins

from ..support.runs import run_with


def made():
    edges = twins.skewed(4, 500, 5000, "int32")
    return gp.from_edges(edges.sources, edges.targets, edges.weights)


def use_all(graph):
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)
        graph._arrays.packed_in_edges(pool)
    run_with(gp.apps.PageRank(weighted=False), graph, mode="pull-tiled", iterations=1)
    assert graph.in_degrees.sum() == graph.out_degrees.sum() == graph.m


@pytest.mark.full
def test_it_is_made_once_and_counted():
    graph = made()
    before = graph.nbytes
    assert graph._arrays.derived.names == []
    assert graph._arrays.derived.nbytes == 0
    use_all(graph)
    assert {"tiles", "values of out-edges", "packed in-edges"} <= set(graph._arrays.derived.names)
    assert graph.nbytes == before
    with ThreadPool(1) as pool:
        packed, valued = graph._arrays.packed_in_edges(pool), graph._arrays.valued_out_edges(pool)
        assert graph._arrays.packed_in_edges(pool) is packed
        assert graph._arrays.valued_out_edges(pool) is valued
    assert graph.in_degrees is graph.in_degrees
    tiles = graph._arrays.tiles(False, lambda: None)
    own = packed.edge_bytes + valued.value_array.nbytes + tiles.nbytes
    assert graph._arrays.derived.nbytes == own + 2 * 8 * graph.n


def test_release_frees_and_the_next_use_makes_it_anew():
    graph = made()
    use_all(graph)
    with ThreadPool(1) as pool:
        gone = [weakref.ref(graph._arrays.packed_in_edges(pool)), weakref.ref(graph._arrays.valued_out_edges(pool))]
        gone.append(weakref.ref(graph._arrays.tiles(False, lambda: None)))
        values = graph._arrays.valued_out_edges(pool).values.copy()
        graph.release()
        gc.collect()
        assert [ref() for ref in gone] == [None] * 3
        assert graph._arrays.derived.nbytes == 0
        assert not graph._arrays.has_packed_in_edges
        assert not graph._arrays.has_tiles(False)
        np.testing.assert_array_equal(graph._arrays.valued_out_edges(pool).values, values)
    assert graph._arrays.derived.names == ["values of out-edges"]


def test_release_by_name():
    graph = made()
    use_all(graph)
    graph._arrays.derived.release("tiles", "nothing of the kind")
    assert not graph._arrays.has_tiles(False)
    assert graph._arrays.has_packed_in_edges


@pytest.mark.full
def test_what_is_released_during_a_run_is_kept_by_it():
    graph = made()
    expected = run_with(gp.apps.PageRank(), graph, mode="pull-tiled", iterations=5).values
    found = run_with(
        gp.apps.PageRank(), graph, mode="pull-tiled", iterations=5, on_event=lambda event: graph.release()
    ).values
    assert found.tobytes() == expected.tobytes()


def test_threads_wait_for_the_one_that_makes_it():
    derived, begun, go_on, calls, found = Derived(), threading.Event(), threading.Event(), [], []

    def make():
        calls.append(1)
        begun.set()
        assert go_on.wait(10)
        return np.zeros(3)

    threads = [
        threading.Thread(target=lambda: found.append(derived.get("a", make, lambda array: array.nbytes)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len({id(each) for each in found}) == 1
    assert derived.nbytes == 24


def test_a_failure_leaves_nothing():
    derived = Derived()
    for _ in range(2):
        try:
            derived.get("a", lambda: 1 // 0, len)
        except ZeroDivisionError:
            assert "a" not in derived
    assert derived.get("a", lambda: "made", len) == "made"


def test_a_copy_begins_with_nothing():
    graph = made()
    use_all(graph)
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph)), graph.packed(1)):
        assert other._arrays.derived.names == []
    assert graph._arrays.derived.names
