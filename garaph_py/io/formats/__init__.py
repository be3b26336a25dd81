"""Formats of graph files: one module per format, each with a `Format` that reads and perhaps writes it.

To add a format, write a module with a `Format` and add that to `FORMATS`. What the modules share:

- `format.py`: `Format`, `EdgeList`, and checks; `streams.py`: compression and blocks of text lines;
- `text.py`, `text_writer.py`, `layout.py`, `pairs.py`: lines of one edge each;
- `columns.py`: the columns of tables; `tokens.py`: lines of any number of integers; `arrays.py`: binary arrays;
- `lists.py`: graphs from adjacency lists; `batches.py`: the edges of a graph for writers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...errors import FormatError, ParameterError
from . import dimacs, galois, gap, graphalytics, ligra, matrix_market, metis, npy, npz, parquet, text
from .columns import USUAL, ColumnNames
from .format import EdgeList, Format, FormatFidelity, ReadOptions, malformed
from .streams import COMPRESSED_SUFFIXES

__all__ = [
    "FORMATS",
    "USUAL",
    "ColumnNames",
    "EdgeList",
    "Format",
    "FormatFidelity",
    "ReadOptions",
    "format_of",
    "has_edges_suffix",
]

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


READING = "format= (--format; for garaph convert, --from)"
"""How users name the format of a file to read."""


def has_edges_suffix(path: Path) -> bool:
    """Whether the name of a file has the suffix of a format, of one at least."""
    return any(plain_suffix(path) in format.suffixes for format in FORMATS)


def format_of(path: Path, name: str | None = None) -> Format:
    """The format called `name`; without a name, by the file's suffix or, if it has none, by its first bytes.

    Raises
    ------
    ParameterError
        If no format is called `name`.
    FormatError
        If the suffix belongs to no format (the file is then not read, although it may look like an edge list), or to
        several formats none of which recognizes the file.
    """
    if name is not None:
        return named(name)
    suffix = plain_suffix(path)
    candidates = [format for format in FORMATS if suffix in format.suffixes]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        return claiming(path, candidates)
    if suffix:
        known = names(FORMATS)
        raise FormatError(path, f"suffix {suffix!r} belongs to no known format; name one of {known}: {READING}")
    with malformed(path, "not readable"), open(path, "rb") as file:
        beginning = file.read(16)
    return next((format for format in FORMATS if format.magic and beginning.startswith(format.magic)), text.FORMAT)


def names(formats: Iterable[Format]) -> str:
    return ", ".join(format.name for format in formats)


def plain_suffix(path: Path) -> str:
    """The suffix of a file name in lower case, without that of a compression."""
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path).suffix.lower()


def claiming(path: Path, candidates: list[Format]) -> Format:
    """The format, of several with the same suffix, that claims the file."""
    for format in candidates:
        if format.claims is not None and format.claims(path):
            return format
    for format in candidates:
        if format.claims is None:
            return format
    neither = " nor ".join(f"{format.name} ({format.description})" for format in candidates)
    raise FormatError(path, f"neither {neither}; check the file, or name its format: {READING}")


def named(name: str) -> Format:
    """The format called `name`."""
    for format in FORMATS:
        if format.name == name:
            return format
    raise ParameterError(f"format={name!r} is not known; use one of {names(FORMATS)}")


def writable(path: Path, name: str | None = None) -> Format:
    """The format to write: the one called `name`, else by the suffix of `path`.

    Raises
    ------
    ParameterError
        If there is no such format, if it cannot be written, or if there are several for the suffix.
    """
    compressed, suffix = path.suffix.lower() in COMPRESSED_SUFFIXES, plain_suffix(path)
    known = [format for format in FORMATS if format.write is not None]
    chosen = [named(name)] if name is not None else [format for format in known if suffix in format.suffixes]
    if not chosen or chosen[0].write is None:
        what = name if name is not None else f"suffix {suffix!r}"
        raise ParameterError(f"{path}: {what} is no format to write; use one of {names(known)}")
    if compressed and not any(format.compresses for format in chosen):
        raise ParameterError(f"{path}: {chosen[0].name} files are not compressed; leave {path.suffix} out")
    if len(chosen) > 1 and all(format.claims for format in chosen):
        both = " and ".join(format.name for format in chosen)
        raise ParameterError(f"{path}: {both} files are called {suffix}; say which it is to be: format= (--to)")
    return next((format for format in chosen if format.claims is None), chosen[0])
