"""Opens and locks a graph's directories, and reads their files, without trusting their contents."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import ExitStack, suppress
from pathlib import Path

from ..errors import DamagedGraphError, FormatError, ParameterError
from ..system.files import did_you_mean_file
from ..system.urls import is_url, shown


class Damage(DamagedGraphError):
    """Damage in a file of a graph directory; `open` raises it, `verify` lists it.

    Attributes
    ----------
    path : str
        The damaged file, or directory on a disk.
    block : int or None
        Block number within its array.
    offset : int or None
        Byte offset in the file.
    problem : str
    """

    def __init__(
        self, path: str | os.PathLike[str], problem: str, *, block: int | None = None, offset: int | None = None
    ) -> None:
        if block is None:
            super().__init__(path, problem, offset=offset)
        else:
            super().__init__(path, f"block {block}, at byte {offset} of the file: {problem}")
        self.block, self.offset, self.problem = block, offset, problem


class OpenDirectory:
    """An open directory whose regular files can be opened by name; symbolic links are refused.

    Parameters
    ----------
    path : Path
    handle : int
        Its file descriptor.
    closing : ExitStack
        Closes the directory and the files that were opened in it.
    """

    def __init__(self, path: Path, handle: int, closing: ExitStack) -> None:
        self.path, self._handle, self._closing = path, handle, closing
        closing.callback(close, handle)
        status = os.fstat(handle)
        self.identity = status.st_dev, status.st_ino

    def refuse_links(self) -> None:
        """Raise `Damage` if the directory contains a symbolic link."""
        with os.scandir(self._handle) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise Damage(self.path / entry.name, "a symbolic link; a graph directory holds its own files only")

    def open(self, name: str, closing: ExitStack | None = None) -> tuple[int, int]:
        """File descriptor and size of a regular file; `closing` closes it, or by default what closes the directory."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # O_NONBLOCK: opening a FIFO must not wait
        try:
            handle = os.open(name, flags, dir_fd=self._handle)
        except FileNotFoundError:
            what = "missing; this is not a complete graph directory: copy it again, or import the graph again"
            raise Damage(self.path / name, what) from None
        except OSError as error:
            what = f"cannot be opened ({reason(error)}); make sure that it can be read"
            raise Damage(self.path / name, what) from None
        (self._closing if closing is None else closing).callback(close, handle)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Damage(self.path / name, "not a regular file; import the graph again")
        return handle, status.st_size

    def read(self, name: str, size: int, handle: int) -> bytearray:
        """The first `size` bytes of an open file."""
        data = bytearray(size)
        try:
            count = read_at(handle, memoryview(data), 0)
        except OSError as error:
            what = f"cannot be read ({reason(error)}); check the disk, or copy the graph again"
            raise Damage(self.path / name, what) from None
        return data[:count]


class GraphDirectory(OpenDirectory):
    """An open, locked graph directory, and the graph's directories on other disks.

    Parameters
    ----------
    path : path-like
    exclusive : bool
        True to change the graph: no other process may have it open. False to read it: other readers may have it open.

    Raises
    ------
    FormatError
        If there is no directory at `path`.
    ParameterError
        If another process holds a lock that excludes this one; the message names that process if the system does.

    Attributes
    ----------
    locked : bool
        False only if the filesystem has no locks, and the directory was opened to be read.
    """

    def __init__(self, path: str | os.PathLike[str], *, exclusive: bool = False) -> None:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except NotADirectoryError:
            raise FormatError(
                path, f"a file, not a graph directory; make one of it: garaph import {shown(path)} DIR"
            ) from None
        except (OSError, ValueError) as error:
            if is_url(path):
                advice = "of URLs, only gp.open and garaph run make a copy; make one yourself"
            else:
                advice = did_you_mean_file(path, "make one with garaph import, or check the name", os.path.isdir)
            raise FormatError(
                shown(path), f"no graph directory can be opened here ({reason(error)}); {advice}"
            ) from None
        super().__init__(Path(path), handle, ExitStack())
        self._disks: dict[str, OpenDirectory] = {".": self}
        try:
            self.locked = lock(self.path, handle, exclusive)
        except BaseException:
            self._closing.close()
            raise

    def __enter__(self) -> GraphDirectory:
        return self

    def __exit__(self, *failure: object) -> None:
        self._closing.close()

    def disk(self, listed: str) -> OpenDirectory:
        """The graph's directory on a disk, by its name in the manifest.

        Raises
        ------
        Damage
            If it is missing, is or contains a symbolic link, or is the directory of another disk as well.
        """
        if listed not in self._disks:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                handle = os.open(listed, flags)
            except OSError as error:
                problem = f"this directory of the graph on a disk cannot be opened ({reason(error)})"
                raise Damage(listed, f"{problem}; mount the disk, or import the graph again") from None
            disk = OpenDirectory(Path(listed), handle, self._closing)
            if disk.identity in (other.identity for other in self._disks.values()):
                raise Damage(listed, "the manifest lists this directory twice; import the graph again")
            disk.refuse_links()
            self._disks[listed] = disk
        return self._disks[listed]


def close(handle: int) -> None:
    """Close a file that was only read or locked. Errors are ignored, because no data can be lost."""
    with suppress(OSError):
        os.close(handle)


def lock(path: Path, handle: int, exclusive: bool) -> bool:
    """Lock the open directory at `path` until `handle` is closed or the process ends; return whether it is locked."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        who = ", ".join(holders(handle)) or "another process"
        does = f"{who} uses this graph, so it cannot be changed" if exclusive else f"{who} is changing this graph"
        raise ParameterError(f"{path}: {does}; wait until it has ended") from None
    except OSError as error:
        if exclusive:  # a reader needs no lock here: writers need one, and the filesystem has none
            raise ParameterError(f"{path}: cannot be locked ({reason(error)}); use another filesystem") from None
        return False
    return True


def holders(handle: int) -> list[str]:
    """The processes that hold a lock on an open directory, as far as /proc/locks lists them."""
    status = os.fstat(handle)
    inode = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except OSError:
        return []
    pids = dict.fromkeys(row[4] for row in rows if row[1] == "FLOCK" and row[5] == inode)
    return [f"process {pid}{command(pid)}" for pid in pids if int(pid) > 0]  # 0: a process of another namespace


def command(pid: str) -> str:
    """The name of a process, in parentheses; empty if the system does not give it."""
    try:
        return f" ({Path('/proc', pid, 'comm').read_text().strip()})"
    except OSError:
        return ""


def read_at(handle: int, out: memoryview, offset: int) -> int:
    """Fill `out` with the bytes at `offset`; return how many were read, fewer only at the end of the file."""
    done = 0
    while done < len(out):
        count = os.preadv(handle, [out[done:]], offset + done)
        if not count:
            break
        done += count
    return done


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of the system for a full disk, quota or file size limit."""


def reason(error: Exception) -> str:
    """The system's text for an `OSError`, else the exception's own."""
    return str(getattr(error, "strerror", None) or error)
