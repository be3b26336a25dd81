"""Serialized graphs of the GAP Benchmark Suite: .sg, and .wsg with integer weights (gapbs, src/writer.h).

The header has one byte ``directed``, the number of stored edges (int64; an undirected edge is stored twice) and the
number of vertices (int64). Then follow the out-lists and, if directed, the in-lists: int64 offsets, one more than there
are vertices, and int32 neighbours, in a .wsg each followed by its int32 weight.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GraphError
from ...graph.adjacency import Adjacency
from ...graph.csr import Lists, directed_graph
from ...graph.graph import Graph
from ...graph.ids import VertexIds
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .arrays import ArrayFile, ArrayWriter, check_counts, check_offsets
from .format import Format, FormatFidelity, ReadOptions
from .lists import checked, undirected_graph, weighted_out_edges

Array = npt.NDArray[Any]

HEADER = np.dtype([("directed", "u1"), ("edges", "<i8"), ("vertices", "<i8")])  # packed: 17 bytes
WEIGHTED = np.dtype([("vertex", "<u4"), ("weight", "<i4")])
MAX_VERTICES = 2**31
"""Most vertices of a GAP file: its ids are int32."""
INT32 = np.iinfo(np.int32)


def read_gap(weighted: bool, path: Path, options: ReadOptions, listener: events.Listener) -> Graph:
    """Read a .sg or, if `weighted`, a .wsg file; see `GAP` and `GAP_WEIGHTED`."""
    if options.weights and not weighted:
        raise FormatError(path, "a .sg file has no weights; read it without")
    with ArrayFile(path, listener) as file, ThreadPool(options.threads) as pool:
        directed, m, n = file.header(HEADER)
        if directed not in (0, 1):
            raise FormatError(path, f"its first byte, directed, is {directed}, not 0 or 1; check the name", offset=0)
        check_counts(path, n, m, MAX_VERTICES, (9, 1))
        file.check_size(n, m, file_size(directed, n, m, weighted))
        out = read_lists(file, n, m, weighted, options, pool, listener)
        incoming = read_lists(file, n, m, weighted, options, pool, listener) if directed else None
        file.finish()
        ids = VertexIds(n)
        if incoming is not None and (incoming.forth, incoming.back) != (out.back, out.forth):
            problem = "its in-lists do not hold the edges of its out-lists; make it again with gapbs' converter"
            raise FormatError(path, problem, offset=HEADER.itemsize + (file.size - HEADER.itemsize) // 2)
        if not (directed if options.directed is None else options.directed):
            return undirected_graph(path, out, ids, pool, listener)
        if incoming is None and out.forth == out.back:
            incoming = out
        return directed_graph(out, ids, pool, listener, incoming)


def file_size(directed: int, n: int, m: int, weighted: bool) -> int:
    return HEADER.itemsize + (1 + directed) * (8 * (n + 1) + (8 if weighted else 4) * m)


def read_lists(
    file: ArrayFile, n: int, m: int, weighted: bool, options: ReadOptions, pool: ThreadPool, listener: events.Listener
) -> Lists:
    """Read and check the offsets, neighbours and weights of one direction."""
    place = file.place
    offsets = file.array("<i8", n + 1)
    check_offsets(file.path, offsets, m, place)
    place = file.place
    values = None
    if weighted:
        neighbours = np.empty(m, np.uint32)
        values = None if options.weights is False else np.empty(m, np.int32)
        for part, pairs in file.pieces(WEIGHTED, m):
            neighbours[part] = pairs["vertex"]
            if values is not None:
                values[part] = pairs["weight"]
    else:
        neighbours = file.array("<u4", m)
    adjacency = Adjacency(offsets, neighbours, values)
    return checked(file.path, adjacency, place, WEIGHTED.itemsize if weighted else 4, pool, listener)


def write_gap(weighted: bool, graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write a .sg or, if `weighted`, a .wsg file."""
    if graph.n > MAX_VERTICES:
        raise GraphError(f"{graph.n} vertices; a GAP file holds at most {MAX_VERTICES}: its ids are 32 bits with sign")
    if weighted:
        whole_weights(graph)

    def write(file: Any) -> None:
        writer = ArrayWriter(file, file_size(graph.directed, graph.n, graph.m, weighted), listener)
        writer.write(np.array([(graph.directed, graph.m, graph.n)], HEADER))
        into = graph._arrays.in_edges
        incoming = into if weighted else Adjacency(into.offsets, into.neighbours)
        if not graph.directed:
            write_lists(writer, incoming)
            return
        write_lists(writer, weighted_out_edges(graph._arrays) if weighted else graph._arrays.out_edges)
        write_lists(writer, incoming)

    write_whole(path, write)


def whole_weights(graph: Graph) -> Array:
    """The values of the in-edges; refuse values that int32 cannot hold, and a graph without values."""
    values = graph._arrays.in_edges.values
    if values is None:
        raise GraphError("the graph has no weights, which this format needs; write another one, such as .sg")
    if values.dtype.kind == "f":
        raise GraphError(f"weights are {values.dtype}, but this format holds 32-bit integers; write another one")
    if len(values) and not INT32.min <= int(values.min()) <= int(values.max()) <= INT32.max:
        problem = f"weights run from {values.min()} to {values.max()}, but this format holds 32-bit integers with sign"
        raise GraphError(f"{problem}; write another one")
    return values


def write_lists(writer: ArrayWriter, lists: Adjacency) -> None:
    writer.write(lists.offsets)
    if lists.values is None:
        writer.write(lists.neighbours)
        return
    for start in range(0, len(lists.neighbours), 1 << 20):
        part = slice(start, start + (1 << 20))
        pairs = np.empty(len(lists.neighbours[part]), WEIGHTED)
        pairs["vertex"], pairs["weight"] = lists.neighbours[part], lists.values[part]
        writer.write(pairs)


GAP = Format(
    "gap",
    (".sg",),
    b"",
    "serialized graph of the GAP Benchmark Suite",
    partial(read_gap, False),
    FormatFidelity(ids="none", weights="none", direction="both", isolated=True),
    partial(write_gap, False),
)
GAP_WEIGHTED = Format(
    "gap-weighted",
    (".wsg",),
    b"",
    "serialized weighted graph of the GAP Benchmark Suite",
    partial(read_gap, True),
    FormatFidelity(ids="none", weights="required", direction="both", isolated=True),
    partial(write_gap, True),
)
