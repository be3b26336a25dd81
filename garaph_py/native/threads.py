"""The number of cores that this process may use, and a pool of threads that share the calls of a kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from time import perf_counter_ns
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..events import Span
from ..system import cgroup, interrupts
from ..system.arguments import is_count
from . import ArgumentTable
from .job import DONE, ENTRY, FAILED, LEAD, MADE, MOST_SPINS, NOTING, REMAINING, RESULTS, notes_of
from .teams import Team, give_back, taken

T = TypeVar("T")
Array = npt.NDArray[np.int64]

SPINS = 1 << 14
"""How often an idle worker looks for a job before it goes to sleep: for about 200 microseconds, which is longer than
Python takes between two launches."""
LONG_SPINS = 1 << 18
"""The same, for some milliseconds, for runs in which other threads keep Python busy. Waking workers then takes one or
two milliseconds."""
MOST_THREADS = 4096
"""Most threads that a user may ask for: a guard against mistakes."""
MOST_ALONE = 1 << 16
"""Most items of an array that one thread passes over alone. A guess: that takes it a tenth of a millisecond, and to
wake the others takes some ten microseconds."""


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
    if threads is not None and not (is_count(threads) and 1 <= threads <= MOST_THREADS):
        most = f"from 1 to {MOST_THREADS}"
        raise ParameterError(f"threads={threads!r}: give a whole number {most}, or leave it out for all cores")
    return None if threads is None else int(threads)


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
        self._rows: ArgumentTable | None = None  # the table that compiled code works on
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
        team = self._taken()
        team.hire(len(rest))
        others = [self._submit(team, function, task) for task in rest]
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

    def _taken(self) -> Team:
        """The threads besides the caller."""
        if self._team is None:
            self._team = team = taken(self.size - 1)
            enough = self.size <= available_cores()  # with more threads than cores, a waiting one holds up another
            team.job[MOST_SPINS], team.job[NOTING] = self._spins if enough else 0, self._log is not None
        return self._team

    @staticmethod
    def _submit(team: Team, function: Callable[..., T], task: Sequence[Any]) -> Future[T]:
        """The future of ``function(*task)``, which no thread begins if there is none."""
        future: Future[T] = Future()

        def perform() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*task))
                except BaseException as error:
                    future.set_exception(error)

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
            own = notes_of(self._taken().job)
            notes = own.copy()
            own[:, MADE] = 0
        self._log.append((rows.kernel.name, self.about, started, ended, notes))
        return rows.results

    def launch_with_lock(self, rows: ArgumentTable) -> Array:
        """As `launch`, for kernels that read objects of Python: the caller keeps Python's lock during the calls.

        With several threads it keeps the lock until all calls have ended, and with one during each call. Traces do not
        show these calls.

        Raises
        ------
        ProgramError
            If a call fails.
        """
        interrupts.check()
        if self.size == 1 or len(rows) < 2:
            for k in range(len(rows)):
                rows(k)
            return rows.results
        team, helpers = self._taken(), min(self.size, len(rows)) - 1
        threads = team.hire(helpers)
        team.job[ENTRY : RESULTS + 1] = rows.job
        LEAD(team.job, threads, helpers)
        if team.job[FAILED]:
            raise rows.failure()
        return rows.results

    def trace(self) -> None:
        """From now on, note when each thread works; see `spans`."""
        self._log = []
        if self._team is not None:
            self._team.job[NOTING] = 1

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
        team, helpers = self._taken(), min(self.size, len(rows)) - 1
        job, publish, work = team.job, team.publish, team.work
        publish.fill(job, team.hire(helpers), helpers)
        job[ENTRY : RESULTS + 1] = rows.job
        job[REMAINING], job[DONE] = 0, len(rows)  # counts as done until it is published
        interrupt: KeyboardInterrupt | None = None
        self._at_work = True
        try:
            publish()
        finally:  # wait until no thread writes to the caller's arrays
            while True:
                try:
                    if work():
                        break
                    os.sched_yield()
                except KeyboardInterrupt as error:
                    interrupt = error
            self._rows, self._at_work = None, False
        if interrupt is not None:
            raise interrupt
        if job[FAILED]:
            raise rows.failure()
        return True

    def parts(self, count: int) -> int:
        """In how many parts to divide a pass over `count` items of an array: one for each thread, or 1 if they are
        few."""
        return self.size if count > MOST_ALONE else 1

    def start(self) -> None:
        """Create the threads now, so that the first `launch` need not: a dozen takes two milliseconds."""
        if self.size > 1:
            self._taken().hire(self.size - 1)

    def __str__(self) -> str:
        """What the pool is doing now, for the watchdog's report."""
        rows, team, about = self._rows, self._team, self.about
        if rows is None:
            return "cpu: idle"
        where = f" of page {about['page']}" if "page" in about else ""
        if team is None or len(rows) < 2:
            return f"cpu: {rows.kernel.name}{where}"
        calls, done = len(rows), int(team.job[DONE])
        working = calls - done - max(int(team.job[REMAINING]), 0)
        return f"cpu: {rows.kernel.name}{where}, {done} of {calls} calls done, {working} of {self.size} threads at work"

    def close(self) -> None:
        """Give back the threads; end them if one may still work for the caller, whom exceptions kept from waiting."""
        team, self._team = self._team, None
        if team is None:
            return
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


def shares(count: int, parts: int) -> tuple[Array, Array]:
    """Where each of the `parts` nearly equal parts of ``range(count)`` begins, and where it ends."""
    bounds = bounds_of(count, parts)
    return bounds[:-1], bounds[1:]


def bounds_of(count: int, parts: int) -> Array:
    """The ``parts + 1`` bounds that divide ``range(count)`` into nearly equal parts."""
    return np.arange(parts + 1) * count // parts


def split(count: int, parts: int) -> list[int]:
    """`bounds_of`, as a list of Python's numbers."""
    bounds: list[int] = bounds_of(count, parts).tolist()
    return bounds


def even_cuts(offsets: Array, parts: int) -> Array:
    """The ``parts + 1`` bounds that divide lists into ranges of about equally many items.

    List v has the items from ``offsets[v]`` up to ``offsets[v + 1]``.
    """
    cuts: Array = np.searchsorted(offsets[:-1], offsets[0] + bounds_of(int(offsets[-1] - offsets[0]), parts))
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    return cuts
