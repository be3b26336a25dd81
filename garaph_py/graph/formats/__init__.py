"""Graph files: one reader a file behind one protocol, `Format`.

To add a format, write a module with a `Format` in it and name that in `FORMATS`.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import FormatError, ParameterError
from . import npz, parquet, text
from .edges import EdgeList, Format, Keeps, ReadOptions, malformed
from .streams import COMPRESSED_SUFFIXES

__all__ = ["FORMATS", "EdgeList", "Format", "Keeps", "ReadOptions", "format_of"]

FORMATS: tuple[Format, ...] = (text.FORMAT, parquet.PARQUET, parquet.ARROW, npz.FORMAT)


def format_of(path: Path, name: str | None = None) -> Format:
    """The format called `name`, else the one told by the file's suffix or, if it has none, by how the file begins.

    Raises
    ------
    ParameterError
        If no format is called `name`.
    FormatError
        If the suffix is of no known format: what looks like an edge list to a reader may be something else.
    """
    known = ", ".join(format.name for format in FORMATS)
    if name is not None:
        return named(name)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    suffix = plain.suffix.lower()
    for format in FORMATS:
        if suffix in format.suffixes:
            return format
    if suffix:
        raise FormatError(path, f"suffix {suffix!r} says no known format; name it: format= one of {known}")
    with malformed(path, "not readable"), open(path, "rb") as file:
        beginning = file.read(16)
    return next((format for format in FORMATS if format.magic and beginning.startswith(format.magic)), text.FORMAT)


def named(name: str) -> Format:
    """The format called `name`."""
    for format in FORMATS:
        if format.name == name:
            return format
    raise ParameterError(f"format={name!r} is not known; use one of {', '.join(format.name for format in FORMATS)}")


def writable(path: Path, name: str | None = None) -> Format:
    """The format called `name`, else the one that the suffix of `path` tells, if graphs can be written in it.

    Raises
    ------
    ParameterError
        If there is no such format.
    """
    suffix = path.suffix.lower()
    known = [format for format in FORMATS if format.write is not None]
    chosen = [named(name)] if name is not None else [format for format in known if suffix in format.suffixes]
    if not chosen or chosen[0].write is None:
        what = name if name is not None else f"suffix {suffix!r}"
        raise ParameterError(f"{path}: {what} is no format to write; use one of {', '.join(f.name for f in known)}")
    return chosen[0]
