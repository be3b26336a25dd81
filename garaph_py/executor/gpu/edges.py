"""How a page's edges lie in device memory: as they are, or packed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from ...codec.format import PADDING, RECORD, Packed
from ...graph import PackedAdjacency, StoredAdjacency
from ...graph.graph import PACKED, RAW, Edges
from ...graph.stored import Stored
from ...pages.layout import Page
from ...pages.source import PageEdges
from .ranks import RUN, run_range, runs_of

Array = npt.NDArray[Any]
ALIGNMENT = 256


class EdgeArrays(Protocol):
    """The arrays of a page's edges, each with whole runs.

    Attributes
    ----------
    width : float
        Bytes of an edge in all of them, on average.
    encoding : {"raw", "packed"}
        Of the sources.
    """

    encoding: ClassVar[str]

    @property
    def width(self) -> float: ...

    def sizes(self, page: Page) -> list[int]:
        """Bytes of each array."""

    def tell(self, told: Array, page: Page, addresses: list[int]) -> None:
        """Say to the kernels, in a task's ``page``, where the arrays are."""


@dataclass(frozen=True)
class RawArrays:
    """Sources, and edge values if there are `value_bytes` of each."""

    encoding: ClassVar[str] = RAW

    value_bytes: int = 0

    @property
    def width(self) -> float:
        return 4 + self.value_bytes

    def sizes(self, page: Page) -> list[int]:
        return [runs_of(page) * RUN * width for width in (4, self.value_bytes) if width]

    def tell(self, told: Array, page: Page, addresses: list[int]) -> None:
        told["sources"], told["edge_values"] = addresses[0], addresses[-1]


@dataclass(frozen=True)
class PackedArrays:
    """Records and words of the sources; then records and words of the edge values, or these as they are, if any.

    Parameters
    ----------
    sources : ndarray of RECORD
        Of the whole graph.
    values : ndarray of RECORD, optional
        Of packed values.
    value_bytes : int
        Of values that are not packed.
    """

    encoding: ClassVar[str] = PACKED

    sources: Array
    values: Array | None = None
    value_bytes: int = 0

    @classmethod
    def of(cls, edges: PackedAdjacency, reads_values: bool) -> PackedArrays:
        values = edges.packed_values if reads_values else None
        if isinstance(values, Packed):
            return cls(edges.packed.records, values.records)
        return cls(edges.packed.records, None, 0 if values is None else values.itemsize)

    @cached_property
    def width(self) -> float:
        if not len(self.sources):
            return 4 + self.value_bytes
        parts = [self.sources] if self.values is None else [self.sources, self.values]
        packed = sum(words_between(records, 0, len(records)) for records in parts)
        edges = len(self.sources) * RUN
        return (4 * packed + sum(records.nbytes for records in parts)) / edges + self.value_bytes

    def sizes(self, page: Page) -> list[int]:
        runs, sizes = run_range(page), []
        for records in (self.sources, self.values):
            if records is not None:
                words = words_between(records, runs.start, runs.stop)
                sizes += [len(runs) * RECORD.itemsize, 4 * (words + PADDING)]
        return [*sizes, len(runs) * RUN * self.value_bytes] if self.value_bytes else sizes

    def tell(self, told: Array, page: Page, addresses: list[int]) -> None:
        run = page.first_edge // RUN
        told["records"], told["words"], told["first_word"] = *addresses[:2], first_word(self.sources, run)
        if self.values is not None:
            told["value_records"], told["value_words"] = addresses[2:]
            told["first_value_word"] = first_word(self.values, run)
        elif self.value_bytes:
            told["edge_values"] = addresses[2]


@dataclass(frozen=True)
class StoredArrays:
    """As `PackedArrays`, of edges on disk: words stand where their blocks put them, among what else is in these.

    Parameters
    ----------
    edges : StoredAdjacency
    value_bytes : int
        Of edge values that are of interest.
    """

    encoding: ClassVar[str] = PACKED

    edges: StoredAdjacency
    value_bytes: int = 0

    @cached_property
    def _arrays(self) -> list[Stored]:
        return self.edges.arrays(self.value_bytes > 0)

    @property
    def width(self) -> float:
        return sum(array.stored_bytes for array in self._arrays) / max(int(self.edges.offsets[-1]), 1)

    def sizes(self, page: Page) -> list[int]:
        runs, sizes = run_range(page), []
        for array in self._arrays:
            if array.encoding == PACKED:
                sizes += [len(runs) * RECORD.itemsize, array.room(runs.start * RUN, page.last_edge)]
            else:
                sizes.append(len(runs) * RUN * self.value_bytes)
        return sizes

    def tell(self, told: Array, page: Page, addresses: list[int]) -> None:
        told["records"], told["words"], told["first_word"] = *addresses[:2], 0
        if len(addresses) == 4:
            told["value_records"], told["value_words"], told["first_value_word"] = *addresses[2:], 0
        elif self.value_bytes:
            told["edge_values"] = addresses[2]


def arrays_on_disk(edges: StoredAdjacency, value_bytes: int) -> EdgeArrays:
    """How edges that stay on disk lie in device memory."""
    return RawArrays(value_bytes) if edges.encoding == RAW else StoredArrays(edges, value_bytes)


def first_word(records: Array, run: int) -> int:
    return int(records["first_word"][run]) if run < len(records) else 0


def words_between(records: Array, first: int, last: int) -> int:
    """Words of the runs [first, last)."""
    if first >= last:
        return 0
    return int(records["first_word"][last - 1] + records["widths"][last - 1].sum() - records["first_word"][first])


def places(sizes: Iterable[int]) -> list[int]:
    """Where arrays of such sizes begin in one buffer, and last where they end."""
    return list(accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))


def page_bytes(page: Page, arrays: EdgeArrays) -> int:
    """Device memory of a page's edges."""
    return places(arrays.sizes(page))[-1]


def pinned_arrays(edges: Edges) -> list[Array]:
    """What is copied from, page by page."""
    if isinstance(edges, StoredAdjacency):  # a source pins its buffers as it makes them
        return []
    parts: list[Packed | Array | None] = []
    if isinstance(edges, PackedAdjacency):
        parts += [edges.packed, edges.packed_values]
    else:
        parts += [edges.neighbours, edges.values]
    arrays: list[Array] = []
    for part in parts:
        arrays += [part.records, part.words] if isinstance(part, Packed) else [] if part is None else [part]
    return arrays


def host_arrays(edges: PageEdges) -> list[tuple[Array, int]]:
    """A page's arrays as they are to be copied, and how many bytes into theirs on the device."""
    found: list[tuple[Array, int]] = []
    for part in (edges.sources, edges.values):
        if isinstance(part, Packed):
            found += [(part.records, 0), (part.words, 0)]
        elif part is not None:
            found.append((part, edges.first_edge % RUN * part.itemsize))
    return [(np.ascontiguousarray(array).view(np.uint8).reshape(-1), at) for array, at in found]
