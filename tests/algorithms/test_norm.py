"""Vectors divided by their Euclidean norm."""

import numpy as np
import pytest

from garaph_py.algorithms.norm import unit


@pytest.mark.parametrize("scale", [1, 1e-300, 5e-324, 1e300, 1.7e308 / 4])
def test_squares_may_be_too_large_or_too_small(scale):
    np.testing.assert_allclose(unit(np.array([3.0, -4.0, 0.0]) * scale), [0.6, -0.8, 0], rtol=1e-12)


def test_what_has_no_norm_stays():
    assert unit(np.zeros(3)).tolist() == [0, 0, 0]
    assert unit(np.zeros(0)).tolist() == []
