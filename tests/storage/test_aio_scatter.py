"""Reads of many parts of a file at once, each to a place of its own."""

import errno
import os

import numpy as np
import pytest

from garaph_py.errors import DamagedGraphError
from garaph_py.storage import aio, disks
from garaph_py.storage.aio import SCATTER, Reads, Scatter
from garaph_py.storage.disks import ALIGNMENT, Batch, Disk, Request
from garaph_py.system.memory import on_own_pages
from tests.support.reads import failing

SIZE = 400 * ALIGNMENT + 100


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(np.random.default_rng(1).bytes(SIZE))
    return path


@pytest.fixture
def disk(tmp_path, monkeypatch):
    monkeypatch.setattr(disks, "PAUSE", 0)
    disk = Disk(str(tmp_path), None)
    yield disk
    disk.close()


def some_parts(count, seed=2):
    """So many parts of the file, from one to three sectors long, in any order, and gaps between them in memory."""
    rng = np.random.default_rng(seed)
    nbytes = ALIGNMENT * rng.integers(1, 4, count)
    places = np.cumsum(nbytes + ALIGNMENT) - nbytes
    offsets = ALIGNMENT * rng.integers(0, 390, count)
    data = on_own_pages(int(places[-1] + nbytes[-1]), np.dtype(np.uint8))
    return Scatter(data, offsets, nbytes, places, nbytes.copy())


def read(disk, path, parts, check=lambda: None):
    batch = Batch(1)
    disk.put([Request(path, int(parts.offsets[0]), [], 0, check, batch, 0, parts)])
    assert batch.ended.wait(60)
    return batch.error


def are_right(parts, path):
    whole = path.read_bytes()
    return all(
        bytes(parts.view(k)[: parts.needed[k]]) == whole[parts.offsets[k] : parts.offsets[k] + parts.needed[k]]
        for k in range(len(parts))
    )


@pytest.mark.parametrize("count", [1, SCATTER, 5 * SCATTER + 3])
def test_every_part_gets_to_its_place(disk, path, kernel_reads, count):
    parts, checked = some_parts(count), []
    assert read(disk, path, parts, lambda: checked.append(are_right(parts, path))) is None
    assert checked == [True]
    assert disk.bytes_read == parts.nbytes.sum()


def test_a_part_may_end_with_the_file(disk, path, kernel_reads):
    parts = some_parts(3)
    parts.offsets[1], parts.nbytes[1], parts.needed[1] = 399 * ALIGNMENT, 2 * ALIGNMENT, ALIGNMENT + 100
    assert read(disk, path, parts) is None
    assert are_right(parts, path)


def test_a_part_behind_the_end_is_told(disk, path, kernel_reads):
    parts = some_parts(40)
    parts.offsets[35], parts.nbytes[35], parts.needed[35] = 400 * ALIGNMENT, ALIGNMENT, 101
    with pytest.raises(DamagedGraphError, match=rf"data, byte {SIZE}: ends before its last block"):
        raise read(disk, path, parts)
    assert read(disk, path, some_parts(3)) is None


@pytest.mark.parametrize("accepted", [0, 1, 7])
def test_what_the_kernel_refuses_is_read_one_by_one(disk, path, monkeypatch, accepted):
    parts, real, submitted = some_parts(20), aio.call, []

    def call(name, *arguments):
        if name == "io_submit" and arguments[1] > 1:
            submitted.append(arguments[1])
            if not accepted:
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            arguments = (arguments[0], accepted, arguments[2])
        return real(name, *arguments)

    monkeypatch.setattr(aio, "call", call)
    assert read(disk, path, parts) is None
    assert are_right(parts, path)
    assert submitted in ([20], [])  # none where there is no asynchronous I/O


def test_parts_that_fail_are_read_again(disk, path, kernel_reads, monkeypatch):
    wait, wrong = Reads.wait, []

    def waits(self):
        ended = wait(self)
        for _, result in ended:
            if isinstance(result, np.ndarray) and not wrong:
                result[[0, 5]] = -errno.EIO, ALIGNMENT // 2
                wrong.append(result)
        return ended

    monkeypatch.setattr(Reads, "wait", waits)
    parts = some_parts(10)
    assert read(disk, path, parts) is None
    assert len(wrong) == 1
    assert are_right(parts, path)


def test_a_part_that_cannot_be_read_is_named(disk, path, kernel_reads, monkeypatch):
    """The others are not read again."""
    wait, begin, parts, begun = Reads.wait, Reads.begin, some_parts(SCATTER + 8), []

    def begins(self, key, handle, views, offset=0):
        begun.append(offset)
        begin(self, key, handle, views, offset)

    def waits(self):
        ended = []
        for key, result in wait(self):
            if isinstance(result, np.ndarray) and len(result) < SCATTER:
                result[3] = -errno.EIO
            ended.append((key, result if isinstance(result, np.ndarray) else -errno.EIO))
        return ended

    monkeypatch.setattr(Reads, "begin", begins)
    monkeypatch.setattr(Reads, "wait", waits)
    problem = r"cannot be read \(Input/output error\), tried 3"
    with pytest.raises(DamagedGraphError, match=rf"data, byte {parts.offsets[SCATTER + 3]}: {problem}"):
        raise read(disk, path, parts)
    assert begun == [0, 0, *[parts.offsets[SCATTER + 3]] * disks.TRIES]


def test_a_file_that_cannot_be_read_is_told(disk, path, kernel_reads, monkeypatch):
    failing(monkeypatch, lambda number: errno.EIO)
    parts = some_parts(10)
    problem = r"cannot be read \(Input/output error\), tried 3"
    with pytest.raises(DamagedGraphError, match=rf"data, byte {parts.offsets[0]}: {problem}"):
        raise read(disk, path, parts)


def test_nothing_is_waited_for_where_the_call_itself_fails(path, monkeypatch):
    reads = Reads()
    if not reads._context:
        pytest.skip("no asynchronous I/O")
    real = aio.call

    def call(name, *arguments):
        if name == "io_submit":
            raise MemoryError
        return real(name, *arguments)

    monkeypatch.setattr(aio, "call", call)
    with path.open("rb") as file, pytest.raises(MemoryError):
        reads.begin("a", file.fileno(), some_parts(5))
    assert reads.wait() == []
    reads.close()
