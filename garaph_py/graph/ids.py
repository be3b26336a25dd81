"""Translates between the user's vertex ids and internal ids, which are 0 to n - 1."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, UnknownVertexError
from .columns import id_column

Array = npt.NDArray[Any]

SCANS = 100
"""Names that `StringIds` looks up by a scan before it sorts all names, which takes 8 bytes of memory for each and about
as long as so many scans (1 million names: 2.6 s, one scan 26 ms)."""
COMPARED = 1 << 20
"""Characters of names that `StringIds.near` compares with a name that is not there: 4 MiB of memory, about 0.1 s."""
SHOWN = 3
"""Names that a message suggests."""
EDITS = 2
"""Characters to insert, remove or replace that at most make a name of another one that is near."""


class IdText(str):
    """An id that was given as text, as on the command line. Among integers it is the one that it spells."""


class VertexIds:
    """The ids of `n` vertices. In this base class, the user's ids are 0 to n - 1 too.

    They are a sequence in the order of the internal ids, and NumPy takes them as an array. An id is found only by one
    of its type: 0 is neither ``"0"`` nor False.

    Attributes
    ----------
    n : int
        The number of vertices.
    kind : {"range", "integer", "string"}
        What the user's ids are.
    types : {"integers", "strings"}
        The same for messages.
    """

    kind = "range"
    types = "integers"

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: Any) -> Any:
        """The user's id of an internal id, or an array of those that a slice, a mask or an array of them selects."""
        if isinstance(index, (int, np.integer)):
            if not -self.n <= index < self.n:
                raise IndexError(f"there is no id at position {index}; the graph has {self.n} vertices")
            return self.take(np.array([index % self.n])).tolist()[0]
        return self.take(np.arange(*index.indices(self.n)) if isinstance(index, slice) else np.arange(self.n)[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array(), dtype, copy=copy)

    def __repr__(self) -> str:
        shown = [*map(repr, self[:SHOWN].tolist()), "..."][: self.n]
        return f"<{type(self).__name__}: {self.n:,} {self.types}{': ' * bool(shown)}{', '.join(shown)}>"

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

    def find(self, vertex: Any) -> int | None:
        """The internal id of the user's id `vertex`; None if there is no such vertex."""
        number = _whole(vertex)
        return number if number is not None and 0 <= number < self.n else None

    def index(self, vertex: Any) -> int:
        """The internal id of the user's id `vertex`.

        Raises
        ------
        UnknownVertexError
            If the graph has no such vertex.
        """
        place = self.find(vertex)
        if place is None:
            raise self._unknown(vertex)
        return place

    def indices(self, vertices: Any) -> Array:
        """The internal ids (int64) of a column or another iterable of the user's ids.

        Raises
        ------
        UnknownVertexError
            If the graph lacks one of them.
        GraphError
            If they are neither all integers nor all strings. A mask of vertices is not ids.
        """
        if isinstance(vertices, str) or not isinstance(vertices, Iterable):
            raise GraphError(f"ids is {vertices!r:.40}; give a list, an array or another collection of ids")
        given = vertices if hasattr(vertices, "__array__") else list(vertices)
        if getattr(given, "dtype", None) == np.bool_ or (isinstance(given, list) and bool in set(map(type, given))):
            raise GraphError("ids holds True or False; give ids, such as graph.ids[mask] for a mask of vertices")
        column = id_column("ids", given)
        if not len(column):
            return np.zeros(0, np.int64)
        places = self._places(column)
        if places is None:
            raise self._unknown(column[0])
        if (places < 0).any():
            raise self._unknown(column[int(np.argmax(places < 0))])
        return places

    def _places(self, column: Any) -> Array | None:
        """The internal ids of a column, -1 where there is no such vertex; None if it is not of the kind of the ids."""
        if not isinstance(column, np.ndarray):
            return None
        return np.where((column >= 0) & (column < self.n), column, -1).astype(np.int64)

    def _unknown(self, vertex: Any) -> UnknownVertexError:
        vertex = vertex.as_py() if hasattr(vertex, "as_py") else vertex
        shown = vertex.item() if isinstance(vertex, np.generic) else vertex
        near = self.near(vertex)
        kind = "" if isinstance(vertex, IdText) else f", not {type(shown).__name__}"
        hint = "" if self._can_be(vertex) else f"; its ids are {self.types}{kind}"
        hint += f"; near it: {', '.join(map(repr, near))}" if near else ""
        return UnknownVertexError(f"vertex {shown!r} is not in the graph; {self.describe()}{hint}")

    def _can_be(self, vertex: Any) -> bool:
        """Whether `vertex` is of the type of the ids."""
        return _meant(vertex) is not None if isinstance(vertex, IdText) else _whole(vertex) is not None

    def near(self, vertex: Any) -> list[Any]:
        """The user's ids that are nearest to `vertex`, which is not in the graph: up to `SHOWN`, the best first."""
        number = _meant(vertex)
        return [] if number is None or not self.n else [min(max(number, 0), self.n - 1)]

    def __contains__(self, vertex: Any) -> bool:
        return self.find(vertex) is not None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array().tolist())

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

    def _rank(self, number: int) -> int:
        """How many ids are less than `number`."""
        limits = np.iinfo(self._ids.dtype)
        if number > limits.max:
            return self.n
        bound = self._ids.dtype.type(max(number, limits.min))
        return int(np.searchsorted(self._ids, bound, sorter=self._sorter))

    def _ranked(self, rank: int) -> int:
        """The internal id of the vertex whose id has this rank."""
        return rank if self._sorter is None else int(self._sorter[rank])

    def find(self, vertex: Any) -> int | None:
        number = _whole(vertex)
        rank = self.n if number is None else self._rank(number)
        if rank == self.n:
            return None
        place = self._ranked(rank)
        return place if int(self._ids[place]) == number else None

    def _places(self, column: Any) -> Array | None:
        if not isinstance(column, np.ndarray):
            return None
        if not self.n:
            return np.full(len(column), -1)
        numbers = column.astype(self._ids.dtype)
        ranks = np.searchsorted(self._ids, numbers, sorter=self._sorter).clip(max=self.n - 1)
        places = ranks if self._sorter is None else self._sorter[ranks]
        kept = (numbers < 0) == (column < 0)  # not so if int64 and uint64 have the same bits for different numbers
        return np.where((self._ids[places] == numbers) & kept, places, -1)

    def near(self, vertex: Any) -> list[Any]:
        number = _meant(vertex)
        if number is None or not self.n:
            return []
        rank = self._rank(number)
        beside = [int(self._ids[self._ranked(k)]) for k in (rank - 1, rank) if 0 <= k < self.n]
        return sorted(beside, key=lambda each: abs(each - number))[:1]

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

    kind, types = "string", "strings"

    def __init__(self, ids: Any) -> None:
        import pyarrow as pa

        arrow = ids if isinstance(ids, pa.Array) else pa.array(list(ids), pa.large_string())
        super().__init__(len(arrow))
        self.arrow, self._lookups = arrow.cast(pa.large_string()), 0

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

    @cached_property
    def _sorter(self) -> Array:
        """The order that sorts the names by code point, as Python does."""
        import pyarrow.compute as pc

        return np.asarray(pc.sort_indices(self.arrow))

    def find(self, vertex: Any) -> int | None:
        import pyarrow.compute as pc

        if not isinstance(vertex, str):
            return None
        name = str(vertex)
        self._lookups += 1
        if self._lookups <= SCANS:
            with contextlib.suppress(UnicodeEncodeError):  # a lone surrogate is in no name that Arrow holds
                place = int(pc.index(self.arrow, name).as_py())
                return None if place < 0 else place
            return None

        def ranked(rank: int) -> str:
            return str(self.arrow[self._sorter[rank]])

        rank = bisect_left(range(self.n), name, key=ranked)
        return int(self._sorter[rank]) if rank < self.n and ranked(rank) == name else None

    def _places(self, column: Any) -> Array | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(column, np.ndarray):
            return None
        found = pc.index_in(pa.array(column, pa.large_string()), value_set=self.arrow)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), np.int64)

    def _can_be(self, vertex: Any) -> bool:
        return isinstance(vertex, str)

    def near(self, vertex: Any) -> list[Any]:
        """The names with the fewest edits of those that begin or end as `vertex` does; those of equal length first.

        If one character differs, at least one half of the name is the same.
        """
        import pyarrow.compute as pc

        vertex = str(vertex) if isinstance(vertex, (int, np.integer)) else vertex
        if not isinstance(vertex, str) or not vertex.isprintable() or not self.n:
            return []
        half, lengths = (len(vertex) + 1) // 2, pc.utf8_length(self.arrow)
        alike = pc.or_(pc.starts_with(self.arrow, vertex[:half]), pc.ends_with(self.arrow, vertex[half:]))
        alike = pc.and_(alike, pc.less_equal(pc.abs(pc.subtract(lengths, len(vertex))), EDITS))
        names = self.arrow.filter(alike)[: COMPARED // (len(vertex) + EDITS)].to_pylist()
        ranked = sorted(zip(edits(vertex, names), (len(name) != len(vertex) for name in names), names, strict=True))
        limit = min(EDITS, len(vertex) // 2)  # of a short name, less must differ
        return [name for count, _, name in ranked[:SHOWN] if count <= limit]

    def has_duplicates(self) -> bool:
        import pyarrow.compute as pc

        return int(pc.count_distinct(self.arrow).as_py()) < self.n

    def describe(self) -> str:
        return f"its {self.n} vertices have names such as {self.arrow[0].as_py()!r}" if self.n else "it has none"


def edits(word: str, names: list[str]) -> list[int]:
    """The edit distance (Levenshtein's) between `word` and each name, as far as it is at most `EDITS`; else more.

    Lengths differ by at most `EDITS`. Then so do the places of characters that correspond, and the table of distances
    between beginnings is filled only there: row i, entry j - i + `EDITS`.
    """
    if not names:
        return []
    lengths = np.array([len(name) for name in names])
    width = len(word) + EDITS
    letters = np.array(names, f"U{width}").view(np.uint32).reshape(len(names), width).T
    far = np.full(len(names), EDITS + 1)
    row = [far * 0 + j if j >= 0 else far for j in range(-EDITS, EDITS + 1)]
    for i, letter in enumerate(map(ord, word), 1):
        above, row = [*row, far], []
        for k, j in enumerate(range(i - EDITS, i + EDITS + 1)):
            if j <= 0:
                row.append(far if j else far * 0 + i)
                continue
            replaced = above[k] + (letters[j - 1] != letter)
            row.append(np.minimum(replaced, np.minimum(above[k + 1], row[-1] if row else far) + 1))
    found: list[int] = np.choose(lengths - len(word) + EDITS, row).tolist()
    return found


def ids_of(column: Any) -> VertexIds:
    """The ids of vertices from a column of them, in the order of the internal ids.

    Raises
    ------
    GraphError
        If they are not distinct, or neither all integers nor all strings.
    """
    import pyarrow as pa

    found = id_column("ids", column)
    ids: VertexIds
    if not isinstance(found, np.ndarray):
        ids = StringIds(found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found)
    elif found.dtype.kind in "iu" and np.array_equal(found, np.arange(len(found))):
        return VertexIds(len(found))
    else:
        ids = IntegerIds(found.astype(np.uint64 if found.dtype == np.uint64 else np.int64))
    if ids.has_duplicates():
        raise GraphError("ids are not distinct; give each vertex an id of its own")
    return ids


def _whole(vertex: Any) -> int | None:
    """The integer that `vertex` is, or spells if it is an `IdText`; None if it is none."""
    text = isinstance(vertex, IdText)
    if isinstance(vertex, (bool, np.bool_)) or (isinstance(vertex, str) and not text):
        return None
    try:
        number = int(vertex)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if text or number == vertex else None


def _meant(vertex: Any) -> int | None:
    """The integer that `vertex` is, or spells if it is a string; None if it is none."""
    return _whole(IdText(vertex) if isinstance(vertex, str) else vertex)
