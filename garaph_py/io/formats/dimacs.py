"""Road networks of the 9th DIMACS challenge, .gr: text, a line an arc.

``c`` begins a comment, ``p sp N M`` says how many vertices and arcs there are, ``a U V LENGTH`` is an arc. Vertices are
1 to N, and keep these ids. The lines of arcs are what the reader of text edge lists parses, with a column that is
always ``a``; this module sees to the rest.
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
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .batches import ROWS, owners
from .format import EdgeList, Format, FormatFidelity, ReadOptions, check_memory, check_vertices, malformed, shortened
from .gap import whole_weights
from .layout import Layout
from .lists import checked, undirected_graph
from .streams import compressing, decompressed, line_blocks, opening_bytes
from .text import BLOCK, line_count, parsed
from .text_writer import lines

MOST_VERTICES = 2**32
SHORTEST_ARC = len("a 1 2 3\n")
NEITHER_COMMENT_NOR_EMPTY = re.compile(rb"(?m)^[^c\n][^\n]*")
PROBLEM = re.compile(rb"p[ \t]+sp[ \t]+([0-9]{1,19})[ \t]+([0-9]{1,19})[ \t]*")
COMMENT = re.compile(rb"(?m)^c[^\n]*")


class ArcLayout(Layout):
    """The form of lines that begin with ``a``."""

    def problem(self, line: bytes) -> str:
        return "not an arc; write a SOURCE TARGET LENGTH, all whole numbers"


def read_dimacs(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList | Graph:
    """Read a DIMACS .gr file; see `FORMAT`."""
    layout = ArcLayout(" ", 4, 1, 2, None if options.weights is False else 3, False, False, 1)
    parts = []
    with malformed(path, "not readable"):
        size = path.stat().st_size
        raw = open(path, "rb")  # noqa: SIM115 - closed below; a listener's own errors must pass unchanged
    with raw, decompressed(raw) as stream:
        blocks = line_blocks(path, stream, BLOCK)
        n, m, rest, line = problem_line(path, blocks)
        if stream is raw and size < SHORTEST_ARC * m - 1:  # the last line end may miss
            problem = f"{m:,} arcs, but the file has {size:,} bytes; it is cut off, or this line wrong"
            raise FormatError(path, problem, line=line - 1)
        check_vertices(path, n, m)
        check_memory(path, 16 * n + 20 * m, f"{n:,} vertices and {m:,} arcs")
        found = 0
        for part in parsed(arcs(path, chain([rest], blocks), line), layout, options.threads, path, line):
            check_endpoints(path, part.sources, part.targets, n, found)
            found += len(part.sources)
            if found > m:
                raise FormatError(path, f"more than the {m:,} arcs that its line 'p sp' says; correct that")
            parts.append(part)
            listener(events.Step("reading", min(raw.tell(), size - 1), size))
    if found != m:
        raise FormatError(path, f"{found:,} arcs, but its line 'p sp' says {m:,}; fetch or make the file again")
    listener(events.Step("reading", size, size))
    none = np.zeros(0, np.int64)
    sources = np.concatenate([part.sources for part in parts] or [none])
    targets = np.concatenate([part.targets for part in parts] or [none])
    weights = None if layout.weight is None else np.concatenate([part.weights for part in parts] or [none])
    vertices = np.arange(1, n + 1)
    if options.directed is not False:
        return EdgeList(sources, targets, weights, vertices=vertices)
    graph = from_edges(sources, targets, weights, vertices=vertices, threads=options.threads, on_event=listener)
    with ThreadPool(options.threads) as pool:  # an undirected edge is two arcs
        return undirected_graph(path, checked(path, graph.in_edges, 0, 0, pool, listener), graph.ids, pool, listener)


def problem_line(path: Path, blocks: Iterator[bytes]) -> tuple[int, int, bytes, int]:
    """Vertices and arcs that the line ``p sp`` declares, what comes after it in its block, and the number of that."""
    line = 1
    for block in blocks:
        if start := NEITHER_COMMENT_NOR_EMPTY.search(block):
            line += block.count(b"\n", 0, start.start())
            counts = PROBLEM.fullmatch(start.group())
            if counts is None:
                text = shortened(start.group().decode("utf-8", "backslashreplace"))
                raise FormatError(path, f"not a line 'p sp VERTICES ARCS', which must come first: {text}", line=line)
            n, m = map(int, counts.groups())
            if n > MOST_VERTICES:
                raise FormatError(path, f"{n} vertices; 0 to {MOST_VERTICES} are possible", line=line)
            return n, m, block[start.end() + 1 :], line + 1
        line += line_count(block)
    raise FormatError(path, "no line 'p sp VERTICES ARCS'; this is no DIMACS graph", line=line)


def arcs(path: Path, blocks: Iterable[bytes], line: int) -> Iterator[bytes]:
    """The blocks, the first of which begins with line `line`, with comments made empty lines, and nothing but arcs."""
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
            raise FormatError(path, f"begins with neither 'a' nor 'c': {shortened(text)}", line=line + int(bad[0]))
        yield COMMENT.sub(b"", block) if comment.any() else block
        line += len(starts) - 1


def check_endpoints(path: Path, sources: Any, targets: Any, n: int, before: int) -> None:
    """Refuse an arc of a block, `before` which there were so many, if an end is none of 1 to `n`."""
    for ends in (sources, targets):
        if len(ends) and not 1 <= int(ends.min()) <= int(ends.max()) <= n:
            arc = int(np.argmax((ends < 1) | (ends > n)))
            raise FormatError(path, f"vertex {ends[arc]}, but they are 1 to {n}", line=line_of_arc(path, before + arc))


def line_of_arc(path: Path, number: int) -> int:
    """The line on which arc `number` (from 0) stands, found by reading the file once more."""
    line = 0
    with open(path, "rb") as raw, decompressed(raw) as stream:
        for block in line_blocks(path, stream, BLOCK):
            for text in block.splitlines():
                line += 1
                if text.startswith(b"a"):
                    number -= 1
                    if number < 0:
                        return line
    raise FormatError(path, "it was changed meanwhile")


def is_dimacs(path: Path) -> bool:
    """Whether the file begins as such a text: with a comment or the problem line."""
    beginning = opening_bytes(path, 1 << 12).lstrip(b"\r\n")
    return beginning.startswith((b"c ", b"c\n", b"c\r", b"c\t", b"p ", b"p\t")) and b"\0" not in beginning


def write_dimacs(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write a line for each arc, two for an undirected edge; vertices become 1 to n in internal order."""
    edges, values = graph.in_edges, whole_weights(graph)

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
)
