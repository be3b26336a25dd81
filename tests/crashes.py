"""Processes that die, and systems that fail, at a chosen call of the system."""

import os

CALLS = ("mkdir", "open", "write", "fsync", "rename", "unlink", "rmdir")


class Crash(BaseException):
    """The process has died: nor does anything else that it still calls come about."""


def calls_of(monkeypatch, work, die_at=None, fail_at=None, number=None):
    """How many of `CALLS` are made by ``work()``, which dies before one of them, or has it fail with an error number.

    Returns
    -------
    int
    BaseException or None
        What `work` raised.
    """
    made, raised = 0, None

    def counting(name, call):
        def counted(*arguments, **options):
            nonlocal made
            if made == die_at:
                raise Crash(name)
            made += 1
            if made - 1 == fail_at:
                raise OSError(number, os.strerror(number))
            return call(*arguments, **options)

        return counted

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, counting(name, getattr(os, name)))
        try:
            work()
        except (Crash, Exception) as error:
            raised = error
    return made, raised
