"""Ranks of destinations, beside a slow twin."""

import numpy as np
import pytest
from hypothesis import given

from garaph_py.executor.gpu.ranks import MANY_RUNS, PIECE, RUN, WARP, Ranks
from tests.support.degrees import DEGREES, offsets_of


@given(DEGREES)
def test_ranks_beside_a_loop(degrees):
    offsets = offsets_of(degrees)
    ranks = Ranks.of(offsets)
    with_edges = [v for v, degree in enumerate(degrees) if degree]
    assert ranks.before.tolist() == [sum(u < v for u in with_edges) for v in range(len(degrees) + 1)]
    assert ranks.destinations.tolist() == with_edges
    assert ranks.by_word.tolist() == [sum(u < w for u in with_edges) for w in range(0, len(degrees), WARP)]
    begins = [int(offsets[v]) for v in with_edges]
    runs = range(0, max(sum(degrees), 1), RUN)
    assert ranks.by_run().tolist() == [sum(edge < first for edge in begins) for first in runs]
    assert {array.dtype for array in (ranks.before, ranks.by_run(), ranks.by_word, ranks.destinations)} == {
        np.dtype(np.uint32)
    }


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [PIECE - 1, PIECE, 5 * PIECE + 1])
def test_ranks_go_on_from_piece_to_piece_and_from_thread_to_thread(n, threads):
    degrees = np.random.default_rng(n).integers(0, 3, n)
    expected = np.append(0, np.cumsum(degrees > 0))
    np.testing.assert_array_equal(Ranks.of(offsets_of(degrees), threads).before, expected)


def test_ranks_of_more_edges_than_32_bits_count():
    offsets = np.arange(65, dtype=np.int64) << 27
    ranks = Ranks.of(offsets)
    assert ranks.by_run()[[0, 1, (1 << 17) - 1, 1 << 17, (1 << 23) - 1]].tolist() == [0, 1, 1, 1, 64]


def test_hubs_are_those_that_go_on_through_many_runs():
    rng = np.random.default_rng(1)
    degrees = rng.choice([0, 3, 5000, 32768, 32769, 33793, 40000, 100000], 300)
    offsets = np.append(0, np.cumsum(degrees))
    runs = (offsets[1:] - 1) // RUN - offsets[:-1] // RUN
    np.testing.assert_array_equal(Ranks.of(offsets).hubs, np.flatnonzero((degrees > 0) & (runs > MANY_RUNS)))
