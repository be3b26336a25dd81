"""A file that is written whole: at whatever call that ends or fails, it is as before or as after."""

import errno
import fcntl
import os

import pytest

from garaph_py.errors import ParameterError
from garaph_py.system.files import check_place, did_you_mean_file, no_such_file, partial_prefix, try_lock, write_whole
from tests.support.crashes import CALLS, Crash, calls_of


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("edge.csv", "edges.csv"),
        ("web.csv", "web.tsv.gz"),
        ("nowhere.csv", None),
        ("x.parquet", None),
        ("katz", "katz.py"),
    ],
)
def test_the_nearest_name_of_a_file(tmp_path, wanted, near):
    for name in ("edges.csv", "edges.tsv", "web.tsv.gz", "one.csv", "katz.py"):
        (tmp_path / name).touch()
    assert did_you_mean_file(tmp_path / wanted, "look") == (f"did you mean {near}?" if near else "look")


def test_only_files_of_the_right_kind_are_near(tmp_path):
    for name in ("katz.py", "first.toml"):
        (tmp_path / name).touch()
    (tmp_path / "web").mkdir()
    assert did_you_mean_file(tmp_path / "katzz.tsv", "look", lambda path: path.suffix == ".tsv") == "look"
    assert did_you_mean_file(tmp_path / "katzz.py", "look", lambda path: False) == "did you mean katz.py?"
    assert did_you_mean_file(tmp_path / "webb", "look", os.path.isdir) == "did you mean web?"
    assert did_you_mean_file(tmp_path / "firs", "look", os.path.isdir) == "look"
    assert no_such_file(tmp_path / "first", "look", ".toml") == "no such file; did you mean first.toml?"
    assert no_such_file(tmp_path / "katz", "look", ".toml", ".json") == "no such file; look"


def test_a_process_that_dies_at_any_call_leaves_the_file(tmp_path, monkeypatch):
    """The next process that writes there removes what the dead one left."""
    path = tmp_path / "ranks.csv"
    points, _ = calls_of(monkeypatch, lambda: write_whole(path, lambda file: file.write(b"old")))
    assert {"open", "fsync", "replace"} <= set(points.values())
    for point in points:
        _, raised = calls_of(monkeypatch, lambda: write_whole(path, lambda file: file.write(b"new")), die_at=point)
        assert isinstance(raised, Crash)
        assert path.read_bytes() in (b"old", b"new")
        write_whole(path, lambda file: file.write(b"old"))
        assert os.listdir(tmp_path) == ["ranks.csv"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINTR])
def test_a_call_that_fails_leaves_the_file(tmp_path, monkeypatch, number):
    path, handles = tmp_path / "ranks.csv", os.listdir("/proc/self/fd")

    def work():
        write_whole(path, lambda file: file.write(b"new"))

    points, _ = calls_of(monkeypatch, work, names=CALLS)
    for point, name in points.items():
        path.write_bytes(b"old")
        _, raised = calls_of(monkeypatch, work, fail_at=point, number=number, names=CALLS)
        if raised is None:
            assert path.read_bytes() == b"new"
        else:
            assert isinstance(raised, ParameterError), name
            assert str(path) in str(raised)
            assert path.read_bytes() == (b"new" if "has been written" in str(raised) else b"old")
        assert os.listdir("/proc/self/fd") == handles, name
        write_whole(path, lambda file: file.write(b"old"))
        assert os.listdir(tmp_path) == ["ranks.csv"]


def test_what_is_still_being_written_or_named_otherwise_stays(tmp_path):
    for name in (".a.abcdefgh.partial", ".b.abcdefgh.partial", ".a.notes.partial"):
        (tmp_path / name).touch()
    with try_lock(tmp_path / ".a.abcdefgh.partial"):
        write_whole(tmp_path / "a", lambda file: file.write(b"whole"))
        assert len(os.listdir(tmp_path)) == 4
    write_whole(tmp_path / "a", lambda file: file.write(b"whole"))
    assert sorted(os.listdir(tmp_path)) == [".a.notes.partial", ".b.abcdefgh.partial", "a"]


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    def unsupported(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    (tmp_path / ".a.abcdefgh.partial").touch()
    write_whole(tmp_path / "a", lambda file: file.write(b"whole"))
    assert sorted(os.listdir(tmp_path)) == [".a.abcdefgh.partial", "a"]


@pytest.mark.parametrize("through_link", [False, True])
def test_a_pipe_is_not_replaced(tmp_path, through_link):
    pipe, link = tmp_path / "pipe.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    target = link if through_link else pipe
    with pytest.raises(ParameterError, match=r"output .*\.csv: is a device, a pipe or a socket.*name a file"):
        check_place(target, "output")
    with pytest.raises(ParameterError, match="is a device, a pipe or a socket"):
        write_whole(target, lambda file: file.write(b"x"))
    assert pipe.is_fifo()


@pytest.mark.parametrize("length", [200, 201, 240, 255])
def test_names_may_be_as_long_as_the_system_allows(tmp_path, length):
    target = tmp_path / ("ä" * (length // 2) + "x" * (length % 2))
    leftover = tmp_path / f"{partial_prefix(target)}.abcdefgh.partial"
    leftover.touch()
    check_place(target, "output")
    write_whole(target, lambda file: file.write(b"x"))
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_place_where_no_file_can_be_made_is_found_out_at_once(tmp_path):
    with pytest.raises(ParameterError, match=r"output .*: File name too long; choose another name"):
        check_place(tmp_path / ("x" * 256), "output")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 256, "a\0b", "\ud800"])
def test_names_that_no_file_can_have(tmp_path, name):
    for call in (lambda: check_place(tmp_path / name, "output"), lambda: write_whole(tmp_path / name, print)):
        with pytest.raises(ParameterError, match="choose another name"):
            call()
    assert not list(tmp_path.iterdir())
