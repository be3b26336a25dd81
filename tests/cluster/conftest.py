import pytest

import garaph_py as gp
from garaph_py.program import bind


@pytest.fixture(scope="package")
def graph():
    """A graph for tests of how a graph is cut."""
    return gp.rmat(14, 16, seed=1)


@pytest.fixture(scope="package")
def bound(graph):
    """A program that is bound to this graph."""
    return bind(gp.apps.PageRank(), graph)
