"""Edges grouped by key: sorted as by a stable sort, with as many calls of kernels for many keys as for few."""

import numpy as np
import pytest

from garaph_py.graph.group import group, owners
from garaph_py.native import Kernel
from garaph_py.native.threads import ThreadPool


def columns_of(n, m, dtype):
    rng = np.random.default_rng(n)
    values = None if dtype is None else rng.integers(0, 100, m).astype(dtype)
    return [rng.integers(0, n, m).astype(np.uint32), rng.integers(0, n, m).astype(np.uint32), values]


@pytest.mark.parametrize("dtype", [None, np.int32, np.float64])
@pytest.mark.parametrize(("n", "m"), [(1, 10), (63, 0), (65, 500), (5000, 70_000), (200_001, 70_000)])
@pytest.mark.parametrize("threads", [1, 3])
def test_edges_are_sorted_by_key_and_else_keep_their_order(n, m, dtype, threads):
    keys, others, values = columns_of(n, m, dtype)
    order = np.argsort(keys, kind="stable")
    with ThreadPool(threads) as pool:
        offsets, found, carried = group([keys, others, values], n, pool)
    np.testing.assert_array_equal(np.diff(offsets), np.bincount(keys, minlength=n))
    np.testing.assert_array_equal(found, others[order])
    assert (carried is None) == (values is None)
    if values is not None:
        np.testing.assert_array_equal(carried, values[order])


def test_a_thread_calls_each_kernel_once(monkeypatch):
    """A call takes Python as long as sorting hundreds of edges does."""
    calls, call = [], Kernel.__call__
    monkeypatch.setattr(Kernel, "__call__", lambda self, *given: calls.append(self.name) or call(self, *given))
    with ThreadPool(2) as pool:
        group(columns_of(200_001, 70_000, np.int32), 200_001, pool)
    assert [calls.count(name) for name in ("count_buckets", "scatter", "place")] == [2, 2, 2]


def test_owners_of_some_entries():
    offsets = np.array([0, 0, 3, 3, 4, 9, 9], np.int64)
    whole = np.repeat(np.arange(6), np.diff(offsets))
    for first in range(9):
        for last in range(first + 1, 10):
            assert owners(offsets, first, last).tolist() == whole[first:last].tolist()
