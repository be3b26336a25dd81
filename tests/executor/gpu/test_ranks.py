"""Ranks of destinations, beside a slow twin."""

import numpy as np
import pytest
from hypothesis import given

from garaph_py.executor.gpu.ranks import MANY_RUNS, PIECE, RUN, SHARE, WARP, Ranks
from tests.support.degrees import DEGREES, offsets_of


@given(DEGREES)
def test_ranks_beside_a_loop(degrees):
    ranks, rebuilt = (Ranks.of(offsets_of(degrees), keeps_words=keeps) for keeps in (True, False))
    with_edges = [v for v, degree in enumerate(degrees) if degree]
    expected = [sum(u < v for u in with_edges) for v in range(len(degrees) + 1)]
    for each in ranks, rebuilt:
        assert each.before(np.arange(len(expected))).tolist() == expected
        assert [int(each.before(v)) for v in range(len(expected))] == expected
    assert ranks.by_word().tolist() == rebuilt.by_word().tolist() == [*expected[:-1:WARP], len(with_edges)]
    assert ranks.count == len(with_edges)
    assert ranks.before([0]).dtype == rebuilt.before([0]).dtype == ranks.by_word().dtype == np.uint32


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [PIECE - 1, PIECE, 3 * SHARE + 1])
def test_ranks_go_on_from_piece_to_piece_and_from_thread_to_thread(n, threads):
    degrees = np.random.default_rng(n).integers(0, 3, n)
    expected = np.append(0, np.cumsum(degrees > 0))
    ranks, little = (Ranks.of(offsets_of(degrees), threads, keeps_words=keeps) for keeps in (True, False))
    np.testing.assert_array_equal(ranks.by_word(), [*expected[:-1:WARP], expected[-1]])
    some = np.random.default_rng(1).integers(0, n + 1, (2, 50))
    for each in ranks, little:
        np.testing.assert_array_equal(each.before(some), expected[some])
        assert each.before(n) == each.count == expected[-1]


def test_hubs_are_those_that_go_on_through_many_runs():
    rng = np.random.default_rng(1)
    degrees = rng.choice([0, 3, 5000, 32768, 32769, 33793, 40000, 100000], 300)
    offsets = np.append(0, np.cumsum(degrees))
    runs = (offsets[1:] - 1) // RUN - offsets[:-1] // RUN
    np.testing.assert_array_equal(Ranks.of(offsets).hubs, np.flatnonzero((degrees > 0) & (runs > MANY_RUNS)))
