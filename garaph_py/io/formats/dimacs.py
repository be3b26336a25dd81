"""Road networks of the 9th DIMACS challenge, .gr: text with one arc per line.

A line ``c ...`` is a comment, ``p sp N M`` gives the numbers of vertices and arcs, ``a U V LENGTH`` is an arc. Vertices
are 1 to N, and keep these ids. The reader of text edge lists parses the lines of arcs (their first column is always
``a``); this module handles all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from ... import events
from ...errors import FormatError
from ...graph.build import from_edges
from ...graph.graph import Graph
from ...graph.group import owners
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .batches import ROWS
from .format import (
    MAX_VERTICES,
    EdgeList,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    check_vertices,
    first_outside,
    shortened,
)
from .gap import whole_weights
from .layout import Layout
from .lists import checked, undirected_graph
from .streams import compressing, find_line, line_number, opening_bytes, text_blocks, uncompressed_size
from .text import BLOCK, Columns, parsed
from .text_writer import lines
from .windows import decoder_buffers

SHORTEST_ARC = len("a 1 2 3\n")
NEITHER_COMMENT_NOR_EMPTY = re.compile(rb"(?m)^[^c\n][^\n]*")
PROBLEM = re.compile(rb"p[ \t]+sp[ \t]+([0-9]{1,19})[ \t]+([0-9]{1,19})[ \t]*")
COMMENT = re.compile(rb"(?m)^c[^\n]*")


class ArcLayout(Layout):
    """The layout of the lines of arcs."""

    def problem(self, line: bytes) -> str:
        return "not an arc; write a SOURCE TARGET LENGTH, all whole numbers"


def read_dimacs(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList | Graph:
    """Read a DIMACS .gr file; see `FORMAT`."""
    layout = ArcLayout(" ", 4, 1, 2, None if options.weights is False else 3, False, False, 1)
    blocks = text_blocks(path, BLOCK, listener, options.memory is not None)
    n, m, rest, line = problem_line(path, blocks)
    size = uncompressed_size(path)
    if size is not None and size < SHORTEST_ARC * m - 1:  # the last line may have no line end
        problem = f"{m:,} arcs, but the file has {size:,} bytes; it is cut off, or this line wrong"
        raise FormatError(path, problem, line=line - 1)
    check_vertices(path, n, m)
    check_memory(path, 16 * n + 20 * m, f"{n:,} vertices and {m:,} arcs", options.memory)
    parts: list[Columns] = []
    found = 0
    for part in parsed(arcs(path, chain([rest], blocks), line), layout, options.threads, path, line):
        check_endpoints(path, part.sources, part.targets, n, found)
        found += len(part.sources)
        if found > m:
            raise FormatError(path, f"more than the {m:,} arcs that its line 'p sp' says; correct that")
        parts.append(part)
    if found != m:
        raise FormatError(path, f"{found:,} arcs, but its line 'p sp' says {m:,}; fetch or make the file again")
    none = np.zeros(0, np.int64)
    sources = np.concatenate([part.sources for part in parts] or [none])
    targets = np.concatenate([part.targets for part in parts] or [none])
    weights = None if layout.weight is None else np.concatenate([part.weights for part in parts] or [none])
    vertices = np.arange(1, n + 1)
    if options.directed is not False:
        return EdgeList(sources, targets, weights, vertices=vertices)
    graph = from_edges(sources, targets, weights, vertices=vertices, threads=options.threads, on_event=listener)
    with ThreadPool(options.threads) as pool:  # the file has two arcs for an undirected edge
        lists = checked(path, graph._arrays.in_edges, 0, 0, pool, listener)
        return undirected_graph(path, lists, graph.ids, pool, listener)


def problem_line(path: Path, blocks: Iterator[bytes]) -> tuple[int, int, bytes, int]:
    """Numbers of vertices and arcs in the line ``p sp``, the rest of its block, and the number of the next line."""
    text, rest, line = find_line(NEITHER_COMMENT_NOR_EMPTY, blocks)
    if text is None:
        raise FormatError(path, "no line 'p sp VERTICES ARCS'; this is no DIMACS graph", line=line)
    counts = PROBLEM.fullmatch(text)
    if counts is None:
        wrong = shortened(text.decode("utf-8", "backslashreplace"))
        raise FormatError(path, "not a line 'p sp VERTICES ARCS', which must come first", line=line, text=wrong)
    n, m = map(int, counts.groups())
    if n > MAX_VERTICES:
        raise FormatError(path, f"{n} vertices; 0 to {MAX_VERTICES} are possible", line=line)
    return n, m, rest, line + 1


def arcs(path: Path, blocks: Iterable[bytes], line: int) -> Iterator[bytes]:
    """The blocks with comments made empty lines; refuse other lines than arcs. The first line has number `line`."""
    for block in blocks:
        data = np.frombuffer(block + b"\n\n", np.uint8)
        starts = np.flatnonzero(data[:-2] == ord("\n")) + 1
        starts = np.concatenate([np.zeros(1, np.int64), starts])
        first, second = data[starts], data[starts + 1]
        arc = (first == ord("a")) & ((second == ord(" ")) | (second == ord("\t")))
        comment = first == ord("c")
        bad = np.flatnonzero(~(arc | comment | (first == ord("\n"))))
        if len(bad):
            start = int(starts[bad[0]])
            text = block[start:].split(b"\n", 1)[0].decode("utf-8", "backslashreplace")
            number = line + int(bad[0])
            raise FormatError(path, "begins with neither 'a' nor 'c'", line=number, text=shortened(text))
        yield COMMENT.sub(b"", block) if comment.any() else block
        line += len(starts) - 1


def check_endpoints(path: Path, sources: Any, targets: Any, n: int, before: int) -> None:
    """Refuse arcs with an end that is not in 1 to `n`; the file has `before` arcs before them."""
    for ends in (sources, targets):
        if (arc := first_outside(ends, 1, n)) is not None:
            line = line_number(path, before + arc, lambda text: text.startswith(b"a"))
            raise FormatError(path, f"vertex {ends[arc]}, but they are 1 to {n}", line=line)


def is_dimacs(path: Path) -> bool:
    """Whether the file begins with a comment or a problem line of DIMACS."""
    beginning = opening_bytes(path, 1 << 12).lstrip(b"\r\n")
    return beginning.startswith((b"c ", b"c\n", b"c\r", b"c\t", b"p ", b"p\t")) and b"\0" not in beginning


def write_dimacs(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write one line per arc, two for an undirected edge; vertices become 1 to n in internal order."""
    edges, values = graph._arrays.in_edges, whole_weights(graph)

    def write(file: IO[bytes]) -> None:
        import pyarrow as pa

        with compressing(file, path) as stream:
            stream.write(f"c written by garaph_py\np sp {graph.n} {graph.m}\n".encode())
            for start in range(0, graph.m, ROWS):
                stop = min(start + ROWS, graph.m)
                ends = edges.neighbours[start:stop], owners(edges.offsets, start, stop)
                sources, targets = (pa.array(end.astype(np.int64) + 1) for end in ends)
                stream.write(lines(["a", sources, targets, pa.array(values[start:stop])], " "))
                listener(events.Step("writing", stop, graph.m, "edges"))

    write_whole(path, write)


FORMAT = Format(
    "dimacs",
    (".gr",),
    b"",
    "road network as in the 9th DIMACS challenge; plain, .gz, .xz or .zst",
    read_dimacs,
    FormatFidelity(ids="none", weights="required", direction="one", isolated=True),
    write_dimacs,
    is_dimacs,
    compresses=True,
    buffers=decoder_buffers,
)
