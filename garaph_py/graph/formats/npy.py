"""NumPy arrays of edges (.npy).

An integer array of shape (m, 2) or, if it is not (2, 2), (2, m): the sources and the targets. Or a structured array
with two fields of integers, called as the columns of a table are (source and target, src and dst, from and to), and
perhaps one of weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GraphError
from ...files import write_whole
from ..graph import Graph
from ..ids import StringIds
from .arrays import ArrayFile
from .batches import edge_batches, edge_count, need_edges
from .edges import EdgeList, Format, Keeps, ReadOptions, check_memory, endpoint_columns, malformed, weight_column
from .npz import array_header

Array = npt.NDArray[Any]


def read_npy(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read an array of edges; see `FORMAT`. Ids keep the type of the file."""
    with malformed(path, "not a readable .npy file"), open(path, "rb") as data:
        size = path.stat().st_size
        shape, fortran, dtype = array_header(path, "the array", data, size)
        start = data.tell()
    check_memory(path, size, "its elements")
    with ArrayFile(path, listener) as file:
        file.array("u1", start)
        if dtype.names is not None:
            edges = read_fields(path, file, shape, dtype, options)
        else:
            edges = read_pairs(path, file, shape, fortran, dtype, options)
        file.finish()
    return edges


def read_pairs(
    path: Path, file: ArrayFile, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any], options: ReadOptions
) -> EdgeList:
    if len(shape) != 2 or 2 not in shape or dtype.kind not in "iu":
        problem = f"an array of {dtype} of shape {shape}; edges are integers of shape (m, 2) or (2, m)"
        raise FormatError(path, problem)
    if options.weights:
        raise FormatError(path, "pairs without weights; read it without, or save a structured array with a third field")
    m = shape[0] if shape[1] == 2 else shape[1]
    sources, targets = np.empty(m, dtype), np.empty(m, dtype)
    if fortran == (shape[1] == 2):  # one endpoint of all edges, then the other
        file.fill(sources)
        file.fill(targets)
    else:
        for part, pairs in file.pieces(np.dtype([("source", dtype), ("target", dtype)]), m):
            sources[part], targets[part] = pairs["source"], pairs["target"]
    return EdgeList(sources, targets)


def read_fields(
    path: Path, file: ArrayFile, shape: tuple[int, ...], dtype: np.dtype[Any], options: ReadOptions
) -> EdgeList:
    names = dtype.names or ()
    if len(shape) != 1 or len(names) < 2:
        raise FormatError(path, f"{len(names)} fields of shape {shape}; edges are 1-d and have a source and a target")
    ends = endpoint_columns(names) or (0, 1)
    weight = None if options.weights is False else weight_column(names, *ends)
    chosen = [names[place] for place in (*ends, weight) if place is not None]
    for name, kinds in zip(chosen, ("iu", "iu", "iuf"), strict=False):
        if dtype[name].kind not in kinds:  # that of a field of arrays is "V"
            raise FormatError(path, f"field {name!r} is {dtype[name]}; save numbers, and integers as ids")
    if options.weights and weight is None:
        raise FormatError(path, f"no field of weights among {', '.join(names[:9])}; read the file without")
    columns = [np.empty(shape[0], dtype[name]) for name in chosen]
    for part, edges in file.pieces(dtype, shape[0]):
        for name, column in zip(chosen, columns, strict=True):
            column[part] = edges[name]
    return EdgeList(columns[0], columns[1], columns[2] if weight is not None else None)


def write_npy(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write pairs, column after column, or with weights a structured array.

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
    keeps=Keeps(ids="integers", weights="any", direction="one", isolated=False),
    write=write_npy,
)
