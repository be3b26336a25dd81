"""Matrix Market files (.mtx): entry (i, j), from 1, is the edge from vertex i - 1 to j - 1.

The reader of text edge lists parses the lines of entries. SciPy writes the files, but does not read them:
`scipy.io.mmread` 1.18 crashes on damaged files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from ...graph.build import from_numbered_edges
from ...graph.graph import Graph
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .batches import edge_columns
from .format import (
    MAX_EDGES,
    MAX_VERTICES,
    EdgeList,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    check_vertices,
    first_outside,
    joined,
    shortened,
)
from .layout import TOO_LARGE, Layout, data_lines, is_number, is_too_large
from .lists import checked, undirected_graph
from .streams import compressing, find_line, line_number, text_blocks, uncompressed_size
from .text import Columns, parsed
from .tokens import BLOCK
from .windows import decoder_buffers

Array = npt.NDArray[Any]

BANNER = b"%%MatrixMarket"
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
NEITHER_COMMENT_NOR_EMPTY = re.compile(rb"(?m)^[ \t]*[^%\s][^\n]*")
SIZES = re.compile(rb"[ \t]*([0-9]{1,19})[ \t]+([0-9]{1,19})[ \t]+([0-9]{1,19})[ \t]*")


class Header(NamedTuple):
    """The contents of the lines before the entries.

    Attributes
    ----------
    n, entries : int
        Number of rows (and of columns), and of entries in the file.
    field : str
        One of `FIELDS`; a pattern has no values.
    symmetry : str
        One of `SYMMETRIES`; unless it is general, the file has one triangle only.
    line : int
        Number of the first line after the header.
    """

    n: int
    entries: int
    field: str
    symmetry: str
    line: int


class EntryLayout(Layout):
    """The layout of the lines of entries."""

    def problem(self, line: bytes) -> str:
        for number in line.decode("utf-8", "replace").split()[2:]:
            if is_number(number) and is_too_large(number):
                return TOO_LARGE.format(shortened(number, 40))
        return f"not an entry; write ROW COLUMN{' VALUE' * (self.columns - 2)}, in numbers"


def read_matrix_market(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList | Graph:
    """Read a sparse matrix; see `FORMAT`. A symmetric one is an undirected graph unless `options.directed`."""
    blocks = text_blocks(path, BLOCK, listener, options.memory is not None)
    header, rest = read_header(path, blocks)
    weighted = header.field != "pattern"
    if options.weights and not weighted:
        raise FormatError(path, "a pattern, which has no values; read the file without weights", line=1)
    if options.directed is False and header.symmetry == "skew-symmetric":
        raise FormatError(path, "skew-symmetric: the two directions of an edge differ in sign; read it as directed")
    check_size(path, header, options.memory)
    weight = 2 if weighted and options.weights is not False else None
    fractions = header.field in ("real", "double")
    layout = EntryLayout(" ", 2 + weighted, 0, 1, weight, False, fractions, header.line)
    pieces: tuple[list[Array], ...] = ([np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)], [])
    found = 0
    for part in parsed(chain([rest], blocks), layout, options.threads, path, header.line):
        check_entries(path, header, part, found)
        found += len(part.sources)
        for ends, column in zip((part.sources, part.targets), pieces, strict=False):
            column.append((ends - 1).astype(np.uint32, copy=False))
        if part.weights is not None:
            pieces[2].append(part.weights)
    if found != header.entries:
        raise FormatError(path, f"{found:,} entries, but {header.entries:,} are declared; fetch or make the file again")
    rows, columns = joined(pieces[0]), joined(pieces[1])
    values = None if weight is None else joined(pieces[2])
    return edges_of(path, header, rows, columns, values, options, listener)


def read_header(path: Path, blocks: Iterator[bytes]) -> tuple[Header, bytes]:
    """The header, and the rest of its block; refuse matrices that are no adjacency matrices."""
    beginning = next(blocks, b"")
    banner = beginning.split(b"\n", 1)[0]
    words = banner.decode("utf-8", "backslashreplace").lower().split()
    if len(words) != 5 or words[:2] != [BANNER.decode().lower(), "matrix"]:
        problem = f"no Matrix Market file; its first line is {shortened(' '.join(words), 40)!r}"
        raise FormatError(path, problem, line=1)
    _, _, layout, field, symmetry = words
    if layout != "coordinate" or field not in FIELDS or symmetry not in SYMMETRIES:
        problem = f"a {layout} {field} {symmetry} matrix; only sparse ones (coordinate) of real numbers are read"
        raise FormatError(path, shortened(problem, 200), line=1)
    text, rest, line = find_line(NEITHER_COMMENT_NOR_EMPTY, chain([beginning], blocks))
    if text is None:
        raise FormatError(path, "no line of the numbers of rows, columns and entries; fetch or make the file again")
    sizes = SIZES.fullmatch(text)
    if sizes is None:
        wrong = shortened(text.decode("utf-8", "backslashreplace"))
        raise FormatError(path, "not the numbers of rows, columns and entries", line=line, text=wrong)
    rows, columns, entries = map(int, sizes.groups())
    if rows != columns:
        raise FormatError(path, f"{rows} x {columns} numbers; an adjacency matrix is square", line=line)
    if rows > MAX_VERTICES or entries > MAX_EDGES:
        problem = f"{rows} rows and {entries} entries; {MAX_VERTICES} and {MAX_EDGES} are possible"
        raise FormatError(path, problem, line=line)
    return Header(rows, entries, field, symmetry, line + 1), rest


def check_size(path: Path, header: Header, memory: int | None) -> None:
    """Refuse a header that declares more entries than the file or memory can hold."""
    shortest = b"1 1\n" if header.field == "pattern" else b"1 1 1\n"
    size = uncompressed_size(path)
    if size is not None and header.entries * len(shortest) - 1 > size:  # the last line may have no line end
        problem = f"{header.entries:,} entries, but only {size:,} bytes; it is cut off, or this line wrong"
        raise FormatError(path, problem, line=header.line - 1)
    check_vertices(path, header.n, header.entries)
    entry_bytes = 8 if header.field == "pattern" else 16
    check_memory(path, entry_bytes * header.entries, f"{header.entries:,} entries", memory)


def check_entries(path: Path, header: Header, part: Columns, before: int) -> None:
    """Refuse entries that contradict the header; the file has `before` entries before them."""
    if before + len(part.sources) > header.entries:
        problem = f"more than the {header.entries:,} entries declared; correct the header"
        raise FormatError(path, problem, line=line_of_entry(path, header.entries))
    for ends in (part.sources, part.targets):
        if (entry := first_outside(ends, 1, header.n)) is not None:
            problem = f"row or column {ends[entry]}, but they are 1 to {header.n}"
            raise FormatError(path, problem, line=line_of_entry(path, before + entry))
    if part.weights is not None and part.weights.dtype.kind == "f" and header.field.endswith("integer"):
        entry = int(np.argmax(part.weights != np.trunc(part.weights)))
        problem = "values are not all 64-bit integers, as the first line says; correct them or that"
        raise FormatError(path, problem, line=line_of_entry(path, before + entry))


def line_of_entry(path: Path, number: int) -> int:
    """The line of entry `number` (from 0); the first data line of the file is that of the sizes."""
    return line_number(path, number + 1, lambda line: any(data_lines(line)))


def edges_of(
    path: Path,
    header: Header,
    rows: Array,
    columns: Array,
    values: Array | None,
    options: ReadOptions,
    listener: events.Listener,
) -> EdgeList | Graph:
    """The edges of the entries; off-diagonal entries of a symmetric matrix are edges in both directions."""
    if header.symmetry == "general":
        if options.directed is not False:
            return EdgeList(rows, columns, values, header.n)
        graph = from_numbered_edges(rows, columns, header.n, values, threads=options.threads, on_event=listener)
        with ThreadPool(options.threads) as pool:
            lists = checked(path, graph._arrays.in_edges, 0, 0, pool, listener)
            return undirected_graph(path, lists, graph.ids, pool, listener)
    if (rows > columns).any() and (rows < columns).any():
        problem = f"{header.symmetry}, but with entries on both sides of the diagonal; leave one side out"
        raise FormatError(path, problem, line=1)
    if header.symmetry == "symmetric" and not options.directed:
        return EdgeList(rows, columns, values, header.n, directed=False)
    beside = rows != columns
    if values is not None:
        sign = -1 if header.symmetry == "skew-symmetric" else 1
        values = np.concatenate([values, sign * values[beside]])
    sources, targets = np.concatenate([rows, columns[beside]]), np.concatenate([columns, rows[beside]])
    return EdgeList(sources, targets, values, header.n, directed=True)


def write_matrix_market(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write a matrix: symmetric for an undirected graph, else general; a pattern if there are no weights."""
    from scipy import sparse
    from scipy.io import mmwrite

    sources, targets, values = edge_columns(graph, listener)
    field = "pattern" if values is None else "real" if values.dtype.kind == "f" else "integer"
    if values is None:
        values = np.ones(len(sources), np.uint8)
    ends = (sources, targets) if graph.directed else (targets, sources)  # symmetric: lower triangle
    matrix = sparse.coo_array((values, ends), shape=(graph.n, graph.n))

    def write(file: IO[bytes]) -> None:
        with compressing(file, path) as stream:
            only = SimpleNamespace(write=stream.write)  # without `seek`, which SciPy would call
            mmwrite(only, matrix, field=field, symmetry="general" if graph.directed else "symmetric")

    write_whole(path, write)


FORMAT = Format(
    name="matrix-market",
    suffixes=(".mtx",),
    magic=BANNER,
    description="sparse matrix in text: Matrix Market, SuiteSparse",
    read=read_matrix_market,
    keeps=FormatFidelity(ids="none", weights="any", direction="both", isolated=True),
    write=write_matrix_market,
    compresses=True,
    buffers=decoder_buffers,
)
