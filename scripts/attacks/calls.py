"""Stands between garaph_py and the system: every call on files of one folder passes a function, which may do otherwise.

It replaces the functions of `os`, `open`, and the system calls that `garaph_py.storage.aio` makes by itself. Files that
libraries in C open by name are read and written behind its back; garaph_py opens by itself the files that it writes.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from garaph_py.storage import aio

PATHS = ("open", "mkdir", "rmdir", "unlink", "chmod", "rename", "replace")
"""Calls on a path."""
HANDLES = ("write", "pwrite", "fsync", "readv", "preadv", "close")
"""Calls on an open file."""
CHANGES = {*PATHS, "print", "write", "pwrite", "fsync"}
"""Calls that change what is on the disk, or make it durable; and what a process says that it has done."""
PRINT = 1
"""Standard output, through which a process says what it has done."""


@dataclass
class Call:
    """A call that is about to be made: calling this object makes it.

    Attributes
    ----------
    name : str
        ``"print"`` for a write to standard output.
    path : str
        The file or directory; for a rename the old name.
    target : str
        The new name; empty if it is not a rename.
    make : callable
        The function of the system.
    arguments, options
        Its arguments.
    """

    name: str
    path: str
    target: str
    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def __call__(self) -> Any:
        return self.make(*self.arguments, **self.options)

    def __str__(self) -> str:
        return f"{self.name} {self.path}"


Meet = Callable[[Call], Any]
"""Gets a call in place of the system; returns what the system would, or raises `OSError`."""


def stand_between(folder: os.PathLike[str], meet: Meet) -> None:
    """From now on, have every call of this process on a file in `folder`, or on standard output, pass `meet`."""
    Between(os.path.realpath(folder), meet).install()


class Between:
    """The replacements of the system's functions; for the parameters see `stand_between`."""

    def __init__(self, folder: str, meet: Meet) -> None:
        self._folder, self._meet = folder, meet
        self._handles = {PRINT: "standard output"}
        self._open_file, self._syscall = io.open, aio.LIBC.syscall

    def install(self) -> None:
        for name in (*PATHS, *HANDLES):
            replacement = self._on_path if name in PATHS else self._on_handle
            setattr(os, name, self._replaced(name, getattr(os, name), replacement))
        builtins.open = io.open = self._open  # type: ignore[assignment]
        aio.LIBC = Libc(self._system)  # type: ignore[assignment]

    def _replaced(self, name: str, make: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
        def replaced(*arguments: Any, **options: Any) -> Any:
            return replacement(name, make, arguments, options)

        return replaced

    def _on_path(self, name: str, make: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        path = self._absolute(arguments[0], options.get("dir_fd", options.get("src_dir_fd")))
        moves = name in ("rename", "replace")
        target = self._absolute(arguments[1], options.get("dst_dir_fd")) if moves else ""
        if not path.startswith(self._folder):
            return make(*arguments, **options)
        result = self._meet(Call(name, path, target, make, arguments, options))
        if name == "open":
            self._handles[result] = path
        return result

    def _on_handle(
        self, name: str, make: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        path = self._handles.get(arguments[0])
        if path is None:
            return make(*arguments, **options)
        if name == "close":
            del self._handles[arguments[0]]
        return self._meet(Call("print" if arguments[0] == PRINT else name, path, "", make, arguments, options))

    def _absolute(self, path: Any, directory: int | None = None) -> str:
        """A path without symbolic links but the last; that of an open file if it is a handle."""
        if isinstance(path, int):
            return self._handles.get(path, "")
        text = os.fsdecode(path)
        if directory is not None:
            text = os.path.join(self._handles.get(directory, "/"), text)
        parent, name = os.path.split(os.path.abspath(text))
        return os.path.join(os.path.realpath(parent), name)

    def _open(self, file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **options: Any) -> Any:
        """Stands in for `open`: a file in the folder makes its calls through `os`."""
        path = self._absolute(file) if isinstance(file, (int, str, bytes, os.PathLike)) else ""
        if not path.startswith(self._folder):
            return self._open_file(file, mode, buffering, *arguments, **options)
        writes = mode[0] in "wxa"
        if isinstance(file, int):
            handle, closes = file, options.pop("closefd", True)
        else:
            creates = {"w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL, "a": os.O_CREAT | os.O_APPEND}
            flags = os.O_WRONLY | creates[mode[0]] if writes else os.O_RDONLY
            handle, closes = os.open(file, flags | os.O_CLOEXEC, 0o666), True
        raw = RawFile(handle, path, closes)
        # Not a BufferedWriter: NumPy writes to that behind Python's back.
        buffered: Any = raw if not buffering else (io.BufferedRandom if writes else io.BufferedReader)(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *arguments, **options)

    def _system(self, number: Any, *arguments: Any) -> Any:
        name = next(name for name, known in aio.SYSCALLS.items() if known == number.value)
        return self._meet(Call(name, "", "", self._syscall, (number, *arguments), {}))


class Libc:
    """Stands in for the C library of `aio`."""

    def __init__(self, syscall: Callable[..., Any]) -> None:
        self.syscall = syscall


class RawFile(io.RawIOBase):
    """An open file, as `io.FileIO`, whose calls go through `os`."""

    def __init__(self, handle: int, name: str, closes: bool) -> None:
        self._handle, self.name, self._closes = handle, name, closes

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle

    def readinto(self, data: Any) -> int:
        return os.readv(self._handle, [data])

    def write(self, data: Any) -> int:
        return os.write(self._handle, data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self._handle, offset, whence)

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._closes:
                os.close(self._handle)
