"""Graphs striped over disks: the same arrays come back, and whatever a disk does, an error names it."""

import errno
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.codec.blocks import UNIT
from garaph_py.errors import DamagedGraphError, ParameterError
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import rmat
from garaph_py.storage import directory as store
from garaph_py.storage import write
from garaph_py.storage.blocks import INDEX_DTYPE, disk_of
from garaph_py.storage.files import GraphDirectory
from garaph_py.storage.restripe import restripe
from tests.support.command import garaph
from tests.support.crashes import Crash, calls_of
from tests.support.graphs import equal, small_graph
from tests.support.stored_graphs import outcome, rewrite, rewrite_index, setting


@pytest.fixture
def disks(tmp_path):
    made = [tmp_path / name for name in "abc"]
    for disk in made:
        disk.mkdir()
    return made


@pytest.fixture
def directory(tmp_path, disks):
    """Every array in two blocks or more, on three disks."""
    store.save(small_graph(), tmp_path / "graph", block_bytes=512, disks=disks)
    return tmp_path / "graph"


def names(*directories):
    return sorted(name for directory in directories for name in os.listdir(directory))


# Round trips


@pytest.mark.full
@settings(max_examples=12, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(-9, 9)), max_size=300),
    directed=st.booleans(),
    encoding=st.sampled_from([("raw", 512), ("raw", 1024), ("packed", UNIT)]),
    count=st.integers(1, 4),
    here=st.booleans(),
    other=st.integers(1, 4),
)
def test_any_graph_on_any_disks_is_the_same(tmp_path_factory, edges, directed, encoding, count, here, other):
    sources, targets, weights = np.array(edges, np.int64).reshape(-1, 3).T
    graph = from_numbered_edges(sources, targets, 301, weights, directed=directed)
    folder = tmp_path_factory.mktemp("striped")
    disks = [folder / f"{number}" for number in range(8)]
    for disk in disks:
        disk.mkdir()
    chosen = [".", *disks[1:count]] if here else disks[:count]
    store.save(graph, folder / "graph", encoding=encoding[0], block_bytes=encoding[1], disks=chosen)
    assert equal(graph, store.open(folder / "graph", threads=2))
    restripe(folder / "graph", disks[8 - other :])
    for opened in ("raw", "packed"):
        assert equal(graph, store.open(folder / "graph", encoding=opened, threads=2))
    assert store.verify(folder / "graph", threads=2) == []
    assert names(*disks[: 8 - other]) == []


def test_another_reader_needs_only_the_format(tmp_path, disks):
    """The reader follows docs/format.md: a hash gives a block's disk, and consecutive blocks of a disk adjoin."""
    graph = rmat(11, weights=(1, 9))
    store.save(graph, tmp_path / "graph", block_bytes=4096, disks=[".", *disks])
    manifest = json.loads((tmp_path / "graph" / "manifest.json").read_bytes())
    directory = f"graph-{manifest['graph_id'][:8]}"
    assert manifest["disks"] == [".", *(str(disk / directory) for disk in disks)]
    assert manifest["k"] is None  # too little to measure
    for name, entry in manifest["arrays"].items():
        index = np.fromfile(tmp_path / "graph" / entry["index"], INDEX_DTYPE)
        assert index["disk"].tolist() == [disk_of(name, block, 4) for block in range(len(index))]
        pieces = [b""] * len(index)
        for number, place in enumerate(manifest["disks"]):
            data = (tmp_path / "graph" / place / entry["data"]).read_bytes()
            there = np.flatnonzero(index["disk"] == number)
            assert index["offset"][there].tolist() == [4096 * k for k in range(len(there))]
            assert len(data) == index["length"][there].sum()
            for block, offset in zip(there, index["offset"][there], strict=True):
                pieces[block] = data[offset : offset + index["length"][block]]
        array = np.frombuffer(b"".join(pieces), entry["dtype"])
        if name == "in_sources":
            assert np.array_equal(array, graph._arrays.in_edges.neighbours)


def test_the_place_of_a_block_is_the_formats_and_blocks_spread_evenly():
    assert [disk_of("in_sources", block, 4) for block in range(12)] == [2, 3, 0, 1, 2, 3, 0, 1, 3, 0, 1, 2]
    assert np.bincount([disk_of("in_sources", block, 7) for block in range(7001)]).tolist() == [1000] * 6 + [1001]
    for step in (7, 14, 35):  # blocks that lie as far apart are spread, too
        counts = np.bincount([disk_of("in_sources", step * block, 7) for block in range(7000)])
        assert abs(counts - 1000).max() < 4 * 1000**0.5


def test_a_reader_tells_where_the_data_are(directory, disks):
    with GraphDirectory(directory) as folder:
        manifest = store.read_manifest(folder)
        reader = store.reader_of(folder, manifest, "in_sources")
        assert [path.parent.parent for path in reader.paths] == disks
        assert {path.name for path in reader.paths} == {"in_sources.data"}
        for block in range(reader.array.blocks):
            path, offset = reader.paths[reader.index["disk"][block]], int(reader.index["offset"][block])
            assert bytes(reader.stored(block)) == path.read_bytes()[offset:][: int(reader.index["length"][block])]


# Writing


def test_unusable_disks_are_refused(tmp_path, disks):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(disks[0])
    for given_disks, message in (
        ([disks[0], tmp_path / "nowhere"], r"disk .*nowhere: No such file or directory; mount it, or leave it out"),
        ([tmp_path / "file"], r"disk .*file: not a directory; give a directory on the disk"),
        ([disks[0], disks[1], tmp_path / "link"], r"disk .*link is listed twice \(also as .*a\); list each"),
        ([".", "."], r"disk \. is listed twice"),
        ([], "give a list of 1 to 64 directories"),
        ([*disks] * 22, "give a list of 1 to 64 directories"),
        ("abc", "give a list of 1 to 64 directories"),
        (["a\0"], "null"),
    ):
        for call in (
            lambda disks=given_disks: store.save(rmat(2), tmp_path / "graph", disks=disks),
            lambda disks=given_disks: write.disk_roots(disks),
        ):
            with pytest.raises(ParameterError, match=message):
                call()
    assert names(*disks) == []
    assert names(tmp_path) == ["a", "b", "c", "file", "link"]


def test_a_disk_mounted_for_reading_only_is_named(tmp_path, disks, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, how: str(place) != str(disks[1]))
    with pytest.raises(ParameterError, match=rf"disk {disks[1]}: cannot be written; mount it for writing"):
        store.save(rmat(2), tmp_path / "graph", disks=disks)
    assert names(*disks) == []


def test_a_full_disk_is_named_and_nothing_stays_on_any(tmp_path, disks, monkeypatch):
    opened, write_some, full = os.open, os.write, set()

    def opening(path, *arguments, **options):
        handle = opened(path, *arguments, **options)
        (full.add if str(path).startswith(str(disks[1])) else full.discard)(handle)
        return handle

    def writing(handle, data):
        if handle in full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_some(handle, data)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "write", writing)
    with pytest.raises(ParameterError, match=rf"{disks[1]}/.*data: cannot be written \(No space left.*; free space"):
        store.save(small_graph(), tmp_path / "graph", block_bytes=512, disks=disks)
    assert names(*disks) == []
    assert names(tmp_path) == ["a", "b", "c"]


def test_a_killed_save_leaves_what_can_be_recognized(tmp_path, monkeypatch):
    """It leaves only names with `.partial`, and directories that the manifest in one of these lists."""
    graph = from_numbered_edges([0, 1], [1, 2], 3, directed=False)

    def saving(folder):
        monkeypatch.setattr(os, "fsync", lambda handle: None)  # what a process has written outlives it, synced or not
        disks = [folder / "a", folder / "b"]
        for disk in disks:
            disk.mkdir(parents=True, exist_ok=True)
        return lambda: store.save(graph, folder / "graph", disks=disks)

    saving(tmp_path / "first")()  # loads compiled functions, for which files are opened once
    points, _ = calls_of(monkeypatch, saving(tmp_path / "whole"))
    for last, point in enumerate(points):
        folder = tmp_path / str(last)
        assert isinstance(calls_of(monkeypatch, saving(folder), die_at=point)[1], Crash)
        left = [path for path in (*folder.iterdir(), *folder.glob("[ab]/*")) if path.name not in ("a", "b")]
        if folder / "graph" in left:
            assert last >= len(points) - 2  # all but to open and sync its parent has been done
            assert equal(graph, store.open(folder / "graph"))
            continue
        others = [path for path in left if ".partial-" not in path.name]
        if others:
            (manifest,) = folder.glob(".graph.partial-*/manifest.json")
            assert {str(path) for path in others} <= set(json.loads(manifest.read_bytes())["disks"])


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_save_leaves_nothing_on_any_disk(tmp_path, disks, monkeypatch, failure):
    graph = from_numbered_edges([0, 1], [1, 2], 3, directed=False)
    for name, call in (("mkdir", os.mkdir), ("rename", os.rename)):
        for stop in range(1, 5):
            calls = itertools.count(1)

            def interrupted(*arguments, call=call, calls=calls, stop=stop, **options):
                call(*arguments, **options)
                if next(calls) == stop:
                    raise failure

            with monkeypatch.context() as patch:
                patch.setattr(os, name, interrupted)
                with pytest.raises(failure):
                    store.save(graph, tmp_path / "graph", disks=disks)
            if name == "rename" and stop == 4:  # the last makes the graph
                assert equal(graph, store.open(tmp_path / "graph"))
            else:
                assert names(*disks) == []
                assert names(tmp_path) == ["a", "b", "c"]


def test_the_commands(tmp_path, disks, monkeypatch, capsys):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    for making in (("import", "edges.txt", "g"), ("generate", "rmat", "g", "--scale", 3)):
        monkeypatch.chdir(tmp_path)
        assert garaph(monkeypatch, *making, "--disk", "a", "--disk", "nowhere") == 1
        assert "error: disk nowhere: No such file or directory; mount it" in capsys.readouterr().err
        assert garaph(monkeypatch, *making, "--disk", "a", "--disk", "b") == 0
        assert garaph(monkeypatch, "restripe", "g", "--disk", ".", "--disk", "c") == 0
        assert capsys.readouterr().out.endswith(f"g: on ., {tmp_path}/c/g-{store.info('g').graph_id.hex[:8]}\n")
        assert garaph(monkeypatch, "info", "g") == 0
        assert f"  disk        {tmp_path}/c/g-" in capsys.readouterr().out
        assert garaph(monkeypatch, "verify", "g") == 0
        shutil.rmtree("c")
        assert garaph(monkeypatch, "verify", "g") == 1
        assert "mount the disk, or import the graph again" in capsys.readouterr().out
        shutil.rmtree("g")
        os.mkdir("c")


# Reading


def test_every_missing_or_cut_part_of_a_disk_is_named(directory):
    graph = store.open(directory)
    for disk in store.info(directory).disks:
        for file in sorted(os.listdir(disk)):
            path = os.path.join(disk, file)
            with open(path, "rb") as opened:
                data = opened.read()
            os.unlink(path)
            assert outcome(directory, graph) == "refused"
            with pytest.raises(DamagedGraphError, match=rf"{path}: missing"):
                store.open(directory)
            with open(path, "wb") as opened:
                opened.write(data[:-1])
            if data:
                with pytest.raises(
                    DamagedGraphError, match=rf"{path}: block \d+, at byte {len(data) - 1} of the file: the file ends"
                ):
                    store.open(directory)
            with open(path, "wb") as opened:
                opened.write(data)
        os.rename(disk, f"{disk}.away")
        with pytest.raises(DamagedGraphError, match=rf"{disk}: this directory .* \(No such file.*; mount the disk"):
            store.open(directory)
        assert [problem.path for problem in store.verify(directory)] == [disk]
        assert store.info(directory).vertices == graph.n
        os.symlink(f"{disk}.away", disk)
        assert outcome(directory, graph) == "refused"
        os.unlink(disk)
        os.rename(f"{disk}.away", disk)
        os.symlink("/etc/passwd", os.path.join(disk, "more"))
        with pytest.raises(DamagedGraphError, match="more: a symbolic link"):
            store.open(directory)
        os.unlink(os.path.join(disk, "more"))
    assert outcome(directory, graph) == "equal"


def test_damage_is_named_by_disk_file_block_and_offset(directory):
    with GraphDirectory(directory) as folder:
        reader = store.reader_of(folder, store.read_manifest(folder), "in_values")
        path, (entry,) = reader.paths[reader.index["disk"][1]], reader.index[1:]
    data = bytearray(path.read_bytes())
    data[int(entry["offset"])] ^= 1
    path.write_bytes(data)
    message = rf"{path}: block 1, at byte {entry['offset']} of the file: the block that begins there"
    with pytest.raises(DamagedGraphError, match=message):
        store.open(directory)
    (problem,) = store.verify(directory)
    assert (problem.path, problem.block, problem.offset) == (str(path), 1, int(entry["offset"]))


def test_blocks_overlap_only_on_one_disk(directory):
    graph = store.open(directory)

    def change(index):
        index["disk"], index["offset"] = 1, 0

    assert outcome(directory, graph) == "equal"
    rewrite_index(directory, "in_sources", change)
    with pytest.raises(
        DamagedGraphError, match=r"in_sources\.index: block \d+, at byte \d+ of the file: overlaps another block"
    ):
        store.open(directory)
    rewrite_index(directory, "in_sources", lambda index: index["disk"].__setitem__(0, 3))
    with pytest.raises(DamagedGraphError, match="lies on a disk that the manifest does not list"):
        store.open(directory)


def test_one_directory_is_not_two_disks(directory, tmp_path):
    disks = list(store.info(directory).disks)
    (tmp_path / "other").symlink_to(tmp_path / "a")  # links above the directory are the user's
    disks[1] = str(tmp_path / "other" / os.path.basename(disks[0]))
    rewrite(directory, setting("disks", disks))
    with pytest.raises(DamagedGraphError, match=r"other/graph-\w{8}: the manifest lists this directory twice"):
        store.open(directory)


def test_graphs_without_k_are_read(directory):
    graph = store.open(directory)

    def without(document):
        del document["k"]

    rewrite(directory, without)
    assert outcome(directory, graph) == "equal"
    rewrite(directory, setting("k", 7))
    assert store.info(directory).k == 7.0
    assert outcome(directory, graph) == "equal"


# k


def test_k_is_measured_where_there_are_enough_data(tmp_path, disks, monkeypatch):
    asked = []
    monkeypatch.setattr(write, "read_ratio", lambda files, seconds: asked.append((files, seconds)) or 3.5)
    monkeypatch.setattr(write, "MEASURE_BYTES", 1 << 16)
    store.save(rmat(12), tmp_path / "graph", block_bytes=4096, disks=disks)
    assert store.info(tmp_path / "graph").k == 3.5
    ((files, seconds),) = asked
    assert len(files) == 3
    assert seconds < 0.5
    store.save(rmat(4), tmp_path / "small", disks=disks)
    assert store.info(tmp_path / "small").k is None
    assert len(asked) == 1


# Locks


def test_readers_share_and_a_writer_is_alone(directory, disks):
    me = rf"process {os.getpid()} \(.+\)"
    with GraphDirectory(directory):
        assert store.verify(directory) == []
        with pytest.raises(ParameterError, match=rf"graph: {me} uses this graph, so it cannot be changed; wait until"):
            restripe(directory, disks)
    with GraphDirectory(directory, exclusive=True):
        for call in (store.open, store.verify, store.info, lambda path: restripe(path, disks)):
            with pytest.raises(ParameterError, match=rf"graph: {me} (is changing|uses) this graph.*; wait until it"):
                call(directory)
    assert store.verify(directory) == []


def test_a_lock_ends_with_its_process(directory):
    hold = (
        "import os, sys; from garaph_py.storage.files import GraphDirectory;"
        " GraphDirectory(sys.argv[1], exclusive=True); os.write(1, b'x');"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.read(1) == b"x"
        with pytest.raises(ParameterError, match=rf"process {process.pid} \(.+\) is changing this graph"):
            store.open(directory)
        process.kill()
    store.open(directory)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP])
def test_a_filesystem_without_locks_can_be_read(directory, disks, monkeypatch, number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fail)
    store.open(directory)
    with pytest.raises(ParameterError, match=r"cannot be locked .*; use another filesystem"):
        restripe(directory, disks)
