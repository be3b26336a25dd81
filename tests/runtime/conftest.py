"""The graph of tests in which only its size and the lengths of its edges matter."""

import numpy as np
import pytest

import garaph_py as gp


@pytest.fixture(scope="module")
def graph():
    """A path of 99 edges of length 1."""
    return gp.from_edges(np.arange(99), np.arange(1, 100), np.ones(99, np.int32))
