"""NumPy archives (.npz): a SciPy sparse matrix (`scipy.sparse.save_npz`), or arrays named src, dst, n, ..."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from ... import events
from ...errors import FormatError
from ...graph.build import matrix_entries
from ...graph.graph import Graph
from ...system.files import write_whole
from .batches import edge_columns
from .format import (
    MAX_VERTICES,
    EdgeList,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    check_vertices,
    first_outside,
    malformed,
)

DEFLATE_RATIO = 1032
"""A deflate stream expands at most by this factor."""
UNREADABLE = "not a readable .npz file"


def read_npz(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read a sparse matrix, or the arrays ``src`` and ``dst`` with ``n``, ``directed`` and ``weight``; see `FORMAT`."""
    with malformed(path, UNREADABLE):
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            names = check_members(path, archive)
        check_memory(path, sum(names.values()), "its arrays", options.memory)
    listener(events.Step("reading", 0, size))
    with malformed(path, UNREADABLE):
        if {"src", "dst"} <= names.keys():
            edges = read_arrays(path, options)
        elif {"format", "shape", "data"} <= names.keys():
            edges = read_matrix(path, options)
        else:
            raise FormatError(
                path,
                f"arrays {', '.join(sorted(names)[:9]) or 'none'}; an edge list has src and dst, a matrix is what "
                "scipy.sparse.save_npz writes",
            )
    listener(events.Step("reading", size, size))
    return edges


def check_members(path: Path, archive: zipfile.ZipFile) -> dict[str, int]:
    """Names of the arrays, and their sizes in bytes; refuse sizes that the compressed data cannot have."""
    sizes: dict[str, int] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in sizes or name == member.filename:
            raise FormatError(
                path, f"member {member.filename!r} is no array of its own; write the file with numpy.savez"
            )
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(path, f"array {name!r} is encrypted or compressed otherwise than numpy.savez does")
        with archive.open(member) as data:
            shape, _, dtype = array_header(path, f"array {name!r}", data, member.file_size)
        if member.file_size > DEFLATE_RATIO * (member.compress_size + 1):
            raise FormatError(path, f"array {name!r} declares more bytes than its compressed data can hold")
        sizes[name] = math.prod(shape) * dtype.itemsize
    return sizes


def array_header(path: Path, what: str, data: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of .npy data: shape, whether in Fortran order, and dtype; `data` is then at the first element.

    Raises
    ------
    FormatError
        If the data do not have exactly the declared number of bytes, `size` with the header, or hold Python objects.
    """
    version = np.lib.format.read_magic(data)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise FormatError(path, f"{what} has .npy version {version}; write it with a plain dtype")
    shape, fortran, dtype = read_header[version](data)
    declared = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise FormatError(path, f"{what} holds Python objects, which are not read; save plain numbers")
    if min(shape, default=0) < 0 or data.tell() + declared != size:
        raise FormatError(path, f"{what} declares {declared:,} bytes of data, but has {size - data.tell():,}")
    return shape, fortran, dtype


def read_arrays(path: Path, options: ReadOptions) -> EdgeList:
    with np.load(path, allow_pickle=False) as file:
        sources, targets = file["src"], file["dst"]
        n = scalar(path, file, "n", "iu")
        directed = scalar(path, file, "directed", "b")
        weights = file["weight"] if options.weights is not False and "weight" in file else None
    for name, column in (("src", sources), ("dst", targets)):
        if column.ndim != 1 or column.dtype.kind not in "iu":
            raise FormatError(path, f"{name!r} is a {column.ndim}-d array of {column.dtype}; save 1-d integers")
    if len(sources) != len(targets):
        raise FormatError(path, f"{len(sources)} entries of 'src', but {len(targets)} of 'dst'; every edge has both")
    if options.weights and weights is None:
        raise FormatError(path, "no array 'weight'; read the file without weights, or add it")
    if weights is not None and (weights.shape != sources.shape or weights.dtype.kind not in "biuf"):
        raise FormatError(
            path,
            f"'weight' is {weights.dtype} of shape {weights.shape}; save one number for each of {len(sources)} edges",
        )
    if n is not None:
        check_bounds(path, n, sources, targets)
        check_vertices(path, n, len(sources))
    return EdgeList(sources, targets, weights, n, None if directed is None else bool(directed))


def scalar(path: Path, file: Any, name: str, kinds: str) -> int | None:
    if name not in file:
        return None
    value = file[name]
    if value.shape != () or value.dtype.kind not in kinds:
        raise FormatError(path, f"{name!r} is {value.dtype} of shape {value.shape}; save one value")
    return int(value)


def read_matrix(path: Path, options: ReadOptions) -> EdgeList:
    """Read a sparse matrix, whose entry (u, v) is the edge u -> v."""
    from scipy import sparse

    with np.load(path, allow_pickle=False) as file:
        shape = file["shape"]
    if shape.dtype.kind not in "iu" or shape.shape != (2,) or shape[0] != shape[1]:
        raise FormatError(path, f"a matrix of shape {shape.tolist()}; an adjacency matrix is square")
    n = int(shape[0])
    check_bounds(path, n)
    matrix = sparse.load_npz(path)
    if matrix.data.dtype.kind not in "biuf":
        raise FormatError(path, f"matrix entries are {matrix.data.dtype}; edge values are real numbers")
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
    if matrix.format not in ("csr", "csc"):  # csr and csc have an offset for each vertex, so their size bounds n
        check_vertices(path, n, matrix.nnz)
    # the matrix of an undirected graph has every edge twice
    rows, columns, values = matrix_entries(matrix, directed=options.directed is not False)
    check_bounds(path, n, rows, columns)
    return EdgeList(rows, columns, None if options.weights is False else values, n)


def check_bounds(path: Path, n: int, *columns: Any) -> None:
    if not 0 <= n <= MAX_VERTICES:
        raise FormatError(path, f"{n} vertices; 0 to {MAX_VERTICES} are possible")
    for column in columns:
        if first_outside(column, 0, n - 1) is not None:
            raise FormatError(path, f"vertices {column.min()} to {column.max()}, but n is {n}; ids run from 0 to n - 1")


def write_npz(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write the arrays src, dst, n, directed and, if there are values, weight; vertices have their internal ids."""
    sources, targets, values = edge_columns(graph, listener)
    weight: dict[str, Any] = {} if values is None else {"weight": values}
    arrays = {"src": sources, "dst": targets, "n": np.int64(graph.n), "directed": np.bool_(graph.directed), **weight}
    write_whole(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


FORMAT = Format(
    "npz",
    (".npz",),
    b"PK\x03\x04",
    "SciPy sparse matrix, or NumPy arrays src, dst, n, ...",
    read_npz,
    FormatFidelity(ids="none", weights="any", direction="both", isolated=True),
    write_npz,
)
