"""Calls that one thread makes in turn."""

import numpy as np

from garaph_py.native import From, Kernel, PerCall, run_in_turn


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
