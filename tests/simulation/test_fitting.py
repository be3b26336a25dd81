"""Fits that add up, and keep what they cannot tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from garaph_py.simulation.fitting import fit


def test_fitted_seconds_add_up_to_those_measured():
    rng = np.random.default_rng(3)
    edges = rng.uniform(1, 100, 50)
    seconds = (edges * 2 + 5) * rng.uniform(0.7, 1.5, 50)
    slope, constant = fit([edges, np.ones(50)], seconds)
    assert slope >= 0
    assert constant >= 0
    assert (slope * edges + constant).sum() == pytest.approx(seconds.sum(), rel=1e-3)


def test_what_columns_do_not_tell_apart_stays_as_expected():
    edges = np.arange(1.0, 50.0)
    first, second = fit([edges, edges], 9 * edges, expected=[6.0, 3.0])
    assert (first, second) == (pytest.approx(6), pytest.approx(3))
    first, second = fit([edges, edges], 12 * edges, expected=[6.0, 3.0])
    assert first + second == pytest.approx(12, rel=0.02)
    assert first - second == pytest.approx(3, rel=0.02)
    assert fit([edges], 8 * edges, expected=[0.0]) == [pytest.approx(8, rel=0.05)]
