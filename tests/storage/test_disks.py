"""The thread of a disk and its reads in flight; also without asynchronous reads."""

import ctypes
import errno
import gc
import os
import sys
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.errors import DamagedGraphError, DeviceError, GraphError
from garaph_py.storage import aio, disks
from garaph_py.storage.aio import Reads
from garaph_py.storage.disks import ALIGNMENT, Batch, Disk, Request
from garaph_py.system.memory import on_own_pages
from garaph_py.system.threads import start
from tests.support.reads import failing

SIZE = 40 * ALIGNMENT + 100


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(np.random.default_rng(1).bytes(SIZE))
    return path


@pytest.fixture(params=[0, 2], ids=["checks itself", "two check"])
def disk(request, tmp_path, monkeypatch):
    monkeypatch.setattr(disks, "PAUSE", 0)
    monkeypatch.setattr(disks, "checkers_of_disk", lambda: request.param)
    disk = Disk(str(tmp_path), [])
    yield disk
    disk.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-disk")]


def room(nbytes):
    return on_own_pages(nbytes, np.dtype(np.uint8))


class Reading:
    """Requests of one batch, and where they go."""

    def __init__(self, count):
        self.batch, self.requests, self.data, self.checked = Batch(count), [], [], []

    def add(self, path, offset, nbytes, needed=None, check=lambda: None):
        data, number = room(nbytes), len(self.requests)

        def checks():
            self.checked.append(number)
            check()

        half = nbytes // 2 // ALIGNMENT * ALIGNMENT
        views = [view.data for view in (data[:half], data[half:]) if len(view)]
        needed = nbytes if needed is None else needed
        self.requests.append(Request(path, offset, views, needed, checks, self.batch, number))
        self.data.append(data)

    def read(self, disk):
        disk.put(self.requests)
        assert self.batch.ended.wait(60)
        return self.batch.error


def test_reads_are_under_way_together(path, kernel_reads):
    whole, handle = path.read_bytes(), disks.open_direct(path)
    try:
        reads, found = Reads(), {}
        assert reads.depth == (aio.DEPTH if kernel_reads == "at once" else 1)
        data = [room(4 * ALIGNMENT) for _ in range(10)]
        waiting = list(range(10))
        under_way = 0
        while waiting or under_way:
            while waiting and under_way < reads.depth:
                key = waiting.pop()
                pieces = [data[key][:ALIGNMENT].data, data[key][:0].data, data[key][ALIGNMENT:].data]
                reads.begin(key, handle, pieces, 4 * key * ALIGNMENT)
                under_way += 1
            ended = reads.wait()
            assert ended
            under_way -= len(ended)
            found |= ended
        assert found == dict.fromkeys(range(10), 4 * ALIGNMENT)
        assert b"".join(map(bytes, data)) == whole[: 40 * ALIGNMENT]
        assert reads.wait() == []
        reads.begin("end", handle, [data[0].data], 40 * ALIGNMENT)
        assert reads.wait() == [("end", 100)]
        reads.begin("behind", handle, [data[0].data], 48 * ALIGNMENT)
        assert reads.wait() == [("behind", 0)]
        reads.close()
    finally:
        os.close(handle)


def test_what_the_kernel_refuses_is_told_as_what_fails_later(path, tmp_path, kernel_reads):
    reads, data = Reads(), room(ALIGNMENT)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        for handle, number in ((1 << 20, errno.EBADF), (folder, errno.EISDIR)):
            reads.begin("a", handle, [data.data], 0)
            ((key, result),) = reads.wait()
            assert key == "a"
            assert result in (-number, -errno.EINVAL)
        with open(path, "rb") as file:  # and goes on, through the page cache
            reads.begin("b", file.fileno(), [data.data], 0)
            assert reads.wait() == [("b", ALIGNMENT)]
        assert bytes(data) == path.read_bytes()[:ALIGNMENT]
    finally:
        os.close(folder)
        reads.close()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux AIO")
def test_a_call_that_a_signal_ends_is_made_again(path, monkeypatch):
    reads, data, real, made = Reads(), room(ALIGNMENT), aio.LIBC.syscall, []

    def interrupted(*given):
        made.append(given)
        if len(made) % 2:
            ctypes.set_errno(errno.EINTR)
            return -1
        return real(*given)

    monkeypatch.setattr(aio, "LIBC", SimpleNamespace(syscall=interrupted))
    with open(path, "rb") as file:
        reads.begin(0, file.fileno(), [data.data], 0)
        assert reads.wait() == [(0, ALIGNMENT)]
    reads.close()
    assert len(made) == 4


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EAGAIN])
def test_where_there_is_no_asynchronous_io(path, monkeypatch, number):
    """The kernel does not have it, a sandbox forbids it, or a limit is reached."""

    def refuse(*given):
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(aio, "IDLE_CONTEXTS", [])
    monkeypatch.setattr(aio, "LIBC", SimpleNamespace(syscall=refuse))
    reads, data = Reads(), room(ALIGNMENT)
    assert reads.depth == 1
    with open(path, "rb") as file:
        reads.begin(0, file.fileno(), [data.data], 0)
    assert reads.wait() == [(0, ALIGNMENT)]
    reads.close()
    assert aio.IDLE_CONTEXTS == []


def test_what_the_kernel_has_under_way_is_waited_for(path, kernel_reads):
    reads, data = Reads(), room(SIZE // ALIGNMENT * ALIGNMENT)
    with open(path, "rb") as file:
        reads.begin(0, file.fileno(), [data.data], 0)
        reads.close()
    assert bytes(data) == path.read_bytes()[: len(data)]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_process_has_set_up_serves_it_again_and_not_its_children(path):
    Reads().close()
    assert aio.IDLE_CONTEXTS
    before = list(aio.IDLE_CONTEXTS)
    Reads().close()
    assert before == aio.IDLE_CONTEXTS
    child = os.fork()
    if not child:
        os._exit(len(aio.IDLE_CONTEXTS))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_thread_that_fails_ends_all_that_waits_for_it(disk, path, monkeypatch):
    """The kernel accepts reads but never reports them: the thread makes it end them before memory is freed."""
    calls, call, waits = [], aio.call, threading.Event()

    def refuses(name, *given):
        calls.append(name)
        if name == "io_getevents":
            waits.wait(5)
            raise OSError(errno.EPERM, "not in here")
        return call(name, *given)

    monkeypatch.setattr(aio, "IDLE_CONTEXTS", [])
    monkeypatch.setattr(aio, "call", refuses)
    reading = Reading(20)
    for k in range(20):
        reading.add(path, k * ALIGNMENT, ALIGNMENT)
    disk.put(reading.requests)
    waits.set()
    assert reading.batch.ended.wait(5)
    with pytest.raises(GraphError, match=r"the thread that reads it failed .*not in here.*; run again"):
        raise reading.batch.error
    with pytest.raises(GraphError, match="not in here"):
        disk.put(reading.requests)
    assert calls[-1] == "io_destroy"
    assert aio.IDLE_CONTEXTS == aio.ABANDONED_BUFFERS == []


def test_one_thread_whoever_asks_first(tmp_path, kernel_reads):
    for _ in range(20):
        disk = Disk(str(tmp_path), None)
        askers = [threading.Thread(target=disk.put, args=([],)) for _ in range(4)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        mine = [thread for thread in threading.enumerate() if thread.name == f"garaph-disk {tmp_path}"]
        assert len(mine) == 1
        disk.close()
        assert not mine[0].is_alive()


def test_a_thread_that_cannot_be_had_is_named_and_nothing_waits_for_it(disk, path, monkeypatch):
    reading = Reading(1)
    reading.add(path, 0, ALIGNMENT)
    with monkeypatch.context() as patch:

        def refuse(self):
            raise RuntimeError("can't start new thread")

        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(DeviceError, match="can't start new thread; allow more"):
            disk.put(reading.requests)
    assert reading.read(disk) is None
    assert reading.checked == [0]  # not twice


def test_the_disk_s_thread_checks_where_no_other_can_be_had(path, tmp_path, monkeypatch):
    def only_one(name, *given):
        if "-check-" in name:
            raise DeviceError("can't start new thread")
        return start(name, *given)

    monkeypatch.setattr(disks, "start", only_one)
    monkeypatch.setattr(disks, "checkers_of_disk", lambda: 2)
    reading, disk = Reading(3), Disk(str(tmp_path), None)
    for k in range(3):
        reading.add(path, k * ALIGNMENT, ALIGNMENT)
    assert reading.read(disk) is None
    assert sorted(reading.checked) == [0, 1, 2]
    disk.close()


def test_requests_begin_in_their_order_and_a_trace_shows_one_after_the_other(tmp_path, disk, kernel_reads, monkeypatch):
    paths, order, most = [tmp_path / name for name in "abc"], [], [0, 0]
    for k, path in enumerate(paths):
        path.write_bytes(bytes([k]) * SIZE)
    begin, wait = Reads.begin, Reads.wait

    def begins(self, key, handle, views, offset):
        order.append(key.label)
        most[0] += 1
        most[1] = max(most)
        begin(self, key, handle, views, offset)

    def waits(self):
        ended = wait(self)
        most[0] -= len(ended)
        return ended

    monkeypatch.setattr(Reads, "begin", begins)
    monkeypatch.setattr(Reads, "wait", waits)
    reading = Reading(60)
    for k in range(60):
        reading.add(paths[k % 3], k // 3 * 2 * ALIGNMENT, 2 * ALIGNMENT)
    assert reading.read(disk) is None
    assert order == list(range(60))
    assert sorted(reading.checked) == list(range(60))
    assert most[1] == (aio.DEPTH if kernel_reads == "at once" else 1)
    assert all((data == k % 3).all() for k, data in enumerate(reading.data))
    assert disk.bytes_read == 60 * 2 * ALIGNMENT == sum(span.details["bytes"] for span in disk._spans)
    for before, after in zip(disk._spans, disk._spans[1:], strict=False):
        assert before.start <= before.end <= after.start <= after.end


@pytest.mark.parametrize("failure", ["read", "short", "gone", "ends", "check"])
def test_others_go_on_where_one_fails(tmp_path, disk, path, kernel_reads, monkeypatch, failure):
    """Each failure ends its batch with an error that names the file, and the thread goes on with the next batch."""
    numbers = failing(monkeypatch, lambda n: errno.EIO if failure == "read" and n <= disks.TRIES * 10 else 0,
                      lambda n: failure == "short")  # fmt: skip

    def check():
        raise ValueError("damage")

    wrong, message = Reading(10), "cannot be read.*tried"
    for k in range(10):
        if failure == "gone":
            wrong.add(tmp_path / "nowhere", k * ALIGNMENT, ALIGNMENT)
        elif failure == "ends":
            wrong.add(path, 40 * ALIGNMENT, 4 * ALIGNMENT, 101)
            message = f"data, byte {SIZE}: ends before its last block"
        else:
            wrong.add(path, k * ALIGNMENT, 4 * ALIGNMENT, check=check if failure == "check" else lambda: None)
    error = wrong.read(disk)
    if failure == "short":
        assert error is None
        assert len(numbers) == 40
        for k, data in enumerate(wrong.data):
            assert bytes(data) == path.read_bytes()[k * ALIGNMENT : (k + 4) * ALIGNMENT]
    elif failure == "check":
        assert str(error) == "damage"
    else:
        with pytest.raises(DamagedGraphError, match=message):
            raise error
    right = Reading(1)
    right.add(path, 40 * ALIGNMENT, ALIGNMENT, 100)
    assert right.read(disk) is None
    assert bytes(right.data[0][:100]) == path.read_bytes()[-100:]


def test_nothing_is_under_way_when_a_batch_has_ended_or_the_disk_is_closed(disk, path, kernel_reads, monkeypatch):
    """Requests that were dropped, or queued when the disk was closed, are not read, so their memory may be freed."""
    begin, wait, under_way, waiting, go = Reads.begin, Reads.wait, [], threading.Event(), threading.Event()

    def begins(self, key, handle, views, offset):
        under_way.append(key)
        begin(self, key, handle, views, offset)

    def waits(self):
        waiting.set()
        go.wait(60)
        ended = wait(self)
        for key, _ in ended:
            under_way.remove(key)
        return ended

    monkeypatch.setattr(Reads, "begin", begins)
    monkeypatch.setattr(Reads, "wait", waits)
    first, second = Reading(10), Reading(10)
    for k in range(10):
        first.add(path, k * ALIGNMENT, ALIGNMENT)
        second.add(path, k * ALIGNMENT, ALIGNMENT)
    disk.put(first.requests + second.requests)
    assert waiting.wait(60)
    disk.forget({first.batch})
    assert not first.batch.ended.is_set()  # some are under way
    join = disk._thread.join
    monkeypatch.setattr(disk._thread, "join", lambda: go.set() or join())  # closed by then
    closing = threading.Thread(target=disk.close)
    closing.start()
    closing.join(60)
    assert not closing.is_alive()
    assert first.batch.ended.is_set()
    assert not under_way
    assert len(first.checked) + len(second.checked) <= 10


def test_a_fault_when_files_are_closed_is_harmless(disk, path, monkeypatch):
    reading, close, failed = Reading(1), os.close, []
    reading.add(path, 0, ALIGNMENT)
    assert reading.read(disk) is None

    def closes(handle):
        close(handle)
        failed.append(handle)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", closes)
        disk.close()
    assert failed


def test_the_thread_keeps_no_memory_while_it_waits(disk, path, kernel_reads):
    reading = Reading(5)
    for k in range(5):
        reading.add(path, k * ALIGNMENT, ALIGNMENT)
    assert reading.read(disk) is None
    gone = [weakref.ref(data) for data in reading.data]
    del reading
    for _ in range(100):
        gc.collect()
        if not any(data() is not None for data in gone):
            break
        threading.Event().wait(0.01)
    assert not any(data() is not None for data in gone)
