"""Teams of threads that outlive the pools that use them, because a dozen threads take milliseconds to start."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

MOST_IDLE = 4
"""How many idle teams are kept: those of a run, of what prepares its graph, and of runs in a second thread."""
MOST_THREADS = 256
"""The largest team that is kept. More threads than cores are rare, and they count towards the user's limit."""


class Team:
    """Threads that perform what is submitted to them; they sleep as long as there is nothing to do.

    Parameters
    ----------
    size : int
        Number of threads. Each is created when it is first needed.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.process = os.getpid()
        self._complete = self._is_short = False
        self._executor = ThreadPoolExecutor(size, thread_name_prefix="garaph-cpu")

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a thread call ``function(*arguments)``.

        Raises
        ------
        RuntimeError
            If the system allows no further thread. Those that exist will make the call.
        """
        try:
            self._executor.submit(function, *arguments)
        except RuntimeError:
            self._is_short = True
            raise

    @property
    def is_whole(self) -> bool:
        """Whether others can use it: it is no copy in a forked process, which has no threads, and no call waits for a
        thread that the system did not allow."""
        return self.process == os.getpid() and not self._is_short

    def start(self) -> None:
        """Create all threads now, or as many as the system allows."""
        if self._complete:
            return
        begun = threading.Event()
        try:
            with suppress(RuntimeError):
                for _ in range(self.size):
                    self.submit(begun.wait)
                self._complete = True
        finally:
            begun.set()

    def end(self) -> None:
        """End the threads, after what has been submitted."""
        self._executor.shutdown()


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
