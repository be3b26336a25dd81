"""Partial sums are added in their order, so that the bits are those of a sum one by one."""

from __future__ import annotations

import numpy as np

from garaph_py.executor.partials import sum_partials, total_of


def test_the_bits_are_those_of_a_sum_one_by_one() -> None:
    parts = [np.random.default_rng(k).random(100) for k in range(3)]
    slow = np.float64(0)
    for value in np.concatenate(parts):
        slow += value
    assert sum_partials(parts, np.dtype(np.float64)).tolist() == [slow]


def test_fields_are_added_apart() -> None:
    kind = np.dtype([("mass", np.float64), ("count", np.int64)])
    parts = [np.array([(0.5, 1), (0.25, 2)], kind), np.array([(1.0, 4)], kind)]
    assert sum_partials(parts, kind).tolist() == [(1.75, 7)]
    assert sum_partials([parts[1]], kind) is parts[1]


def test_the_total_has_its_own_type() -> None:
    total = total_of([np.array([1.5]), np.array([2.25])], np.dtype(np.float32))
    assert (total.dtype, total.tolist()) == (np.dtype(np.float32), [3.75])
