"""The directory of a run's checkpoints: two files, which are replaced in turn, so that one is always whole.

A third file may have what pages have changed since the newest of them (page_log.py).

A new checkpoint is written to a third file, synced, and renamed over the older one; then the directory is synced. A run
locks the directory while it uses it; the operating system releases the lock when the process ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ..errors import DamagedCheckpointError, ParameterError
from ..system.urls import shown
from .files import Files
from .format import CheckpointFile, Header, check_trust, write
from .page_log import LoggedPage, PageLog, logged

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

NAMES = ("even.checkpoint", "odd.checkpoint")
"""The file of generation g is ``NAMES[g % 2]``."""
PARTIAL = "new.checkpoint.partial"
"""The file that a new checkpoint is written to."""
LOG = "pages.log"
"""What pages have changed since the newest checkpoint."""


class Store:
    """The checkpoints in a directory, which is created if necessary; `close` it after use.

    Parameters
    ----------
    directory : path-like
    files : Files

    Raises
    ------
    ParameterError
        If the directory cannot be created or written to, another run uses it, or another user can write to it.
    """

    def __init__(self, directory: str | os.PathLike[str], files: Files) -> None:
        if not isinstance(directory, (str, os.PathLike)):
            raise ParameterError(f"checkpoint={directory!r}: give the name of a directory")
        self.directory, self._files = Path(os.path.abspath(directory)), files
        self._generation = self._checksum = 0  # of the newest whole checkpoint
        self._log: PageLog | None = None
        try:
            files.make_directory(self.directory)
            self._lock = files.lock_directory(self.directory)
            self._check_owner()
        except BlockingIOError:
            raise ParameterError(
                f"checkpoint={os.fspath(directory)}: another run uses this directory; wait for it, or choose another"
            ) from None
        except ParameterError:
            raise
        except (OSError, ValueError) as error:  # ValueError: a name with a null byte
            reason = getattr(error, "strerror", None) or error
            raise ParameterError(f"checkpoint={shown(directory)!r}: {reason}; choose another directory") from None
        with contextlib.suppress(OSError):  # a run that was killed may have left this file
            files.unlink(self.directory / PARTIAL)

    def _check_owner(self) -> None:
        try:
            check_trust(self._files, self._lock, self.directory)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Unlock the directory, and remove it if it is empty."""
        self._end_log()
        with contextlib.suppress(OSError):
            self._files.remove_directory(self.directory)
        with contextlib.suppress(OSError):
            self._files.close(self._lock)

    def newest(self) -> Header | None:
        """The header of the newest checkpoint, if there is one.

        Raises
        ------
        DamagedCheckpointError
            If there are checkpoints, and all are damaged.
        FormatError
            If another version of garaph_py wrote the checkpoint.
        """
        return self._whole(None)

    def load(self, into: Mapping[str, Array]) -> Header | None:
        """Fill the arrays `into` from the newest whole checkpoint, and return its header; None if there is none.

        Later checkpoints get the generations after this one. Raises the same errors as `newest`.
        """
        found = self._whole(into)
        self._generation = 0 if found is None else found.generation
        return found

    def _whole(self, into: Mapping[str, Array] | None) -> Header | None:
        """The header of the newest whole checkpoint; with `into`, its arrays are checked, too, and loaded."""
        problems: list[DamagedCheckpointError] = []
        with contextlib.ExitStack() as stack:
            there: list[CheckpointFile] = []
            for name in NAMES:
                with noting(problems, self.directory / name):
                    there.append(
                        stack.enter_context(contextlib.closing(CheckpointFile(self._files, self.directory / name)))
                    )
            for stored in sorted(there, key=lambda one: -one.header.generation):
                with noting(problems, stored.path):
                    if into is not None:
                        stored.load(into)
                        self._checksum = stored.checksum
                    for problem in problems:
                        log.warning("%s; the other checkpoint is used", problem)
                    return stored.header
        if problems:
            why = "; ".join(map(str, problems))
            raise DamagedCheckpointError(
                self.directory,
                f"all checkpoints in it are damaged ({why}); start the run again, with another directory",
            )
        return None

    def save(
        self, iterations: int, identity: Mapping[str, Any], arrays: Mapping[str, Array],
        request: Mapping[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Write a checkpoint durably, so that it survives a power failure, and return its size in bytes.

        `Header` describes the parameters.

        Raises
        ------
        OSError
            If it cannot be written. The previous checkpoint is unchanged in this case.
        """
        files, generation = self._files, self._generation + 1
        partial, target = self.directory / PARTIAL, self.directory / NAMES[generation % 2]
        about = Header(generation, iterations, identity, request, [])
        with contextlib.suppress(FileNotFoundError):  # left by a checkpoint that failed, and could not be removed
            files.unlink(partial)
        size, checksum = write(files, partial, about, arrays)
        try:
            files.rename(partial, target)
        except OSError:
            with contextlib.suppress(OSError):
                files.unlink(partial)
            raise
        files.sync(self._lock)
        self._generation, self._checksum = generation, checksum
        self._end_log()
        return size

    def append(self, page: LoggedPage) -> None:
        """Write durably what a page has changed since the newest checkpoint, which this run has saved.

        Raises
        ------
        OSError
            If it cannot be written. What was written before stays; nothing may be appended before the next `save`.
        """
        if self._log is None:
            self._log = PageLog(self._files, self.directory / LOG, self._checksum, page.values.itemsize)
            self._files.sync(self._lock)
        self._log.append(page)

    def pages(self, like: Array) -> Iterator[LoggedPage]:
        """What pages have changed since the checkpoint that `load` has loaded; `like` are values of all vertices.

        A log that cannot be read is reported, and taken to end there.
        """
        try:
            yield from logged(self._files, self.directory / LOG, self._checksum, like)
        except OSError as error:
            log.warning("%s cannot be read: %s", self.directory / LOG, error.strerror or error)

    def _end_log(self) -> None:
        """Close the log, to which nothing will be added."""
        if self._log is not None:
            with contextlib.suppress(OSError):  # every record has been synced
                self._log.close()
            self._log = None

    def remove(self) -> None:
        """Remove all checkpoints, the older one first; none if the directory has been replaced by another one."""
        if not self._files.is_at(self.directory, self._lock):
            return
        for name in (LOG, *(NAMES[generation % 2] for generation in (self._generation + 1, self._generation))):
            with contextlib.suppress(FileNotFoundError):
                self._files.unlink(self.directory / name)


@contextlib.contextmanager
def noting(problems: list[DamagedCheckpointError], path: Path) -> Iterator[None]:
    """If the file at `path` exists but cannot be used, add the reason to `problems`."""
    try:
        yield
    except DamagedCheckpointError as problem:
        problems.append(problem)
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(DamagedCheckpointError(path, f"cannot be read ({error.strerror or error})"))
