"""Buckets: how far each threshold rises, and which vertices a bucket then has."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.dispatch.buckets import Bucket, Buckets, next_step

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def test_bucket_width_follows_the_frontier():
    small, large, restless = Bucket(10, 12), Bucket(200, 300), Bucket(10, 90)
    assert next_step(3, small, None, 1000) == 6
    assert next_step(3, small, Bucket(5, 5), 1000) == 6
    assert next_step(3, small, Bucket(4, 4), 1000) == 3  # it grows by itself
    assert next_step(3, Bucket(100, 100), None, 1000) == 3
    assert next_step(7, large, None, 1000) == 3
    assert next_step(3, restless, None, 1000) == 1
    assert next_step(1, restless, None, 1000) == 1
    assert next_step(0.5, restless, None, 1000) == 0.25


@pytest.mark.parametrize(("edges", "followed", "step"), [
    (125, 1000, 4), (126, 126, 2),  # an eighth of all edges
    (100, 800, 4), (100, 801, 2),  # eight times its own
    (31, 93, 8), (32, 32, 4), (31, 94, 4),  # few of all edges, and little more than its own
    (31, 31, 32), (31, 32, 8), (0, 0, 32),  # few of all edges, and hardly one twice
])  # fmt: skip
def test_where_the_step_changes(edges, followed, step):
    assert next_step(4, Bucket(edges, followed), None, 1000) == step


def test_a_thirty_second_of_all_edges_is_not_few():
    assert next_step(4, Bucket(31, 32), None, 992) == 4
    assert next_step(4, Bucket(31, 32), None, 993) == 8


def opened(priorities, kind=np.int64):
    """Buckets, their state, and an executor's pending vertices: their priorities, with ten out-edges each."""
    state = SimpleNamespace(thresholds=np.zeros(2, kind), active_count=0, active_edges=0)
    pending = list(priorities)

    def open_bucket(state):
        low, high = state.thresholds.tolist()
        chosen = [one for one in pending if low < one <= high]
        pending[:] = [one for one in pending if one > high]
        state.active_count, state.active_edges = len(chosen), 10 * len(chosen)
        return min(pending, default=None)

    return Buckets(SimpleNamespace(open_bucket=open_bucket), state), state, pending


def test_buckets_open_in_the_order_of_priorities():
    buckets, state, _ = opened([5, 6, 7, 100, 5])
    found = []
    while buckets.next(50):
        found.append((state.active_count, state.thresholds.tolist(), buckets.edges, buckets.followed))
        buckets.followed += state.active_edges
    # The step stays 1: each bucket has more than an eighth of all edges. An empty one, of 8, is passed over.
    assert found == [(3, [LOW, 6], 30, 0), (1, [6, 7], 10, 0), (1, [8, 101], 10, 0)]
    assert state.active_count == 0


def test_the_step_learns_from_the_last_bucket():
    buckets, state, _ = opened([5, 7, 8, 9, 10, 11, 20])
    assert buckets.next(10**6)
    assert (state.thresholds.tolist(), buckets.step, buckets.before) == ([LOW, 6], 1, None)
    buckets.followed += 11
    assert buckets.next(10**6)
    assert (state.thresholds.tolist(), buckets.step, buckets.before) == ([6, 8], 2, Bucket(10, 11))
    buckets.followed += 500
    assert buckets.next(10**6)
    assert (state.thresholds.tolist(), buckets.step, buckets.before) == ([8, 9], 1, Bucket(20, 500))


def test_a_frontier_of_one_vertex_is_a_bucket():
    buckets, state, _ = opened([3])
    assert buckets.next(10)
    assert state.active_count == 1
    assert not buckets.next(10)


def test_no_vertex_is_pending():
    buckets, state, _ = opened([])
    assert not buckets.next(10)
    assert state.thresholds.tolist() == [LOW, LOW]


def test_the_threshold_is_never_larger_than_its_type():
    buckets, state, _ = opened([HIGH])
    assert buckets.next(10)
    assert state.thresholds.tolist() == [LOW, HIGH]
