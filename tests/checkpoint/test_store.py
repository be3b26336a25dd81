"""The two checkpoint files: after any crash or failure, an acknowledged checkpoint is found; damage is an error."""

import os
from pathlib import Path

import numpy as np
import pytest

from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.format import MOST_HEADER
from garaph_py.checkpoint.store import NAMES, Store
from garaph_py.errors import DamagedCheckpointError, FormatError, ParameterError
from tests.support.checkpoint_files import CALLS, Crash, Crashing, Disk, Watched, forge, ticking

IDENTITY = {"program": "None", "synchronous": True}


def arrays_after(iterations):
    """The arrays of a run that has done so many iterations."""
    rng = np.random.default_rng(iterations)
    return {"values": rng.random(60), "active": rng.integers(1 << 60, size=2, dtype=np.uint64)}


def loaded(store):
    """The iterations of the newest checkpoint, whose arrays are theirs; 0 if there is none."""
    into = {name: np.empty_like(array) for name, array in arrays_after(0).items()}
    found = store.load(into)
    if found is None:
        return 0
    for name, array in arrays_after(found.iterations).items():
        np.testing.assert_array_equal(into[name], array)
    return found.iterations


def job(directory, files, acknowledged):
    """A run of nine iterations, which continues from a checkpoint if there is one, up to its end."""
    store = Store(directory, files)
    for iterations in range(loaded(store) + 1, 10):
        store.save(iterations, IDENTITY, arrays_after(iterations))
        acknowledged.append(iterations)
    acknowledged.append("end")
    store.remove()
    store.close()


def test_two_files_are_used_in_turn_and_removed_at_the_end(directory):
    acknowledged = []
    store = Store(directory, Files())
    assert loaded(store) == 0
    for iterations in (3, 5, 8):
        store.save(iterations, IDENTITY, arrays_after(iterations))
        assert loaded(store) == iterations
        assert store.newest().identity == IDENTITY
    assert sorted(path.name for path in directory.iterdir()) == sorted(NAMES)
    store.close()
    job(directory, Files(), acknowledged)
    assert acknowledged == [9, "end"]
    assert not directory.exists()


def test_a_new_directory_survives_a_loss_of_power(directory, monkeypatch):
    synced = []
    monkeypatch.setattr("garaph_py.checkpoint.files.make_names_durable", synced.append)
    Store(directory, Files()).close()
    assert synced == [directory.parent]


@pytest.mark.slow
def test_a_process_that_dies_at_any_call_loses_nothing_acknowledged(tmp_path):
    """The process ends once before and once after every call of a run; the next run resumes, and leaves no file."""
    whole = Watched()
    job(tmp_path / "whole", whole, [])
    assert set(CALLS) - set(whole.calls) <= {"size", "read"}
    for k in range(1, len(whole.calls) + 1):
        for after in (False, True):
            directory, files, acknowledged = tmp_path / f"{k} {after}", Crashing(k, after), []
            with pytest.raises(Crash):
                job(directory, files, acknowledged)
            files.end()
            last = max((done for done in acknowledged if done != "end"), default=0)
            store = Store(directory, Files())
            assert loaded(store) in ((0, last) if "end" in acknowledged else (last, last + 1)), (k, after)
            store.close()
            job(directory, Files(), acknowledged)
            assert not directory.exists()


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.full if seed > 99 else ()) for seed in range(500)]
)
def test_a_disk_that_tears_and_loses_writes(seed):
    """Power fails at a random call, and twice more in the runs that resume."""
    rng = np.random.default_rng(seed)
    disk, last = Disk(), 0
    for _ in range(3):
        remaining = rng.integers(1, 60)

        class Fails(Exception):
            pass

        def tick(fails=Fails):
            nonlocal remaining
            remaining -= 1
            if remaining < 0:
                raise fails

        for name in ("open", "write", "sync", "rename", "unlink"):
            setattr(disk, name, ticking(getattr(disk, name), tick))
        try:
            store = Store(Path("/checkpoints"), disk)
            there = loaded(store)
            assert there >= last
            last = there
            for iterations in range(there + 1, there + 6):
                store.save(iterations, IDENTITY, arrays_after(iterations))
                last = iterations
        except Fails:
            pass
        disk = disk.crash(rng)
    assert loaded(Store(Path("/checkpoints"), disk)) in (last, last + 1)


@pytest.fixture
def full(directory):
    """A directory with the checkpoints of iterations 1 and 2."""
    store = Store(directory, Files())
    for iterations in (1, 2):
        store.save(iterations, IDENTITY, arrays_after(iterations))
    store.close()
    return directory


@pytest.mark.full
def test_every_byte_flipped_is_detected(full):
    """If the other checkpoint is whole, it is used; otherwise there is an error. The damaged one is never used."""
    newest, other = (full / NAMES[k % 2] for k in (2, 1))
    data = newest.read_bytes()
    store = Store(full, Files())
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= 1 << place % 8
        newest.write_bytes(broken)
        assert loaded(store) == 1
    hidden = other.rename(full / "hidden")
    for place in range(len(data)):
        broken = bytearray(data)
        broken[place] ^= 1 << place % 8
        newest.write_bytes(broken)
        with pytest.raises(DamagedCheckpointError, match=newest.name):
            loaded(store)
    newest.write_bytes(data)
    assert loaded(store) == 2
    hidden.unlink()
    store.close()


@pytest.mark.full
def test_every_length_is_detected(full):
    newest = full / NAMES[0]
    data = newest.read_bytes()
    store = Store(full, Files())
    for length in range(len(data)):
        newest.write_bytes(data[:length])
        assert loaded(store) == 1
    newest.write_bytes(data + b"\0")
    assert loaded(store) == 1
    store.close()


def test_a_damaged_one_is_the_next_to_be_replaced(full):
    (full / NAMES[0]).write_bytes(b"GARAPHCP")
    store = Store(full, Files())
    assert loaded(store) == 1
    store.save(7, IDENTITY, arrays_after(7))
    (full / NAMES[0]).unlink()
    assert loaded(store) == 1
    store.close()


def test_other_versions_are_refused_whatever_else_is_there(full):
    forge(full / NAMES[0], lambda header: header, version=3)
    store = Store(full, Files())
    with pytest.raises(FormatError, match=r"version 3; this garaph_py reads versions 1 and 2"):
        loaded(store)
    store.close()


def test_checkpoints_of_version_1_are_read_without_their_command(full):
    def older(header):
        del header["request"]
        return header | {"command": ["evil"], "folder": "/"}

    forge(full / NAMES[0], older, version=1)
    store = Store(full, Files())
    assert loaded(store) == 2
    assert store.newest().request is None
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda header: [1, 2],
        lambda header: header | {"more": 1},
        lambda header: {key: header[key] for key in header if key != "identity"},
        lambda header: header | {"generation": 0},
        lambda header: header | {"generation": True},
        lambda header: header | {"generation": 1 << 64},
        lambda header: header | {"iterations": -1},
        lambda header: header | {"iterations": 2.0},
        lambda header: header | {"identity": "PageRank"},
        lambda header: header | {"request": ["garaph"]},
        lambda header: header | {"arrays": {}},
        lambda header: header | {"arrays": [1, 2]},
        lambda header: header | {"arrays": [header["arrays"][0] | {"bytes": "480"}, header["arrays"][1]]},
        lambda header: header | {"arrays": [header["arrays"][0] | {"bytes": -480}, header["arrays"][1]]},
        lambda header: header | {"arrays": [header["arrays"][0] | {"checksum": None}, header["arrays"][1]]},
        lambda header: b"[" * 100_000,
        lambda header: b"\xff" * 40,
        lambda header: b" " * (MOST_HEADER + 1),
    ],
)
def test_headers_with_a_right_checksum_are_checked_all_the_same(full, change):
    (full / NAMES[1]).unlink()
    forge(full / NAMES[0], change)
    store = Store(full, Files())
    with pytest.raises(DamagedCheckpointError, match="header"):
        store.newest()
    store.close()


# Who may have written it


def test_nobody_else_can_read_or_write_a_checkpoint(full):
    assert full.stat().st_mode & 0o777 == 0o700
    assert [(full / name).stat().st_mode & 0o777 for name in NAMES] == [0o600, 0o600]


@pytest.mark.parametrize("what", ["directory", "file"])
def test_what_others_can_write_is_refused(full, what):
    (full if what == "directory" else full / NAMES[0]).chmod(0o777)
    with pytest.raises(ParameterError, match="all users can write to it, and a checkpoint must be its user's own"):
        Store(full, Files()).newest()
    assert sorted(os.listdir(full)) == sorted(NAMES)


def test_links_and_pipes_are_not_followed(full):
    data = full / NAMES[0]
    os.rename(data, full / "elsewhere")
    data.symlink_to(full / "elsewhere")
    store = Store(full, Files())
    assert loaded(store) == 1
    data.unlink()
    os.mkfifo(data)
    assert loaded(store) == 1
    store.close()


def test_the_checkpoints_of_a_new_directory_in_its_place_are_not_removed(full):
    store = Store(full, Files())
    os.rename(full, full.with_name("moved"))
    newer = Store(full, Files())
    newer.save(1, IDENTITY, arrays_after(1))
    store.remove()
    store.close()
    assert loaded(newer) == 1
    newer.close()


def test_arrays_of_other_types_are_refused(full):
    store = Store(full, Files())
    for into in ({"values": np.empty(60)}, {"values": np.empty(60), "active": np.empty(2, np.int64)}):
        with pytest.raises(DamagedCheckpointError, match="do not match the run"):
            store.load(into)
    store.close()


def test_one_run_at_a_time(directory):
    store = Store(directory, Files())
    with pytest.raises(ParameterError, match="another run uses this directory"):
        Store(directory, Files())
    store.close()
    Store(directory, Files()).close()


def test_unusable_directories_are_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file", tmp_path / "no" / "such", "a\0b", 5):
        with pytest.raises(ParameterError, match="checkpoint="):
            Store(place, Files())


def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ParameterError, match="Permission denied; choose another directory"):
        Store(tmp_path, Files())


def test_what_else_is_in_the_directory_stays(full):
    (full / "notes").write_text("mine")
    job(full, Files(), [])
    assert os.listdir(full) == ["notes"]
