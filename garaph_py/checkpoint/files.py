"""All that checkpoints ask of the system. Tests put faults, crashes and disks that lose writes in its place."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path


class Files:
    """System calls, one a method; each may raise `OSError`."""

    def make_directory(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):  # said now, rather than at the first checkpoint of a long run
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def lock_directory(self, path: Path) -> int:
        """A handle of the directory that nobody else has, until it is closed or the process has ended."""
        handle = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC, 0o666)

    def size(self, handle: int) -> int:
        return os.fstat(handle).st_size

    def read(self, handle: int, view: memoryview, offset: int) -> int:
        """Bytes read: as many as `view` has, or fewer."""
        return os.preadv(handle, [view], offset)

    def write(self, handle: int, data: memoryview) -> int:
        """Bytes written: as many as `data` has, or fewer."""
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
