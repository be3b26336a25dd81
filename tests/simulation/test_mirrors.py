"""Mirrors of R-MAT graphs: the expected number beside those of graphs that were made."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.simulation.mirrors import rmat_mirrors


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("parts", [1, 2, 5, 64])
def test_the_expected_number_is_that_of_a_graph(directed, parts):
    graph = gp.rmat(14, 16, directed=directed, seed=3)
    edges = graph._arrays.in_edges
    cuts = np.searchsorted(edges.offsets, np.arange(parts + 1) * graph.m // parts)
    sources = np.asarray(edges.neighbour_array.data)
    counted = []
    for first, last in pairwise(cuts):
        found = np.unique(sources[edges.offsets[first] : edges.offsets[last]])
        counted.append(np.count_nonzero((found < first) | (found >= last)))
    assert rmat_mirrors(graph.n, graph.m, parts) == pytest.approx(np.mean(counted), rel=0.03, abs=1)
