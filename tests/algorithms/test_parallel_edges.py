"""Parallel edges are refused by their ends."""

import pytest

import garaph_py as gp
from garaph_py.algorithms.parallel_edges import refuse_parallel
from garaph_py.errors import GraphError
from garaph_py.pages.passes import listed


def test_parallel_edges_are_refused_by_their_ends():
    graph = gp.from_edges([5, 6, 6, 7], [6, 7, 7, 5])
    (edges,) = listed(graph)
    refuse_parallel("some_function", graph, edges, edges.sources == 9)
    with pytest.raises(GraphError, match=r"^some_function .* parallel edges, and 6 -> 7 has some.*drop_parallel=True"):
        refuse_parallel("some_function", graph, edges, ~edges.first)
