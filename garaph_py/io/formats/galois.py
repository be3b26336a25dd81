"""Graphs of the Galois system, .gr: binary out-lists (libgalois, FileGraph.cpp).

The header has four uint64: version (1 or 2), bytes of data per edge, vertices, edges. Then follow, for each vertex, the
end of its list (uint64); the targets (uint32, in version 2 uint64); padding to a multiple of 8 bytes (in version 2, as
Galois reads it, of 16); and the edge data. The file does not say the type of 4 bytes of edge data: they are read and
written as int32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from ...graph.adjacency import Adjacency
from ...graph.graph import Graph
from ...native.threads import ThreadPool
from ...system.files import write_whole
from .arrays import ArrayFile, ArrayWriter, check_counts, check_offsets
from .format import MAX_VERTICES, Format, FormatFidelity, ReadOptions, first_outside
from .gap import whole_weights
from .lists import checked, graph_of, weighted_out_edges
from .streams import opening_bytes

HEADER = np.dtype([("version", "<u8"), ("data_bytes", "<u8"), ("vertices", "<u8"), ("edges", "<u8")])
TARGET_BYTES = {1: 4, 2: 8}
MAGIC = tuple(version.to_bytes(8, "little") for version in TARGET_BYTES)


def read_galois(path: Path, options: ReadOptions, listener: events.Listener) -> Graph:
    """Read a Galois .gr file; see `FORMAT`."""
    with ArrayFile(path, listener) as file, ThreadPool(options.threads) as pool:
        version, data_bytes, n, m = file.header(HEADER)
        if version not in TARGET_BYTES:
            raise FormatError(path, f"version {version}; Galois files have 1 or 2: check the name", offset=0)
        check_counts(path, n, m, MAX_VERTICES, (16, 24))
        if data_bytes not in (0, 4) and options.weights is not False:
            problem = f"{data_bytes} bytes of data an edge; 4 are read, as int32: read it without weights"
            raise FormatError(path, problem, offset=8)
        if options.weights and not data_bytes:
            raise FormatError(path, "no edge data; read the file without weights", offset=8)
        check_size(file, version, data_bytes, n, m)
        offsets = np.zeros(n + 1, np.int64)
        file.fill(offsets[1:])
        check_offsets(path, offsets, m, HEADER.itemsize - 8)
        place = file.place
        targets = file.array("<u4", m) if version == 1 else narrow_targets(file, n, m)
        values = None
        if data_bytes and options.weights is not False:
            file.fill(np.empty(file.size - file.place - data_bytes * m, np.uint8))  # the padding
            values = file.array("<i4", m)
        file.finish()
        lists = checked(path, Adjacency(offsets, targets, values), place, TARGET_BYTES[version], pool, listener)
        return graph_of(path, lists, options.directed is not False, pool, listener)


def check_size(file: ArrayFile, version: int, data_bytes: int, n: int, m: int) -> None:
    """Refuse a file whose length differs from its header; version 2 and files without edge data may have no padding."""
    plain = HEADER.itemsize + 8 * n + (TARGET_BYTES[version] + data_bytes) * m
    padded = plain + TARGET_BYTES[version] * (m % 2)
    file.check_size(n, m, padded, *([plain] if version == 2 or not data_bytes else []))


def narrow_targets(file: ArrayFile, n: int, m: int) -> npt.NDArray[np.uint32]:
    """Read the uint64 targets of version 2 as uint32."""
    targets = np.empty(m, np.uint32)
    for part, piece in file.pieces("<u8", m):
        if (edge := first_outside(piece, 0, n - 1)) is not None:
            place = file.place - piece.nbytes + 8 * edge
            problem = f"edge {part.start + edge} leads to vertex {piece[edge]}, but there are {n}"
            raise FormatError(file.path, problem, offset=place)
        targets[part] = piece
    return targets


def is_galois(path: Path) -> bool:
    """Whether the file begins with the version number of a Galois file; a text file never does."""
    return opening_bytes(path, 8) in MAGIC


def write_galois(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write version 1; an undirected graph's edges in both directions, as Galois requires."""
    lists = graph._arrays.out_edges
    if graph.edge_dtype is not None:
        whole_weights(graph)
        lists = weighted_out_edges(graph._arrays)
    data_bytes = 0 if lists.values is None else 4
    padding = np.zeros(graph.m % 2, np.uint32)
    total = HEADER.itemsize + 8 * graph.n + (4 + data_bytes) * graph.m + padding.nbytes

    def write(file: Any) -> None:
        writer = ArrayWriter(file, total, listener)
        writer.write(np.array([(1, data_bytes, graph.n, graph.m)], HEADER))
        writer.write(lists.offsets[1:])
        writer.write(lists.neighbours)
        writer.write(padding)
        if lists.values is not None:
            writer.write(lists.values.astype(np.int32, copy=False))

    write_whole(path, write)


FORMAT = Format(
    "galois",
    (".gr",),
    MAGIC,
    "binary graph of the Galois system",
    read_galois,
    FormatFidelity(ids="none", weights="integers", direction="one", isolated=True),
    write_galois,
    is_galois,
)
