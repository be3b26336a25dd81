from concurrent.futures import ThreadPoolExecutor

import pytest

import garaph_py as gp
from garaph_py.cluster import worker
from garaph_py.cluster.host import PartHost
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


@pytest.fixture
def free_copies(monkeypatch):
    """A copy is made as soon as the one before is complete; on a busy machine, one may take so long that few follow."""
    no_time = property(lambda host: 0.0, lambda host, seconds: None)
    monkeypatch.setattr(PartHost, "_copy_seconds", no_time, raising=False)
