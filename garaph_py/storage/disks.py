"""Reading from several disks at once, past the page cache: a thread for each, which has several requests under way."""

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
from typing import TypeVar, cast

from ..errors import DamagedGraphError, DeviceError, GraphError
from ..events import Span
from ..native.threads import available_cores, start
from ..system.watchdog import Heartbeat
from .aio import Reads

T = TypeVar("T")

Steps = Generator[tuple[int, list[memoryview], int], int, T]
"""Of reading: file, memory and offset of each; it is sent the bytes that there were."""

ALIGNMENT = 1 << 12
"""Bytes whose multiples direct I/O takes as offsets, lengths and addresses."""
TRIES, PAUSE = 3, 0.05
"""A read that fails is tried so often, after so many seconds."""
MOST_CHECKERS = 3
"""Threads for one disk, for what is read first is decoded to be checked, at a gigabyte a second or two."""


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
        Called when they are, while others are under way; what it raises ends the batch.
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


class Disk(Heartbeat):
    """One disk's queue, the thread that has several of its requests under way, and those that check what it has read.

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
        self._under_way = dict[Request, Steps[None]]()
        self._failure: GraphError | None = None  # of the thread
        self._last = 0  # when a request ended last: a trace shows one after the other
        self._thread: threading.Thread | None = None
        self._checkers = list[threading.Thread]()
        self._unchecked = SimpleQueue[Request | None]()

    def put(self, requests: Sequence[Request]) -> None:
        """Read these, in their order."""
        with self._changed:
            if self._failure is not None:
                raise self._failure
            if self._thread is None:
                self._thread = start(f"garaph-{self.name}", self._work)
                with suppress(DeviceError):  # those there are do the work
                    for k in range(checkers_of_disk()):
                        self._checkers.append(start(f"garaph-{self.name}-check-{k}", self._check))
            self._queue.extend(requests)
            self._changed.notify()

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
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        for _ in self._checkers:
            self._unchecked.put(None)
        for checker in self._checkers:
            checker.join()
        for handle in self._files.values():
            os.close(handle)
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
        """End what is `done`, while the disk reads what comes next; then `done` is what of that has ended."""
        while done:
            self._end(done.pop(0))
        for request, result in reads.wait():
            if self._advance(reads, request, result):
                done.append(request)

    def _give_up(self, done: list[Request], error: BaseException) -> None:
        """The thread ends: so does all that waits for it."""
        what = str(error) or type(error).__name__
        with self._changed:
            self._failure = GraphError(f"{self.name}: what reads it failed ({what}); run again, or check the system")
            left = [*done, *self._under_way, *self._queue]
            self._under_way.clear()
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
            del request  # and the memory that it has, while this thread waits

    def _begin(self, reads: Reads[Request], busy: bool) -> bool:
        """Begin what waits in the queue, as far as there is room; False if all has ended.

        Waits until something does, unless there is other work to do.
        """
        with self._changed:
            while not (busy or self._under_way or self._queue or self._closed):
                self._changed.wait()
            room = 0 if self._closed else reads.depth - len(self._under_way)
            begun = [self._queue[k] for k in range(min(room, len(self._queue)))]
            for request in begun:
                self._under_way[request] = self._read(request)
                self._queue.popleft()
        for request in begun:
            self._advance(reads, request, None)
        return bool(busy or self._under_way or not self._closed)

    def _advance(self, reads: Reads[Request], request: Request, result: int | None) -> bool:
        """Go on with a request, of which a step gave `result`; whether all of it has been read."""
        steps = self._under_way[request]
        try:
            if result is None:
                step = next(steps)
            elif result < 0:
                step = steps.throw(OSError(-result, os.strerror(-result)))
            else:
                step = steps.send(result)
            reads.begin(request, *step)
            return False
        except StopIteration:
            del self._under_way[request]
            return True
        except Exception as error:
            del self._under_way[request]
            request.batch.end(error)
            return False

    def _read(self, request: Request) -> Steps[None]:
        """All of a request, and again where that fails."""
        began = time.perf_counter_ns()
        self.doing = "reading page", request.label, "at", request.offset
        for attempt in range(1, TRIES + 1):
            try:
                handle = self._handle(request.path)
                count = yield from steps_of(handle, request.views, request.offset, request.needed)
                break
            except OSError as error:
                if attempt == TRIES:
                    problem = f"cannot be read ({error.strerror}), tried {TRIES} times; check the disk"
                    raise DamagedGraphError(request.path, problem, offset=request.offset) from None
                time.sleep(PAUSE * attempt)
        if count < request.needed:
            raise DamagedGraphError(request.path, "ends before its last block", offset=request.offset + count)
        self.bytes_read += count
        if self._spans is not None:
            ended = time.perf_counter_ns()
            self._spans.append(Span(self.name, "read", max(began, self._last), ended, {"bytes": count}))
            self._last = ended

    def _handle(self, path: Path) -> int:
        if path not in self._files:
            self._files[path] = open_direct(path)
        return self._files[path]


def checkers_of_disk() -> int:
    """How many threads check what one disk gives; where there is one core its own does."""
    return min(available_cores() // 2, MOST_CHECKERS)


def end(request: Request) -> None:
    """Check what has been read, and tell who waits for it."""
    error: Exception | None = None
    try:
        request.check()
    except Exception as problem:
        error = problem
    request.batch.end(error)


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
    steps = steps_of(handle, views, offset, needed)
    try:
        step = next(steps)
        while True:
            step = steps.send(os.preadv(*step))
    except StopIteration as end:
        return cast(int, end.value)


def steps_of(handle: int, views: list[memoryview], offset: int, needed: int) -> Steps[int]:
    """What `read_into` does."""
    done = 0
    while True:
        count = yield handle, views, offset + done
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
