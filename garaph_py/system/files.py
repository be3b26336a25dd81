"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ..errors import ParameterError

SWEEPING = 0.01
"""Seconds that it takes to remove what is empty."""


def check_place(path: str | os.PathLike[str], name: str) -> None:
    """Refuse a `path` where no file can be written, before the work whose outcome is to go there.

    Raises
    ------
    ParameterError
        Naming the parameter `name`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"{name}={path!r}: give the name of a file")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ParameterError(f"{name} {path}: is a directory; name a file")
    if not target.parent.is_dir():
        raise ParameterError(f"{name} {path}: there is no directory {target.parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise ParameterError(f"{name} {path}: {target.parent} cannot be written; choose another place")


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Create or replace the file at `path` by what ``write(file)`` writes, in one step: a failure leaves it as it was.

    Raises
    ------
    ParameterError
        If the file cannot be written there.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    if target.is_dir():
        raise ParameterError(f"{path}: is a directory; name a file")
    sweep(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
    except OSError as error:
        raise ParameterError(f"{target}: {error.strerror}; choose a place that can be written") from None
    try:
        with os.fdopen(handle, "wb") as file, alone(name):
            write(file)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # as open() would have made it
            os.replace(name, target)
    except OSError as error:
        raise ParameterError(f"{target}: {error.strerror or error}; nothing was written") from None
    finally:
        with contextlib.suppress(OSError):  # where it is still there, the next removes it
            os.unlink(name)


def sweep(target: Path) -> None:
    """Remove what processes that were killed left when they wrote the file `target`, as far as that can be."""
    partial = re.compile(rf"\.{re.escape(target.name)}\.\w{{8}}\.partial")
    with contextlib.suppress(OSError):
        for name in filter(partial.fullmatch, os.listdir(target.parent)):
            with contextlib.suppress(OSError), alone(target.parent / name) as nobodys:
                if nobodys:
                    os.unlink(target.parent / name)


def make_alone(make: Callable[[Path], object], path: Path, locks: contextlib.ExitStack) -> None:
    """``make(path)``, and have it locked until `locks` are left; again, if somebody who sweeps was faster.

    Raises
    ------
    OSError
        If it cannot be made or opened.
    """
    while True:
        make(path)
        try:
            for _ in range(2):
                if locks.enter_context(alone(path)):
                    break
                time.sleep(SWEEPING)  # somebody removes it, or there are no locks here, and nobody does
        except FileNotFoundError:
            continue
        if os.path.lexists(path):
            return


@contextlib.contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Lock a file or directory until the end; whether that could be.

    The lock is the system's, and ends with the process, however that ends: what can be locked, nobody writes any more.

    Raises
    ------
    OSError
        If there is none that can be opened.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked = True
        except OSError:  # somebody has, or the filesystem has no locks: then nobody can tell
            locked = False
        yield locked
        if locked:
            fcntl.flock(handle, fcntl.LOCK_UN)  # also for processes that were forked meanwhile
    finally:
        with contextlib.suppress(OSError):  # of what was not written by it
            os.close(handle)
