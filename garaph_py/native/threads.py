"""The number of cores that this process may use, and a pool of threads that share the calls of a kernel."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, cached_property
from time import perf_counter_ns
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
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
    notes_of,
)
from .teams import Team, give_back, taken

T = TypeVar("T")
Array = npt.NDArray[np.int64]

SPINS = 1 << 14
"""How often an idle worker looks for a job before it goes to sleep: for about 200 microseconds, which is longer than
Python takes between two launches."""
LONG_SPINS = 1 << 18
"""The same, for some milliseconds, for runs in which other threads keep Python busy. Waking workers then takes one or
two milliseconds."""


def available_cores() -> int:
    """The number of cores that this process may use: those of its CPU affinity, limited by the CPU quota of its control
    group (as in containers)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(cores, cgroup_cores())))


cgroup_cores = cache(cgroup.cores)


def check_threads(threads: int | None) -> int | None:
    """Return `threads` if it is a valid number of threads, or None for all cores.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 4096):
        raise ParameterError(f"threads={threads!r}: give a whole number from 1 to 4096, or leave it out for all cores")
    return threads


class ThreadPool:
    """A pool of `size` threads, including the calling one, for code that releases the GIL.

    A pool serves one caller. Runs in several Python threads use a pool each. The threads besides the caller are a
    `Team`, which the pool takes when it first needs them, and gives back at its end.

    `run` calls any function, at a cost of about 50 microseconds. `launch` runs calls of one kernel, which compiled code
    hands out to the threads, at a cost of a few microseconds. For that, threads wait for the next job for a moment
    before they go to sleep.

    Parameters
    ----------
    size : int, optional
        Number of threads, at least 1; by default `available_cores`.
    spins : int
        How often an idle thread looks for a job before it goes to sleep.

    Raises
    ------
    ParameterError
        If `size` is not a positive integer.

    Attributes
    ----------
    about : mapping
        Details of the next launches for traces and reports, such as the page's number.
    """

    def __init__(self, size: int | None = None, spins: int = SPINS) -> None:
        self.size, self._spins = check_threads(size) or available_cores(), spins
        self._team: Team | None = None
        self._at_work = False  # threads may hold tasks or arrays of the caller
        self._job = empty_job(self.size)
        self._notes = notes_of(self._job)
        self._made = self._notes[:, MADE]
        self._rows: ArgumentTable | None = None  # the table that compiled code works on
        self._asleep, self._lock = list(range(self.size - 1, LEADER, -1)), threading.Lock()  # sleeping workers
        self.about: Mapping[str, Any] = {}
        self._log: list[tuple[str, Mapping[str, Any], int, int, Array | None]] | None = None

    def run(self, function: Callable[..., T], tasks: Iterable[Sequence[Any]]) -> list[T]:
        """Call ``function(*task)`` for all `tasks` in parallel; return the results in order, or raise the first error.

        The caller takes the tasks that no thread has begun. When it returns, no thread works on the caller's arrays any
        more.
        """
        first, *rest = tasks
        if self.size == 1 or not rest:
            return [function(*task) for task in (first, *rest)]
        self._at_work = True
        others = [self._submit(self._threads(), function, task) for task in rest]
        try:
            results = [function(*first)]
            for future, task in zip(others, rest, strict=True):
                results.append(function(*task) if future.cancel() else future.result())
            return results
        finally:
            for future in others:
                if not future.cancel():
                    future.exception()  # waits for the thread
            self._at_work = False

    def _threads(self) -> Team:
        """The threads besides the caller."""
        if self._team is None:
            self._team = taken(self.size - 1)
        return self._team

    @staticmethod
    def _submit(team: Team, function: Callable[..., T], task: Sequence[Any]) -> Future[T]:
        """The future of ``function(*task)``, which no thread begins if the system allows none."""
        future: Future[T] = Future()

        def perform() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*task))
                except BaseException as error:
                    future.set_exception(error)

        with suppress(RuntimeError):  # the system allows no further thread, but `perform` waits for those that exist
            team.submit(perform)
        return future

    def launch(self, rows: ArgumentTable) -> Array:
        """Run all calls in the table `rows`, in parallel and in any order; return their results.

        An interrupt that has been deferred is delivered first.

        Raises
        ------
        ProgramError
            If a call fails.
        """
        interrupts.check()
        if self._log is None:
            self._launch(rows)
            return rows.results
        started, shared, notes = perf_counter_ns(), self._launch(rows), None
        ended = perf_counter_ns()
        if shared:
            notes = self._notes.copy()
            self._made[:] = 0
        self._log.append((rows.kernel.name, self.about, started, ended, notes))
        return rows.results

    def trace(self) -> None:
        """From now on, note when each thread works; see `spans`."""
        self._log, self._job[NOTING] = [], 1

    def spans(self) -> Iterator[Span]:
        """When each thread worked in each `launch` since `trace`. The tracks are ``"cpu 0"``, the caller, and so on."""
        for name, about, began, ended, notes in self._log or ():
            rows = [(began, ended, 1)] if notes is None else notes.tolist()
            for worker, (start, end, made) in enumerate(rows):
                if made:
                    yield Span(f"cpu {worker}", name, start, end, about)

    def _launch(self, rows: ArgumentTable) -> bool:
        """Run all calls in `rows`; return whether several threads shared them."""
        self._rows = rows
        if self.size == 1 or len(rows) < 2:
            for k in range(len(rows)):
                rows(k)
            self._rows = None
            return False
        self._job[ENTRY : RESULTS + 1] = rows.job
        publish, work = self._calls
        self._job[REMAINING], self._job[DONE] = 0, len(rows)  # counts as done until it is published
        interrupt: KeyboardInterrupt | None = None
        self._at_work = True
        try:
            publish()
            self._wake(min(self.size, len(rows)) - 1)
        finally:  # wait until no thread writes to the caller's arrays
            while True:
                try:
                    if work(LEADER):
                        break
                    os.sched_yield()
                except KeyboardInterrupt as error:
                    interrupt = error
            self._rows, self._at_work = None, False
        if interrupt is not None:
            raise interrupt
        if self._job[FAILED]:
            raise rows.failure()
        return True

    @cached_property
    def _calls(self) -> tuple[ArgumentTable, ArgumentTable]:
        """The arguments of `publish`, and those of `work`, one call for each worker."""
        enough = self.size <= available_cores()  # with more threads than cores, a waiting one would hold up another
        spins = self._spins if enough else 0
        return PUBLISH.rows(1, self._job), WORK.rows(self.size, self._job, spins, np.arange(self.size))

    def start(self) -> None:
        """Create the threads now, so that the first `launch` need not: a dozen takes two milliseconds."""
        if self.size > 1:
            self._threads().start()

    def _wake(self, helpers: int) -> None:
        """Wake sleeping workers, so that this many are awake besides the leader."""
        team = self._threads()
        with self._lock:
            awake = self.size - 1 - len(self._asleep)
            called = [self._asleep.pop() for _ in range(helpers - awake)]
        with suppress(RuntimeError):  # the system allows no further thread: those that exist do the work
            for worker in called:
                team.submit(self._serve, worker)

    def _serve(self, worker: int) -> None:
        """Work on jobs as this worker until there are none for a while."""
        _, work = self._calls
        while True:
            work(worker)
            # Under the lock, so that no job is missed: this thread sees one that was published before, and `_wake`
            # finds this worker asleep for one that is published later.
            with self._lock:
                if self._job[REMAINING] <= 0:
                    self._asleep.append(worker)
                    return

    def __str__(self) -> str:
        """What the pool is doing now, for the watchdog's report."""
        rows, job, about = self._rows, self._job, self.about
        if rows is None:
            return "cpu: idle"
        where = f" of page {about['page']}" if "page" in about else ""
        if self.size == 1 or len(rows) < 2:
            return f"cpu: {rows.kernel.name}{where}"
        calls, done = len(rows), int(job[DONE])
        working = calls - done - max(int(job[REMAINING]), 0)
        return f"cpu: {rows.kernel.name}{where}, {done} of {calls} calls done, {working} of {self.size} threads at work"

    def close(self) -> None:
        """Give back the threads; end them if one may still work for the caller, whom exceptions kept from waiting."""
        team, self._team = self._team, None
        if team is None:
            return
        self._job[REMAINING] = CLOSED  # sends the workers to sleep
        if self._at_work:
            team.end()
        else:
            give_back(team)

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def split(count: int, parts: int) -> list[int]:
    """The ``parts + 1`` bounds that divide ``range(count)`` into nearly equal parts."""
    return [count * part // parts for part in range(parts + 1)]
