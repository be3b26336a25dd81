import numpy as np
import pytest

import garaph_py as gp
from garaph_py.graph import transpose
from garaph_py.graph.transpose import owners, reversed_edges, reversed_frugally
from garaph_py.native.threads import ThreadPool


@pytest.mark.parametrize("threads", [1, 3])
def test_both_ways_to_reverse_edges_give_the_same(threads, monkeypatch):
    monkeypatch.setattr(transpose, "CHUNK", 1000)
    edges = gp.rmat(10, seed=4)._arrays.in_edges
    with ThreadPool(threads) as pool:
        found, expected = reversed_frugally(edges, pool), reversed_edges(edges, len(edges.offsets) - 1, pool)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.neighbours, expected.neighbours)


def test_owners_of_some_entries():
    offsets = np.array([0, 0, 3, 3, 4, 9, 9], np.int64)
    whole = np.repeat(np.arange(6), np.diff(offsets))
    for first in range(9):
        for last in range(first + 1, 10):
            assert owners(offsets, first, last).tolist() == whole[first:last].tolist()
