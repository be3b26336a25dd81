"""Imports that die or fail at any system call: the graph is whole or absent, and the next run removes leftovers."""

import contextlib
import errno
import fcntl
import os
import shutil

import numpy as np
import pytest

from garaph_py.errors import DiskFullError, GaraphError, ParameterError
from garaph_py.graph.build import from_numbered_edges
from garaph_py.io import collect
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
from garaph_py.io.read import read
from garaph_py.storage import directory as store
from garaph_py.storage.write import creating
from tests.support.crashes import CALLS, MAIN, PARTS, Crash, calls_of
from tests.support.graphs import equal
from tests.support.threads import at_work

OTHER = from_numbered_edges([0, 1], [1, 2], 3, directed=False)
EDGES = "".join(f"{k * k % 97} {k % 31} {k % 7}\n" for k in range(300))


@pytest.fixture(autouse=True)
def unsynced(monkeypatch, two_cores):
    """Syncing does nothing: when a process dies, the system still has all that it wrote."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Job:
    """An import of `EDGES`, directed and weighted: of every array there is, in memory or out of core, onto disks with
    another graph on them."""

    def __init__(self, folder, names):
        self.folder, self.out, self.source = folder, folder / "graph", folder / "edges.txt"
        for name in "ab":
            (folder / name).mkdir()
        self.disks = [name if name == "." else folder / name for name in names]
        self.source.write_text(EDGES)
        self.graph = read(self.source)
        store.save(OTHER, folder / "other", disks=self.disks)
        self.before = self.files()
        self.run()  # what is compiled, or measured, once is not counted
        assert self.there()

    def run(self):
        import_file(self.source, self.out, ImportOptions(), disks=self.disks, memory="256MiB")

    def files(self):
        return set(self.folder.rglob("*"))

    def there(self):
        """Whether there is a graph; if so, it is whole, and is removed. Nothing else is there."""
        assert equal(OTHER, store.open(self.folder / "other"))
        there = self.out.exists()
        if there:
            assert equal(self.graph, store.open(self.out))
            assert "out_values" in store.info(self.out).arrays
            for disk in store.info(self.out).disks:
                shutil.rmtree(self.out / disk)
            shutil.rmtree(self.out, ignore_errors=True)
        assert self.files() == self.before
        return there


@pytest.fixture(params=["memory", "out of core"])
def job(request, tmp_path, monkeypatch):
    """A function that makes one on the disks of these names."""
    if request.param == "out of core":
        monkeypatch.setattr(collect, "SORTING", 1 << 50)
    return lambda names: Job(tmp_path, names)


@pytest.mark.full
@pytest.mark.parametrize("names", [".", "ab"])
def test_a_process_that_dies_at_any_call_leaves_all_or_nothing(job, monkeypatch, names):
    """The process ends once before each call that changes files; the next run removes what it left, and succeeds."""
    job = job(names)
    points, _ = calls_of(monkeypatch, job.run)
    assert job.there()
    assert {"mkdir", "open", "write", "fsync", "rename"} <= set(points.values())
    for point in points:
        _, raised = calls_of(monkeypatch, job.run, die_at=point)
        assert isinstance(raised, Crash), point
        if not job.out.exists():
            job.run()
        assert job.there()


@pytest.mark.full
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINTR, None])
def test_a_call_that_fails_leaves_all_or_nothing(job, monkeypatch, number):
    """Each call fails once: the import ends in an error that names a path, or makes the graph."""
    job = job("ab")
    points, _ = calls_of(monkeypatch, job.run, names=CALLS)
    assert job.there()
    handles, threads = os.listdir("/proc/self/fd"), set(at_work(""))
    for point, name in points.items():
        if number is None and name not in PARTS:
            continue
        _, raised = calls_of(monkeypatch, job.run, fail_at=point, number=number, names=CALLS)
        assert raised is None or isinstance(raised, DiskFullError) or str(job.folder) in str(raised), (point, name)
        assert isinstance(raised, GaraphError | None)
        assert job.there() or raised is not None
        for thread in set(at_work("")) - threads:
            thread.join(10)  # which has nothing to do, but must see that
            assert not thread.is_alive(), (point, name)
        assert os.listdir("/proc/self/fd") == handles, (point, name)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("names", [".", "ab"])
def test_a_process_that_dies_again_and_again(job, monkeypatch, names):
    """It also dies while it removes what the process before it left."""
    job, rng = job(names), np.random.default_rng(1)
    points = list(calls_of(monkeypatch, job.run)[0])
    assert job.there()
    for _ in range(20):
        _, raised = calls_of(monkeypatch, job.run, die_at=points[rng.integers(len(points))])
        assert isinstance(raised, Crash)
        if job.out.exists():
            assert job.there()
    job.run()
    assert job.there()


@pytest.mark.slow
def test_what_its_manifest_lists_goes_from_disks_that_the_next_run_does_not_have(job, monkeypatch):
    job = job("ab")
    renames = [point for point, name in calls_of(monkeypatch, job.run)[0].items() if name == "rename"]
    assert job.there()
    for point in renames[1:]:
        calls_of(monkeypatch, job.run, die_at=point)
        assert len(job.files() - job.before) > 3
        store.save(job.graph, job.out)
        assert job.there()


@pytest.mark.slow
def test_what_another_process_still_writes_stays(job):
    job = job("ab")
    with pytest.raises(KeyError), creating(job.out, job.disks) as destination:  # noqa: PT012
        with pytest.raises(ParameterError, match=r"graph is being written, at .*; wait for it, or choose another name"):
            job.run()
        assert all(directory.is_dir() for directory in (destination.folder, *destination.disks))
        raise KeyError
    job.run()
    assert job.there()


@pytest.mark.slow
def test_without_locks_nobody_knows_what_was_left(job, monkeypatch):
    def unsupported(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    job = job("ab")
    monkeypatch.setattr(fcntl, "flock", unsupported)
    calls_of(monkeypatch, job.run, die_at=(MAIN, 5))
    left = job.files() - job.before
    job.run()
    assert left < job.files() - job.before


@pytest.mark.slow
def test_what_cannot_be_removed_is_told(job, monkeypatch, caplog):
    job = job(".")
    calls_of(monkeypatch, job.run, die_at=(MAIN, 5))
    (left,) = job.folder.glob(".graph.partial-*")
    (left / "file").touch()

    def failing(path, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", failing)
        with contextlib.suppress(GaraphError):  # whose temporary files cannot be removed either
            job.run()
    assert f"{left}: this directory of an unfinished graph cannot be removed (Read-only file system)" in caplog.text


def test_a_manifest_of_another_graph_removes_nothing(tmp_path):
    """A user who can write beside the graph must not be able to choose files to remove elsewhere."""
    (tmp_path / "disk").mkdir()
    store.save(OTHER, tmp_path / "precious", disks=[tmp_path / "disk"])
    planted = tmp_path / ".graph.partial-0123456789abcdef"
    planted.mkdir()
    shutil.copy(tmp_path / "precious" / "manifest.json", planted)
    store.save(OTHER, tmp_path / "graph")
    assert not planted.exists()
    assert equal(OTHER, store.open(tmp_path / "precious"))


def test_a_directory_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    mkdir, swept = os.mkdir, []

    def swept_at_once(path, *mode):
        mkdir(path, *mode)
        if len(swept) < 2:
            swept.append(path)
            os.rmdir(path)

    monkeypatch.setattr(os, "mkdir", swept_at_once)
    store.save(OTHER, tmp_path / "graph")
    assert equal(OTHER, store.open(tmp_path / "graph"))
    assert len(swept) == 2
