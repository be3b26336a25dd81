"""Detect the layout of a text edge list from its first lines: separator, header, columns and types."""

from __future__ import annotations

import contextlib
import csv
import itertools
import logging
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import FormatError
from .columns import ColumnNames, Table, has_endpoints
from .format import ReadOptions, shortened

log = logging.getLogger("garaph_py")

SAMPLE = 101
"""Data lines by which the layout is detected: perhaps a header, and a hundred more."""
COMMENT_MARKS = (b"#", b"%")
DATA_LINE = re.compile(rb"^[ \t]*+([^ \t\n#%][^\n]*)", re.MULTILINE)
"""A line that is neither empty nor a comment, from its beginning on, and what follows its first blanks."""
INTEGER = re.compile(r"-?[0-9]+")
BLANKS = re.compile("[ \t]+")
TOO_LARGE = "weight {} does not fit a float64; use a smaller number, or inf"
"""The problem of a line with a number that would become infinite."""
QUOTING = (",", ";")
"""Separators with which fields may be in double quotes."""


@dataclass(frozen=True)
class Layout:
    """The layout of every data line of a file.

    Attributes
    ----------
    separator : str
        Tab, blank (any run of blanks and tabs), comma or semicolon.
    columns : int
        Number of columns.
    source, target, weight : int
        Their columns; `weight` is None if there are no weights or they are not wanted.
    strings : bool
        True: ids are strings. False: integers.
    fractions : bool
        Whether a weight in the sample is no integer.
    line : int
        Number of the first data line below the header, from 1; messages refer to it.
    """

    separator: str
    columns: int
    source: int
    target: int
    weight: int | None
    strings: bool
    fractions: bool
    line: int

    @property
    def quotes(self) -> bool:
        """Whether fields may be in double quotes."""
        return self.separator in QUOTING

    def problem(self, line: bytes) -> str | None:
        """What is wrong with a data line; None if nothing is."""
        if b"\0" in line:
            return "a NUL byte; this is no text"
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return "not UTF-8; convert the file, for example with iconv"
        found = fields(text, self.separator)
        if len(found) != self.columns:
            count = f"{len(found)} column{'s' * (len(found) != 1)}"
            return f"{count}, but line {self.line} has {self.columns}; give every line the same columns"
        for name in (found[self.source], found[self.target]):
            if not name:
                return "a vertex id is missing; give every edge a source and a target"
            if not self.strings and not INTEGER.fullmatch(name):
                return (
                    f"id {shortened(name, 40)!r} is not an integer as on line {self.line}; correct it or, if ids are "
                    "names, put this line first, below a header line of the words source and target"
                )
            if not self.strings and not is_id(name):
                return f"id {shortened(name, 40)} does not fit 64 bits; use names or smaller numbers"
        if self.weight is not None and not is_number(found[self.weight]):
            return (
                f"weight {shortened(found[self.weight], 40)!r} is not a number as on line {self.line}; correct it, or "
                "read without weights (weights=False, --no-weights)"
            )
        if self.weight is not None and is_too_large(found[self.weight]):
            return TOO_LARGE.format(shortened(found[self.weight], 40))
        return None


def is_id(text: str) -> bool:
    """Whether `text` is an integer that int64 or uint64 holds."""
    return bool(INTEGER.fullmatch(text)) and len(text) <= 20 and -(2**63) <= int(text) < 2**64


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def is_too_large(number: str) -> bool:
    """Whether a number becomes infinite as a float64, and is not written so."""
    return math.isinf(float(number)) and any(map(str.isdigit, number))


def fields(text: str, separator: str) -> list[str]:
    """The fields of one line."""
    if separator == " ":
        return [field for field in BLANKS.split(text) if field]
    found = text.split(separator)
    if separator in QUOTING and '"' in text:
        with contextlib.suppress(csv.Error):
            found = next(csv.reader([text], delimiter=separator))
    return [field.strip(" \t") for field in found]


def data_lines(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Offset and text of every line that is neither empty nor a comment."""
    for found in DATA_LINE.finditer(block):
        yield found.start(), found[1].rstrip(b" \t")


def find_layout(path: Path, text: bytes, options: ReadOptions, line: int) -> tuple[Layout, int]:
    """The layout of `text`, which begins with the first data line, and the offset of its first edge.

    The first line is a header if it has a pair of usual names, if it has no numbers where the other lines do, or if the
    user names columns. Without a header, a third column holds edge values.

    Parameters
    ----------
    path : Path
        For messages.
    text : bytes
        The first `SAMPLE` data lines, or all if there are fewer.
    options : ReadOptions
    line : int
        The number of the first line of `text`.
    """
    sample = list(itertools.islice(data_lines(text), SAMPLE))
    lines = [data.decode("utf-8", "replace") for _, data in sample]
    separator = next((mark for mark in "\t;," if mark in lines[0]), " ")
    rows = [fields(data, separator) for data in lines]
    if len(rows[0]) < 2:
        problem = "one column; give every line a source and a target, separated by tab, blank, comma or semicolon"
        raise FormatError(path, problem, line=line, text=shortened(lines[0]))
    header = int(bool(options.columns) or is_header(rows))
    names, rows = unquoted(rows[0]), rows[header:]
    check_header(path, names, options.columns, line, lines[0])
    layout = Layout(separator, len(names), 0, 1, None, True, False, line)
    if not rows:
        return layout, len(text)
    offset, first = sample[header]
    first_line, line = line, line + text.count(b"\n", 0, offset)
    if len(rows[0]) != len(names):
        raise FormatError(path, str(layout.problem(first)), line=line, text=shortened(lines[header]))
    if header:
        odd = "" if options.columns or len(names) < 3 or is_number(names[2]) else shortened(names[2], 40)
        otherwise = f"; if this line is an edge and no header, its third column {odd!r} must be a number" if odd else ""
        table = Table(path, names, lambda column: is_number(rows[0][column]), first_line, otherwise)
        source, target, weight = table.edge_columns(options.columns, options.weights)
    else:
        source, target, weight = 0, 1, third_column(path, rows[0], options.weights, line)
        if weight is not None and len(names) > 3:
            log.warning(
                "%s: the third of %d columns was read as weights, and the later ones were ignored; if another column "
                "holds the weights, name the columns in a header line", path, len(names),
            )  # fmt: skip
    whole = weight is None or all(INTEGER.fullmatch(row[weight]) for row in rows if len(row) == len(names))
    strings = not (is_id(rows[0][source]) and is_id(rows[0][target]))
    return Layout(separator, len(names), source, target, weight, strings, not whole, line), offset


def check_header(path: Path, names: list[str], given: ColumnNames, line: int, text: str) -> None:
    """Refuse names of columns for a file whose first line has numbers instead of them."""
    wanted = [name for name in vars(given).values() if name is not None]
    if set(wanted).difference(names) and any(map(is_number, names)):
        problem = "this line holds numbers, so it is no header, and the columns have no names; leave out"
        options = "source_column, target_column and weight_column (--source-column, --target-column, --weight-column)"
        raise FormatError(path, f"{problem} {options}", line=line, text=shortened(text))


def third_column(path: Path, row: list[str], weights: bool | None, line: int) -> int | None:
    """The column of weights in a file without header, whose first line has the fields `row`; None if there is none."""
    if weights is False or (weights is None and len(row) < 3):
        return None
    if len(row) < 3:
        problem = "no column of weights; add one, or read the file without"
        raise FormatError(path, problem, line=line, text=shortened(" ".join(row)))
    if not is_number(row[2]):
        raise FormatError(
            path,
            f"weight {shortened(row[2], 40)!r} is not a number; correct it, or read without weights (weights=False, "
            "--no-weights)",
            line=line,
            text=shortened(" ".join(row)),
        )
    return 2


def unquoted(names: list[str]) -> list[str]:
    """Names of a header without the quotes that some programs write around them, whatever the separator is."""
    return [name.removeprefix('"').removesuffix('"') for name in names]


def is_header(rows: list[list[str]]) -> bool:
    first, *others = rows
    if has_endpoints(unquoted(first)):
        return True
    if not others or any(len(row) != len(first) for row in others):
        return False
    if any(map(is_number, first[:2])):
        return False  # no column is named by a number: this is an edge, perhaps a wrong one
    if all(is_id(name) for row in others for name in row[:2]):
        return True
    return any(
        not is_number(name) and all(is_number(row[column]) for row in others)
        for column, name in enumerate(first)
        if column >= 2
    )
