"""How many cores this process may use, and a team of threads that runs one function over many argument tuples."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, cached_property
from time import perf_counter_ns
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import DeviceError, ParameterError
from ..events import Span
from ..system import cgroup, interrupts
from . import ArgumentTable
from .job import (
    CLOSED,
    DONE,
    ENTRY,
    FAILED,
    LEADER,
    MADE,
    NOTING,
    PUBLISH,
    REMAINING,
    RESULTS,
    WORK,
    empty_job,
    seats_of,
)

T = TypeVar("T")
Array = npt.NDArray[np.int64]

SPINS = 1 << 14
"""Looks for a job before a thread goes to sleep: about 200 microseconds, longer than Python takes between two."""
LONG_SPINS = 1 << 18
"""Some milliseconds, where other threads keep Python busy: to wake a team then takes one or two of them."""


def available_cores() -> int:
    """Cores this process may use: its affinity, cut down by the cgroup's CPU quota (containers)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(cores, cgroup_cores())))


cgroup_cores = cache(cgroup.cores)


def start(name: str, function: Callable[..., None], *arguments: Any) -> threading.Thread:
    """A thread that runs ``function(*arguments)`` for a device.

    Raises
    ------
    DeviceError
        If there can be no more threads: the device cannot be used then.
    """
    thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise DeviceError(f"{name}: {error}; allow more threads (ulimit -u), or use device='cpu'") from None
    return thread


def check_threads(threads: int | None) -> int | None:
    """`threads` if it is a number of threads, or None.

    Raises
    ------
    ParameterError
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 4096):
        raise ParameterError(f"threads={threads!r}: give a whole number from 1 to 4096, or leave it out for all cores")
    return threads


class ThreadPool:
    """`size` threads, the calling one among them, for code that releases the GIL.

    A team belongs to one caller; two callers use two teams, so runs from several Python threads do not meet.

    `run` takes any function. `launch` takes calls of one kernel, and hands them out within compiled code: a few
    microseconds where `run` takes fifty. For that its threads stay awake a moment after a job, waiting for the next.

    Parameters
    ----------
    size : int, optional
        Number of threads, at least 1; by default `available_cores`.
    spins : int
        Looks for the next job after each.

    Raises
    ------
    ParameterError
        If `size` is not a positive integer.

    Attributes
    ----------
    about : mapping
        What is launched next is about, such as the page: details for a trace.
    """

    def __init__(self, size: int | None = None, spins: int = SPINS) -> None:
        self.size, self._spins = check_threads(size) or available_cores(), spins
        self._pool = ThreadPoolExecutor(self.size - 1, thread_name_prefix="garaph-cpu") if self.size > 1 else None
        self._job = empty_job(self.size)
        self._seats = seats_of(self._job)
        self._made = self._seats[:, MADE]
        self._rows: ArgumentTable | None = None  # held while compiled code works on it
        self._asleep, self._lock = list(range(self.size - 1, LEADER, -1)), threading.Lock()  # by their seats
        self.about: Mapping[str, Any] = {}
        self._log: list[tuple[str, Mapping[str, Any], int, int, Array | None]] | None = None

    def run(self, function: Callable[..., T], tasks: Iterable[Sequence[Any]]) -> list[T]:
        """``[function(*task) for task in tasks]``, in parallel, results in order; the first failure is raised."""
        first, *rest = tasks
        if self._pool is None or not rest:
            return [function(*task) for task in (first, *rest)]
        others = [self._pool.submit(function, *task) for task in rest]
        try:
            mine = function(*first)
        finally:
            done = [future.exception() for future in others]  # nobody writes to the caller's arrays after this call
        for error in done:
            if error is not None:
                raise error
        return [mine, *(future.result() for future in others)]

    def launch(self, rows: ArgumentTable) -> Array:
        """Every call in `rows`, in any order and in parallel; what each returned.

        An interrupt that is held comes before.

        Raises
        ------
        ProgramError
            If one fails.
        """
        interrupts.check()
        if self._log is None:
            self._launch(rows)
            return rows.results
        started, shared, notes = perf_counter_ns(), self._launch(rows), None
        ended = perf_counter_ns()
        if shared:
            notes = self._seats.copy()
            self._made[:] = 0
        self._log.append((rows.kernel.name, self.about, started, ended, notes))
        return rows.results

    def trace(self) -> None:
        """Note from now on who works when; see `spans`."""
        self._log, self._job[NOTING] = [], 1

    def spans(self) -> Iterator[Span]:
        """What every thread did in each `launch` since `trace`, as ``"cpu 0"``, the caller, and so on."""
        for name, about, began, ended, notes in self._log or ():
            rows = [(began, ended, 1)] if notes is None else notes.tolist()
            for seat, (start, end, made) in enumerate(rows):
                if made:
                    yield Span(f"cpu {seat}", name, start, end, about)

    def _launch(self, rows: ArgumentTable) -> bool:
        """Every call in `rows`; whether several threads shared them."""
        self._rows = rows
        if self._pool is None or len(rows) < 2:
            for k in range(len(rows)):
                rows(k)
            self._rows = None
            return False
        self._job[ENTRY : RESULTS + 1] = rows.job
        publish, work = self._calls
        self._job[REMAINING], self._job[DONE] = 0, len(rows)  # done, until it is published
        interrupt: KeyboardInterrupt | None = None
        try:
            publish()
            self._wake(min(self.size, len(rows)) - 1)
        finally:  # nobody writes to the caller's arrays after this call
            while True:
                try:
                    if work(LEADER):
                        break
                    os.sched_yield()
                except KeyboardInterrupt as error:
                    interrupt = error
            self._rows = None
        if interrupt is not None:
            raise interrupt
        if self._job[FAILED]:
            raise rows.failure()
        return True

    @cached_property
    def _calls(self) -> tuple[ArgumentTable, ArgumentTable]:
        """What opens a job, and what works on it, a call a seat."""
        enough = self.size <= available_cores()  # otherwise waiting takes cores from the work
        spins = self._spins if enough else 0
        return PUBLISH.rows(1, self._job), WORK.rows(self.size, self._job, spins, np.arange(self.size))

    def start(self) -> None:
        """Make the threads, which the first `launch` would otherwise wait for: two milliseconds for a dozen."""
        if self._pool is not None:
            begun = threading.Event()
            with suppress(RuntimeError):  # no more can be had: those there are do the work
                for _ in range(self.size - 1):
                    self._pool.submit(begun.wait)
            begun.set()

    def _wake(self, helpers: int) -> None:
        assert self._pool is not None
        with self._lock:
            awake = self.size - 1 - len(self._asleep)
            called = [self._asleep.pop() for _ in range(helpers - awake)]
        with suppress(RuntimeError):  # no more threads can be had: those there are do the work
            for seat in called:
                self._pool.submit(self._serve, seat)

    def _serve(self, seat: int) -> None:
        _, work = self._calls
        while True:
            work(seat)
            with self._lock:  # a job published before this is seen here, one published after finds this thread asleep
                if self._job[REMAINING] <= 0:
                    self._asleep.append(seat)
                    return

    def __str__(self) -> str:
        """What it is doing."""
        rows, job, about = self._rows, self._job, self.about
        if rows is None:
            return "cpu: idle"
        where = f" of page {about['page']}" if "page" in about else ""
        if self._pool is None or len(rows) < 2:
            return f"cpu: {rows.kernel.name}{where}"
        calls, done = len(rows), int(job[DONE])
        working = calls - done - max(int(job[REMAINING]), 0)
        return f"cpu: {rows.kernel.name}{where}, {done} of {calls} calls done, {working} of {self.size} threads at work"

    def close(self) -> None:
        if self._pool is not None:
            self._job[REMAINING] = CLOSED
            self._pool.shutdown()

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def split(count: int, parts: int) -> list[int]:
    """``parts + 1`` bounds that cut ``range(count)`` into nearly equal runs."""
    return [count * part // parts for part in range(parts + 1)]
