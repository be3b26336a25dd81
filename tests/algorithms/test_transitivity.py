"""Transitivity beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import given

import garaph_py as gp
from tests.support.networkx_graphs import pairs


@given(pairs(directed=False))
def test_networkx_has_the_same(both):
    assert gp.algorithms.transitivity(both.ours) == pytest.approx(nx.transitivity(both.theirs))
