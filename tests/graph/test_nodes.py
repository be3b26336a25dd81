"""The vertex that each node of a NetworkX graph is."""

import numpy as np
import pytest

from garaph_py.errors import GraphError
from garaph_py.graph.nodes import SPARSE, Nodes

NO_NODES = -1, 2**70, 10**6, "z", None, 0.5, (1,), [1], {}


@pytest.mark.parametrize(
    ("nodes", "has_table"),
    [
        ([3, 0, 7], True),
        ([0, 3 * SPARSE - 1, 3 * SPARSE], True),
        ([0, 1, 3 * SPARSE + 1], False),
        ([-1, 0, 1], False),
        ([1, 2.5], False),
        ([1, True + 1], True),
        ([np.int64(3), 0], False),
        (["a", 5, ("b", 1)], False),
        ([], False),
    ],
)
def test_nodes_are_found(nodes, has_table):
    places = Nodes(nodes)
    assert (places.table is not None) == has_table
    assert [places.find(node) for node in nodes] == list(range(len(nodes)))
    assert {places.find(node) for node in NO_NODES if node not in nodes} == {None}
    assert places.find_all(iter(nodes)).tolist() == list(range(len(nodes)))


@pytest.mark.parametrize("nodes", [[0, 1, 2], [0, 1, "a"]])
def test_what_is_equal_to_a_node_is_that_node(nodes):
    for equal in (1, 1.0, True, np.int64(1), np.float32(1)):
        assert Nodes(nodes).find(equal) == 1


def test_ends_that_are_no_nodes_are_refused():
    with pytest.raises(GraphError, match="an edge to 'z', which is not one of its nodes"):
        Nodes(["a"]).find_all(["a", "z"])
