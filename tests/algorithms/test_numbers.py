"""Numbers that callers give to algorithms: real and finite, or one clear error."""

import numpy as np
import pytest

from garaph_py.algorithms.numbers import finite, positive
from garaph_py.errors import ParameterError


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int8(3), 10**300])
def test_numbers_become_floats(value):
    for check in (positive, finite):
        assert check(value, "hits", "tol") == float(value)
    assert finite(-value, "hits", "tol") == -float(value)


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), 1j, np.complex128(1), "1", None, np.ones(2)])
def test_what_is_no_finite_number(value):
    with pytest.raises(ParameterError, match=r"^hits\(tol=.*\): give a number above 0$"):
        positive(value, "hits", "tol")
    with pytest.raises(ParameterError, match=r"^katz_centrality\(alpha=.*\): give a finite number$"):
        finite(value, "katz_centrality", "alpha")


@pytest.mark.parametrize("value", [0, -1, np.float64(-0.5)])
def test_what_is_not_above_0(value):
    with pytest.raises(ParameterError, match="give a number above 0"):
        positive(value, "hits", "tol")
