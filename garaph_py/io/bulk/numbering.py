"""Number vertices whose edges come in batches, as `graph.number.number_vertices` numbers them all at once.

The first scan passes every batch to `see`; then `finish` returns the ids. The second scan passes every batch to
`number`, which returns internal ids.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import GraphError
from ...graph.columns import encoded, id_column, mixed_signs, numbers_of
from ...graph.ids import IntegerIds, StringIds, VertexIds
from ...graph.number import _checked_count, kernels, unified
from ...native.kernel import kind_of
from ...native.threads import ThreadPool, split
from ...system.memory import TooLittleMemoryError, release_unused
from ...system.sizes import show_bytes

Array = npt.NDArray[Any]

INT64_MAX = int(np.iinfo(np.int64).max)
MIN_TABLE_BYTES = 1 << 16
"""A table of this many bytes is always allowed, however little memory there is."""
NAME_BYTES = 48
"""Memory for numbering a name, in bytes beside two copies of it. Measured: 33 to 36."""
HASHED_BYTES = 160
"""Memory for hashing a name of a batch, in bytes beside three copies of it. Arrow's table has 16 bytes for each of up
to 8 places per name, and while it grows fourfold also those of the smaller one."""
MIN_PENDING = 1 << 16
"""Ids that are collected before they are sorted and merged into the known ids."""


class IntegerNumbering:
    """Numbers integer ids in ascending order: with a table over their range if that fits, else by sorting them.

    Parameters
    ----------
    memory : int
        Bytes of memory that the numbering may take.
    pool : ThreadPool

    Attributes
    ----------
    table : ndarray, optional
        After `finish`, if there is room: the number of each id.
    """

    def __init__(self, memory: int, pool: ThreadPool) -> None:
        self._memory, self._pool = memory, pool
        self._present: Array | None = np.zeros(0, np.uint8)  # a byte per id; None: ids are sorted
        self._low, self._high = 0, -1
        self._names = np.zeros(0, np.int64)  # ascending
        self._pending: list[Array] = []
        self.table: Array | None = None
        self._range = False

    def see(self, sources: Any, targets: Any) -> tuple[Array, Array]:
        """Add the ids of a batch, and return them for `number`, which the second scan calls."""
        columns = plain(sources), plain(targets)
        if len(columns[0]):
            self._low = min(self._low, *(int(column.min()) for column in columns))
            self._high = max(self._high, *(int(column.max()) for column in columns))
            if self._low < 0 and self._high > INT64_MAX:
                raise mixed_signs(self._low, self._high)
            if self._fits_table():
                self._mark(columns)
            else:
                self._collect(columns)
        return columns

    def _fits_table(self) -> bool:
        """Whether the table covers all ids so far. Extends the table, or replaces it by sorted ids for good."""
        if self._present is None:
            return False
        if self._low >= 0 and self._high < max(self._memory // 2, MIN_TABLE_BYTES):
            if self._high >= len(self._present):
                longer = np.zeros(max(self._high + 1, min(2 * self._high, self._memory // 2)), np.uint8)
                longer[: len(self._present)] = self._present
                self._present = longer
            return True
        check_room(int(np.count_nonzero(self._present)), self._memory)
        self._names, self._present = np.flatnonzero(self._present), None
        return False

    def _mark(self, columns: tuple[Array, Array]) -> None:
        for column in columns:
            mark, _ = kernels(kind_of(column.dtype))
            bounds = pairwise(split(len(column), self._pool.size))
            self._pool.run(mark, [(column, *part, self._present) for part in bounds])

    def _collect(self, columns: tuple[Array, Array]) -> None:
        self._pending += [distinct(column.copy()) for column in columns]
        if sum(map(len, self._pending)) > max(len(self._names), MIN_PENDING):
            self._merge()

    def _merge(self) -> None:
        wide = np.uint64 if self._high > INT64_MAX else np.int64
        check_room(3 * (len(self._names) + sum(map(len, self._pending))), self._memory)
        parts = [part.astype(wide, copy=False) for part in (self._names, *self._pending)]
        self._pending.clear()
        self._names = distinct(np.concatenate(parts))

    def finish(self) -> VertexIds:
        """The ids of all vertices; call it after the last `see`."""
        if self._present is None:
            self._merge()
            if self._low >= 0 and self._high == len(self._names) - 1:
                self._range, self._names = True, self._names[:0]
                return VertexIds(_checked_count(self._high + 1))
        else:
            present, self._present = self._present[: self._high + 1], None
            if present.all():
                self._range = True
                return VertexIds(_checked_count(len(present)))
            check_room(int(np.count_nonzero(present)), self._memory)
            self._names = np.flatnonzero(present)
            if 5 * len(present) <= max(self._memory, 5 * MIN_TABLE_BYTES) and len(self._names) <= 1 << 32:
                self.table = np.cumsum(present, dtype=np.uint32)
                self.table -= np.uint32(1)
        _checked_count(len(self._names))
        return IntegerIds(self._names)

    def number(self, sources: Array, targets: Array) -> tuple[Array, Array]:
        """Internal ids (uint32) of a batch."""
        return self._number(plain(sources)), self._number(plain(targets))

    def _number(self, column: Array) -> Array:
        if len(column) and (int(column.min()) < self._low or int(column.max()) > self._high):
            raise GraphError("the file was changed while it was read; import it again")  # outside the table
        if self._range:
            return column.astype(np.uint32, copy=False)
        out, bounds = np.empty(len(column), np.uint32), list(pairwise(split(len(column), self._pool.size)))
        if self.table is not None:
            _, renumber = kernels(kind_of(column.dtype))
            self._pool.run(renumber, [(column, *part, self.table, out) for part in bounds])
            return out
        column = column.astype(self._names.dtype, copy=False)

        def search(start: int, stop: int) -> None:
            out[start:stop] = np.searchsorted(self._names, column[start:stop])

        self._pool.run(search, bounds)
        return out


class NameNumbering:
    """Numbers string ids in the order of their first occurrence: all sources first, then the remaining targets.

    Parameters
    ----------
    memory : int
        Bytes of memory that the numbering may take.

    Attributes
    ----------
    table : ndarray, optional
        After `finish`: the number of each code that `see` returned.
    """

    def __init__(self, memory: int) -> None:
        import pyarrow as pa

        self._memory = memory
        self._names = pa.chunked_array([], pa.large_string())  # by code
        self._is_source = np.zeros(0, np.bool_)
        self._as_sources: list[Array] = []  # per batch: codes of its new sources
        self.table: Array | None = None

    def see(self, sources: Any, targets: Any) -> tuple[Array, Array]:
        """Add the ids of a batch, and return a code (uint32) for each; the second scan passes the codes to `number`."""
        batch = [encoded(sources), encoded(targets)]
        if any(column.null_count for column in batch):
            raise GraphError("a vertex id is missing (null); every edge needs a source and a target")
        chunks = [*batch[0].chunks, *batch[1].chunks]
        hashed = sum(3 * each.dictionary.nbytes + HASHED_BYTES * len(each.dictionary) for each in chunks)
        check_room((2 * self._names.nbytes + NAME_BYTES * len(self._names) + hashed) // 8, self._memory)
        names, places = unified(chunks)
        codes_of = self._add(names)
        codes = np.concatenate([codes_of[part] for part in places])
        columns = codes[: len(sources)], codes[len(sources) :]
        fresh = columns[0][~self._is_source[columns[0]]]
        fresh = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
        self._is_source[fresh] = True
        self._as_sources.append(fresh)
        return columns

    def _add(self, names: Any) -> Array:
        """The codes (uint32) of different names; those that are new get the next ones.

        The names so far are looked up in a hash table of the new ones, and not the other way round: a table of all
        names would take up to 160 bytes for each.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        known, codes = len(self._names), np.full(len(names), -1, np.int64)
        first = 0
        for found in pc.index_in(self._names, value_set=names).chunks:
            places = numbers_of(found.fill_null(-1))
            there = np.flatnonzero(places >= 0)
            codes[places[there]] = first + there
            first += len(places)
        fresh = codes < 0
        count = int(np.count_nonzero(fresh))
        codes[fresh] = np.arange(known, _checked_count(known + count))
        if count:
            self._names = pa.chunked_array([*self._names.chunks, names.filter(pa.array(fresh))])
            self._is_source = np.concatenate([self._is_source, np.zeros(count, np.bool_)])
        release_unused()  # the table in which the names were hashed
        return codes.astype(np.uint32)

    def finish(self) -> VertexIds:
        """The ids of all vertices; call it after the last `see`."""
        import pyarrow as pa

        order = np.concatenate([*self._as_sources, np.flatnonzero(~self._is_source)])
        self._as_sources.clear()
        self.table = np.empty(len(order), np.uint32)
        self.table[order] = np.arange(len(order), dtype=np.uint32)
        names, self._names = self._names.combine_chunks(), None
        return StringIds(names.take(pa.array(order)))

    def number(self, sources: Array, targets: Array) -> tuple[Array, Array]:
        """Internal ids (uint32) of a batch of codes."""
        assert self.table is not None
        return self.table[sources], self.table[targets]


def check_room(words: int, memory: int) -> None:
    """Raise `TooLittleMemoryError` if ids and the arrays to number them (8 * `words` bytes) exceed `memory`."""
    if 8 * words > memory:
        raise TooLittleMemoryError(
            f"numbering its ids takes at least {show_bytes(8 * words)} of memory, and {show_bytes(memory)} may be used "
            "for them; allow more (memory)"
        )


def distinct(ids: Array) -> Array:
    """The different ids in ascending order; sorts `ids` in place. `np.unique` hashes them, which takes more memory."""
    ids.sort()
    first = np.ones(len(ids), np.bool_)
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]


def plain(column: Any) -> Array:
    """A column of integers as uint32 or int64, or as uint64 if some exceed int64."""
    array = id_column("ids", column)
    if array.dtype not in (np.uint32, np.int64) and (
        array.dtype.itemsize < 8 or not len(array) or int(array.max()) <= INT64_MAX
    ):
        array = array.astype(np.int64)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))
