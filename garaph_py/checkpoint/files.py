"""The system calls that checkpoints make. Tests replace them to simulate faults, crashes and lost writes.

Only this user may read or write a checkpoint: it holds the state that a later run continues from.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from ..system import ownership
from ..system.files import make_names_durable


class Files:
    """One method for each system call; any of them may raise `OSError`."""

    def make_directory(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(PermissionError):  # who may not read the parent has not made a directory in it
            make_names_durable(path.parent)  # also if it exists: who made it may have died before this
        if not os.access(path, os.W_OK | os.X_OK):  # fail now, not at the first checkpoint of a long run
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def lock_directory(self, path: Path) -> int:
        """Lock the directory; return the handle, which holds the lock until it is closed or the process ends."""
        handle = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC, 0o600)

    def distrust(self, handle: int) -> str | None:
        """The reason not to trust an open file or directory; None if nobody but this user and root can write it."""
        return ownership.distrust(os.fstat(handle))

    def is_at(self, path: Path, handle: int) -> bool:
        """Whether `path` still names the directory that `handle` is open on."""
        return os.path.samestat(os.stat(path), os.fstat(handle))

    def size(self, handle: int) -> int:
        return os.fstat(handle).st_size

    def read(self, handle: int, view: memoryview, offset: int) -> int:
        """Read into `view`; return the number of bytes read, which may be fewer than it has."""
        return os.preadv(handle, [view], offset)

    def write(self, handle: int, data: memoryview) -> int:
        """Write `data`; return the number of bytes written, which may be fewer than it has."""
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def rename(self, path: Path, target: Path) -> None:
        os.rename(path, target)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def remove_directory(self, path: Path) -> None:
        os.rmdir(path)
