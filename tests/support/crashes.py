"""Processes that die, and systems that fail, at a chosen call of the system."""

import os
import threading

CHANGES = ("mkdir", "open", "write", "pwrite", "fsync", "chmod", "rename", "replace", "unlink", "rmdir")
CALLS = (*CHANGES, "preadv", "close")
PARTS = ("write", "pwrite", "preadv")
"""Calls that may do less than they were asked for."""
MAIN = threading.main_thread().name


class Crash(BaseException):
    """The process has died: none of its later calls has an effect."""


def calls_of(monkeypatch, work, die_at=None, fail_at=None, number=None, names=CHANGES):
    """Which calls of these `names` are made by ``work()``, which may die before one of them or have it fail.

    Returns
    -------
    dict of (str, int) to str
        Names of calls, by the name of the thread and how many it had made before.
    BaseException or None
        What `work` raised.

    Parameters
    ----------
    die_at, fail_at : (str, int), optional
        The call before which it dies; the one that fails with the error `number`, or reads or writes only one byte if
        that is None.
    """
    made, raised, dead, turn = {}, None, False, threading.Lock()

    def counting(name, call):
        def counted(*arguments, **options):
            nonlocal dead
            thread = threading.current_thread().name
            with turn:
                point = thread, sum(thread == other for other, _ in made)
                dead = dead or point == die_at
                if dead:
                    raise Crash(name)
                made[point] = name
            if point != fail_at:
                return call(*arguments, **options)
            if number is not None:
                if name == "close":  # the handle is gone all the same
                    call(*arguments, **options)
                raise OSError(number, os.strerror(number))
            if name in PARTS:
                handle, data, *offset = arguments
                return call(handle, [data[0][:1]] if name == "preadv" else data[:1], *offset)
            return call(*arguments, **options)

        return counted

    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(os, name, counting(name, getattr(os, name)))
        try:
            work()
        except (Crash, Exception) as error:
            raised = error
    return made, raised
