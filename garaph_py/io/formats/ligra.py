"""Text graphs of Ligra and GBBS (.adj): a word, n, m, the start of every vertex's list, all targets and all weights.

The word is ``AdjacencyGraph`` or ``WeightedAdjacencyGraph``. Blanks and line ends separate the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from ...graph.adjacency import Adjacency
from ...graph.graph import Graph
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .batches import ROWS, whole_values
from .format import (
    MAX_EDGES,
    MAX_VERTICES,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    first_outside,
    narrowed,
    shortened,
)
from .lists import checked, graph_of, weighted_out_edges
from .streams import compressing, uncompressed_size
from .text_writer import lines
from .tokens import blocks_of, number_blocks
from .windows import decoder_buffers

Array = npt.NDArray[Any]

PLAIN, WEIGHTED = b"AdjacencyGraph", b"WeightedAdjacencyGraph"


def read_ligra(path: Path, options: ReadOptions, listener: events.Listener) -> Graph:
    """Read a Ligra graph; see `FORMAT`. To be read as undirected, it must have every edge in both directions."""
    blocks = blocks_of(path, listener, options.memory is not None)
    word, _, rest = next(blocks, b"").partition(b"\n")
    weighted = word.strip() == WEIGHTED
    if not weighted and word.strip() != PLAIN:
        problem = f"neither {PLAIN.decode()} nor {WEIGHTED.decode()}; check that this is the right file"
        raise FormatError(path, f"{problem}: {shortened(word.decode('utf-8', 'replace'))}", line=1)
    if options.weights and not weighted:
        raise FormatError(path, "no edge weights; read the file without", line=1)
    parsed = number_blocks(path, chain([rest], blocks), options.threads, 2, listener)
    n, m, numbers = all_numbers(path, weighted, parsed, options.memory)
    offsets = np.append(numbers[:n], m).astype(np.int64, copy=False)
    check_lists(path, offsets, numbers[n : n + m], n, m)
    targets = numbers[n : n + m].astype(np.uint32)
    values = numbers[n + m :].astype(np.int64) if weighted and options.weights is not False else None
    del numbers
    with ThreadPool(options.threads) as pool:
        found = checked(path, Adjacency(offsets, targets, values), 0, 0, pool, listener)
        return graph_of(path, found, options.directed is not False, pool, listener)


def all_numbers(
    path: Path, weighted: bool, blocks: Iterator[tuple[int, Any]], memory: int | None
) -> tuple[int, int, Array]:
    """The first two numbers, n and m, checked against the size of the file, and an array of all others."""
    counts: list[int] = []
    parts: list[Array] = [np.zeros(0, np.uint32)]
    found, expected = 0, 2
    for first, block in blocks:
        values = block.values
        while len(counts) < 2 and len(values):
            counts.append(int(values[0]))
            values = values[1:]
            if len(counts) == 2:
                expected = check_counts(path, counts[0], counts[1], weighted, memory)
        found += len(values)
        if found > expected:
            total = np.cumsum(np.maximum(block.counts, 0))
            line = first + int(np.searchsorted(total, total[-1] - (found - expected), "right"))
            problem = f"more numbers than the {expected:,} of {counts[0]:,} vertices and {counts[1]:,} edges"
            raise FormatError(path, f"{problem}; correct the counts", line=line)
        parts.append(narrowed(values))
    if len(counts) < 2:
        raise FormatError(path, "no numbers of vertices and edges; it is cut off")
    if found < expected:
        problem = f"{found:,} numbers, but {counts[0]:,} vertices and {counts[1]:,} edges have {expected:,}"
        raise FormatError(path, f"{problem}; it is cut off, or the counts are wrong")
    return counts[0], counts[1], np.concatenate(parts)


def check_counts(path: Path, n: int, m: int, weighted: bool, memory: int | None) -> int:
    """Check `n` and `m`, and return how many numbers must follow them."""
    for line, count, most, what in ((2, n, MAX_VERTICES, "vertices"), (3, m, MAX_EDGES, "edges")):
        if not 0 <= count <= most:
            raise FormatError(path, f"{count} {what}; 0 to {most} are possible", line=line)
    expected = n + (1 + weighted) * m
    size = uncompressed_size(path)
    if size is not None and 2 * expected > size:  # each number has a digit and a blank, at least
        problem = f"{n:,} vertices and {m:,} edges, but the file has {size:,} bytes; it is cut off, or these are wrong"
        raise FormatError(path, problem, line=2)
    check_memory(path, 16 * n + (24 if weighted else 8) * m, f"{n:,} vertices and {m:,} edges", memory)
    return expected


def check_lists(path: Path, offsets: Array, targets: Array, n: int, m: int) -> None:
    """Refuse offsets that do not ascend from 0 to `m`, and targets that are no vertices."""
    if offsets[0] != 0:
        raise FormatError(path, f"the first list starts at edge {offsets[0]}, not 0; correct it", line=4)
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        vertex = int(np.argmax(falls))
        problem = f"the list of vertex {vertex} starts at edge {offsets[vertex]} and ends at {offsets[vertex + 1]}"
        raise FormatError(path, f"{problem}; correct its offset", line=line_of(path, 2 + vertex))
    if (edge := first_outside(targets, 0, n - 1)) is not None:
        problem = f"edge {edge} leads to vertex {targets[edge]}; there are 0 to {n - 1}"
        raise FormatError(path, problem, line=line_of(path, 2 + n + edge))


def line_of(path: Path, number: int) -> int:
    """The line of the number with this index (n has -2) in a file that has been parsed before."""
    blocks = blocks_of(path, events.ignore)
    rest = next(blocks).partition(b"\n")[2]
    for first, block in number_blocks(path, chain([rest], blocks), 1, 2, events.ignore):
        if number < len(block.values):
            return first + int(np.searchsorted(np.cumsum(np.maximum(block.counts, 0)), number, "right"))
        number -= len(block.values)
    raise AssertionError("the file has been read before")


def write_ligra(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write the out-lists of a graph; an undirected graph's edges in both directions, as Ligra requires.

    Raises
    ------
    GraphError
        If there are weights that are not integers.
    """
    out = graph._arrays.out_edges if whole_values(graph) is None else weighted_out_edges(graph._arrays)
    columns = [out.offsets[:-1], out.neighbours, *([] if out.values is None else [out.values])]
    word = PLAIN if out.values is None else WEIGHTED
    total = sum(map(len, columns))

    def write(file: IO[bytes]) -> None:
        import pyarrow as pa

        done = 0
        with compressing(file, path) as stream:
            stream.write(word + f"\n{graph.n}\n{graph.m}\n".encode())
            for column in columns:
                for start in range(0, len(column), ROWS):
                    part = column[start : start + ROWS]
                    stream.write(lines([pa.array(part)]))
                    done += len(part)
                    listener(events.Step("writing", done, total, "numbers"))

    write_whole(path, write)


FORMAT = Format(
    name="ligra",
    suffixes=(".adj",),
    magic=(PLAIN, WEIGHTED[:16]),
    description="adjacency lists of Ligra and GBBS, as text",
    read=read_ligra,
    keeps=FormatFidelity(ids="none", weights="integers", direction="one", isolated=True),
    write=write_ligra,
    compresses=True,
    buffers=decoder_buffers,
)
