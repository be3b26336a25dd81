"""Two writers of one graph directory: the second is told before it has done any work."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.errors import ParameterError
from garaph_py.graph.generate import random_rmat
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file, write_random
from garaph_py.storage import directory as store
from garaph_py.storage import write
from garaph_py.storage.write import creating
from tests.support import command

Writer = Callable[[Path, events.Listener], object]
WRITERS: dict[str, Writer] = {
    "import": lambda out, listener: import_file(out.parent / "e.txt", out, ImportOptions(), on_event=listener),
    "generate": lambda out, listener: write_random(random_rmat(8), out, ImportOptions(), on_event=listener),
    "save": lambda out, listener: store.save(gp.rmat(8), out, on_event=listener),
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_second_writer_is_told_before_any_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "e.txt").write_text("1 2\n2 3\n")
    seen, told = list[events.Event](), list[str]()

    def first(event: events.Event) -> None:
        """Let all other writers try as soon as the first has begun."""
        if not told:
            for writer in WRITERS.values():
                with pytest.raises(ParameterError, match=r"graph is being written, at .*; wait for it") as caught:
                    writer(tmp_path / "graph", seen.append)
                told.append(str(caught.value))

    WRITERS[name](tmp_path / "graph", first)
    assert len(told) == 3
    assert not seen
    assert store.verify(tmp_path / "graph") == []
    assert sorted(os.listdir(tmp_path)) == ["e.txt", "graph"]
    with pytest.raises(ParameterError, match="graph already exists; remove it or choose another name"):
        WRITERS[name](tmp_path / "graph", seen.append)
    assert not seen


def test_convert_is_told_before_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "damaged.txt").write_text("1 2\nx\n")
    with creating(tmp_path / "graph") as place:
        assert command.garaph(monkeypatch, "convert", tmp_path / "damaged.txt", tmp_path / "graph") == 1
        assert "graph is being written" in capsys.readouterr().err
        store.save(gp.rmat(4), place)
    assert store.open(tmp_path / "graph").n == 16
    assert command.garaph(monkeypatch, "convert", tmp_path / "damaged.txt", tmp_path / "graph") == 1
    assert "graph already exists" in capsys.readouterr().err
    assert command.garaph(monkeypatch, "convert", tmp_path / "damaged.txt", tmp_path / "other") == 1
    assert sorted(os.listdir(tmp_path)) == ["damaged.txt", "graph"]


def test_of_many_that_begin_at_once_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "TURN_SECONDS", 60)  # else two may write where the machine is busy
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for number in range(20):
        begin, end = threading.Barrier(8, timeout=120), threading.Barrier(8, timeout=120)
        outcomes = list[str]()

        def make(folder: Path, name: str, begin: threading.Barrier, end: threading.Barrier, out: list[str]) -> None:
            begin.wait()
            try:
                with creating(folder / name):
                    out.append("")
                    end.wait()  # until all others have been told
            except ParameterError as error:
                out.append(str(error))
                end.wait()

        threads = [
            threading.Thread(target=make, args=(folder, f"g{number}", begin, end, outcomes))
            for folder in (tmp_path, link) * 4
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum("is being written" in outcome for outcome in outcomes) == 7
        assert outcomes.count("") == 1


def test_a_killed_writer_is_no_hindrance(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom garaph_py.storage.write import creating\n"
        "with creating(sys.argv[1]):\n    print(flush=True)\n    time.sleep(600)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "graph")], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    with pytest.raises(ParameterError, match="is being written"):
        store.save(gp.rmat(4), tmp_path / "graph")
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    store.save(gp.rmat(4), tmp_path / "graph")
    assert os.listdir(tmp_path) == ["graph"]


def test_a_lock_on_the_folder_does_not_hold_up_a_writer_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "TURN_SECONDS", 0.05)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    began = time.monotonic()
    store.save(gp.rmat(4), tmp_path / "graph")
    os.close(handle)
    assert 0.05 < time.monotonic() - began < 60
    assert store.open(tmp_path / "graph").n == 16


def test_what_finds_directories_on_disks_is_durable_before_these_are_renamed(tmp_path, monkeypatch):
    done, rename, sync = [], write.rename, write.sync_directory
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(write, "rename", lambda path, target: (done.append(path.parent), rename(path, target)))
    monkeypatch.setattr(write, "sync_directory", lambda path: (done.append(f"synced {path}"), sync(path)))
    with write.creating(tmp_path / "graph", [tmp_path / "disk"]):
        pass
    assert done.index(f"synced {tmp_path}") < done.index(tmp_path / "disk")
