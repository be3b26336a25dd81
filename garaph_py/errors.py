"""Every failure a user can cause ends in one of these errors: what happened, where, and what to do."""

from __future__ import annotations

import os


class GaraphError(Exception):
    """Base of every error garaph_py raises on purpose."""


class ParameterError(GaraphError, ValueError):
    """An argument or a program parameter has a value that cannot be used."""


class DiskFullError(ParameterError):
    """A disk has less room than is needed on it: the message names both."""


class ProgramError(GaraphError, TypeError):
    """A vertex program is not well formed: the message names function, line and what is allowed."""


class GraphError(GaraphError, ValueError):
    """The graph does not fit the request: a vertex that is not in it, a missing direction, a negative weight."""


class FormatError(GaraphError, ValueError):
    """A graph file cannot be read as what it claims to be.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What is wrong and, after a semicolon, what to do.
    line, offset : int, optional
        Where: a 1-based line of a text file, or a byte offset of a binary one.
    """

    def __init__(
        self, path: str | os.PathLike[str], problem: str, *, line: int | None = None, offset: int | None = None
    ) -> None:
        where = os.fspath(path)
        if line is not None:
            where += f", line {line}"
        if offset is not None:
            where += f", byte {offset}"
        super().__init__(f"{where}: {problem}")
        self.path, self.line, self.offset = os.fspath(path), line, offset


class DamagedGraphError(FormatError):
    """A graph directory's contents do not match its checksums, sizes or ranges."""


class DamagedCheckpointError(FormatError):
    """A checkpoint's contents do not match its checksums, or it cannot be read."""


class DeviceError(GaraphError):
    """A GPU cannot be used, or failed: the message names the cause and, after a semicolon, the fix."""


class DeviceMemoryError(DeviceError):
    """The GPU's memory, or the part of it that may be used, is too small."""


class Interrupted(GaraphError):
    """The user ended what was under way; what had been done is kept, and the message says where."""


class VerificationError(GaraphError):
    """An answer violates a property that defines it (``--verify``)."""
