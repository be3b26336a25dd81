"""Damaged and hostile graph directories: a typed error that names the place, never an answer, never an allocation."""

import errno
import os
import shutil

import pytest

from garaph_py.errors import DamagedGraphError, FormatError
from garaph_py.graph.build import from_edges
from garaph_py.storage import directory as store
from garaph_py.storage.files import Damage
from tests.support.cases import mostly_full
from tests.support.stored_graphs import is_unread, outcome, rewrite_array

every = pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.full, id="every"), pytest.param(13, id="some")]
)
"""Every place of a file, or every thirteenth."""

# Damage


@pytest.mark.full
@every
def test_flipped_bytes_are_detected(either, step):
    graph = store.open(either)
    for file in sorted(either.iterdir()):
        data = file.read_bytes()
        with file.open("r+b", buffering=0) as handle:
            for place in range(0, len(data), step):
                byte = data[place]
                os.pwrite(handle.fileno(), bytes([byte ^ (1 << place % 8)]), place)
                found = "unread" if is_unread(file.name) else "refused"
                assert outcome(either, graph) == found, (file.name, place)
                os.pwrite(handle.fileno(), bytes([byte]), place)
    assert outcome(either, graph) == "equal"


@pytest.mark.full
@every
@pytest.mark.parametrize("either", mostly_full(["raw", "packed"], "packed"), indirect=True)
def test_truncation_is_detected(either, step):
    graph = store.open(either)
    for file in sorted(either.iterdir()):
        data = file.read_bytes()
        for length in reversed(range(0, len(data), step)):
            os.truncate(file, length)
            found = "unread" if file.name.endswith((".sums", ".records")) else "refused"
            assert outcome(either, graph) == found, (file.name, length)
        file.write_bytes(data)
    assert outcome(either, graph) == "equal"


def test_bytes_that_belong_to_no_block_are_not_read(either):
    graph = store.open(either)
    with (either / "in_sources.data").open("ab") as file:
        file.write(b"litter")
    assert outcome(either, graph) == "equal"
    for file in ("in_sources.index", "manifest.json"):
        data = (either / file).read_bytes()
        (either / file).write_bytes(data + b"\n")
        assert outcome(either, graph) == "refused"
        (either / file).write_bytes(data)


@pytest.mark.slow
def test_every_missing_file_is_named(either):
    graph = store.open(either)
    for file in sorted(either.iterdir()):
        data = file.read_bytes()
        file.unlink()
        only_for_parts = file.name.endswith((".sums", ".records"))
        assert outcome(either, graph) == ("unread" if only_for_parts else "refused")
        assert f"{file.name}: missing" in "".join(map(str, store.verify(either)))
        if not only_for_parts:
            with pytest.raises(DamagedGraphError, match=rf"{file.name}: missing"):
                store.open(either)
        file.write_bytes(data)


def test_damage_is_named_by_file_block_and_offset(directory):
    data = bytearray((directory / "in_values.data").read_bytes())
    assert len(data) == 560
    data[515] ^= 1
    data[3] ^= 1
    (directory / "in_values.data").write_bytes(data)
    with pytest.raises(
        DamagedGraphError, match=r"in_values\.data: block 0, at byte 0 of the file: the block that begins there"
    ):
        store.open(directory, threads=1)
    os.truncate(directory / "out_targets.data", 520)
    with pytest.raises(DamagedGraphError, match=r"out_targets\.data: block 1, at byte 520 of the file: the file ends"):
        store.open(directory)
    problems = store.verify(directory)
    assert all(isinstance(problem, Damage) for problem in problems)
    assert [(os.path.basename(problem.path), problem.block, problem.offset) for problem in problems] == [
        ("in_values.data", 0, 0), ("in_values.data", 1, 512), ("out_targets.data", 1, 520),
    ]  # fmt: skip


def test_a_read_error_is_named(directory, monkeypatch):
    def broken(handle, buffers, offset):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(DamagedGraphError, match=r"manifest\.json: cannot be read \(Input/output error\)"):
        store.open(directory)


# Hostile contents: everything below carries right checksums


@pytest.mark.parametrize(
    ("name", "element", "value", "offset", "problem"),
    [
        ("in_offsets", 0, 1, 0, "block 0, at byte 0 of the file: starts with 1, not 0"),
        ("in_offsets", 0, -1, 0, "block 0, at byte 0 of the file: starts with -1, not 0"),
        ("in_offsets", 70, 141, 560, "block 1, at byte 560 of the file: ends with 141, not 140"),
        ("in_offsets", 70, 2**62, 560, "block 1, at byte 560 of the file: ends with"),
        ("in_offsets", 3, 139, 32, "block 0, at byte 32 of the file: not in ascending order"),
        ("out_offsets", 64, 0, 512, "block 1, at byte 512 of the file: not in ascending order"),
        ("in_sources", 5, 70, 20, "block 0, at byte 20 of the file: a vertex number is not below 70"),
        ("in_sources", 139, 2**32 - 1, 556, "block 1, at byte 556 of the file: a vertex number is not below 70"),
        ("out_targets", 128, 70, 512, "block 1, at byte 512 of the file: a vertex number is not below 70"),
        ("id_offsets", 70, 603, 560, "block 1, at byte 560 of the file: ends with 603, not 604"),
        ("id_offsets", 2, 1, 0, "block 0, at byte 0 of the file: the name of vertex 1 is not UTF-8"),
        ("id_bytes", 590, 0xFF, 586, "block 1, at byte 586 of the file: the name of vertex 68 is not UTF-8"),
    ],
)
def test_impossible_contents_are_found(directory, name, element, value, offset, problem):
    rewrite_array(directory, name, lambda elements: elements.__setitem__(element, value))
    with pytest.raises(DamagedGraphError) as caught:
        store.open(directory)
    assert problem in str(caught.value)
    problems = store.verify(directory)
    assert [str(problem) for problem in problems] == [str(caught.value)]
    file = "id_bytes.data" if "UTF-8" in problem else f"{name}.data"
    assert (os.path.basename(problems[0].path), problems[0].offset) == (file, offset)


@pytest.mark.parametrize("ids", [[5, 5, 7], [7, 9, 7]])
def test_integer_ids_are_distinct(tmp_path, ids):
    store.save(from_edges([5, 6], [6, 700]), tmp_path / "graph")
    rewrite_array(tmp_path / "graph", "ids", lambda elements: elements.__setitem__(slice(None), ids))
    with pytest.raises(DamagedGraphError, match="two vertices have the same id"):
        store.open(tmp_path / "graph")


def test_names_are_distinct(tmp_path):
    store.save(from_edges(["a", "b"], ["b", "c"]), tmp_path / "graph")
    rewrite_array(tmp_path / "graph", "id_bytes", lambda elements: elements.__setitem__(2, elements[0]))
    with pytest.raises(DamagedGraphError, match="two vertices have the same id"):
        store.open(tmp_path / "graph")


def test_links_pipes_and_directories_are_refused(directory, tmp_path):
    graph = store.open(directory)
    (directory / "extra").symlink_to("/etc/passwd")
    assert outcome(directory, graph) == "refused"
    with pytest.raises(DamagedGraphError, match="extra: a symbolic link"):
        store.info(directory)
    (directory / "extra").unlink()
    file = directory / "in_sources.data"
    shutil.move(file, tmp_path / "moved")
    file.symlink_to(tmp_path / "moved")
    assert outcome(directory, graph) == "refused"
    file.unlink()
    os.mkfifo(file)
    assert outcome(directory, graph) == "refused"
    file.unlink()
    file.mkdir()
    assert outcome(directory, graph) == "refused"
    file.rmdir()
    shutil.move(tmp_path / "moved", file)
    (tmp_path / "link").symlink_to(directory)  # the user's own link to the directory is fine
    assert outcome(tmp_path / "link", graph) == "equal"


def test_what_is_no_graph_directory(tmp_path):
    (tmp_path / "file").write_text("0 1\n")
    for path, message in [("absent", "No such file"), ("file", "not a graph directory"), ("nul\0", "null")]:
        for call in (store.open, store.info, store.verify):
            with pytest.raises(FormatError, match=message):
                call(tmp_path / path)
    with pytest.raises(FormatError, match=r"manifest\.json: missing"):
        store.open(tmp_path)


def test_a_failed_open_leaves_no_file_open(directory):
    os.truncate(directory / "out_targets.data", 3)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(DamagedGraphError):
            store.open(directory)
    assert len(os.listdir("/proc/self/fd")) == before
