"""Teams of threads that outlive the pools that use them, because a dozen threads take milliseconds to start."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property

from .job import CLOSE, LEADER, OFFER, PUBLISH, REMAINING, RESTING, SEMAPHORE, TASK, WORK, empty_job
from .kernel import ArgumentTable, address_of

Task = Callable[[], object]
"""Something to do in Python, which raises nothing."""

MOST_IDLE = 4
"""How many idle teams are kept: those of a run, of what prepares its graph, and of runs in a second thread."""
MOST_THREADS = 256
"""The largest team that is kept. More threads than cores are rare, and they count towards the user's limit."""


class Team:
    """Threads that make the calls of jobs and perform tasks; they sleep as long as there is nothing to do.

    They are daemons, because a thread that sleeps in compiled code would keep the process from ending.

    Parameters
    ----------
    size : int
        Number of threads. Each is created when it is first needed.

    Attributes
    ----------
    job : ndarray
        What the threads, and whoever has the team, see (`job`). Each of the threads is a worker; the leader is whoever
        has the team.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.process = os.getpid()
        self.job = empty_job(size + 1)
        ctypes.CDLL(None).sem_init(ctypes.c_void_p(address_of(self.job) + SEMAPHORE * self.job.itemsize), 0, 0)
        self._tasks: deque[Task] = deque()
        self._threads: list[threading.Thread] = []
        self._close: ArgumentTable | None = None  # made with the first thread: later there may be no memory for it

    @cached_property
    def publish(self) -> ArgumentTable:
        """The call that offers the job."""
        return PUBLISH.rows(1, self.job, 0, 0)

    @cached_property
    def work(self) -> ArgumentTable:
        """The call with which the leader takes part."""
        return WORK.rows(1, self.job, LEADER)

    def hire(self, count: int) -> int:
        """Create threads until there are `count` or all, or as many as the system allows; return how many there are."""
        with suppress(RuntimeError):  # the system allows no further thread: those that exist do the work
            while len(self._threads) < min(count, self.size):
                self._close = self._close or CLOSE.rows(1, self.job)
                worker = len(self._threads) + 1
                table = WORK.rows(1, self.job, worker)
                thread = threading.Thread(
                    target=serve, args=(table, self._tasks), name=f"garaph-cpu-{worker}", daemon=True
                )
                thread.start()
                self._threads.append(thread)
        return len(self._threads)

    def submit(self, task: Task) -> None:
        """Have a thread perform `task`, if there is a thread; see `hire`."""
        self._tasks.append(task)
        OFFER(self.job)

    @property
    def is_whole(self) -> bool:
        """Whether others can use it: it is no copy in a forked process, which has no threads."""
        return self.process == os.getpid()

    def rest(self) -> None:
        """Have the threads sleep, and forget tasks that none of them has begun."""
        self._tasks.clear()
        self.job[REMAINING] = RESTING

    def end(self) -> None:
        """End the threads, after what has been submitted."""
        if self._close is not None:
            self._close()
        for thread in self._threads:
            thread.join()


def serve(work: ArgumentTable, tasks: deque[Task]) -> None:
    """Work on jobs and tasks until the job is closed."""
    while work() == TASK:
        with suppress(IndexError):  # the tasks have been forgotten
            tasks.popleft()()


_idle: list[Team] = []
"""The idle teams of this process; that which has been idle for longest comes first."""


def taken(size: int) -> Team:
    """An idle team of this size, or a new one if there is none."""
    for team in reversed(_idle):
        if team.size == size and remove(team):
            return team
    return Team(size)


def give_back(team: Team) -> None:
    """Keep a team, which has nothing more to do, for the next who needs one of its size."""
    if not team.is_whole or team.size > MOST_THREADS:
        team.end()
        return
    team.rest()
    _idle.append(team)
    for oldest in _idle[:-MOST_IDLE]:
        if remove(oldest):
            oldest.end()


def end_idle() -> None:
    """End the threads of all idle teams."""
    for team in list(_idle):
        if remove(team):
            team.end()


def remove(team: Team) -> bool:
    """Take a team out of the idle ones; whether no other thread has done so before."""
    with suppress(ValueError):
        _idle.remove(team)  # one step, which needs no lock that a fork might leave locked
        return True
    return False


os.register_at_fork(before=end_idle, after_in_child=_idle.clear)
atexit.register(end_idle)
