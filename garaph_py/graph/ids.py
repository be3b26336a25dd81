"""Translates between the user's vertex ids and internal ids, which are 0 to n - 1."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError

Array = npt.NDArray[Any]


class VertexIds:
    """The ids of `n` vertices. In this base class, the user's ids are 0 to n - 1 too.

    Attributes
    ----------
    n : int
        The number of vertices.
    kind : {"range", "integer", "string"}
        What the user's ids are.
    """

    kind = "range"

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def array(self) -> Array:
        """All of the user's ids in internal order: int64 or uint64, or Python strings (dtype object)."""
        return np.arange(self.n, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the ids take."""
        return 0

    @property
    def are_internal(self) -> bool:
        """Whether the user's ids are the internal ids."""
        return self.kind != "string" and np.array_equal(self.array(), np.arange(self.n))

    def take(self, indices: Array) -> Array:
        """The user's ids of the internal ids `indices`."""
        return np.asarray(indices, np.int64)

    def reordered(self, old: Array) -> VertexIds:
        """The ids after the vertices were renumbered; vertex i was vertex ``old[i]`` before."""
        return IntegerIds(old)

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

    def has_duplicates(self) -> bool:
        """Whether two vertices have the same id, which is possible only for ids from a file."""
        return False

    def describe(self) -> str:
        """A description of the ids, for messages."""
        return f"its vertices are 0 to {self.n - 1}" if self.n else "it has no vertices"


class IntegerIds(VertexIds):
    """Distinct 64-bit integers in any order (int64 or uint64, shape (n,))."""

    kind = "integer"

    def __init__(self, ids: Array) -> None:
        super().__init__(len(ids))
        self._ids = ids

    def array(self) -> Array:
        return self._ids

    @property
    def nbytes(self) -> int:
        return int(self._ids.nbytes)

    def take(self, indices: Array) -> Array:
        return np.asarray(self._ids[indices])

    def reordered(self, old: Array) -> VertexIds:
        return IntegerIds(self._ids[old])

    @cached_property
    def _sorter(self) -> Array | None:
        """The order that sorts the ids; None if they are sorted."""
        return None if (self._ids[1:] > self._ids[:-1]).all() else np.argsort(self._ids)

    def index(self, vertex: Any) -> int:
        try:
            place = int(np.searchsorted(self._ids, self._ids.dtype.type(int(vertex)), sorter=self._sorter))
        except (TypeError, ValueError, OverflowError):
            place = self.n
        if place < self.n and self._sorter is not None:
            place = int(self._sorter[place])
        if place >= self.n or int(self._ids[place]) != _as_number(vertex):
            raise GraphError(f"vertex {vertex!r} is not in the graph; {self.describe()}")
        return place

    def has_duplicates(self) -> bool:
        if self._sorter is None:
            return False
        ascending = self._ids[self._sorter]
        return bool((ascending[1:] == ascending[:-1]).any())

    def describe(self) -> str:
        if not self.n:
            return "it has none"
        return f"its {self.n} vertices have ids from {self._ids.min()} to {self._ids.max()}"


class StringIds(VertexIds):
    """Distinct strings in any order, stored by Arrow (UTF-8, 64-bit offsets)."""

    kind = "string"

    def __init__(self, ids: Any) -> None:
        import pyarrow as pa

        arrow = ids if isinstance(ids, pa.Array) else pa.array(list(ids), pa.large_string())
        super().__init__(len(arrow))
        self.arrow = arrow.cast(pa.large_string())

    def array(self) -> Array:
        return np.asarray(self.arrow.to_numpy(zero_copy_only=False), dtype=object)

    @property
    def nbytes(self) -> int:
        return int(self.arrow.nbytes)

    def take(self, indices: Array) -> Array:
        import pyarrow as pa

        return np.asarray(self.arrow.take(pa.array(indices)).to_numpy(zero_copy_only=False), dtype=object)

    def reordered(self, old: Array) -> VertexIds:
        import pyarrow as pa

        return StringIds(self.arrow.take(pa.array(old)))

    def index(self, vertex: Any) -> int:
        import pyarrow.compute as pc

        place = -1
        if isinstance(vertex, (str, int, np.integer)) and not isinstance(vertex, bool):
            with contextlib.suppress(UnicodeEncodeError):  # a lone surrogate is in no name that Arrow holds
                place = int(pc.index(self.arrow, str(vertex)).as_py())
        if place < 0:
            raise GraphError(f"vertex {vertex!r} is not in the graph; {self.describe()}")
        return place

    def has_duplicates(self) -> bool:
        import pyarrow.compute as pc

        return int(pc.count_distinct(self.arrow).as_py()) < self.n

    def describe(self) -> str:
        return f"its {self.n} vertices have names such as {self.arrow[0].as_py()!r}" if self.n else "it has none"


def _as_number(vertex: Any) -> Any:
    """`vertex`, or the number that it spells if it is a string."""
    return int(vertex) if isinstance(vertex, str) else vertex
