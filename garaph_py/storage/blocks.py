"""Cuts arrays into blocks, and encodes, checksums and reads blocks (docs/format.md).

Only this module knows where a block is stored and how it is encoded. Callers ask for block 7 of an array and get its
raw bytes, or an exception that says what is damaged.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from ..codec.blocks import WORD, PackedBlock, PackedBlocks, UndecodableError
from ..codec.codecs import Limits
from .files import Damage, GraphDirectory, OpenDirectory, read_at, reason

Array = npt.NDArray[Any]

EDGES = ("in_sources", "in_values", "out_targets", "out_values")
"""Names in the format of the arrays that are packed in memory if the graph is packed, and that may stay on disk."""
VALUES = ("in_values", "out_values")
"""Names of those that hold edge values."""
BLOCK_BYTES = 1 << 20
"""Default raw bytes of a block."""
MIN_BLOCK_BYTES = 1 << 9
"""Every block size is a multiple of this many bytes: direct I/O requires that, and it keeps the index small."""
MAX_BLOCK_BYTES = 1 << 30
"""Most raw bytes of a block: its length, also packed, fits the 32 bits of `INDEX_DTYPE`."""
AGAIN = "restore the file, or import the graph again"
MISMATCH = f"the block that begins there does not match its checksum; {AGAIN}"
INDEX_DTYPE = np.dtype([("offset", "<u8"), ("length", "<u4"), ("disk", "<u4"), ("checksum", "<u8")])
"""Index entry of a block: offset and length in bytes in the data file of disk number `disk`, and XXH3-64 checksum."""
MAX_OFFSET = 1 << 62
"""Greatest offset of a block in a file, in bytes, so that offset plus length does not overflow."""


class Encoding(Protocol):
    """The encoding of an array's blocks. The raw bytes of a block are its elements, little-endian."""

    def unfit(self, block_bytes: int) -> str | None:
        """Why the array cannot be stored in blocks of `block_bytes` raw bytes; None if it can."""

    def possible(self, stored: Array, raw: Array) -> Array:
        """For each block (bool), whether `raw` bytes can be encoded in the `stored` bytes that the index claims."""

    def landing(self, raw: memoryview, stored: int) -> memoryview:
        """The memory into which a block's `stored` bytes are read; `raw` itself if they need no decoding."""

    def decode(self, stored: memoryview, raw: memoryview | None, count: int) -> PackedBlock | None:
        """Decode the `count` elements of a block whose checksum has matched.

        Parameters
        ----------
        stored : memoryview
            The bytes read.
        raw : memoryview, optional
            Receives the elements; None to check only that they can be decoded.

        Returns
        -------
        PackedBlock or None
            The parts of a packed block; None for a raw one.

        Raises
        ------
        UndecodableError
            If the bytes cannot be decoded. Even then no memory outside `raw` is written.
        """


class Raw:
    """Encoding raw, version 1: the raw bytes as they are. They are read straight into the caller's memory."""

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        pass

    def unfit(self, block_bytes: int) -> str | None:
        return None

    def possible(self, stored: Array, raw: Array) -> Array:
        return np.asarray(stored == raw)

    def landing(self, raw: memoryview, stored: int) -> memoryview:
        return raw

    def decode(self, stored: memoryview, raw: memoryview | None, count: int) -> None:
        pass


RAW_1, PACKED_1 = ("raw", 1), ("packed", 1)
"""Names and versions of the encodings that are written."""
BLOCK_ENCODINGS: dict[tuple[str, int], Callable[[str, np.dtype[Any]], Encoding]] = {RAW_1: Raw, PACKED_1: PackedBlocks}
"""Encodings by name and version. Call one with the name and the dtype of an array."""


@dataclass(frozen=True)
class ArrayLayout:
    """An array's division into blocks, and its encoding.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
    length : int
        Number of elements.
    encoding : tuple of (str, int)
        Name and version, a key of `BLOCK_ENCODINGS`.
    block_bytes : int
        Raw bytes of a block; the last block may be shorter.
    """

    name: str
    dtype: np.dtype[Any]
    length: int
    encoding: tuple[str, int]
    block_bytes: int

    @property
    def raw_bytes(self) -> int:
        return self.length * self.dtype.itemsize

    @property
    def blocks(self) -> int:
        return -(-self.raw_bytes // self.block_bytes)

    def bounds(self, block: int) -> tuple[int, int]:
        """First element of `block`, and one past its last."""
        step = self.block_bytes // self.dtype.itemsize
        return block * step, min((block + 1) * step, self.length)


class StoredFile(NamedTuple):
    """A file in the graph directory: its name, and XXH3-64 of its bytes."""

    name: str
    checksum: int


@dataclass(frozen=True)
class StoredArray(ArrayLayout):
    """The manifest's entry for one array.

    Attributes
    ----------
    stored_bytes : int
        Sum of the blocks' stored lengths.
    data, index : str
        Names of the data file, which is on every disk, and of the index file.
    index_checksum : int
        XXH3-64 of the index file.
    sums, records : StoredFile or None
        The checksums of sectors, and the records of a packed array (storage/parts.py); None if there are none.
    limits : Limits or None
        The limits of edge values; None if there are no values, or the directory is of an older version.
    """

    stored_bytes: int
    data: str
    index: str
    index_checksum: int
    sums: StoredFile | None = None
    records: StoredFile | None = None
    limits: Limits | None = None

    @property
    def files(self) -> list[str]:
        """The names of all its files."""
        beside = [file.name for file in (self.sums, self.records) if file is not None]
        return [self.data, self.index, *beside]


def identity(graph_id: uuid.UUID, generation: int) -> bytes:
    """The part of the checksum's seed that all blocks of one generation of one graph share."""
    return graph_id.bytes + generation.to_bytes(8, "little")


def checksum(identity: bytes, array: str, block: int, stored: Any) -> int:
    """XXH3-64 of a block's stored bytes. Graph, array and block number are its seed: a misplaced block fails."""
    seed = xxhash.xxh3_64_intdigest(identity + block.to_bytes(8, "little") + array.encode())
    return xxhash.xxh3_64_intdigest(stored, seed)


class BlockReader:
    """Reads and checks the blocks of one array; safe to use from several threads.

    Parameters
    ----------
    folder : GraphDirectory
        Must stay open as long as the reader is used.
    disks : sequence of Directory
        The graph's directories on the disks that the manifest lists.
    array : StoredArray
    identity : bytes
        See `identity`.

    Attributes
    ----------
    array : StoredArray
    folder : GraphDirectory
    paths : tuple of Path
        The array's data file on each disk.
    index : ndarray of INDEX_DTYPE
        The index entry of each block.
    also : callable or None
        Receives each block and its stored bytes when its checksum has matched; may raise.

    Raises
    ------
    Damage
        If a file is missing, or the index is damaged or contradicts the manifest. No data are read yet.
    """

    also: Callable[[int, Any], None] | None = None

    def __init__(
        self, folder: GraphDirectory, disks: Sequence[OpenDirectory], array: StoredArray, identity: bytes
    ) -> None:
        self.array, self.folder = array, folder
        self._identity = identity
        self.encoding = BLOCK_ENCODINGS[array.encoding](array.name, array.dtype)
        self._index_path = folder.path / array.index
        self.index = self._read_index(folder, len(disks))
        opened = [disk.open(array.data) for disk in disks]
        self._handles, self._sizes = [handle for handle, _ in opened], np.array([size for _, size in opened], np.uint64)
        self.paths = tuple(disk.path / array.data for disk in disks)

    def _read_index(self, folder: GraphDirectory, disks: int) -> Array:
        stored = StoredFile(self.array.index, self.array.index_checksum)
        index = np.frombuffer(self.beside(stored, self.array.blocks * INDEX_DTYPE.itemsize), INDEX_DTYPE)
        self._check_index(index, disks)
        return index

    def beside(self, stored: StoredFile, expected: int) -> bytes | bytearray:
        """The bytes of a file with checksums or records of the array's blocks, which must have the `expected` length.

        Raises
        ------
        Damage
        """
        with ExitStack() as closing:
            handle, size = self.folder.open(stored.name, closing)
            if size != expected:
                problem = f"{size} bytes long, but {self.array.blocks} blocks need {expected}; import the graph again"
                raise Damage(self.folder.path / stored.name, problem, offset=min(size, expected))
            data = self.folder.read(stored.name, size, handle)
        if len(data) != size or xxhash.xxh3_64_intdigest(data) != stored.checksum:
            raise self.damage_beside(stored, "its checksum does not match the manifest; import the graph again")
        return data

    def damage_beside(self, stored: StoredFile, problem: str) -> Damage:
        """A `Damage` of a file about the array's blocks."""
        return Damage(self.folder.path / stored.name, problem, offset=0)

    def words_at(self) -> Array:
        """The bytes before the words of each packed block."""
        assert isinstance(self.encoding, PackedBlocks)
        step = self.array.block_bytes // self.array.dtype.itemsize
        counts = np.minimum(self.array.length - np.arange(self.array.blocks) * step, step)
        return np.asarray(self.encoding.words_at(counts))

    def _check_index(self, index: Array, disks: int) -> None:
        raw = np.full(len(index), self.array.block_bytes, np.int64)
        raw[-1:] = self.array.raw_bytes - (len(index) - 1) * self.array.block_bytes
        self._refuse(index["disk"] >= disks, "lies on a disk that the manifest does not list")
        self._refuse(~self.encoding.possible(index["length"], raw), "has a stored length its encoding cannot have")
        self._refuse(index["offset"] > MAX_OFFSET, "lies past any file's end")
        if isinstance(self.encoding, PackedBlocks):
            self._refuse(
                index["offset"] % WORD != 0, f"does not begin at a multiple of {WORD} bytes, as packed ones do"
            )
        order = np.lexsort((index["offset"], index["disk"]))
        before, after = index[order[:-1]], index[order[1:]]
        overlaps = np.zeros(len(index), np.bool_)
        ends = before["offset"] + before["length"]
        overlaps[order[1:]] = (before["disk"] == after["disk"]) & (ends > after["offset"])
        self._refuse(overlaps, "overlaps another block")
        if int(index["length"].sum(dtype=np.uint64)) != self.array.stored_bytes:
            raise Damage(self._index_path, "the blocks' lengths do not add up to the manifest's stored_bytes")

    def _refuse(self, wrong: Array, problem: str) -> None:
        if wrong.any():
            block = int(np.argmax(wrong))
            raise Damage(self._index_path, problem, block=block, offset=block * INDEX_DTYPE.itemsize)

    def truncation(self) -> Damage | None:
        """Damage at the first block that lies beyond the end of its data file; None if there is no such block."""
        sizes = self._sizes[self.index["disk"]]
        missing = self.index["offset"] + self.index["length"] > sizes
        if not missing.any():
            return None
        block = int(np.argmax(missing))
        return self._ends_early(block, int(sizes[block]))

    def damage(self, block: int, problem: str, *, element: int = 0) -> Damage:
        """A `Damage` at a block, with file and byte offset; for a raw block, the offset of its `element`."""
        within = element * self.array.dtype.itemsize if isinstance(self.encoding, Raw) else 0
        entry = self.index[block]
        return Damage(self.paths[entry["disk"]], problem, block=block, offset=int(entry["offset"]) + within)

    def stored(self, block: int) -> Array:
        """The stored bytes of a block, checked against its checksum.

        Raises
        ------
        Damage
        """
        stored = np.empty(int(self.index["length"][block]), np.uint8)
        self._fetch(block, stored.data)
        return stored

    def read(self, block: int, out: memoryview) -> PackedBlock | None:
        """Fill `out`, whose length must match, with a block's raw bytes. Return the parts of a packed block, else None.

        Raises
        ------
        Damage
        """
        length = int(self.index["length"][block])
        staging = self.encoding.landing(out, length)
        self._fetch(block, staging)
        return self.decode(block, staging, out)

    def decode(self, block: int, stored: memoryview, out: memoryview | None) -> PackedBlock | None:
        """Decode a block's stored bytes; see `Encoding.decode`.

        Raises
        ------
        Damage
        """
        try:
            first, last = self.array.bounds(block)
            return self.encoding.decode(stored, out, last - first)
        except UndecodableError as error:
            raise self.damage(block, f"{error}; {AGAIN}") from None

    def _fetch(self, block: int, out: memoryview) -> None:
        """Fill `out` with the block's stored bytes, and check them against the checksum."""
        entry = self.index[block]
        offset = int(entry["offset"])
        try:
            count = read_at(self._handles[entry["disk"]], out, offset)
        except OSError as error:
            raise self.damage(block, f"cannot be read ({reason(error)})") from None
        if count < len(out):
            raise self._ends_early(block, offset + count)
        self.check(block, out)

    def check(self, block: int, stored: Any) -> None:
        """Compare the checksum of a block's `stored` bytes with the one in the index.

        Raises
        ------
        Damage
        """
        if checksum(self._identity, self.array.name, block, stored) != int(self.index["checksum"][block]):
            raise self.damage(block, MISMATCH)
        if self.also is not None:
            self.also(block, stored)

    def _ends_early(self, block: int, offset: int) -> Damage:
        disk = self.index["disk"][block]
        nbytes = int(self.index["length"][self.index["disk"] == disk].sum(dtype=np.int64))
        problem = f"the file ends before the end of this block; it should have {nbytes} bytes of {self.array.name}"
        return Damage(self.paths[disk], problem, block=block, offset=offset)


def known_encodings(encodings: Iterable[tuple[str, int]] = BLOCK_ENCODINGS) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(encodings))


def disk_of(array: str, block: int, disks: int) -> int:
    """The number of the disk, of `disks`, that stores a block of an array.

    As many blocks in a row as there are disks are on different ones, so that all disks have as much to read. Where they
    begin is a hash, so that any selection of a graph's pages is spread over all disks (Garaph section 2.2).
    """
    group = block // disks
    return (block + xxhash.xxh3_64_intdigest(group.to_bytes(8, "little") + array.encode())) % disks
