"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from .errors import ParameterError


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
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
    except OSError as error:
        raise ParameterError(f"{target}: {error.strerror}; choose a place that can be written") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as open() would have made it
        os.replace(name, target)
    except OSError as error:
        raise ParameterError(f"{target}: {error.strerror or error}; nothing was written") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
