"""What becomes of a run's answer if the command fails before it has written and printed all of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GaraphError, Interrupted, VerificationError

if TYPE_CHECKING:
    from ..output.result import Result


@contextlib.contextmanager
def saying_how_to_resume(checkpoint: Path | None) -> Iterator[None]:
    """Turn an interrupt that left checkpoints into an error that says how to go on from them."""
    try:
        yield
    except KeyboardInterrupt as ending:
        if checkpoint is None or not checkpoint.is_dir():
            raise
        said = getattr(ending, "__notes__", ["interrupted"])[0]  # by the run, if it left a checkpoint
        raise Interrupted(f"{said}; to go on: garaph resume {checkpoint}") from None


@contextlib.contextmanager
def saying_what_is_written(outputs: Mapping[str, Path | None], checkpoint: Path | None) -> Iterator[None]:
    """Have an error say which of the outputs are whole, and, if the run itself has ended, how to write the others."""
    from ..checkpoint.finished import has_ended

    wanted = {name: path for name, path in outputs.items() if path is not None}
    before = {name: identity(path) for name, path in wanted.items()}
    try:
        yield
    except (GaraphError, OSError, MemoryError) as error:
        whole = [name for name, path in wanted.items() if identity(path) != before[name]]
        if whole:
            error.add_note(f"whole: {', '.join(str(wanted[name]) for name in whole)}")
        if checkpoint is not None and has_ended(error) and not isinstance(error, VerificationError):
            again = [part for name, path in wanted.items() if path.exists() for part in (f"--{name}", str(path))]
            error.add_note(f"to write what is missing: {shlex.join(['garaph', 'resume', str(checkpoint), *again])}")
        raise


def identity(path: Path) -> tuple[int, int] | None:
    """What changes when a file is replaced; None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@contextlib.contextmanager
def flushed(result: Result) -> Iterator[None]:
    """Make sure that what the block prints has left this process, before the checkpoints go that could print it again.

    A reader that has seen enough, such as ``head``, does not need them.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        result.close()
        raise
