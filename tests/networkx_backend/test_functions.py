"""What makes a function one of NetworkX's."""

import networkx as nx
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError
from garaph_py.networkx_backend.functions import implements
from garaph_py.networkx_backend.graph import BackendGraph


def refuse_odd(n, **others):
    return "n is odd" if n % 2 else None


@implements(refuse_odd)
def size(G, n, weight=None):
    """A docstring."""
    return len(G) + n


def test_says_why_it_cannot_run():
    assert size.can_run((None, 2), {}) is True
    assert size.can_run((None,), {"n": 3}) == "n is odd"
    assert "missing a required argument" in size.can_run((None,), {})


@implements()
def refuse(G):
    raise GraphError("too large")


def test_a_graph_that_is_refused_is_left_to_networkx():
    """Unless it is the user's own, which NetworkX does not know."""
    with pytest.raises(NotImplementedError, match="too large"):
        refuse(BackendGraph(gp.from_edges([0], [1]), nodes=[0, 1]))
    with pytest.raises(GraphError, match="too large"):
        refuse(gp.from_edges([0], [1]))


def test_refuses_what_is_no_graph():
    """NetworkX passes on what it does not know, such as a path."""
    with pytest.raises(ParameterError, match="pagerank takes a Graph, not str; make one with read, open"):
        nx.pagerank("web.graph", backend="garaph")


def test_takes_either_graph():
    graph = gp.from_edges([0], [1])
    assert size(graph, 2) == size(BackendGraph(graph), n=2) == 4
    assert (size.__name__, size.__doc__) == ("size", "A docstring.")
