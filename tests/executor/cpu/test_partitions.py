"""The outputs of a page's partitions: their shapes, and their sum."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.cpu.partitions import Partitions


def outputs(total=None):
    return Partitions(3, SimpleNamespace(accumulator=np.dtype(np.float32), total=total))


def test_there_is_room_for_each_partition():
    found = outputs()
    assert (found.heads.shape, found.tails.shape, found.sums.shape, found.cuts.shape) == ((3,), (3,), (3, 64), (3, 2))
    assert {found.heads.dtype, found.tails.dtype, found.sums.dtype} == {np.dtype(np.float32)}
    assert (found.cuts.dtype, found.counts.dtype, found.partials.dtype) == (np.int64,) * 3
    assert not np.shares_memory(found.heads, found.tails)


def test_the_merge_has_the_last_row():
    found = outputs(np.dtype(np.float32))
    assert (found.counts.tolist(), found.partials.tolist()) == ([[0] * 4] * 4, [0.0] * 3)
    found.counts[:], found.partials[:] = 7, 8
    found.merge_counts[:] = 5
    assert found.counts.tolist() == [[7] * 4] * 3 + [[5] * 4]
    assert found.partials.tolist() == [8.0] * 3
    found.clear_merge()
    assert found.counts.tolist() == [[7] * 4] * 3 + [[0] * 4]
    assert found.partials.tolist() == [8.0] * 3


@pytest.mark.parametrize("total", [None, np.dtype(np.float32)])
def test_the_result_is_the_sum(total):
    found = outputs(total)
    found.counts[:] = [[1, 2, 3, 4], [10, 20, 30, 40], [100, 200, 300, 400], [1000, 0, 0, 0]]
    found.partials[:] = [1, 2, 3]
    result = found.result(SimpleNamespace(total=total))
    assert (result.edges, result.active, result.active_edges, result.changeable) == (1111, 222, 333, 444)
    assert not result.skipped
    if total is None:
        assert result.partials is None
    else:
        found.partials[:] = 0  # by the next page
        assert result.partials.tolist() == [1, 2, 3]
