"""Threads that the system does not let start: one typed error, and nothing half-made is left."""

import threading

import pytest

import garaph_py as gp
from garaph_py.errors import DeviceError
from garaph_py.io import collect
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file


@pytest.fixture
def without(monkeypatch):
    """A function that forbids all threads whose names begin with a given word."""
    start = threading.Thread.start

    def forbid(name):
        def refuse(thread):
            if thread.name.startswith(name):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)

    return forbid


@pytest.mark.parametrize("name", ["garaph-read", "garaph-spill", "garaph-ahead", "garaph-write"])
def test_an_import_without_one_of_its_threads(tmp_path, name, without, monkeypatch):
    monkeypatch.setattr(collect, "SORTING", 1 << 50)  # so that it goes out of core
    path = tmp_path / "edges.txt"
    path.write_text("1 2 0.5\n2 3 0.5\n")
    without(name)
    with pytest.raises(DeviceError, match="can't start new thread; allow more threads"):
        import_file(path, tmp_path / "graph", ImportOptions())
    assert list(tmp_path.iterdir()) == [path]


def test_saving_without_its_thread(tmp_path, without):
    graph = gp.from_edges([0, 1], [1, 2])
    without("garaph-hash")
    with pytest.raises(DeviceError, match="can't start new thread; allow more threads"):
        gp.save(graph, tmp_path / "graph")
    assert not list(tmp_path.iterdir())
