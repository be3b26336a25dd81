"""Confidence intervals of medians."""

from __future__ import annotations

import math

import numpy as np
import pytest

from garaph_py.experiment.interval import CONFIDENCE, LEAST, described, estimate, outside_of


def has_median(n: int, outside: int) -> float:
    """The probability that the median lies between the sorted values `outside` from either end of `n`."""
    return 1 - 2 * sum(math.comb(n, k) for k in range(outside + 1)) / 2**n


@pytest.mark.parametrize("n", range(1, 60))
def test_the_interval_is_the_shortest_with_enough_confidence(n: int) -> None:
    outside = outside_of(n)
    assert has_median(n, outside) >= CONFIDENCE or n < LEAST
    assert has_median(n, outside + 1) < CONFIDENCE
    assert 2 * outside < n


def test_it_has_the_median_as_often_as_it_says() -> None:
    samples = np.random.default_rng(1).exponential(size=(4000, 11))
    hits = [one.low <= math.log(2) <= one.high for one in map(estimate, samples.tolist())]
    assert CONFIDENCE <= np.mean(hits) <= 0.99


def test_a_few_values_are_all_in_it() -> None:
    found = estimate([3.0, 1.0, 2.0])
    assert (found.n, found.median, found.low, found.high) == (3, 2.0, 1.0, 3.0)


def test_words() -> None:
    assert described([6, 9]).endswith("order statistics (n = 6 to 9).")
    assert "n = 2 is too small" in described([2])
    assert "where n is only 2" in described([2, 6])
