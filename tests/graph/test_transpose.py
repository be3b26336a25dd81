import numpy as np
import pytest

import garaph_py as gp
from garaph_py.graph import transpose
from garaph_py.graph.transpose import reversed_edges, reversed_frugally
from garaph_py.native.threads import ThreadPool


@pytest.mark.parametrize("threads", [1, 3])
def test_both_ways_to_reverse_edges_give_the_same(threads, monkeypatch):
    monkeypatch.setattr(transpose, "CHUNK", 1000)
    edges = gp.rmat(10, seed=4)._arrays.in_edges
    with ThreadPool(threads) as pool:
        found, expected = reversed_frugally(edges, pool), reversed_edges(edges, len(edges.offsets) - 1, pool)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.neighbours, expected.neighbours)
