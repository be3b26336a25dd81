"""Read from several disks at once with direct I/O.

Each disk has a queue of requests, a thread that keeps several reads in flight, and threads that check what was read.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..errors import DamagedGraphError, DeviceError, GraphError
from ..events import Span
from ..native.threads import available_cores
from ..system.threads import start
from ..system.watchdog import Heartbeat
from .aio import SCATTER, Reads, Scatter
from .files import close

T = TypeVar("T")
Array = npt.NDArray[Any]

Steps = Generator[tuple[int, list[memoryview], int], int, T]
"""Generator of the reads of a request: it yields file descriptor, buffers and offset, and receives the bytes read."""
AllSteps = Generator[tuple[int, list[memoryview] | Scatter, int], Any, T]
"""The same; for a `Scatter` it receives an array."""

ALIGNMENT = 1 << 12
"""Alignment of direct I/O, in bytes: offsets, lengths and addresses are multiples of it."""
TRIES, PAUSE = 3, 0.05
"""Attempts to read, and seconds before the second attempt; the pause before the third is twice as long."""
MOST_CHECKERS = 6
"""Maximal checker threads per disk. A checker thread decodes packed blocks to check them, at 1 to 2 GB/s of raw edges,
less if all cores are busy; a disk of 2 GB/s delivers packed edges of 3 to 4."""


@dataclass(eq=False)
class Batch:
    """Requests whose sender waits for all of them together.

    Attributes
    ----------
    left : int
        Requests that have not ended.
    error : BaseException or None
        The first error of a request.
    ended : threading.Event
        Set when no request is left.
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
    """A request to read bytes of one file, from `offset` on.

    Attributes
    ----------
    path : Path
    offset : int
        A multiple of `ALIGNMENT`.
    views : list of memoryview
        Consecutive buffers; together at least `needed` bytes.
    needed : int
        Bytes that the file must have there; the rest is read only because of the alignment.
    check : callable
        A checker thread calls it after the read; an exception becomes the error of the batch.
    batch : Batch
    label : int
        Number of the page, for traces and the watchdog.
    parts : Scatter or None
        What to read instead, if it is not one part of the file; `offset` is then that of the first.
    """

    path: Path
    offset: int
    views: list[memoryview]
    needed: int
    check: Callable[[], None]
    batch: Batch
    label: int
    parts: Scatter | None = None


class Disk(Heartbeat):
    """One disk: its queue of requests, its reader thread, and the checker threads that check what was read.

    Parameters
    ----------
    name : str
    spans : list of Span, optional
        The reader thread appends a span for every request that it has read; None when tracing is off.

    Attributes
    ----------
    bytes_read : int
    """

    def __init__(self, name: str, spans: list[Span] | None) -> None:
        super().__init__(f"disk {name}")
        self.bytes_read = 0
        self._spans, self._queue, self._changed = spans, deque[Request](), threading.Condition()
        self._closed, self._files = False, dict[Path, int]()
        self._in_flight = dict[Request, AllSteps[None]]()
        self._failure: GraphError | None = None  # why the reader thread has ended
        self._last = 0  # when the last request ended (ns): spans in a trace must not overlap
        self._thread: threading.Thread | None = None
        self._checkers = list[threading.Thread]()
        self._unchecked = SimpleQueue[Request | None]()

    def put(self, requests: Sequence[Request]) -> None:
        """Queue requests; the reader thread begins them in this order. The first call starts the threads."""
        with self._changed:
            if self._failure is not None:
                raise self._failure
            if self._thread is None:
                self._thread = start(f"garaph-{self.name}", self._work)
                with suppress(DeviceError):  # go on with the threads that could be started
                    for k in range(checkers_of_disk()):
                        self._checkers.append(start(f"garaph-{self.name}-check-{k}", self._check))
            self._queue.extend(requests)
            self._changed.notify()

    def forget(self, batches: Set[Batch]) -> None:
        """Drop the queued requests of these batches. Each batch still ends, when its reads in flight have ended."""
        with self._changed:
            dropped = [request for request in self._queue if request.batch in batches]
            self._queue = deque(request for request in self._queue if request.batch not in batches)
        for request in dropped:
            request.batch.end(None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        for _ in self._checkers:
            self._unchecked.put(None)
        for checker in self._checkers:
            checker.join()
        for handle in self._files.values():
            close(handle)
        self._files.clear()

    def _work(self) -> None:
        done = list[Request]()
        try:
            with closing(Reads[Request]()) as reads:
                while self._begin(reads, bool(done)):
                    self._go_on(reads, done)
        except BaseException as error:
            self._give_up(done, error)

    def _go_on(self, reads: Reads[Request], done: list[Request]) -> None:
        """Check the requests in `done` while the disk reads; then wait, and add the requests that are complete."""
        while done:
            self._end(done.pop(0))
        for request, result in reads.wait():
            if self._advance(reads, request, result):
                done.append(request)

    def _give_up(self, done: list[Request], error: BaseException) -> None:
        """End all requests with an error, because the reader thread ends with `error`."""
        what = str(error) or type(error).__name__
        with self._changed:
            problem = f"the thread that reads it failed ({what}); run again, or check the system"
            self._failure = GraphError(f"{self.name}: {problem}")
            left = [*done, *self._in_flight, *self._queue]
            self._in_flight.clear()
            self._queue.clear()
        for request in left:
            request.batch.end(self._failure)

    def _end(self, request: Request) -> None:
        if self._checkers:
            self._unchecked.put(request)
        else:
            end(request)

    def _check(self) -> None:
        while (request := self._unchecked.get()) is not None:
            end(request)
            del request  # free its buffers while this thread waits

    def _begin(self, reads: Reads[Request], busy: bool) -> bool:
        """Begin queued requests, at most `Reads.depth` in flight; return False once the disk is closed and idle.

        If no request is in flight or queued, wait for one, unless the reader thread is `busy` with other work.
        """
        with self._changed:
            while not (busy or self._in_flight or self._queue or self._closed):
                self._changed.wait()
            room = 0 if self._closed else reads.depth - len(self._in_flight)
            begun = [self._queue[k] for k in range(min(room, len(self._queue)))]
            for request in begun:
                self._in_flight[request] = self._read(request)
                self._queue.popleft()
        for request in begun:
            self._advance(reads, request, None)
        return bool(busy or self._in_flight or not self._closed)

    def _advance(self, reads: Reads[Request], request: Request, result: int | Array | None) -> bool:
        """Begin the next read of a request after one that returned `result`; return whether the request is complete."""
        steps = self._in_flight[request]
        try:
            if result is None:
                step = next(steps)
            elif isinstance(result, int) and result < 0:
                step = steps.throw(OSError(-result, os.strerror(-result)))
            else:
                step = steps.send(result)
            reads.begin(request, *step)
            return False
        except StopIteration:
            del self._in_flight[request]
            return True
        except Exception as error:
            del self._in_flight[request]
            request.batch.end(error)
            return False

    def _read(self, request: Request) -> AllSteps[None]:
        """The reads of a request."""
        began = time.perf_counter_ns()
        self.doing = "reading page", request.label, "at", request.offset
        if request.parts is None:
            count = yield from self._try(request.path, request.views, request.offset, request.needed)
        else:
            count = yield from self._read_parts(request.path, request.parts)
        self.bytes_read += count
        if self._spans is not None:
            ended = time.perf_counter_ns()
            self._spans.append(Span(self.name, "read", max(began, self._last), ended, {"bytes": count}))
            self._last = ended

    def _try(self, path: Path, views: list[memoryview], offset: int, needed: int) -> Steps[int]:
        """The reads that fill `views`. After an error they start again, up to `TRIES` attempts in total.

        Raises
        ------
        DamagedGraphError
        """
        for attempt in range(1, TRIES + 1):
            try:
                count = yield from steps_of(self._handle(path), views, offset, needed)
                break
            except OSError as error:
                if attempt == TRIES:
                    problem = f"cannot be read ({error.strerror}), tried {TRIES} times; check the disk"
                    raise DamagedGraphError(path, problem, offset=offset) from None
                time.sleep(PAUSE * attempt)
        if count < needed:
            raise DamagedGraphError(path, "ends before its last block", offset=offset + count)
        return count

    def _read_parts(self, path: Path, parts: Scatter) -> AllSteps[int]:
        """The reads of all parts, some at a time. Each part that was not read as a whole is tried again by itself."""
        total = 0
        for first in range(0, len(parts), SCATTER):
            some = parts.cut(first, first + SCATTER)
            try:
                counts = yield self._handle(path), some, 0
            except OSError:
                counts = np.full(len(some), -1)
            for k in np.flatnonzero(counts < some.needed).tolist():
                counts[k] = yield from self._try(path, [some.view(k)], int(some.offsets[k]), int(some.needed[k]))
            total += int(counts.sum())
        return total

    def _handle(self, path: Path) -> int:
        if path not in self._files:
            self._files[path] = open_direct(path)
        return self._files[path]


def checkers_of_disk() -> int:
    """Number of checker threads per disk; 0 on a single core, where the reader thread checks."""
    return min(available_cores() // 2, MOST_CHECKERS)


def end(request: Request) -> None:
    """Check a request that has been read, and end it in its batch."""
    error: Exception | None = None
    try:
        request.check()
    except Exception as problem:
        error = problem
    request.batch.end(error)


def open_direct(path: Path) -> int:
    """Open a file for direct I/O, or with the page cache if its file system has no direct I/O."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.open(path, flags)


def read_into(handle: int, views: list[memoryview], offset: int, needed: int) -> int:
    """Read into consecutive `views`; return the bytes read, fewer than `needed` only at the end of the file."""
    steps = steps_of(handle, views, offset, needed)
    try:
        step = next(steps)
        while True:
            step = steps.send(os.preadv(*step))
    except StopIteration as end:
        return cast(int, end.value)


def steps_of(handle: int, views: list[memoryview], offset: int, needed: int) -> Steps[int]:
    """The reads that fill `views`: the first, and another one after each short read. Returns the total bytes read."""
    done = 0
    while True:
        count = yield handle, views, offset + done
        done += count
        if done >= needed or not count:
            return done
        step = count // ALIGNMENT * ALIGNMENT  # direct I/O continues at a multiple of ALIGNMENT
        done -= count - step
        if not step:
            return done + count
        views = after(views, step)


def after(views: list[memoryview], count: int) -> list[memoryview]:
    """`views` without their first `count` bytes."""
    rest = []
    for view in views:
        skipped = min(count, len(view))
        count -= skipped
        if skipped < len(view):
            rest.append(view[skipped:])
    return rest
