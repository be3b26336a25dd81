"""Blocks: how an array is cut, checksummed and encoded on disk, and how a block is read back (docs/format.md).

Nothing outside this module knows how a block is encoded or where it lies: callers ask for block 7 of an array and get
its raw bytes, or the damage.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from ..errors import DamagedGraphError, FormatError
from .packed_blocks import PackedBlock, PackedBlocks, UndecodableError

Array = npt.NDArray[Any]

BLOCK_BYTES = 1 << 20
MIN_BLOCK_BYTES = 1 << 9  # also what all block sizes are multiples of: direct I/O, and an index far below the data
MAX_BLOCK_BYTES = 1 << 30
INDEX_DTYPE = np.dtype([("offset", "<u8"), ("length", "<u4"), ("disk", "<u4"), ("checksum", "<u8")])


class Damage(DamagedGraphError):
    """Damage at one place of a graph directory: what `open` raises and `verify` lists.

    Attributes
    ----------
    path : str
        The file.
    block : int or None
        Block number within its array.
    offset : int or None
        Byte offset in the file.
    problem : str
    """

    def __init__(
        self, path: str | os.PathLike[str], problem: str, *, block: int | None = None, offset: int | None = None
    ) -> None:
        super().__init__(path, problem if block is None else f"block {block}: {problem}", offset=offset)
        self.block, self.problem = block, problem


class Encoding(Protocol):
    """How the bytes of an array's blocks are stored; a block's raw bytes are the array's own, little-endian."""

    def unfit(self, block_bytes: int) -> str | None:
        """Why the array cannot be stored like this, in blocks of so many raw bytes; None if it can."""

    def possible(self, stored: Array, raw: Array) -> Array:
        """Which of the blocks of `raw` bytes can have the `stored` length that the index claims (bool)."""

    def landing(self, raw: memoryview, stored: int) -> memoryview:
        """Where the `stored` bytes of a block that ends up in `raw` are to be read; it may be longer."""

    def decode(self, landing: memoryview, raw: memoryview) -> PackedBlock | None:
        """Fill `raw` from what was read, once its checksum is known to match; what was stored, if not that.

        Raises
        ------
        UndecodableError
            If it cannot be. Whatever was read, nothing else is touched.
        """


class Raw:
    """Version 1: the array's bytes as they are, read straight to where they are wanted."""

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        pass

    def unfit(self, block_bytes: int) -> str | None:
        return None

    def possible(self, stored: Array, raw: Array) -> Array:
        return np.asarray(stored == raw)

    def landing(self, raw: memoryview, stored: int) -> memoryview:
        return raw

    def decode(self, landing: memoryview, raw: memoryview) -> None:
        pass


RAW_1, PACKED_1 = ("raw", 1), ("packed", 1)
BLOCK_ENCODINGS: dict[tuple[str, int], Callable[[str, np.dtype[Any]], Encoding]] = {RAW_1: Raw, PACKED_1: PackedBlocks}
"""By name and version; made for the name and the type of an array."""


@dataclass(frozen=True)
class StoredArray:
    """What the manifest says of one array.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
    length : int
        Elements.
    encoding : tuple of (str, int)
        Name and version, a key of `BLOCK_ENCODINGS`.
    block_bytes : int
        Raw bytes of a block; the last may be shorter.
    stored_bytes : int
        Sum of the blocks' stored lengths.
    data, index : str
        Names of the file that holds the blocks (on each disk) and of the block index.
    index_checksum : int
        XXH3-64 of the index file.
    """

    name: str
    dtype: np.dtype[Any]
    length: int
    encoding: tuple[str, int]
    block_bytes: int
    stored_bytes: int
    data: str
    index: str
    index_checksum: int

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


def identity(graph_id: uuid.UUID, generation: int) -> bytes:
    """What every block of one generation of one graph has in common in its checksum."""
    return graph_id.bytes + generation.to_bytes(8, "little")


def checksum(identity: bytes, array: str, block: int, stored: Any) -> int:
    """XXH3-64 of a block's stored bytes, seeded by where they belong, so that a misplaced block does not match."""
    seed = xxhash.xxh3_64_intdigest(identity + block.to_bytes(8, "little") + array.encode())
    return xxhash.xxh3_64_intdigest(stored, seed)


class Folder:
    """An open graph directory: its regular files by plain name, closed together. Symbolic links are refused."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._open = ExitStack()
        try:
            self._handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except NotADirectoryError:
            raise FormatError(path, "a file, not a graph directory; import it, or read it as an edge list") from None
        except (OSError, ValueError) as error:
            raise FormatError(path, f"no graph directory can be opened here ({reason(error)})") from None
        self._open.callback(os.close, self._handle)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *failure: object) -> None:
        self._open.close()

    def refuse_links(self) -> None:
        """Raise `Damage` when a symbolic link is in the directory."""
        with os.scandir(self._handle) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise Damage(self.path / entry.name, "a symbolic link; a graph directory holds its own files only")

    def open(self, name: str) -> tuple[int, int]:
        """File descriptor and size of a regular file, for as long as the folder is open."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not make us wait
        try:
            handle = os.open(name, flags, dir_fd=self._handle)
        except FileNotFoundError:
            what = "missing; this is no graph directory, or a part of one: copy it anew, or import the graph again"
            raise Damage(self.path / name, what) from None
        except OSError as error:
            raise Damage(self.path / name, f"cannot be opened ({reason(error)})") from None
        self._open.callback(os.close, handle)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Damage(self.path / name, "not a regular file; import the graph again")
        return handle, status.st_size

    def read(self, name: str, size: int, handle: int) -> bytearray:
        """The `size` bytes of an open file."""
        data = bytearray(size)
        try:
            count = read_at(handle, memoryview(data), 0)
        except OSError as error:
            raise Damage(self.path / name, f"cannot be read ({reason(error)})") from None
        return data[:count]


class BlockReader:
    """Reads and checks the blocks of one array; safe to use from several threads.

    Parameters
    ----------
    folder : Folder
        Must stay open as long as the reader is used.
    array : StoredArray
    identity : bytes
        See `identity`.

    Raises
    ------
    Damage
        If a file is missing, or the index is not whole or contradicts the manifest. The data are not touched yet.
    """

    def __init__(self, folder: Folder, array: StoredArray, identity: bytes) -> None:
        self.array = array
        self._identity = identity
        self.encoding = BLOCK_ENCODINGS[array.encoding](array.name, array.dtype)
        self._index_path = folder.path / array.index
        self.index = self._read_index(folder)
        self._handle, self._size = folder.open(array.data)
        self.path = folder.path / array.data
        self.paths = (self.path,)

    @property
    def graph_id(self) -> str:
        return str(uuid.UUID(bytes=self._identity[:16]))

    def _read_index(self, folder: Folder) -> Array:
        array = self.array
        handle, size = folder.open(array.index)
        expected = array.blocks * INDEX_DTYPE.itemsize
        if size != expected:
            problem = f"{size} bytes long, but {array.blocks} blocks need {expected}; import the graph again"
            raise Damage(self._index_path, problem, offset=min(size, expected))
        data = folder.read(array.index, size, handle)
        if len(data) != size or xxhash.xxh3_64_intdigest(data) != array.index_checksum:
            raise Damage(self._index_path, "its checksum does not match the manifest; import the graph again", offset=0)
        index = np.frombuffer(data, INDEX_DTYPE)
        self._check_index(index)
        return index

    def _check_index(self, index: Array) -> None:
        raw = np.full(len(index), self.array.block_bytes, np.int64)
        raw[-1:] = self.array.raw_bytes - (len(index) - 1) * self.array.block_bytes
        self._refuse(index["disk"] != 0, "lies on a disk that the manifest does not list")
        self._refuse(~self.encoding.possible(index["length"], raw), "has a stored length its encoding cannot have")
        self._refuse(index["offset"] > 1 << 62, "lies past any file's end")
        order = np.argsort(index["offset"], kind="stable")
        ends = index["offset"] + index["length"]
        overlaps = np.zeros(len(index), np.bool_)
        overlaps[order[1:]] = ends[order[:-1]] > index["offset"][order[1:]]
        self._refuse(overlaps, "overlaps another block")
        if int(index["length"].sum(dtype=np.uint64)) != self.array.stored_bytes:
            raise Damage(self._index_path, "the blocks' lengths do not add up to the manifest's stored_bytes")

    def _refuse(self, wrong: Array, problem: str) -> None:
        if wrong.any():
            block = int(np.argmax(wrong))
            raise Damage(self._index_path, problem, block=block, offset=block * INDEX_DTYPE.itemsize)

    def truncation(self) -> Damage | None:
        """The first block that the data file is too short for."""
        missing = self.index["offset"] + self.index["length"] > self._size
        return self._ends_early(int(np.argmax(missing)), self._size) if missing.any() else None

    def offset(self, block: int, element: int = 0) -> int:
        """Where in the data file the block starts; for raw blocks, where its `element` stands."""
        within = element * self.array.dtype.itemsize if isinstance(self.encoding, Raw) else 0
        return int(self.index["offset"][block]) + within

    def read(self, block: int, out: memoryview) -> PackedBlock | None:
        """Fill `out`, as long as the block's raw bytes; what was stored, where it was not these.

        Raises
        ------
        Damage
        """
        entry = self.index[block]
        offset, length = int(entry["offset"]), int(entry["length"])
        landing = self.encoding.landing(out, length)
        landed = landing[:length]
        try:
            count = read_at(self._handle, landed, offset)
        except OSError as error:
            raise Damage(self.path, f"cannot be read ({reason(error)})", block=block, offset=offset) from None
        if count < length:
            raise self._ends_early(block, offset + count)
        self.check(block, landed)
        return self.decode(block, landing, out)

    def check(self, block: int, stored: Any) -> None:
        """Hold the `stored` bytes of a block against its checksum.

        Raises
        ------
        Damage
        """
        entry = self.index[block]
        if checksum(self._identity, self.array.name, block, stored) != int(entry["checksum"]):
            problem = "its checksum does not match; restore the file, or import the graph again"
            raise Damage(self.path, problem, block=block, offset=int(entry["offset"]))

    def decode(self, block: int, landing: memoryview, out: memoryview) -> PackedBlock | None:
        """As `Encoding.decode`.

        Raises
        ------
        Damage
        """
        try:
            return self.encoding.decode(landing, out)
        except UndecodableError as error:
            problem = f"{error}; restore the file, or import the graph again"
            raise Damage(self.path, problem, block=block, offset=self.offset(block)) from None

    def _ends_early(self, block: int, offset: int) -> Damage:
        problem = f"the file ends in it or before it; {self.array.stored_bytes} bytes belong to {self.array.name}"
        return Damage(self.path, problem, block=block, offset=offset)


def read_at(handle: int, out: memoryview, offset: int) -> int:
    """Bytes read into `out` from `offset` on: fewer than asked only where the file ends."""
    done = 0
    while done < len(out):
        count = os.preadv(handle, [out[done:]], offset + done)
        if not count:
            break
        done += count
    return done


def reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def known_encodings(encodings: Iterable[tuple[str, int]] = BLOCK_ENCODINGS) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(encodings))
