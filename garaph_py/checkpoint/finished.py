"""The checkpoints of runs that have finished: they stay until their answers are safe.

A run's last checkpoint holds its end, so that a program that dies before it has written the answer can have it again
without computing anything. `FinishedRun.remove` removes the checkpoints; so do the next run of this process in the same
directory, and the normal end of the process.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys

from .store import Store

log = logging.getLogger("garaph_py")

THE_END = "the run itself has ended;"
"""How the note begins that an error gets if it came up after the last iteration."""

_here: dict[str, FinishedRun] = {}
"""The finished runs of this process whose checkpoints are still there, by the real path of their directory."""


class FinishedRun:
    """A finished run's checkpoints, whose directory stays locked until `remove` or `keep`.

    Parameters
    ----------
    store : Store
        The checkpoints; this object closes it.
    has_end : bool
        The last one holds the run's end; otherwise it could not be written.
    """

    def __init__(self, store: Store, has_end: bool) -> None:
        self._store, self._has_end, self._process = store, has_end, os.getpid()
        self._key = os.path.realpath(store.directory)
        _here[self._key] = self

    def remove(self) -> None:
        """Remove the checkpoints: the answer is safe, or nobody needs it. A second call does nothing."""
        if self._release():
            try:
                self._store.remove()
            except OSError as error:
                log.warning("%s: the checkpoints cannot be removed: %s", self._store.directory, error.strerror or error)
            self._store.close()

    def keep(self, error: BaseException | None = None) -> None:
        """Leave the checkpoints where they are, so that another run can resume from them; `error` says so, too."""
        if self._release():
            self._store.close()
            if error is not None and self._has_end:
                note_the_end(error, self._store.directory)
            elif error is not None and os.path.isdir(self._store.directory):
                error.add_note(f"{self._store.directory} has a checkpoint from before the end: resume from there")

    def _release(self) -> bool:
        """Give the checkpoints up; return whether they were still this object's. A forked child has none."""
        if _here.get(self._key) is not self or self._process != os.getpid():
            return False
        del _here[self._key]
        return True


def remove_earlier(directory: str | os.PathLike[str]) -> None:
    """Remove the checkpoints that an earlier run of this process has left in `directory`, if it has finished."""
    if (earlier := _here.get(os.path.realpath(directory))) is not None:
        earlier.remove()


@atexit.register
def remove_all() -> None:
    """At the normal end of the process, remove all checkpoints; keep them if an exception has ended it."""
    failed = hasattr(sys, "last_value") and not hasattr(sys, "ps1")  # a session at a prompt goes on after an exception
    for run in list(_here.values()):
        if failed:
            run.keep()
        else:
            run.remove()


def note_the_end(error: BaseException, directory: os.PathLike[str]) -> None:
    """Add to an error that the run has come to its end, and where it is."""
    error.add_note(f"{THE_END} {os.fspath(directory)} has its last checkpoint: resume from there")


def has_ended(error: BaseException) -> bool:
    """Whether an error says so."""
    return any(note.startswith(THE_END) for note in getattr(error, "__notes__", ()))
