"""NumPy arrays of edges (.npy).

An integer array has shape (m, 2), or (2, m): sources and targets; shape (2, 2) is taken for (m, 2). A structured array
has two fields of integers, named like the columns of a table (source and target, src and dst, from and to), and perhaps
a field of weights.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GraphError
from ...graph.graph import Graph
from ...graph.ids import StringIds
from ...system.files import write_whole
from .arrays import ArrayFile
from .batches import edge_batches, edge_count, need_edges
from .columns import Table
from .format import (
    EdgeList,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    malformed,
)
from .npz import array_header

Array = npt.NDArray[Any]


PIECE = 4 << 20
"""Bytes that are streamed at a time; they fit in the caches."""
Names = tuple[str, str, str | None]
"""Names of the fields of sources, targets and, if there are any, weights."""


class Header(NamedTuple):
    """The contents of a file's header.

    Attributes
    ----------
    edges : int
    start : int
        Offset of the array in the file.
    columns : bool
        True: all sources, then all targets. False: one edge after the other.
    dtype : dtype
        Type of an edge; if `columns`, type of an id.
    names : tuple
        See `Names`.
    """

    edges: int
    start: int
    columns: bool
    dtype: np.dtype[Any]
    names: Names


def read_npy(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read an array of edges; see `FORMAT`. Ids keep the type of the file."""
    header = read_header(path, options)
    check_memory(path, path.stat().st_size, "its elements")
    with ArrayFile(path, listener) as file:
        file.skip(header.start)
        if header.columns:
            edges = EdgeList(file.array(header.dtype, header.edges), file.array(header.dtype, header.edges))
        else:
            names = [name for name in header.names if name is not None]
            columns = [np.empty(header.edges, header.dtype[name]) for name in names]
            for part, some in file.pieces(header.dtype, header.edges):
                for name, column in zip(names, columns, strict=True):
                    column[part] = some[name]
            edges = EdgeList(columns[0], columns[1], columns[2] if len(columns) > 2 else None)
        file.finish()
    return edges


def stream_npy(path: Path, options: ReadOptions, listener: events.Listener) -> Generator[EdgeList, None, None]:
    """Read an array of edges piece by piece."""
    header = read_header(path, options)
    with ArrayFile(path, listener) as file, ArrayFile(path, events.ignore) as second:
        file.skip(header.start)
        if header.columns:
            second.skip(header.start + header.edges * header.dtype.itemsize)
            columns = [end.pieces(header.dtype, header.edges, PIECE) for end in (file, second)]
            for (_, sources), (_, targets) in zip(*columns, strict=True):
                yield EdgeList(sources, targets)
        else:
            for _, some in file.pieces(header.dtype, header.edges, PIECE):
                source, target, weight = header.names
                weights = None if weight is None else some[weight].copy()
                yield EdgeList(some[source].copy(), some[target].copy(), weights)
        file.finish()


def read_header(path: Path, options: ReadOptions) -> Header:
    """The header of a file; refuse arrays that are no edges.

    Raises
    ------
    FormatError
    """
    with malformed(path, "not a readable .npy file"), open(path, "rb") as data:
        shape, fortran, dtype = array_header(path, "the array", data, path.stat().st_size)
        start = data.tell()
    if dtype.names is not None:
        return Header(shape[0] if shape else 0, start, False, dtype, checked_fields(path, shape, dtype, options))
    if len(shape) != 2 or 2 not in shape or dtype.kind not in "iu":
        problem = f"an array of {dtype} of shape {shape}; edges are integers of shape (m, 2) or (2, m)"
        raise FormatError(path, problem)
    if options.columns:
        raise FormatError(path, "pairs without names of columns; read it without these, or save a structured array")
    if options.weights:
        raise FormatError(path, "pairs without weights; read it without, or save a structured array with a third field")
    m = shape[0] if shape[1] == 2 else shape[1]
    columns = fortran == (shape[1] == 2)
    pair = np.dtype([("source", dtype), ("target", dtype)])
    return Header(m, start, columns, dtype if columns else pair, ("source", "target", None))


def checked_fields(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], options: ReadOptions) -> Names:
    names = dtype.names or ()
    if len(shape) != 1 or len(names) < 2:
        raise FormatError(path, f"{len(names)} fields of shape {shape}; edges are 1-d and have a source and a target")
    table = Table(path, names, lambda place: dtype[place].kind in "iuf")  # a field of arrays has kind "V"
    chosen = table.edge_columns(options.columns, options.weights)
    source, target = names[chosen.source], names[chosen.target]
    for name in (source, target):
        if dtype[name].kind not in "iu":
            raise FormatError(path, f"field {name!r} is {dtype[name]}; save integers as ids")
    return source, target, None if chosen.weight is None else names[chosen.weight]


def write_npy(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write a (m, 2) array in Fortran order (sources, then targets); with weights, a structured array.

    Raises
    ------
    GraphError
        If there are no edges, or ids are names.
    """
    need_edges(graph)
    if isinstance(graph.ids, StringIds):
        raise GraphError("vertices have names, but .npy holds integers; write Parquet, Arrow or text")
    ids, count = graph.ids.array(), edge_count(graph)
    kind = np.dtype(np.uint32) if 0 <= int(ids.min()) <= int(ids.max()) < 2**32 else ids.dtype

    def write(file: IO[bytes]) -> None:
        if graph.edge_dtype is None:
            write_header(file, kind, (count, 2), fortran=True)  # shape (2, m) would be ambiguous for m = 2
            for end, told in enumerate((events.ignore, listener)):
                for batch in edge_batches(graph, told):
                    file.write(ids[batch[end]].astype(kind).data)
            return
        record = np.dtype([("source", kind), ("target", kind), ("weight", graph.edge_dtype)])
        write_header(file, record, (count,), fortran=False)
        for batch in edge_batches(graph, listener):
            edges = np.empty(len(batch.sources), record)
            edges["source"], edges["target"], edges["weight"] = ids[batch.sources], ids[batch.targets], batch.values
            file.write(edges.data)

    write_whole(path, write)


def write_header(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], fortran: bool) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


FORMAT = Format(
    name="npy",
    suffixes=(".npy",),
    magic=b"\x93NUMPY",
    description="NumPy array of pairs (m, 2) or (2, m), or structured",
    read=read_npy,
    keeps=FormatFidelity(ids="integers", weights="any", direction="one", isolated=False),
    write=write_npy,
    stream=stream_npy,
    streams_again=True,
    names_columns=True,
)
