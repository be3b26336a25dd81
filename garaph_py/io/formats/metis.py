"""Undirected graphs of METIS and similar programs (.graph): line i has the neighbours of vertex i, from 1.

The first line is ``n m [fmt [ncon]]``. The digits of fmt say whether there are vertex sizes, vertex weights (ncon per
vertex) and edge weights; the reader skips sizes and vertex weights. Lines that begin with ``%`` are comments.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GraphError
from ...graph import group
from ...graph.adjacency import Adjacency
from ...graph.csr import directed_graph
from ...graph.graph import Graph
from ...graph.ids import VertexIds
from ...graph.transpose import transposed
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .batches import ROWS, whole_values
from .format import MAX_EDGES, MAX_VERTICES, Format, FormatFidelity, ReadOptions, check_memory, first_outside
from .lists import checked, undirected_graph
from .streams import compressing, uncompressed_size
from .text_writer import lines
from .tokens import COMMENT, blocks_of, number_blocks
from .windows import decoder_buffers

Array = npt.NDArray[Any]

MAX_CONSTRAINTS = 1024
"""Most weights per vertex."""


class Header(NamedTuple):
    """The first line.

    Attributes
    ----------
    n, m : int
        Number of vertices, and of edges; an edge counts once.
    skip : int
        How many numbers are before the neighbours of a vertex: its size and weights.
    weighted : bool
        Whether every neighbour is followed by the weight of the edge.
    """

    n: int
    m: int
    skip: int
    weighted: bool


class VertexLists(NamedTuple):
    """The lists of consecutive vertices: their degrees, their neighbours (from 0), and the edge weights."""

    degrees: Array
    neighbours: Array
    weights: Array | None


def read_metis(path: Path, options: ReadOptions, listener: events.Listener) -> Graph:
    """Read a METIS graph; see `FORMAT`."""
    header: Header | None = None
    parts: list[VertexLists] = []
    found = entries = 0
    blocks = blocks_of(path, listener, options.memory is not None)
    for first, block in number_blocks(path, blocks, options.threads, 1, listener):
        rows = np.flatnonzero(block.counts != COMMENT)
        counts, values = block.counts[rows], block.values
        if header is None:
            if not len(rows):
                continue
            header = parse_header(path, values[: counts[0]].tolist(), first + int(rows[0]), options)
            rows, counts, values = rows[1:], counts[1:], values[counts[0] :]
        left = header.n - found
        if counts[left:].any():
            line = first + int(rows[left:][np.argmax(counts[left:] > 0)])
            raise FormatError(path, f"a line after those of all {header.n} vertices; correct the first line", line=line)
        part = parse_lists(path, header, values, counts[:left], first + rows[:left])
        found += len(part.degrees)
        entries += len(part.neighbours)
        if entries > 2 * header.m:
            raise FormatError(path, f"more than the {header.m} edges that the first line says; correct that")
        parts.append(part if options.weights is not False else part._replace(weights=None))
    if header is None:
        raise FormatError(path, "no first line of the numbers of vertices and edges; check that this is the right file")
    if found < header.n:
        problem = f"the lines of {found} vertices, but {header.n} are said to follow; give every vertex a line"
        raise FormatError(path, problem)
    offsets = np.zeros(header.n + 1, np.int64)
    np.cumsum(np.concatenate([np.zeros(0, np.int64), *(part.degrees for part in parts)]), out=offsets[1:])
    neighbours = np.concatenate([np.zeros(0, np.uint32), *(part.neighbours for part in parts)])
    weights: Array | None = None
    if header.weighted and options.weights is not False:
        weights = np.concatenate([np.zeros(0, np.int64), *(part.weights for part in parts if part.weights is not None)])
    parts.clear()
    with ThreadPool(options.threads) as pool:
        return graph_of(path, header.m, Adjacency(offsets, neighbours, weights), options, pool, listener)


def parse_header(path: Path, numbers: list[int], line: int, options: ReadOptions) -> Header:
    """The first line, checked against the size of the file before memory is allocated for it."""
    if not 2 <= len(numbers) <= 4:
        problem = f"{len(numbers)} numbers; the first line has those of vertices and edges, a format and constraints"
        raise FormatError(path, problem, line=line)
    n, m, flags, constraints = *numbers, *(0, 1)[len(numbers) - 2 :]
    if not (0 <= n <= MAX_VERTICES and 0 <= m <= MAX_EDGES):
        problem = f"{n} vertices and {m} edges; 0 to {MAX_VERTICES} and 0 to {MAX_EDGES} are possible"
        raise FormatError(path, problem, line=line)
    if flags not in (0, 1, 10, 11, 100, 101, 110, 111) or not 0 <= constraints <= MAX_CONSTRAINTS:
        problem = f"format {flags:03} with {constraints} vertex weights; METIS knows three digits 0 or 1, as 011"
        raise FormatError(path, problem, line=line)
    sizes, weights, weighted = flags >= 100, flags // 10 % 10, flags % 10
    if options.weights and not weighted:
        raise FormatError(path, "no edge weights; read the file without", line=line)
    size = uncompressed_size(path)
    if size is not None and max(n, 2 * m) > size:  # a vertex has a line end, an edge a digit and a blank
        problem = f"{n:,} vertices and {m:,} edges, but the file has {size:,} bytes; it is cut off, or this line wrong"
        raise FormatError(path, problem, line=line)
    check_memory(path, 16 * n + (24 if weighted else 8) * m, f"{n:,} vertices and {m:,} edges", options.memory)
    return Header(n, m, sizes + weights * constraints, bool(weighted))


def parse_lists(path: Path, header: Header, values: Array, counts: Array, numbers: Array) -> VertexLists:
    """The lists of some lines.

    Parameters
    ----------
    values : ndarray of int64
        All numbers of the lines.
    counts, numbers : ndarray of int64, shape (lines,)
        How many numbers each line has, and its number in the file.
    """
    width = 2 if header.weighted else 1
    degrees, rest = np.divmod(counts - header.skip, width)
    wrong = (counts < header.skip) | (rest > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        each = f"{header.skip} of the vertex and then " * (header.skip > 0) + ("pairs" if width == 2 else "neighbours")
        raise FormatError(path, f"{counts[row]} numbers; by the first line it has {each}", line=int(numbers[row]))
    if header.skip:
        starts = np.cumsum(counts) - counts
        values = values[np.arange(len(values)) - np.repeat(starts, counts) >= header.skip]
    neighbours = values[::width]
    if (entry := first_outside(neighbours, 1, header.n)) is not None:
        row = int(np.searchsorted(np.cumsum(degrees), entry, "right"))
        problem = f"neighbour {neighbours[entry]}; there are 1 to {header.n}"
        raise FormatError(path, problem, line=int(numbers[row]))
    weights = values[1::2].copy() if header.weighted else None
    return VertexLists(degrees, (neighbours - 1).astype(np.uint32), weights)


def graph_of(
    path: Path, m: int, adjacency: Adjacency, options: ReadOptions, pool: ThreadPool, listener: events.Listener
) -> Graph:
    """The graph of lists that have `m` edges; refuse lists without each edge at both ends (a self-loop once)."""
    loops = int(np.count_nonzero(group.expand(adjacency.offsets, pool) == adjacency.neighbours))
    entries = len(adjacency.neighbours)
    if entries + loops != 2 * m:
        found = f"{entries} neighbours" + f", {loops} of them the vertex itself" * (loops > 0)
        raise FormatError(path, f"{found}, but {m} edges have {2 * m - loops}; correct the lists or the first line")
    ids = VertexIds(len(adjacency.offsets) - 1)
    ends = checked(path, adjacency, 0, 0, pool, listener)
    if ends.forth != ends.back:
        one, other = one_sided(adjacency, pool, listener)
        problem = f"vertex {one} has neighbour {other}, but {other} does not have {one} as often, with equal weight"
        raise FormatError(path, f"{problem}; give every edge to both its ends")
    if options.directed:
        return directed_graph(ends, ids, pool, listener, ends)
    return undirected_graph(path, ends, ids, pool, listener)


def one_sided(adjacency: Adjacency, pool: ThreadPool, listener: events.Listener) -> tuple[int, int]:
    """A vertex and one of its neighbours (from 1) whose list lacks the vertex."""
    into = transposed(adjacency, pool, listener)
    out = transposed(into, pool, listener)
    ours, theirs = (pair_keys(lists, pool) for lists in (out, into))
    differ = ours != theirs
    if out.values is not None and into.values is not None and not differ.any():
        differ = out.values != into.values
    place = int(np.argmax(differ))
    ends = divmod(int(min(ours[place], theirs[place])), 1 << 32)
    one, other = ends if ours[place] <= theirs[place] else reversed(ends)
    return one + 1, other + 1


def pair_keys(adjacency: Adjacency, pool: ThreadPool) -> Array:
    """Each entry as a uint64: the vertex in the high half, the neighbour in the low half."""
    return group.expand(adjacency.offsets, pool).astype(np.uint64) << np.uint64(32) | adjacency.neighbours


def write_metis(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write an undirected graph.

    Raises
    ------
    GraphError
        If it is directed, or has self-loops, parallel edges, or weights other than positive integers.
    """
    if graph.directed:
        raise GraphError(
            "the graph is directed, but METIS files are undirected; symmetrize it: symmetrized() (--symmetrize)"
        )
    weights = whole_values(graph)
    if weights is not None and len(weights) and int(weights.min()) < 1:
        raise GraphError(
            f"an edge has weight {weights.min()}, but METIS takes positive integers; change it, or leave all weights "
            "out (--no-weights)"
        )
    check_simple(graph)
    edges = graph._arrays.in_edges
    offsets, neighbours = edges.offsets, edges.neighbours

    def write(file: IO[bytes]) -> None:
        with compressing(file, path) as stream:
            stream.write(f"{graph.n} {graph.m // 2}{'' if weights is None else ' 001'}\n".encode())
            for first, last in vertex_runs(offsets):
                start, stop = int(offsets[first]), int(offsets[last])
                numbers = neighbours[start:stop].astype(np.int64) + 1
                if weights is not None:
                    numbers = np.stack([numbers, weights[start:stop].astype(np.int64)], axis=1).ravel()
                stream.write(lists_text(numbers, (offsets[first : last + 1] - start) * (1 if weights is None else 2)))
                listener(events.Step("writing", stop, graph.m, "edges"))

    write_whole(path, write)


def check_simple(graph: Graph) -> None:
    """Refuse graphs with self-loops or parallel edges, which METIS does not allow."""
    with ThreadPool() as pool:
        vertices, neighbours = group.expand(graph._arrays.in_edges.offsets, pool), graph._arrays.in_edges.neighbours
    if (vertices == neighbours).any():
        raise GraphError(
            "the graph has self-loops, which METIS does not allow; give drop_self_loops=True (--drop-self-loops)"
        )
    if ((vertices[1:] == vertices[:-1]) & (neighbours[1:] == neighbours[:-1])).any():
        raise GraphError(
            "the graph has parallel edges, which METIS does not allow; give drop_parallel=True (--drop-parallel)"
        )


def vertex_runs(offsets: Array) -> list[tuple[int, int]]:
    """Ranges of vertices whose lists together have about `ROWS` entries."""
    cost = offsets + np.arange(len(offsets))
    cuts = np.searchsorted(cost, np.arange(0, int(cost[-1]), ROWS))
    return list(pairwise(np.unique(np.append(cuts, len(offsets) - 1)).tolist()))


def lists_text(numbers: Array, offsets: Array) -> Any:
    """Text (a buffer) with one line of numbers for each list; `offsets` bound the lists in `numbers`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    strings = pa.array(numbers).cast(pa.large_string())
    runs = pa.LargeListArray.from_arrays(pa.array(offsets), strings)
    return lines([pc.binary_join(runs, pa.scalar(" ", pa.large_string()))])


FORMAT = Format(
    name="metis",
    suffixes=(".graph", ".metis"),
    magic=b"",
    description="undirected neighbour lists of METIS and its kin",
    read=read_metis,
    keeps=FormatFidelity(ids="none", weights="integers", direction="undirected", isolated=True),
    write=write_metis,
    compresses=True,
    buffers=decoder_buffers,
)
