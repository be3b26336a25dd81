"""Which bound on memory a graph that is opened keeps."""

import pytest

import garaph_py as gp
from garaph_py.io.load import LoadOptions, load
from garaph_py.storage import fit


@pytest.fixture(params=["directory", "file"])
def opened(request, tmp_path):
    """A function that opens a graph within so much memory, of a directory or a file."""
    graph = gp.rmat(8, 4)
    path = tmp_path / ("graph" if request.param == "directory" else "graph.npz")
    gp.save(graph, path) if request.param == "directory" else gp.write(graph, path)
    return lambda memory=None: load(path, LoadOptions(memory=memory))


def test_a_graph_that_is_small_beside_the_memory_has_no_bound(opened):
    assert opened().memory is None


def test_a_graph_has_the_bound_that_the_user_gives(opened):
    assert opened("1GiB").memory == 1 << 30


def test_a_graph_that_takes_most_of_the_memory_has_a_bound(opened, monkeypatch):
    needed = opened()._arrays.raw_bytes
    monkeypatch.setattr(fit, "available_memory", lambda: int(needed / fit.GRAPH_SHARE / 0.6))
    graph = opened()
    assert graph.memory is not None
    assert graph.nbytes <= graph.memory
