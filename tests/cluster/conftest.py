from concurrent.futures import ThreadPoolExecutor

import pytest

import garaph_py as gp
from garaph_py.cluster import worker
from garaph_py.program import bind


@pytest.fixture(scope="package")
def graph():
    """A graph for tests of how a graph is cut."""
    return gp.rmat(14, 16, seed=1)


@pytest.fixture(scope="package")
def bound(graph):
    """A program that is bound to this graph."""
    return bind(gp.apps.PageRank(), graph)


@pytest.fixture(autouse=True)
def no_engines_left(monkeypatch):
    """A worker of this process that a test kills has an engine, whose thread later tests would find."""
    engines = []

    def engine(*given, **named):
        engines.append(ThreadPoolExecutor(*given, **named))
        return engines[-1]

    monkeypatch.setattr(worker, "ThreadPoolExecutor", engine)
    yield
    for each in engines:
        each.shutdown()
