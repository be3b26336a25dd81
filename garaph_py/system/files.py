"""Writing files so that each is complete or absent, and locking files and directories."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import itertools
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ..errors import ParameterError, nearest
from .urls import is_url, url_of

REMOVAL_SECONDS = 0.01
"""Seconds to wait while another process may remove an empty file or directory."""
LOOK_SECONDS = 0.002
"""Seconds between two looks at a lock that another process holds."""
MOST_PREFIX = 200
"""Longest name of a file, in bytes, that the names of its temporary files repeat; they add 18 bytes, and a name has 255
at most."""
NOT_REGULAR = "is a device, a pipe or a socket, which a file would replace; name a file"
"""The problem of a place at which no file can be written."""
NO_FILE = "is a pipe or a device, which cannot be read twice; write it to a file first"
"""The problem of a path to something other than a file or a directory, where a file is needed."""
MOST_COMPARED = 1000
"""Names of files among which the nearest to a misspelt one is looked for; this many take about 20 ms."""


def check_place(path: str | os.PathLike[str], name: str) -> None:
    """Check that a file can be written at `path`, before the work whose result it will hold.

    Raises
    ------
    ParameterError
        If it cannot. The message names the parameter `name`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"{name}={path!r}: give the name of a file")
    try:
        handle, temporary = new_partial(place_of(path))
    except ParameterError as error:
        raise ParameterError(f"{name} {error}") from None
    except OSError as error:
        raise ParameterError(f"{name} {path}: {error.strerror}; choose another place") from None
    os.close(handle)
    os.unlink(temporary)


def place_of(path: str | os.PathLike[str]) -> Path:
    """The real path of an output at `path`: that of a regular file, or of nothing, in a directory.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    kind = stat.S_IFREG
    try:
        target = Path(os.path.realpath(path))  # a symbolic link stays a link
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            kind = stat.S_IFMT(os.stat(target).st_mode)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise ParameterError(f"{path}: {getattr(error, 'strerror', None) or error}; choose another name") from None
    if kind == stat.S_IFDIR:
        raise ParameterError(f"{path}: is a directory; name a file")
    if not os.path.isdir(target.parent):
        raise ParameterError(no_directory(path, target.parent))
    if kind != stat.S_IFREG:
        raise ParameterError(f"{path}: {NOT_REGULAR}")
    return target


def new_partial(target: Path) -> tuple[int, str]:
    """A new temporary file, open, beside the file `target` that it is to become; and its path."""
    return tempfile.mkstemp(dir=target.parent, prefix=f"{partial_prefix(target)}.", suffix=".partial")


def partial_prefix(target: Path) -> str:
    """How the names of temporary files for `target` begin: with its name, or a hash of it if that is long."""
    name = os.fsencode(target.name)
    return f".{target.name}" if len(name) <= MOST_PREFIX else f".{hashlib.sha256(name).hexdigest()}"


def no_directory(path: str | os.PathLike[str], parent: Path) -> str:
    """The problem of an output at `path`, whose directory `parent` does not exist."""
    if is_url(path):
        return f"{url_of(path)}: nothing can be written at URLs; give a path on this machine"
    return f"{path}: there is no directory {parent}; make it first"


def arrow_file(path: str | os.PathLike[str]) -> Any:
    """The file at `path`, open for pyarrow, which itself takes no names but those in UTF-8."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path))


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to the same file, which need not exist."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return os.path.realpath(one) == os.path.realpath(other)


def check_distinct(places: Mapping[str, str | os.PathLike[str]]) -> None:
    """Check that no two places, which are given by the names of their parameters, are the same file.

    Raises
    ------
    ParameterError
        If two are. The message names both parameters.
    """
    for (one, path), (other, again) in itertools.combinations(places.items(), 2):
        if is_same_file(path, again):
            raise ParameterError(f"{one} and {other} are both {os.fspath(path)!r}; name two files")


def did_you_mean_file(
    path: str | os.PathLike[str], otherwise: str, reads: Callable[[Path], bool] = os.path.exists
) -> str:
    """Advice for a message about a missing file: the file beside it with the nearest name, or else `otherwise`.

    Suffixes do not make names near: whoever writes ``nowhere.tsv`` does not mean ``one.tsv``. Only files that the
    caller `reads`, by their names, or that have the suffix of `path`, are suggested.
    """
    stem, suffix = os.path.splitext(os.path.basename(path))
    try:
        with os.scandir(os.path.dirname(path) or ".") as beside:
            names = [
                entry.name
                for entry in itertools.islice(beside, MOST_COMPARED)
                if reads(Path(entry.path)) or (suffix and entry.name.endswith(suffix))
            ]
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return otherwise
    names.sort(key=lambda name: name.endswith(suffix))  # of several with one stem, the last counts
    by_stem = {os.path.splitext(name)[0]: name for name in names}
    near = nearest(stem, by_stem)
    return otherwise if near is None else f"did you mean {by_stem[near]}?"


def no_such_file(path: str | os.PathLike[str], otherwise: str, *suffixes: str) -> str:
    """The problem of a path that leads to no file, and what to do: `otherwise`, if no name beside it is near that ends
    in one of the `suffixes`."""
    if os.path.isdir(path):
        return "is a directory; name a file"
    if os.path.exists(path):
        return NO_FILE
    return f"no such file; {did_you_mean_file(path, otherwise, lambda other: other.name.endswith(suffixes))}"


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Create or replace the file at `path` with what ``write(file)`` writes. A failure leaves the old file as it was.

    The new content is written to a temporary file beside it, which then takes its place in one step. When this function
    returns, the file survives a loss of power.

    Raises
    ------
    ParameterError
        If the file cannot be written there; or if it has been written, and a loss of power may undo that. The message
        says which.
    """
    target = place_of(path)
    remove_leftovers(target)
    try:
        handle, name = new_partial(target)
    except OSError as error:
        raise ParameterError(f"{target}: {error.strerror}; choose a place that can be written") from None
    try:
        with os.fdopen(handle, "wb") as file, try_lock(name):
            write(file)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # the permissions that open() gives
            os.replace(name, target)
    except OSError as error:
        raise ParameterError(f"{target}: {error.strerror or error}; nothing was written") from None
    finally:
        with contextlib.suppress(OSError):  # if it stays, the next `write_whole` removes it
            os.unlink(name)
    try:
        make_names_durable(target.parent)
    except OSError as error:
        reason = error.strerror or error
        raise ParameterError(f"{target} has been written, but a loss of power may undo it: {reason}") from None


def make_names_durable(path: str | os.PathLike[str]) -> None:
    """Make the names in a directory durable, so that files that were created or renamed survive a loss of power."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(target: Path) -> None:
    """Remove temporary files that killed processes left while they wrote the file `target`."""
    partial = re.compile(rf"{re.escape(partial_prefix(target))}\.\w{{8}}\.partial")
    with contextlib.suppress(OSError):
        for name in filter(partial.fullmatch, os.listdir(target.parent)):
            with contextlib.suppress(OSError), try_lock(target.parent / name) as locked:
                if locked:
                    os.unlink(target.parent / name)


def make_locked(make: Callable[[Path], object], path: Path, locks: contextlib.ExitStack) -> None:
    """Call ``make(path)``, and lock the result until `locks` is closed.

    If another process removes it before it is locked, because it takes it for a leftover, it is made again.

    Raises
    ------
    OSError
        If it cannot be made or opened.
    """
    while True:
        make(path)
        try:
            locks.enter_context(try_lock(path, REMOVAL_SECONDS))  # it may be locked by a process that will remove it
        except FileNotFoundError:
            continue
        if os.path.lexists(path):
            return


@contextlib.contextmanager
def try_lock(path: str | os.PathLike[str], patience: float = 0.0) -> Iterator[bool]:
    """Lock a file or directory for the length of a ``with`` block; yields whether it could be locked.

    If another process has locked it, this waits for up to `patience` seconds.

    The system releases a lock when its process ends, also when the process is killed. So if a file can be locked, no
    process is writing it.

    Raises
    ------
    OSError
        If the file or directory cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        deadline, locked = time.monotonic() + patience, False
        while not locked:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked = True
            except OSError as error:
                if error.errno != errno.EWOULDBLOCK or time.monotonic() >= deadline:  # others: there are no locks here
                    break
                time.sleep(LOOK_SECONDS)
        yield locked
        if locked:
            fcntl.flock(handle, fcntl.LOCK_UN)  # a process forked meanwhile has a copy of the handle
    finally:
        with contextlib.suppress(OSError):  # an error would concern writes, and nothing was written through it
            os.close(handle)
