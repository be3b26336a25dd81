"""One side of a graph: for each vertex, the edges that lead to it or from it (Garaph section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import EdgeArray
from ..codec.codecs import decoded, edge_array, encoded, in_memory
from ..codec.format import LISTS, NUMBERS
from ..native.threads import ThreadPool

Array = npt.NDArray[Any]

EDGE_DTYPES = tuple(map(np.dtype, (np.int32, np.uint32, np.int64, np.float32, np.float64)))
"""The types that edge values can have."""


def type_name(dtype: np.dtype[Any]) -> str:
    """The name of a type for messages; NumPy's for texts, such as ``<U5``, says nothing to most people."""
    return "string" if dtype.kind in "US" else str(dtype)


@dataclass(frozen=True, eq=False, init=False)
class Adjacency:
    """Edges grouped by one endpoint: CSC for incoming edges, CSR for outgoing ones.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Vertex v has the edges ``offsets[v]`` to ``offsets[v + 1] - 1``.
    neighbour_array : EdgeArray, or ndarray of uint32, shape (m,)
        The other endpoint of each edge, ascending within a vertex: the sources of incoming edges, the targets of
        outgoing ones. A NumPy array becomes a raw `EdgeArray`; the attribute is always an `EdgeArray`.
    value_array : EdgeArray, or ndarray, shape (m,), optional
        Edge values, of one of `EDGE_DTYPES`. A NumPy array becomes a raw `EdgeArray`.
    """

    offsets: Array
    neighbour_array: EdgeArray
    value_array: EdgeArray | None

    def __init__(
        self,
        offsets: Array,
        neighbour_array: Array | EdgeArray | None = None,
        value_array: Array | EdgeArray | None = None,
        **old: Array | None,
    ) -> None:
        if old:
            from .deprecated import old_arguments

            neighbour_array, value_array = old_arguments(neighbour_array, value_array, **old)
        assert neighbour_array is not None
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "neighbour_array", edge_array(neighbour_array))
        object.__setattr__(self, "value_array", None if value_array is None else edge_array(value_array))

    @property
    def neighbours(self) -> Array:
        """The other endpoints as a NumPy array: uint32, shape (m,). Packed ones are unpacked at each access.

        Raises
        ------
        GraphError
            If they are on disk.
        """
        return decoded(self.neighbour_array, LISTS, None, self.offsets)

    @property
    def values(self) -> Array | None:
        """The edge values as a NumPy array, or None. Packed ones are unpacked at each access.

        Raises
        ------
        GraphError
            If the edges are on disk.
        """
        if self.value_array is None:
            in_memory(self.neighbour_array)
            return None
        return decoded(self.value_array, NUMBERS)

    @property
    def encoding(self) -> str:
        """The codec of the other endpoints: ``"raw"`` or ``"packed"``."""
        return self.neighbour_array.codec

    @property
    def on_disk(self) -> bool:
        """Whether the edges are read from disk when they are needed; offsets are in memory."""
        return self.neighbour_array.on_disk

    @property
    def k(self) -> float:
        """Ratio of sequential to random read speed of the edges' location (Garaph section 4.2); 1 in memory."""
        return self.neighbour_array.k

    @property
    def value_dtype(self) -> np.dtype[Any] | None:
        return None if self.value_array is None else self.value_array.dtype

    @property
    def edge_bytes(self) -> int:
        """Bytes of memory, without the offsets."""
        return sum(array.nbytes for array in self.arrays())

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self.offsets.nbytes) + self.edge_bytes

    def part(self, first: int, last: int) -> tuple[Array, Array | None]:
        """The other endpoints and the values of the edges [first, last), in memory or on disk, unpacked.

        Raises
        ------
        DamagedGraphError
            If a disk cannot read them, or they fail a check.
        """

        def cut(array: EdgeArray, kind: str) -> Array:
            begin = first // array.unit * array.unit
            if first == last:
                return np.zeros(0, array.dtype)
            return decoded(array.slice(begin, last), kind, None, self.offsets, begin)[first - begin : last - begin]

        values = None if self.value_array is None else cut(self.value_array, NUMBERS)
        return cut(self.neighbour_array, LISTS), values

    def arrays(self, values: bool = True) -> list[EdgeArray]:
        """The other endpoints, followed by the edge values if there are any and `values` is True."""
        if self.value_array is None or not values:
            return [self.neighbour_array]
        return [self.neighbour_array, self.value_array]

    def with_values(self, values: Array, pool: ThreadPool) -> Adjacency:
        """The same edges with these values, in the codec of the edges if it can hold them."""
        return Adjacency(self.offsets, self.neighbour_array, encoded(values, self.encoding, NUMBERS, pool))

    def without_values(self) -> Adjacency:
        """The same edges without values."""
        return Adjacency(self.offsets, self.neighbour_array)

    def encoded(self, codec: str, pool: ThreadPool) -> Adjacency:
        """The same edges in `codec`, and their values too if it can hold them; this object if it is in that codec.

        Raises
        ------
        GraphError
            If the edges are on disk in another codec, or the edges of a vertex do not ascend.
        """
        if self.encoding == codec:
            return self
        neighbours = decoded(self.neighbour_array, LISTS, pool, self.offsets)
        values = None if self.value_array is None else decoded(self.value_array, NUMBERS, pool)
        return Adjacency(
            self.offsets,
            encoded(neighbours, codec, LISTS, pool, self.offsets),
            None if values is None else encoded(values, codec, NUMBERS, pool),
        )

    def __getattr__(self, name: str) -> Any:
        """The attributes of the classes that this one has replaced (graph/deprecated.py)."""
        if name.startswith("_"):
            raise AttributeError(name)
        from .deprecated import old_attribute

        return old_attribute(self, name)
