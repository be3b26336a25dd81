"""Graph files: one reader a file behind one protocol, `Format`.

To add a format, write a module with a `Format` in it and name that in `FORMATS`.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import FormatError, ParameterError
from . import dimacs, galois, gap, graphalytics, ligra, matrix_market, metis, npy, npz, parquet, text
from .format import EdgeList, Format, FormatFidelity, ReadOptions, malformed
from .streams import COMPRESSED_SUFFIXES

__all__ = ["FORMATS", "EdgeList", "Format", "FormatFidelity", "ReadOptions", "format_of"]

FORMATS: tuple[Format, ...] = (
    text.FORMAT,
    parquet.PARQUET,
    parquet.ARROW,
    npz.FORMAT,
    npy.FORMAT,
    matrix_market.FORMAT,
    metis.FORMAT,
    ligra.FORMAT,
    gap.GAP,
    gap.GAP_WEIGHTED,
    dimacs.FORMAT,
    galois.FORMAT,
    graphalytics.FORMAT,
)


def format_of(path: Path, name: str | None = None) -> Format:
    """The format called `name`, else the one told by the file's suffix or, if it has none, by how the file begins.

    Raises
    ------
    ParameterError
        If no format is called `name`.
    FormatError
        If the suffix is of no known format: what looks like an edge list to a reader may be something else. Or of
        several, and the file looks like none of them.
    """
    known = ", ".join(format.name for format in FORMATS)
    if name is not None:
        return named(name)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    suffix = plain.suffix.lower()
    candidates = [format for format in FORMATS if suffix in format.suffixes]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        return claimant(path, candidates)
    if suffix:
        raise FormatError(path, f"suffix {suffix!r} says no known format; name it: format= one of {known}")
    with malformed(path, "not readable"), open(path, "rb") as file:
        beginning = file.read(16)
    return next((format for format in FORMATS if format.magic and beginning.startswith(format.magic)), text.FORMAT)


def claimant(path: Path, candidates: list[Format]) -> Format:
    """The one of several formats with the suffix of `path` that the file is of."""
    for format in candidates:
        if format.claims is not None and format.claims(path):
            return format
    for format in candidates:
        if format.claims is None:
            return format
    names = " nor ".join(f"{format.name} ({format.description})" for format in candidates)
    raise FormatError(path, f"neither {names}; check the file, or name its format")


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
        If there is no such format, or several.
    """
    compressed = path.suffix.lower() in COMPRESSED_SUFFIXES
    suffix = (path.with_suffix("") if compressed else path).suffix.lower()
    known = [format for format in FORMATS if format.write is not None]
    chosen = [named(name)] if name is not None else [format for format in known if suffix in format.suffixes]
    if not chosen or chosen[0].write is None:
        what = name if name is not None else f"suffix {suffix!r}"
        raise ParameterError(f"{path}: {what} is no format to write; use one of {', '.join(f.name for f in known)}")
    if compressed and not any(format.compresses for format in chosen):
        raise ParameterError(f"{path}: {chosen[0].name} files are not compressed; leave {path.suffix} out")
    if len(chosen) > 1 and all(format.claims for format in chosen):
        names = " and ".join(format.name for format in chosen)
        raise ParameterError(f"{path}: {names} files are called {suffix}; say which it is to be: format=")
    return next((format for format in chosen if format.claims is None), chosen[0])
