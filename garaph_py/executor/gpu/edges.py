"""The layout of a page's edges in device memory, for each codec, and the bytes that are copied there.

A page on the device begins at the first edge of a run: gather kernels take `RUN` edges at a time (ranks.py), and a
packed array can only be decoded from the beginning of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from ...codec.arrays import PACKED, RAW, DiskArray, EdgeArray
from ...codec.format import PADDING, RECORD, Packed
from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from ...pages.source import PageEdges
from .ranks import RUN, run_range, runs_of

Array = npt.NDArray[Any]

HostArrays = list[tuple[Array, int]]
"""Bytes to copy for a page, and where they go: an address on the device, or an offset to it (`host_arrays`)."""
ALIGNMENT = 256
"""Alignment of each array in a page's device memory, in bytes; the same as that of the driver's own allocations."""


class Sizes(Protocol):
    """How many bytes any page's edges take in device memory."""

    @property
    def width(self) -> float:
        """Mean bytes of an edge, including its value if the program reads it."""

    def sizes(self, page: Page) -> list[int]:
        """Bytes of each of the page's buffers."""


class EdgeLayout(Sizes, Protocol):
    """The layout of any page's edges in device memory."""

    @property
    def encoding(self) -> str:
        """The codec of the sources."""

    @property
    def apart(self) -> bool:
        """Whether each page has separate arrays, which are not adjacent to those of the next page."""

    def regions(self, pages: Sequence[Page], within: Page | None = None) -> list[Region]:
        """One region for each kind of buffer: that buffer of all `pages`, which are consecutive.

        If they are `within` a larger page, the region is that page's.
        """

    def write_args(self, args: Array, page: Page, addresses: list[int]) -> None:
        """Write the addresses of the page's buffers to `args`, the ``page`` of a task (task.py)."""


class Region(NamedTuple):
    """Device memory for one kind of buffer of several consecutive pages.

    Attributes
    ----------
    name : str
    what : hashable
        A key of its contents; equal keys mean equal bytes. None if no other run can use it.
    nbytes : int
    begins : list of int
        Where the buffer of each page begins, in bytes. Pages may have a run in common.
    """

    name: str
    what: Hashable
    nbytes: int
    begins: list[int]


class Names(NamedTuple):
    """The fields of a task's ``page`` for one array: `raw` for a raw array, the next three for a packed one.

    `mapped_raw` and `mapped_words` are for what is in host memory, if kernels read there what is not in the page.
    """

    raw: str
    records: str
    words: str
    first_word: str
    mapped_raw: str = ""
    mapped_words: str = ""


SOURCES = Names("sources", "records", "words", "first_word", "mapped_sources", "mapped_words")
VALUES = Names("edge_values", "value_records", "value_words", "first_value_word", "mapped_values", "mapped_value_words")
OFFSETS = Names("shard_offsets", "", "", "")


class DeviceArray(Protocol):
    """The layout of one array, of sources or of edge values, in device memory."""

    codec: ClassVar[str]
    buffers: ClassVar[int]
    apart: ClassVar[bool]
    """Whether bytes that two pages share are stored once for each of them. A region then depends on where pages
    begin."""

    @property
    def width(self) -> float:
        """Mean bytes of an element."""

    def sizes(self, page: Page) -> list[int]:
        """Bytes of each of a page's buffers."""

    def begins(self, pages: Sequence[Page]) -> list[list[int]]:
        """Where the buffers of each of some pages begin among those of all edges, for one buffer after another.

        If pages are stored `apart`, it is where they begin in the region of these pages.
        """

    def write_args(self, args: Array, names: Names, page: Page, addresses: list[int]) -> None:
        """Write the addresses of the page's buffers to the fields `names` of `args`."""

    def write_mapped(self, args: Array, names: Names, page: Page, base_edge: int, addresses: list[int]) -> None:
        """Have kernels read the page's edges from `base_edge` on in its buffers, and all others at these `addresses`.

        `write_args` has written the page's; `base_edge` is a multiple of `RUN`.
        """


@dataclass(frozen=True)
class RawOnDevice:
    """A raw array with `width` bytes per element."""

    codec: ClassVar[str] = RAW
    buffers: ClassVar[int] = 1
    apart: ClassVar[bool] = False

    width: int

    def sizes(self, page: Page) -> list[int]:
        return [runs_of(page) * RUN * self.width]

    def begins(self, pages: Sequence[Page]) -> list[list[int]]:
        return [[page.first_edge // RUN * RUN * self.width for page in pages]]

    def write_args(self, args: Array, names: Names, page: Page, addresses: list[int]) -> None:
        args[names.raw] = addresses[0]

    def write_mapped(self, args: Array, names: Names, page: Page, base_edge: int, addresses: list[int]) -> None:
        args[names.raw] += (base_edge - page.first_edge // RUN * RUN) * self.width
        args[names.mapped_raw] = addresses[0]


@dataclass(frozen=True)
class PackedOnDevice:
    """A packed array in host memory: a buffer of records, then one of words.

    `records` are those of the whole graph, on the host.
    """

    codec: ClassVar[str] = PACKED
    buffers: ClassVar[int] = 2
    apart: ClassVar[bool] = False

    records: Array

    @cached_property
    def width(self) -> float:
        runs = len(self.records)
        return (4 * words_between(self.records, 0, runs) + self.records.nbytes) / (runs * RUN) if runs else 4

    def sizes(self, page: Page) -> list[int]:
        runs = run_range(page)
        return [len(runs) * RECORD.itemsize, 4 * (words_between(self.records, runs.start, runs.stop) + PADDING)]

    def begins(self, pages: Sequence[Page]) -> list[list[int]]:
        """Pages overlap: the padding of a page's words is the beginning of the next page's words."""
        runs = [page.first_edge // RUN for page in pages]
        return [[run * RECORD.itemsize for run in runs], [4 * words_between(self.records, 0, run) for run in runs]]

    def write_args(self, args: Array, names: Names, page: Page, addresses: list[int]) -> None:
        args[names.records], args[names.words] = addresses
        args[names.first_word] = first_word(self.records, page.first_edge // RUN)

    def write_mapped(self, args: Array, names: Names, page: Page, base_edge: int, addresses: list[int]) -> None:
        """The records are those of all runs."""
        records, words = addresses
        args[names.records], args[names.mapped_words] = records + base_edge // RUN * RECORD.itemsize, words


@dataclass(frozen=True)
class PackedFromDisk:
    """A packed array on disk: a buffer of records, then one of the blocks that hold the words, as the disk stores them.

    Each record says where its words are in the blocks, so the host does not have to compact the words.
    """

    codec: ClassVar[str] = PACKED
    buffers: ClassVar[int] = 2
    apart: ClassVar[bool] = True

    array: DiskArray

    @property
    def width(self) -> float:
        return self.array.stored_bytes / max(len(self.array), 1)

    def sizes(self, page: Page) -> list[int]:
        runs = run_range(page)
        return [len(runs) * RECORD.itemsize, self.array.room(runs.start * RUN, page.last_edge)]

    def begins(self, pages: Sequence[Page]) -> list[list[int]]:
        """Pages have blocks in common, so each page has its own copy of the words."""
        return [places(sizes)[:-1] for sizes in zip(*map(self.sizes, pages), strict=True)]

    def write_args(self, args: Array, names: Names, page: Page, addresses: list[int]) -> None:
        args[names.records], args[names.words] = addresses
        args[names.first_word] = 0

    def write_mapped(self, args: Array, names: Names, page: Page, base_edge: int, addresses: list[int]) -> None:
        raise ValueError("edges on disk are not in host memory")


LAYOUTS: dict[tuple[str, bool], Callable[[EdgeArray], DeviceArray]] = {
    (RAW, False): lambda array: RawOnDevice(array.dtype.itemsize),
    (RAW, True): lambda array: RawOnDevice(array.dtype.itemsize),
    (PACKED, False): lambda array: PackedOnDevice(cast(Packed, array).records),
    (PACKED, True): lambda array: PackedFromDisk(cast(DiskArray, array)),
}
"""Makes an array's layout in device memory; the key is the array's codec and whether it is on disk."""


@dataclass(frozen=True)
class ArraysOnDevice:
    """The `EdgeLayout` of sources, then edge values if the program reads them, then 16-bit offsets if there are any."""

    sources: DeviceArray
    values: DeviceArray | None = None
    offsets: RawOnDevice | None = None

    @classmethod
    def of(cls, edges: Adjacency, reads_values: bool) -> ArraysOnDevice:
        """The layout of `edges` in their codec, with their values or without."""
        made = [LAYOUTS[array.codec, array.on_disk](array) for array in edges.arrays(reads_values)]
        return cls(made[0], made[1] if len(made) > 1 else None)

    @property
    def encoding(self) -> str:
        return self.sources.codec

    @property
    def apart(self) -> bool:
        return any(array.apart for array in self._arrays)

    @property
    def _arrays(self) -> list[DeviceArray]:
        return list(self._named.values())

    @property
    def _named(self) -> dict[str, DeviceArray]:
        every = {"sources": self.sources, "values": self.values, "offsets": self.offsets}
        return {name: array for name, array in every.items() if array is not None}

    @cached_property
    def width(self) -> float:
        return sum(array.width for array in self._arrays)

    def sizes(self, page: Page) -> list[int]:
        return [size for array in self._arrays for size in array.sizes(page)]

    def regions(self, pages: Sequence[Page], within: Page | None = None) -> list[Region]:
        found, every = [], pages if within is None else [within]
        for name, array in self._named.items():
            last = array.sizes(every[-1]) if every else []
            for k, (bounds, begins, size) in enumerate(
                zip(array.begins(every), array.begins(pages), last, strict=False)
            ):
                nbytes = bounds[-1] - bounds[0] + size
                edges = every[0].first_edge, every[-1].last_edge
                of_graph = array.codec, array.width, nbytes, edges, tuple(begins) if array.apart else None
                what = None if array is self.offsets else of_graph
                found.append(Region(f"{name} {k}", what, nbytes, [begin - bounds[0] for begin in begins]))
        return found

    def begins(self, page: Page) -> list[int]:
        """Where the page's buffers begin in arrays of all edges."""
        return [begins[0] for array in self._arrays for begins in array.begins([page])]

    def write_args(self, args: Array, page: Page, addresses: list[int]) -> None:
        count = self.sources.buffers
        self.sources.write_args(args, SOURCES, page, addresses[:count])
        if self.values is not None:
            self.values.write_args(args, VALUES, page, addresses[count:])
        if self.offsets is not None:
            self.offsets.write_args(args, OFFSETS, page, addresses[-1:])

    def write_mapped(self, args: Array, page: Page, addresses: list[int]) -> None:
        """Have kernels read the edges that are not in `page` at these `addresses` of the buffers of all edges.

        `write_args` has written those of the page. Its first run is read there too, unless the page begins with it.
        """
        count, base_edge = self.sources.buffers, -(-page.first_edge // RUN) * RUN
        self.sources.write_mapped(args, SOURCES, page, base_edge, addresses[:count])
        if self.values is not None:
            self.values.write_mapped(args, VALUES, page, base_edge, addresses[count:])
        args["base_edge"], args["first_mapped"] = base_edge, page.last_edge

    @property
    def records(self) -> dict[int, Array]:
        """The records of packed arrays on the host, by the number of their buffer."""
        first = accumulate((array.buffers for array in self._arrays), initial=0)
        return {
            k: array.records for k, array in zip(first, self._arrays, strict=False) if isinstance(array, PackedOnDevice)
        }


def with_raw_values(sources: DeviceArray, value_bytes: int) -> ArraysOnDevice:
    """The layout of `sources` and of raw values of `value_bytes` bytes each; 0 if the program reads no edge values."""
    return ArraysOnDevice(sources, RawOnDevice(value_bytes) if value_bytes else None)


def raw_layout(value_bytes: int = 0) -> ArraysOnDevice:
    """The layout of raw sources and raw values of `value_bytes` bytes each; 0 if the program reads no edge values."""
    return with_raw_values(RawOnDevice(4), value_bytes)


def raw_places(page: Page, addresses: Sequence[int], widths: Sequence[int]) -> list[int]:
    """Where a page's first run begins in raw arrays of all edges, which have these addresses and bytes per element."""
    first = page.first_edge // RUN * RUN
    return [address + first * width for address, width in zip(addresses, widths, strict=True)]


def first_word(records: Array, run: int) -> int:
    """The index of a run's first word in the whole array's words."""
    return int(records["first_word"][run]) if run < len(records) else 0


def words_between(records: Array, first: int, last: int) -> int:
    """The number of words of the runs [first, last)."""
    if first >= last:
        return 0
    return int(records["first_word"][last - 1] + records["widths"][last - 1].sum() - records["first_word"][first])


def places(sizes: Iterable[int]) -> list[int]:
    """Offsets in a page's device memory at which buffers of these `sizes` begin, followed by the end of the last."""
    return list(accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))


def page_bytes(page: Page, layout: Sizes) -> int:
    """Bytes of device memory for a page's edges."""
    return places(layout.sizes(page))[-1]


def pinned_arrays(edges: Adjacency) -> list[Array]:
    """The host arrays that pages are copied from.

    Edges on disk have none: their page source pins each buffer when it allocates it.
    """
    return [buffer for array in edges.arrays() for buffer in array.buffers]


def host_arrays(edges: PageEdges) -> HostArrays:
    """For each of a page's buffers on the device: the bytes to copy, and the offset in the buffer at which they go.

    A buffer begins at the first edge of a run. A raw array in memory begins at the page's own first edge, so it has an
    offset.
    """
    into, arrays = edges.first_edge % RUN, (edges.sources, edges.values, edges.offsets)
    return [
        (np.ascontiguousarray(buffer).view(np.uint8).reshape(-1), into * buffer.itemsize)
        for array in arrays
        if array is not None
        for buffer in array.buffers
    ]
