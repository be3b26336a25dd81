"""Subgraphs have the edges that NumPy selects, in the same order, wherever batches and pieces of work begin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.graph.group import owners
from garaph_py.graph.subgraph import induced
from tests.support import twins


def lists(adjacency):
    """The edges of one side: owner, other endpoint and value, in order."""
    values = adjacency.values
    numbers = np.zeros(len(adjacency.neighbours)) if values is None else values
    return owners(adjacency.offsets, 0, len(numbers)).tolist(), adjacency.neighbours.tolist(), numbers.tolist()


def selected(adjacency, kept):
    """`lists` of the edges between the vertices `kept`, as `kept` numbers them."""
    all_owners, others, values = map(np.array, lists(adjacency))
    among = np.isin(all_owners, kept) & np.isin(others, kept)
    found = np.searchsorted(kept, all_owners[among]), np.searchsorted(kept, others[among]), values[among]
    return tuple(column.tolist() for column in found)


@pytest.mark.spread
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("valued", [True, False])
@given(kept=st.sets(st.integers(0, 59)), rows=st.integers(1, 700), threads=st.integers(1, 3))
def test_the_edges_are_those_that_numpy_selects(directed, valued, kept, rows, threads):
    edges = twins.skewed(3, 60, 500)
    weights = np.arange(500) / 2 if valued else None
    graph = gp.from_edges(edges.sources, edges.targets, weights, vertices=np.arange(60), directed=directed)
    kept = np.array(sorted(kept), np.int64)
    found = induced(graph._arrays, kept, rows, threads)
    assert lists(found.in_edges) == selected(graph._arrays.in_edges, kept)
    assert lists(found.out_edges)[:2] == selected(graph._arrays.out_edges, kept)[:2]
    assert (found.out_edges is found.in_edges) != directed
    assert found.edge_dtype == graph.edge_dtype
    assert found.ids.array().tolist() == graph.ids.take(kept).tolist()
