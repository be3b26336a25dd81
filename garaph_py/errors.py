"""The errors that garaph_py raises. Their messages say what happened, where, and what to do, in one line."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`, whose import takes longer than this module's
if TYPE_CHECKING:
    from collections.abc import Iterable


def printable(text: str) -> str:
    """`text` for a terminal or a log: characters that do not print are escaped, as `repr` does it.

    These are control characters, ends of lines, lone surrogates, marks that change the direction of writing, and all
    others for which `str.isprintable` is false. A file's or a vertex's name may hold them, to hide or to forge text.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def did_you_mean(word: str, known: Iterable[str], otherwise: str, similarity: float = 0.6) -> str:
    """Advice for a message that refuses `word`: the nearest of the `known` words, or else `otherwise`.

    The `similarity` of the two, `difflib`'s ratio, is at least so much; by default as much as `difflib` suggests.
    """
    near = nearest(word, known, similarity)
    return otherwise if near is None else f"did you mean {near}?"


def nearest(word: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """The nearest to `word` of the `known` words; None if none is near, see `did_you_mean`."""
    import difflib  # takes milliseconds to import

    return next(iter(difflib.get_close_matches(word, known, 1, similarity)), None)


class GaraphError(Exception):
    """Base class of all errors that garaph_py raises on purpose."""

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # not `super()`: a KeyError would show its text in quotes


class ParameterError(GaraphError, ValueError):
    """An argument or a program parameter has a value that cannot be used."""


class DiskFullError(ParameterError):
    """A disk has too little free space. The message states how much is free and how much is needed."""


class ProgramError(GaraphError, TypeError):
    """A vertex program is not valid. The message names the function, the line, and what is allowed."""


class PolicyError(GaraphError, TypeError):
    """A policy has failed, or has made a decision that is not possible. The message says in which iteration, and why.

    What the policy has raised is its ``__cause__``.
    """


class GraphError(GaraphError, ValueError):
    """The graph does not allow what is asked for: a vertex is not in it, or a weight is negative, for example."""


class UnknownVertexError(GraphError, KeyError):
    """The graph has no vertex with this id. The message names the nearest ids."""


class NumberError(GaraphError, ArithmeticError):
    """A run has computed a number that is wrong: NaN, infinity, or one that does not fit its type."""


class FormatError(GaraphError, ValueError):
    """A file is not valid in its format.

    Parameters
    ----------
    path : path-like
        The file.
    problem : str
        What is wrong and, after a semicolon, what to do.
    line, offset : int, optional
        Where it is: the line of a text file, from 1, or the byte offset in a binary file.
    text : str, optional
        The text of that line.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: str,
        *,
        line: int | None = None,
        offset: int | None = None,
        text: str | None = None,
    ) -> None:
        where = os.fspath(path)
        if line is not None:
            where += f", line {line}" if text is None else f", line {line} ('{text}')"
        if offset is not None:
            where += f", byte {offset}"
        super().__init__(f"{where}: {problem}")
        self.path, self.line, self.offset = os.fspath(path), line, offset


class DamagedGraphError(FormatError):
    """A graph directory's contents do not match their checksums, sizes or ranges."""


class DamagedCheckpointError(FormatError):
    """A checkpoint's contents do not match their checksums, or cannot be read."""


class DeviceError(GaraphError):
    """A GPU failed or cannot be used. The message names the cause and, after a semicolon, what to do."""


class DeviceMemoryError(DeviceError):
    """The GPU's memory, or the part of it that the run may use, is too small."""


class ClusterError(GaraphError):
    """A cluster cannot carry out a run, or no longer. The message says why and, after a semicolon, what to do."""


class ExperimentError(GaraphError):
    """All measurements of an experiment failed. The message says which was the first, why, and what to do."""


class Interrupted(GaraphError):
    """The user interrupted the work. What had been done is kept; the message says where."""


class VerificationError(GaraphError):
    """A result does not have a property that defines it (``--verify``)."""
