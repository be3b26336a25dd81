"""Clustering coefficients beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from tests.support.networkx_graphs import pairs


@given(pairs(directed=False))
def test_networkx_has_the_same(both):
    result = gp.algorithms.clustering(both.ours)
    assert dict(result) == pytest.approx(nx.clustering(both.theirs), rel=1e-15)
    assert result.values.dtype == np.float64
