"""Calls that one thread makes in turn, and how several divide calls."""

import numpy as np
import pytest

from garaph_py.native import From, Kernel, PerCall, run_in_turn
from garaph_py.native.job import CALLS, SHARES, empty_job, take


def add_up(numbers, count, out):
    for k in range(count):
        out[0] += numbers[k]
    return count


ADD_UP = Kernel("i32* i64 i64*", add_up)


def test_each_call_gets_its_part_of_an_array():
    out, numbers = np.zeros((3, 1), np.int64), np.arange(10, dtype=np.int32)
    table = ADD_UP.rows(3, From(numbers, np.array([0, 4, 8])), np.array([2, 3, 1]), PerCall(out))
    assert run_in_turn(table).tolist() == [2, 3, 1]
    assert out[:, 0].tolist() == [0 + 1, 4 + 5 + 6, 8]
    table.put(0, From(numbers, np.array([1, 1, 1])))
    run_in_turn(table)
    assert out[:, 0].tolist() == [1 + 1 + 2, 15 + 1 + 2 + 3, 8 + 1]


TAKE = Kernel("i64* i64 i64", take)


@pytest.mark.parametrize(
    ("worker", "calls", "order"),
    [
        (0, 7, [0, 1, 2, 3, 4, 5, 6]),
        (1, 7, [2, 3, 4, 5, 6, 0, 1]),
        (2, 7, [4, 5, 6, 0, 1, 2, 3]),
        (5, 7, [4, 5, 6, 0, 1, 2, 3]),  # a worker without a share
        (1, 2, [0, 1]),
        (2, 2, [1, 0]),
    ],
)
def test_a_worker_takes_its_share_first(worker, calls, order):
    job = empty_job(6)
    job[CALLS], job[SHARES] = calls, 3
    assert [TAKE(job, worker, calls - k) for k in range(calls)] == order


def test_workers_leave_no_call_out():
    job = empty_job(3)
    job[CALLS], job[SHARES] = 10, 3
    assert [TAKE(job, worker, 1) for worker in (2, 0, 2, 2, 1, 2, 2, 0, 1, 0)] == [6, 0, 7, 8, 3, 9, 1, 2, 4, 5]


def test_one_share_has_all_calls_in_order():
    job = empty_job(3)
    job[CALLS], job[SHARES] = 5, 1
    assert [TAKE(job, worker, left) for worker, left in ((1, 5), (0, 4), (2, 3))] == [0, 1, 2]
