"""Moving a graph to other disks: after any crash or failure the graph is whole, and the next run removes leftovers."""

import errno
import fcntl
import gc
import itertools
import json
import os

import numpy as np
import pytest

from garaph_py.codec.blocks import UNIT
from garaph_py.errors import DamagedGraphError, GaraphError, ParameterError
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import rmat
from garaph_py.storage import directory as store
from garaph_py.storage import restripe as restriping
from garaph_py.storage import write
from garaph_py.storage.files import GraphDirectory
from garaph_py.storage.restripe import restripe
from tests.support.crashes import CALLS, MAIN, Crash, calls_of
from tests.support.graphs import equal, small_graph

TINY = from_numbered_edges([0, 1], [1, 2], 3, directed=False)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Syncing does nothing: when a process dies, the system still has all that it wrote."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def stored_on(folder, names, graph=TINY):
    """`graph` in `folder`, on the disks of these names; the directory."""
    for name in "abc":
        (folder / name).mkdir(parents=True)
    store.save(graph, folder / "graph", disks=places(folder, names), block_bytes=512, encoding="raw")
    return folder / "graph"


def places(folder, names):
    return [name if name == "." else folder / name for name in names]


def moved(folder, names):
    """The graph in `folder`, put onto the disks of these names."""
    return restripe(folder / "graph", places(folder, names))


def files(folder):
    """All that is there, but the disks themselves."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} - set("abc")


def expected(folder):
    """All that belongs to the graph in `folder`."""
    info = store.info(folder / "graph")
    there = {
        "graph",
        "graph/manifest.json",
        *(f"graph/{file}" for array in info.arrays.values() for file in array.files[1:]),
    }
    for disk in info.disks:
        directory = os.path.relpath(folder / "graph" / disk, folder)
        there |= {directory, *(f"{directory}/{array.data}" for array in info.arrays.values())}
    return there


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_disks_come_and_go(tmp_path, encoding):
    graph = rmat(9, weights=(1, 9))
    stored_on(tmp_path, ".")
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=UNIT)
    before, told = store.info(tmp_path / "g"), []
    for generation, names in enumerate(("ab", "abc", ".c", "c", ".", "b."), 1):
        manifest = restripe(tmp_path / "g", places(tmp_path, names), on_event=told.append)
        assert manifest == store.info(tmp_path / "g")
        assert manifest.generation == generation
        assert manifest.disks == tuple(
            name if name == "." else str(tmp_path / name / f"g-{before.graph_id.hex[:8]}") for name in names
        )
        assert manifest.stored_bytes == before.stored_bytes
        assert equal(graph, store.open(tmp_path / "g"))
        for name in "abc":
            assert len(os.listdir(tmp_path / name)) == (name in names)
    assert store.verify(tmp_path / "g") == []
    all_bytes = sum(array.raw_bytes for array in before.arrays.values())
    assert (told[-1].name, told[-1].done, told[-1].total) == ("restriping graph", all_bytes, all_bytes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "then"), [pytest.param("a.", "ab", "c", marks=pytest.mark.full), (".", "b", ".")]
)
def test_a_process_that_dies_at_any_call_leaves_the_graph(tmp_path, monkeypatch, old, new, then):
    """The graph is on its old disks or on its new ones; the next run removes all other files from all disks."""
    stored_on(tmp_path / "whole", old)
    points, _ = calls_of(monkeypatch, lambda: moved(tmp_path / "whole", new))
    assert files(tmp_path / "whole") == expected(tmp_path / "whole")
    found = set()
    for point in points:
        folder = tmp_path / str(point)
        graph = stored_on(folder, old)
        _, raised = calls_of(monkeypatch, lambda folder=folder: moved(folder, new), die_at=point)
        assert isinstance(raised, Crash)
        assert equal(TINY, store.open(graph)), point
        assert store.verify(graph) == []
        found.add(store.info(graph).generation)
        restripe(graph, places(folder, then))
        assert equal(TINY, store.open(graph))
        assert files(folder) == expected(folder), point
    assert found == {0, 1}


@pytest.mark.full
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINTR, None])
def test_a_call_that_fails_at_any_place_leaves_the_graph(tmp_path, monkeypatch, number):
    """The restripe ends in an error, or in a note if only old files could not be removed."""
    gc.collect()  # closes files that graphs of other tests still hold
    stored_on(tmp_path / "whole", "a")
    points, _ = calls_of(monkeypatch, lambda: moved(tmp_path / "whole", "b"), names=CALLS)
    for point in points:
        folder, handles = tmp_path / str(point), os.listdir("/proc/self/fd")
        graph = stored_on(folder, "a")
        _, raised = calls_of(
            monkeypatch, lambda folder=folder: moved(folder, "b"), fail_at=point, number=number, names=CALLS
        )
        assert raised is None or isinstance(raised, GaraphError), (point, points[point])
        assert equal(TINY, store.open(graph)), point
        if raised is None:
            assert store.info(graph).generation == 1
        restripe(graph, places(folder, "c"))
        assert files(folder) == expected(folder), point
        assert os.listdir("/proc/self/fd") == handles


@pytest.mark.full
def test_the_next_opening_removes_what_is_left_in_the_graph_directory(tmp_path, monkeypatch):
    stored_on(tmp_path / "whole", ".")
    points, _ = calls_of(monkeypatch, lambda: moved(tmp_path / "whole", "."))
    for point in points:
        folder = tmp_path / str(point)
        graph = stored_on(folder, ".")
        calls_of(monkeypatch, lambda folder=folder: moved(folder, "."), die_at=point)
        assert equal(TINY, store.open(graph))
        assert files(folder) == expected(folder), point


def test_opening_removes_nothing_outside_the_graph_directory(tmp_path, monkeypatch, caplog):
    """The graph directory may be a copy of one that now uses the directories in the journal."""
    graph = stored_on(tmp_path, "a")
    calls_of(monkeypatch, lambda: moved(tmp_path, ".b"), die_at=(MAIN, 40))
    (written,) = (tmp_path / "b").iterdir()
    before = os.listdir(written)
    assert before
    assert equal(TINY, store.open(graph))
    assert os.listdir(written) == before
    assert f"{written}; the next restripe removes them" in caplog.text
    assert not list(graph.glob("*.data"))
    moved(tmp_path, ".")
    assert files(tmp_path) == expected(tmp_path)


@pytest.mark.parametrize("obstacle", ["no locks", "read only"])
def test_opening_may_leave_what_it_cannot_remove(tmp_path, monkeypatch, obstacle):
    """Where a restriping may be under way, or nothing can be removed, a graph can be read all the same."""
    graph = stored_on(tmp_path, ".")
    calls_of(monkeypatch, lambda: moved(tmp_path, "."), die_at=(MAIN, 30))
    before = files(tmp_path)
    assert before != expected(tmp_path)
    if obstacle == "no locks":
        monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    else:
        monkeypatch.setattr(os, "unlink", failing(errno.EROFS))
    assert equal(TINY, store.open(graph))
    assert files(tmp_path) == before


def failing(number):
    def fail(*arguments, **options):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_process_that_dies_again_and_again(tmp_path, monkeypatch):
    """Each process moves the graph to other disks."""
    rng = np.random.default_rng(1)
    graph = stored_on(tmp_path, "a")
    died = 0
    for _ in range(40):
        to = places(tmp_path, rng.permutation(list("abc."))[: rng.integers(1, 4)])
        _, raised = calls_of(monkeypatch, lambda to=to: restripe(graph, to), die_at=(MAIN, rng.integers(100)))
        assert raised is None or isinstance(raised, Crash)
        died += raised is not None
        assert equal(TINY, store.open(graph))
    assert 10 < died < 40
    restripe(graph, ["."])
    assert files(tmp_path) == expected(tmp_path)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch, failure):
    stored_on(tmp_path, "a")
    before, real = files(tmp_path), write.NewFile.sync
    for stop in range(1, 9):  # journal; two data files and an index of either array; manifest
        synced = itertools.count(1)

        def interrupted(file, synced=synced, stop=stop):
            real(file)
            if next(synced) == stop:
                raise failure

        monkeypatch.setattr(write.NewFile, "sync", interrupted)
        with pytest.raises(failure):
            moved(tmp_path, "bc")
        assert files(tmp_path) == before
    moved(tmp_path, "bc")
    assert files(tmp_path) == expected(tmp_path)


def test_damage_is_not_copied(tmp_path):
    graph = stored_on(tmp_path, "ab", small_graph())
    info = store.info(graph)
    with GraphDirectory(graph) as folder:
        reader = store.reader_of(folder, info, "out_targets")
        path, offset = reader.paths[reader.index["disk"][1]], int(reader.index["offset"][1])
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)
    before = files(tmp_path)
    with pytest.raises(DamagedGraphError, match=rf"{path}: block 1, at byte {offset} of the file: the block"):
        restripe(graph, places(tmp_path, "bc"))
    assert files(tmp_path) == before
    assert store.info(graph) == info
    os.truncate(path, offset)
    with pytest.raises(DamagedGraphError, match=rf"{path}: block 1, at byte {offset} of the file: the file ends"):
        restripe(graph, places(tmp_path, "bc"))
    assert files(tmp_path) == before


def test_files_of_others_stay(tmp_path):
    graph = stored_on(tmp_path, "a")
    (directory,) = (tmp_path / "a").iterdir()
    (directory / "notes").write_text("mine")
    (graph / "in_sources.old.data").write_text("mine")
    restripe(graph, places(tmp_path, "b"))
    assert files(tmp_path) - expected(tmp_path) == {
        f"a/{directory.name}", f"a/{directory.name}/notes", "graph/in_sources.old.data"
    }  # fmt: skip
    with pytest.raises(ParameterError, match=rf"{directory} already exists; remove it or choose another name"):
        restripe(graph, places(tmp_path, "a"))
    assert (directory / "notes").read_text() == "mine"
    assert equal(TINY, store.open(graph))


def test_old_files_that_cannot_be_removed_are_the_next_runs(tmp_path, monkeypatch, caplog):
    graph = stored_on(tmp_path, "a")
    (directory,) = (tmp_path / "a").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", read_only(directory))
        for names in ("b", "c", "."):
            moved(tmp_path, names)
            assert f"{directory}: old files cannot be removed (Read-only file system)" in caplog.text
            assert equal(TINY, store.open(graph))
            assert files(tmp_path) - expected(tmp_path) >= {f"a/{directory.name}/in_sources.data"}
    moved(tmp_path, "b")
    assert files(tmp_path) == expected(tmp_path)


def test_files_of_a_generation_that_came_to_be_elsewhere(tmp_path, monkeypatch):
    """Files that were left on one disk have the names that the graph has on another disk."""
    graph = stored_on(tmp_path, "a")
    assert isinstance(calls_of(monkeypatch, lambda: moved(tmp_path, "b"), die_at=(MAIN, 25))[1], Crash)
    (directory,) = (tmp_path / "b").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", read_only(directory))
        moved(tmp_path, "c")
    assert set(os.listdir(directory)) & set(os.listdir(store.info(graph).disks[0]))
    moved(tmp_path, "a")
    assert files(tmp_path) == expected(tmp_path)


def read_only(directory, unlink=os.unlink):
    """An `os.unlink` that fails in one directory."""

    def failing(path, **options):
        if str(path).startswith(str(directory)):
            raise OSError(errno.EROFS, "Read-only file system")
        unlink(path, **options)

    return failing


@pytest.mark.parametrize(
    "text", ["", "[", "5", "{}", "[5]", "[null]", '["/tmp", "..", ".", "a"]', "\xff", "[" * 100_000, '["/nowhere-ID"]']
)
def test_a_damaged_or_foreign_journal_harms_nothing(tmp_path, text):
    graph = stored_on(tmp_path / "this", "a")
    stored_on(tmp_path / "that", "b")
    before = files(tmp_path / "that")
    graph_id = store.info(graph).graph_id.hex[:8]
    (graph / "restripe.partial").write_text(text.replace("ID", graph_id), "latin-1")
    if text.startswith('["'):
        moved(tmp_path / "this", "c")
        assert files(tmp_path / "this") == expected(tmp_path / "this")
    else:
        with pytest.raises(DamagedGraphError, match=r"restripe\.partial: damaged \(.*; remove it"):
            moved(tmp_path / "this", "c")
    assert files(tmp_path / "that") == before
    assert equal(TINY, store.open(graph))


def test_a_journal_that_names_another_graph_harms_only_what_is_named_like_this_one(tmp_path):
    graph = stored_on(tmp_path / "this", "a")
    stored_on(tmp_path / "that", "b")
    there = list(store.info(tmp_path / "that" / "graph").disks)
    (graph / "restripe.partial").write_text(json.dumps(there))
    restripe(graph, places(tmp_path / "this", "c"))
    assert equal(TINY, store.open(tmp_path / "that" / "graph"))


def test_generations_begin_again(tmp_path, monkeypatch):
    graph = stored_on(tmp_path, "a")
    monkeypatch.setattr(restriping, "MAX_COUNT", 1)
    assert [moved(tmp_path, names).generation for names in "bac"] == [1, 0, 1]
    assert equal(TINY, store.open(graph))


def test_everything_is_synced_before_it_counts(tmp_path, monkeypatch):
    """New files come before the manifest, the manifest before old files are removed, and these before the journal."""
    stored_on(tmp_path, "a.")
    open_, names, dirty = os.open, {}, set()

    def opening(path, flags, *arguments, **options):
        handle = open_(path, flags, *arguments, **options)
        if "dir_fd" not in options:
            names[handle] = str(path)
            if flags & os.O_CREAT:
                dirty.update({str(path), os.path.dirname(path)})
        return handle

    def renaming(path, target):
        if str(target).endswith("manifest.json"):
            assert not dirty
        os.replace(path, target)
        dirty.add(os.path.dirname(target))

    def making(path, make=os.mkdir):
        make(path)
        dirty.add(os.path.dirname(path))

    def unlinking(path, unlink=os.unlink):
        if str(path).endswith("restripe.partial") or os.path.dirname(path) not in unlinked:
            assert str(path).endswith(".new") or not dirty
        unlink(path)
        unlinked.add(os.path.dirname(path))
        dirty.add(os.path.dirname(path))

    def removing(path, rmdir=os.rmdir):
        rmdir(path)
        dirty.discard(str(path))
        dirty.add(os.path.dirname(path))

    unlinked = set()
    for name, call in (
        ("open", opening), ("rename", renaming), ("mkdir", making), ("unlink", unlinking), ("rmdir", removing),
        ("write", lambda handle, data, write=os.write: dirty.add(names[handle]) or write(handle, data)),
        ("fsync", lambda handle: dirty.discard(names[handle])),
    ):  # fmt: skip
        monkeypatch.setattr(os, name, call)
    moved(tmp_path, ".bc")
    assert not dirty
    assert len(unlinked) == 2
