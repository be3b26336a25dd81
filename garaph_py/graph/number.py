"""Numbers the vertices: gives the user's vertex ids, any integers or strings, internal ids from 0 to n - 1."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..native import Kernel
from ..native.kernel import kind_of
from ..native.threads import ThreadPool, split
from .columns import encoded, id_columns, mixed_signs, numbers_of
from .ids import IntegerIds, StringIds, VertexIds

Array = npt.NDArray[Any]


def mark(ids, start, stop, present):
    """Set ``present[id]`` to 1 for every id in ``ids[start:stop]``."""
    for i in range(start, stop):
        present[ids[i]] = 1
    return 0


def renumber(ids, start, stop, numbers, out):
    """Write the number of every id in ``ids[start:stop]``."""
    for i in range(start, stop):
        out[i] = numbers[ids[i]]
    return 0


def largest(numbers, start, stop):
    """The largest of ``numbers[start:stop]``; 0 if there are none."""
    found = np.uint32(0)
    for i in range(start, stop):
        found = max(found, numbers[i])
    return found


LARGEST = Kernel("u32* i64 i64", largest)


@cache
def kernels(kind: str) -> tuple[Kernel, Kernel]:
    """`mark` and `renumber` for ids of one integer type, ``"u32*"`` or ``"i64*"``."""
    return Kernel(f"{kind} i64 i64 u8*", mark), Kernel(f"{kind} i64 i64 u32* u32*", renumber)


def number_vertices(
    sources: Any, targets: Any, vertices: Any = None, *, threads: int | None = None
) -> tuple[Array, Array, VertexIds]:
    """Give the vertices of a list of edges internal ids.

    Parameters
    ----------
    sources, targets : array-like or pyarrow array, shape (m,)
        The endpoints of the edges, by the user's ids: all 64-bit integers, or all strings.
    vertices : array-like, optional
        Further ids, for vertices without edges.
    threads : int, optional
        Number of CPU threads; by default all cores.

    Returns
    -------
    sources, targets : ndarray of uint32, shape (m,)
        The endpoints by internal ids. Integer ids are numbered in ascending order, strings in the order in which they
        first appear.
    ids : VertexIds
        The user's ids.
    """
    named = {"sources": sources, "targets": targets} | ({} if vertices is None else {"vertices": vertices})
    arrays = id_columns(**named)
    if len(arrays[0]) != len(arrays[1]):
        raise GraphError(f"{len(arrays[0])} sources but {len(arrays[1])} targets; every edge has one of each")
    if not isinstance(arrays[0], np.ndarray):
        return number_names(*arrays)
    if not sum(map(len, arrays)):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32), VertexIds(0)
    low = min(int(array.min()) for array in arrays if len(array))
    high = max(int(array.max()) for array in arrays if len(array))
    if low >= 0 and high < 4 * sum(map(len, arrays)) + 4096:  # then a table over the range is faster than sorting
        return _number_by_table(arrays, high, threads)
    wide = np.dtype(np.uint64 if high > np.iinfo(np.int64).max else np.int64)
    if wide.kind == "u" and low < 0:
        raise mixed_signs(low, high)
    names, inverse = np.unique(np.concatenate([array.astype(wide) for array in arrays]), return_inverse=True)
    _checked_count(len(names))
    numbers = inverse.astype(np.uint32)
    m = len(arrays[0])
    return numbers[:m], numbers[m : 2 * m], IntegerIds(names)


def _number_by_table(arrays: list[Array], high: int, threads: int | None) -> tuple[Array, Array, VertexIds]:
    """`number_vertices` for ids from 0 to `high`, with a table over that range."""
    present = np.zeros(high + 1, np.uint8)
    arrays = [np.ascontiguousarray(a, a.dtype if a.dtype in (np.uint32, np.int64) else np.int64) for a in arrays]
    with ThreadPool(threads) as pool:

        def everywhere(which: int, array: Array, *more: Array) -> None:
            """Run `mark` (0) or `renumber` (1) over the array, divided among the threads."""
            kernel, bounds = kernels(kind_of(array.dtype))[which], split(len(array), pool.size)
            pool.run(kernel, [(array, *bounds[part : part + 2], *more) for part in range(pool.size)])

        for array in arrays:
            everywhere(0, array, present)
        if present.all():
            return arrays[0].astype(np.uint32, copy=False), arrays[1].astype(np.uint32, copy=False), VertexIds(high + 1)
        names = np.flatnonzero(present)
        _checked_count(len(names))
        numbers = np.cumsum(present, dtype=np.uint32) - np.uint32(1)
        columns = np.empty(len(arrays[0]), np.uint32), np.empty(len(arrays[1]), np.uint32)
        for array, column in zip(arrays, columns, strict=False):
            everywhere(1, array, numbers, column)
    return *columns, IntegerIds(names)


def number_names(sources: Any, targets: Any, *vertices: Any) -> tuple[Array, Array, VertexIds]:
    """`number_vertices` for Arrow arrays of strings; those that `columns.encoded` has made take the least memory."""
    columns = sources, targets, *vertices
    names, codes = unified([chunk for column in columns for chunk in encoded(column).chunks])
    _checked_count(len(names))
    numbers = np.concatenate([np.zeros(0, np.int32), *codes]).view(np.uint32)
    m = len(sources)
    return numbers[:m], numbers[m : 2 * m], StringIds(names)


def unified(chunks: list[Any]) -> tuple[Any, list[Array]]:
    """The different strings of the `chunks` that `columns.encoded` makes, and for each chunk the places in them."""
    import pyarrow as pa

    if not chunks:
        return pa.nulls(0, pa.large_string()), []
    same = pa.chunked_array(chunks).unify_dictionaries()
    return same.chunk(0).dictionary, [numbers_of(chunk.indices) for chunk in same.chunks]


def _checked_count(n: int) -> int:
    """Check that internal ids, which have 32 bits, can number `n` vertices."""
    if n > 2**32:
        raise GraphError(f"{n} vertices: internal ids are 32 bits wide, at most {2**32} vertices fit")
    return n
