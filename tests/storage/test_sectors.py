"""Which parts of blocks are read: no other choice takes less time."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.storage.sectors import access_bytes, cut, worth_reading

ENDS = st.lists(st.integers(0, 60), min_size=2, max_size=14, unique=True).map(sorted)


@given(ENDS, st.integers(1, 30))
def test_no_other_choice_takes_less_time(ends, access):
    ranges = np.array(ends[: len(ends) // 2 * 2]).reshape(-1, 2)
    gaps = ranges[1:, 0] - ranges[:-1, 1]
    wanted = int((ranges[:, 1] - ranges[:, 0]).sum())
    least = min(
        wanted + sum(access if apart else int(gap) for apart, gap in zip(choice, gaps, strict=True))
        for choice in product((True, False), repeat=len(gaps))
    )
    runs = worth_reading(ranges, access, 61)
    if runs is None:
        assert least + access >= 61
        return
    assert int((runs[:, 1] - runs[:, 0]).sum()) + access * (len(runs) - 1) == least
    read = {e for first, last in runs for e in range(first, last)}
    assert read >= {e for first, last in ranges for e in range(first, last)}


def test_nothing_is_read_for_nothing():
    assert len(worth_reading(np.empty((0, 2), np.int64), 10, 100)) == 0
    assert len(worth_reading(np.array([[5, 5], [7, 7]]), 10, 100)) == 0


def test_a_greater_k_reads_across_larger_gaps():
    firsts = np.arange(0, 1 << 24, 1 << 16)
    ranges = np.stack((firsts, firsts + 1), axis=1)
    assert len(worth_reading(ranges, access_bytes(1) // 4, 1 << 24)) == len(ranges)
    assert worth_reading(ranges, access_bytes(100) // 4, 1 << 24) is None


@given(ENDS, st.integers(1, 30))
def test_runs_are_cut_where_blocks_begin(ends, step):
    runs = np.array(ends[: len(ends) // 2 * 2]).reshape(-1, 2)
    parts = cut(runs, step)
    assert all(first // step == (last - 1) // step for first, last in parts)
    assert [e for first, last in parts for e in range(first, last)] == [
        e for first, last in runs for e in range(first, last)
    ]
