"""Reading from several disks at once, past the page cache: a queue and a few threads for each."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import DamagedGraphError
from ..events import Span
from ..threads import available_cores, start
from ..watchdog import Part

ALIGNMENT = 1 << 12
"""Bytes whose multiples direct I/O takes as offsets, lengths and addresses."""
DEPTH, MOST_THREADS = 3, 8
"""Requests that a disk has under way, a thread for each; more on many cores, for what is read first is checked."""
TRIES, PAUSE = 3, 0.05
"""A read that fails is tried so often, after so many seconds."""


@dataclass(eq=False)
class Batch:
    """Requests that somebody waits for together.

    Attributes
    ----------
    left : int
        Requests that have not ended; when there are none, it has.
    error : BaseException or None
        The first that went wrong.
    """

    left: int = 0
    error: BaseException | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        if not self.left:
            self.ended.set()

    def end(self, error: BaseException | None) -> None:
        with self.lock:
            self.left -= 1
            self.error = self.error or error
            if not self.left:
                self.ended.set()


@dataclass(frozen=True, eq=False)
class Request:
    """Bytes of one file, from `offset` on.

    Attributes
    ----------
    path : Path
    offset : int
        A multiple of `ALIGNMENT`.
    views : list of memoryview
        Where they go, one after the other; in all no less than `needed`.
    needed : int
        Bytes that must be there; others are read because disks are.
    check : callable
        Called when they are, in the thread that has read them; what it raises ends the batch.
    batch : Batch
    label : int
        What a trace calls the request: the number of a page.
    """

    path: Path
    offset: int
    views: list[memoryview]
    needed: int
    check: Callable[[], None]
    batch: Batch
    label: int


class Disk(Part):
    """One disk's queue, and its threads.

    Parameters
    ----------
    name : str
    spans : list of Span, optional
        Where to tell when it read.

    Attributes
    ----------
    bytes_read : int
    """

    def __init__(self, name: str, spans: list[Span] | None) -> None:
        super().__init__(f"disk {name}")
        self.bytes_read = 0
        self._spans, self._queue, self._changed = spans, deque[Request](), threading.Condition()
        self._closed, self._files = False, dict[Path, int]()
        self._last = 0  # when a request ended last: a trace shows one after the other
        self._threads = list[threading.Thread]()

    def put(self, requests: Sequence[Request]) -> None:
        """Read these, in their order."""
        with self._changed:
            for k in range(len(self._threads), threads_of_disk()):
                self._threads.append(start(f"garaph-{self.name}-{k}", self._work))
            self._queue.extend(requests)
            self._changed.notify(len(requests))

    def forget(self, batches: Set[Batch]) -> None:
        """Do not read what still waits of these; they end all the same."""
        with self._changed:
            dropped = [request for request in self._queue if request.batch in batches]
            self._queue = deque(request for request in self._queue if request.batch not in batches)
        for request in dropped:
            request.batch.end(None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for handle in self._files.values():
            os.close(handle)
        self._files.clear()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                request = self._queue.popleft()
            error: Exception | None = None
            try:
                self._read(request)
            except Exception as problem:
                error = problem
            request.batch.end(error)
            del request  # and the memory that it has, while this thread waits

    def _read(self, request: Request) -> None:
        began = time.perf_counter_ns()
        self.doing = "reading page", request.label, "at", request.offset
        for attempt in range(1, TRIES + 1):
            try:
                count = read_into(self._handle(request.path), request.views, request.offset, request.needed)
                break
            except OSError as error:
                if attempt == TRIES:
                    problem = f"cannot be read ({error.strerror}), tried {TRIES} times; check the disk"
                    raise DamagedGraphError(request.path, problem, offset=request.offset) from None
                time.sleep(PAUSE * attempt)
        if count < request.needed:
            raise DamagedGraphError(request.path, "ends before its last block", offset=request.offset + count)
        ended = time.perf_counter_ns()
        with self._changed:
            self.bytes_read += count
            if self._spans is not None:
                self._spans.append(Span(self.name, "read", max(began, self._last), ended, {"bytes": count}))
                self._last = ended
        request.check()

    def _handle(self, path: Path) -> int:
        with self._changed:
            if path not in self._files:
                self._files[path] = open_direct(path)
            return self._files[path]


def threads_of_disk() -> int:
    """How many wait for one disk."""
    return min(max(DEPTH, available_cores() // 2), MOST_THREADS)


def open_direct(path: Path) -> int:
    """A file to read past the page cache, if its file system can do that."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.open(path, flags)


def read_into(handle: int, views: list[memoryview], offset: int, needed: int) -> int:
    """Bytes read to where `views` are, one after the other; fewer than `needed` only where the file ends."""
    done = 0
    while True:
        count = os.preadv(handle, views, offset + done)
        done += count
        if done >= needed or not count:
            return done
        step = count // ALIGNMENT * ALIGNMENT  # direct I/O goes on where a sector begins
        done -= count - step
        if not step:
            return done + count
        views = after(views, step)


def after(views: list[memoryview], count: int) -> list[memoryview]:
    """What is left of `views` behind their first `count` bytes."""
    rest = []
    for view in views:
        skipped = min(count, len(view))
        count -= skipped
        if skipped < len(view):
            rest.append(view[skipped:])
    return rest
