"""The user's vertex ids, kept beside the internal ids 0..n-1 and given back in results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError

Array = npt.NDArray[Any]


class VertexIds:
    """Ids of `n` vertices: internal id to the user's id and back. The base class: user's ids are 0..n-1.

    Attributes
    ----------
    kind : str
        ``"range"``, ``"integer"`` or ``"string"``.
    """

    kind = "range"

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def array(self) -> Array:
        """All ids in internal order: int64 or uint64, or Python strings (dtype object)."""
        return np.arange(self.n, dtype=np.int64)

    def take(self, indices: Array) -> Array:
        """The user's ids of the internal ids `indices`."""
        return np.asarray(indices, np.int64)

    def index(self, vertex: Any) -> int:
        """The internal id of the user's id `vertex`.

        Raises
        ------
        GraphError
            If the graph has no such vertex.
        """
        try:
            number = int(vertex)
        except (TypeError, ValueError, OverflowError):
            number = -1
        if not 0 <= number < self.n or number != _as_number(vertex):
            raise GraphError(f"vertex {vertex!r} is not in the graph; {self.describe()}")
        return number

    def describe(self) -> str:
        return f"its vertices are 0 to {self.n - 1}" if self.n else "it has no vertices"


class IntegerIds(VertexIds):
    """Any 64-bit integers, ascending (int64 or uint64, shape (n,))."""

    kind = "integer"

    def __init__(self, ids: Array) -> None:
        super().__init__(len(ids))
        self._ids = ids

    def array(self) -> Array:
        return self._ids

    def take(self, indices: Array) -> Array:
        return np.asarray(self._ids[indices])

    def index(self, vertex: Any) -> int:
        try:
            place = int(np.searchsorted(self._ids, self._ids.dtype.type(int(vertex))))
        except (TypeError, ValueError, OverflowError):
            place = self.n
        if place >= self.n or int(self._ids[place]) != _as_number(vertex):
            raise GraphError(f"vertex {vertex!r} is not in the graph; {self.describe()}")
        return place

    def describe(self) -> str:
        return f"its {self.n} vertices have ids from {self._ids[0]} to {self._ids[-1]}" if self.n else "it has none"


class StringIds(VertexIds):
    """Distinct strings, in any order, held by Arrow (UTF-8, 64-bit offsets)."""

    kind = "string"

    def __init__(self, ids: Any) -> None:
        import pyarrow as pa

        arrow = ids if isinstance(ids, pa.Array) else pa.array(list(ids), pa.large_string())
        super().__init__(len(arrow))
        self.arrow = arrow.cast(pa.large_string())

    def array(self) -> Array:
        return np.asarray(self.arrow.to_numpy(zero_copy_only=False), dtype=object)

    def take(self, indices: Array) -> Array:
        import pyarrow as pa

        return np.asarray(self.arrow.take(pa.array(indices)).to_numpy(zero_copy_only=False), dtype=object)

    def index(self, vertex: Any) -> int:
        import pyarrow.compute as pc

        place = int(pc.index(self.arrow, str(vertex)).as_py())
        if place < 0:
            raise GraphError(f"vertex {str(vertex)!r} is not in the graph; {self.describe()}")
        return place

    def describe(self) -> str:
        return f"its {self.n} vertices have names such as {self.arrow[0].as_py()!r}" if self.n else "it has none"


def _as_number(vertex: Any) -> Any:
    return int(vertex) if isinstance(vertex, str) else vertex


def number_vertices(sources: Any, targets: Any, vertices: Any = None) -> tuple[Array, Array, VertexIds]:
    """Internal numbers for the endpoints of edges given by any integer or string ids.

    Parameters
    ----------
    sources, targets : array-like or pyarrow string array, shape (m,)
        The user's ids.
    vertices : array-like, optional
        Further ids, for vertices without edges.

    Returns
    -------
    sources, targets : ndarray of uint32, shape (m,)
        Internal ids: in ascending order of integer ids, in order of first appearance of strings.
    ids : VertexIds
    """
    import pyarrow as pa

    columns = [sources, targets] if vertices is None else [sources, targets, vertices]
    if any(
        isinstance(column, (pa.Array, pa.ChunkedArray)) or np.asarray(column).dtype.kind in "OUT" for column in columns
    ):
        return _number_strings(columns)
    arrays = [_integers(column) for column in columns]
    if not sum(map(len, arrays)):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32), VertexIds(0)
    low = min(int(array.min()) for array in arrays if len(array))
    high = max(int(array.max()) for array in arrays if len(array))
    if low >= 0 and high < 4 * sum(map(len, arrays)) + 4096:  # a table over the id range costs less than sorting
        present = np.zeros(high + 1, np.bool_)
        for array in arrays:
            present[array] = True
        if present.all():
            ids: VertexIds = VertexIds(_checked_count(high + 1))
            return arrays[0].astype(np.uint32), arrays[1].astype(np.uint32), ids
        names = np.flatnonzero(present).astype(np.int64)
        _checked_count(len(names))
        numbers = np.cumsum(present, dtype=np.int64).astype(np.uint32) - np.uint32(1)
        return numbers[arrays[0]], numbers[arrays[1]], IntegerIds(names)
    wide = np.dtype(np.uint64 if high > np.iinfo(np.int64).max else np.int64)
    if wide.kind == "u" and low < 0:
        raise GraphError(f"ids run from {low} to {high}: no 64-bit integer type holds both; give them as strings")
    names, inverse = np.unique(np.concatenate([array.astype(wide) for array in arrays]), return_inverse=True)
    _checked_count(len(names))
    numbers = inverse.astype(np.uint32)
    m = len(arrays[0])
    return numbers[:m], numbers[m : 2 * m], IntegerIds(names)


def _integers(column: Any) -> Array:
    array = np.asarray(column)
    if array.ndim != 1 or (array.dtype.kind not in "iub" and array.size):
        raise GraphError(f"vertex ids must be a 1-d array of integers or strings, not {array.ndim}-d {array.dtype}")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)


def _number_strings(columns: Iterable[Any]) -> tuple[Array, Array, VertexIds]:
    import pyarrow as pa

    chunks: list[Any] = []
    lengths = []
    for column in columns:
        if not isinstance(column, (pa.Array, pa.ChunkedArray)):
            items = np.asarray(column).tolist()
            column = pa.array([None if item is None else str(item) for item in items], pa.large_string())
        parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        chunks += [part.cast(pa.large_string()) for part in parts]
        lengths.append(len(column))
    encoded = pa.chunked_array(chunks, pa.large_string()).dictionary_encode().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.large_string()).dictionary_encode()
    if encoded.null_count:
        raise GraphError("a vertex id is missing (null); every edge needs a source and a target")
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint32)
    _checked_count(len(encoded.dictionary))
    first, second = lengths[0], lengths[1]
    return numbers[:first], numbers[first : first + second], StringIds(encoded.dictionary)


def _checked_count(n: int) -> int:
    if n > 2**32:
        raise GraphError(f"{n} vertices: internal ids are 32 bits wide, at most {2**32} vertices fit")
    return n
