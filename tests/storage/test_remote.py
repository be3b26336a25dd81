"""Graphs at URLs: what is copied, until when it is there, and what is refused. Most tests have a store of their own."""

import errno
import gc
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.cluster.partition import partition
from garaph_py.errors import DamagedGraphError, DiskFullError, FormatError, ParameterError
from garaph_py.storage import remote

URL = "s3://bucket/graph"
ROOT = "bucket/graph"


class Store:
    """A file system as fsspec has them, with the files of a local directory."""

    def __init__(self, folder):
        self.folder, self.copied = folder, []

    def find(self, root, detail):
        assert (root, detail) == (ROOT, True)
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return {f"{ROOT}/{path.relative_to(self.folder)}": {"size": path.stat().st_size} for path in files}

    def get_file(self, path, target):
        self.copied.append(path.removeprefix(f"{ROOT}/"))
        shutil.copyfile(self.folder / self.copied[-1], target)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where copies go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with a graph at `URL`."""
    gp.save(gp.rmat(8, 8, seed=1), tmp_path / "graph")
    there = Store(tmp_path / "graph")
    monkeypatch.setattr(remote, "connected", lambda url: (there, ROOT) if url == URL else pytest.fail(url))
    return there


@pytest.mark.parametrize("given", [URL, f"{URL}/", Path(URL)])
@pytest.mark.parametrize("memory", [None, "24MiB"])
def test_the_graph_is_the_one_there(given, memory, store, temporary):
    heard = []
    graph, expected = gp.open(given, memory=memory, on_event=heard.append), gp.rmat(8, 8, seed=1)
    np.testing.assert_array_equal(gp.run(gp.apps.BFS(3), graph).values, gp.run(gp.apps.BFS(3), expected).values)
    (copying,) = [event for event in heard if isinstance(event, events.Step) and event.name == f"copying {URL}"]
    assert copying.done == copying.total == sum(path.stat().st_size for path in store.folder.iterdir())


def test_the_copy_is_there_as_long_as_a_graph_needs_it(store, temporary):
    graph = gp.open(URL)
    (copy,) = temporary.iterdir()
    assert remote.origin(str(copy)) == URL
    reversed_graph = graph.reversed()
    del graph
    gc.collect()
    assert copy.exists()
    del reversed_graph
    gc.collect()
    assert not any(temporary.iterdir())
    assert remote.origin(str(copy)) == str(copy)


def test_a_client_copies_no_edges_of_parts(store, tmp_path):
    partition(tmp_path / "graph", tmp_path / "parts", 2)
    store.folder = tmp_path / "parts"
    assert gp.open(URL).m == gp.rmat(8, 8, seed=1).m
    assert {"partition.json", "part-0.place", "part-1.place", "vertices/manifest.json"} < set(store.copied)
    assert not any(name.startswith(("part-0/", "part-1/")) for name in store.copied)


def test_files_that_are_there_are_not_copied_again(store, tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    remote.copy(URL, folder, lambda name: name.startswith("in_"))
    assert store.copied
    assert all(name.startswith("in_") for name in store.copied)
    remote.copy(URL, folder, lambda name: True)
    assert sorted(store.copied) == sorted(os.listdir(store.folder)) == sorted(os.listdir(folder))


def test_damage_is_found_and_nothing_is_left(store, temporary):
    data = bytearray((store.folder / "in_sources.data").read_bytes())
    data[20] ^= 1
    (store.folder / "in_sources.data").write_bytes(data)
    with pytest.raises(DamagedGraphError, match=r"in_sources\.data"):
        gp.open(URL)
    assert not any(temporary.iterdir())


@pytest.mark.parametrize(
    "error",
    [FileNotFoundError("no bucket"), PermissionError(errno.EACCES, "Forbidden"), RuntimeError("no credentials")],
)
@pytest.mark.parametrize("call", ["find", "get_file"])
def test_what_cannot_be_read_is_told(error, call, store, temporary, monkeypatch):
    def fails(*args, **options):
        raise error

    monkeypatch.setattr(store, call, fails)
    with pytest.raises(FormatError, match=rf"{URL}.*cannot be read: {type(error).__name__}: .*check the URL"):
        gp.open(URL)
    assert not any(temporary.iterdir())


def test_a_file_that_is_cut_off_meanwhile(store, temporary, monkeypatch):
    monkeypatch.setattr(store, "get_file", lambda path, target: Path(target).write_bytes(b""))
    with pytest.raises(FormatError, match=rf"{URL}/.*: 0 bytes were read of \d+; it has changed meanwhile: try again"):
        gp.open(URL)
    assert not any(temporary.iterdir())


@pytest.mark.parametrize(
    ("path", "size"),
    [(f"{ROOT}/../../x", 3), ("elsewhere/x", 3), (ROOT, 3), (f"{ROOT}/x", None), (f"{ROOT}/x", -1), (f"{ROOT}x", 3)],
)
def test_a_listing_that_makes_no_sense_is_refused(path, size, store, temporary, monkeypatch):
    monkeypatch.setattr(store, "find", lambda root, detail: {path: {"size": size}})
    with pytest.raises(FormatError, match="the store lists"):
        gp.open(URL)
    assert not any(temporary.iterdir())


def test_nothing_there(store, temporary, monkeypatch):
    monkeypatch.setattr(store, "find", lambda root, detail: {})
    with pytest.raises(FormatError, match=f"{URL}: no graph directory there; check the URL"):
        gp.open(URL)


def test_a_disk_with_too_little_space_is_told_before_anything_is_copied(store, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(DiskFullError, match=rf"a copy of {URL} takes .* and .* has 100 B free; name a .*TMPDIR"):
        gp.open(URL)
    assert not store.copied


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(ParameterError, match=f"{URL}: reading URLs needs fsspec: .*`pip install fsspec`"):
        gp.open(URL)


@pytest.mark.slow  # fsspec comes with Dask, which the quick tests do without
def test_fsspec_reads_the_urls(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    gp.save(gp.rmat(8, 8, seed=1), tmp_path / "graph")
    fsspec.filesystem("memory").put(str(tmp_path / "graph"), "/bucket/graph", recursive=True)
    for url in ("memory://bucket/graph", f"file://{tmp_path}/graph"):
        assert gp.open(url).m == gp.rmat(8, 8, seed=1).m
    with pytest.raises(FormatError, match="memory://bucket/none: no graph directory there"):
        gp.open("memory://bucket/none")
    with pytest.raises(ParameterError, match="nope://x/y: Protocol not known: nope"):
        gp.open("nope://x/y")
