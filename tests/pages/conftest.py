"""Graphs on disk, and sources of their pages."""

import pytest

import garaph_py as gp
from garaph_py.pages.disk_layout import lay_out
from garaph_py.pages.disk_source import DiskPageSource
from garaph_py.storage import directory as store
from garaph_py.storage import disks
from tests.support.stored_graphs import STORED, opened


@pytest.fixture(autouse=True)
def little(monkeypatch, read_like_large_graphs):
    """Little memory, small requests, and no pause before a failed read is tried again."""
    monkeypatch.setattr(disks, "PAUSE", 0)


@pytest.fixture(scope="module", params=STORED)
def saved(request, tmp_path_factory):
    """A graph, the directory it is in, and how it is stored."""
    directed, encoding = request.param
    graph = gp.rmat(13, 8, directed=directed, weights=(1, 255))
    folder = tmp_path_factory.mktemp("stored")
    disks = [folder / name for name in ("a", "b", "c")]
    for disk in disks:
        disk.mkdir()
    path = folder / "graph"
    striped = directed == (encoding == "raw")
    store.save(graph, path, encoding=encoding, block_bytes=8192, disks=disks if striped else ["."])
    return graph, path, encoding


@pytest.fixture
def source(saved):
    """A function that makes a source of the in-edges: `room` for them, who is told of buffers."""
    _, path, _ = saved
    edges = opened(path, 300_000)._arrays.in_edges
    reading = [disks.Disk(str(data), None) for data in edges.neighbour_array.reader.paths]
    made = []

    def make(room, **how):
        own = {name: how.pop(name) for name in ("on_allocate", "on_free") if name in how}
        arrays = [edges.neighbour_array]
        planned = lay_out(arrays, edges.offsets, room, **how)
        made.append(DiskPageSource(arrays, int(edges.offsets[-1]), planned, reading, **own))
        return made[-1]

    yield make
    for one in (*made, *reading):
        one.close()
