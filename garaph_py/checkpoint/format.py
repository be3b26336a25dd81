"""The file format of a checkpoint: a header, then arrays. Checksums cover every byte.

====================  ==================================================================
bytes                 what
====================  ==================================================================
0 to 7                ``GARAPHCP``
8 to 11               version of the format, uint32
12 to 15              length of the header in bytes, uint32
16 to 23              length of the file in bytes, uint64
24 to 31              XXH3-64 of bytes 0 to 23 and the header
32 on                 the header: JSON
after the header      the arrays, one after the other, in the order of the header's list
====================  ==================================================================

Numbers are little-endian. The first 32 bytes have this layout in every version.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from ..errors import DamagedCheckpointError, FormatError
from ..system.memory import enough_memory
from .files import Files

Array = npt.NDArray[Any]

MAGIC, VERSION = b"GARAPHCP", 1
PREFIX = struct.Struct("<8sIIQ")
CHECKSUM = struct.Struct("<Q")
BEGIN = PREFIX.size + CHECKSUM.size


@dataclass(frozen=True)
class Header:
    """The header of a checkpoint.

    Attributes
    ----------
    generation : int
        Number of the checkpoint; the newer checkpoint has the greater number.
    iterations : int
        Number of iterations done when the checkpoint was made.
    identity : mapping
        The identity of the run (`identity.identity_of`).
    command : list of str
        The command line of the process that made the checkpoint: the program's name, then its arguments.
    folder : str
        The working directory of that process.
    arrays : list of dict
        ``name``, ``dtype``, ``bytes`` and ``checksum`` (XXH3-64) of each array, in the order in which they are stored.
    """

    generation: int
    iterations: int
    identity: Mapping[str, Any]
    command: list[str]
    folder: str
    arrays: list[dict[str, Any]]


def write(files: Files, path: Path, about: Header, arrays: Mapping[str, Array]) -> int:
    """Write a checkpoint to a new file at `path`, sync it, and return its size in bytes.

    Parameters
    ----------
    files : Files
    path : path
    about : Header
        The header; its list of arrays is filled in here.
    arrays : mapping of str to ndarray

    Raises
    ------
    OSError
        If it cannot be written. No file is left in this case.
    """
    pieces = {name: octets(array) for name, array in arrays.items()}
    listed = [
        {
            "name": name, "dtype": str(arrays[name].dtype), "bytes": len(piece),
            "checksum": xxhash.xxh3_64_intdigest(piece),
        }
        for name, piece in pieces.items()
    ]  # fmt: skip
    header = json.dumps(asdict(replace(about, arrays=listed))).encode()
    size = BEGIN + len(header) + sum(map(len, pieces.values()))
    prefix = PREFIX.pack(MAGIC, VERSION, len(header), size)
    begin = prefix + CHECKSUM.pack(xxhash.xxh3_64_intdigest(prefix + header)) + header
    handle = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        try:
            for piece in (memoryview(begin), *pieces.values()):
                while piece:
                    piece = piece[files.write(handle, piece) :]
            files.sync(handle)
        finally:
            files.close(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            files.unlink(path)
        raise
    return size


def octets(array: Array) -> memoryview:
    """The bytes of an array."""
    return np.ascontiguousarray(array).view(np.uint8).data


class CheckpointFile:
    """An open checkpoint file. The constructor reads and checks the header, `load` the arrays; `close` it after use.

    Raises
    ------
    OSError
        If the file cannot be read; `FileNotFoundError` if there is none.
    DamagedCheckpointError
        If the file's bytes are not those that were written.
    FormatError
        If another version of garaph_py wrote it.
    """

    def __init__(self, files: Files, path: Path) -> None:
        self.path, self._files = path, files
        self._handle = files.open(path, os.O_RDONLY)
        try:
            self.header = self._header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with contextlib.suppress(OSError):  # all data has already been read
            self._files.close(self._handle)

    def _header(self) -> Header:
        size = self._files.size(self._handle)
        if size < BEGIN:
            raise self._damage(f"its {size} bytes are too few for a checkpoint")
        begin = self._read(BEGIN, 0)
        magic, version, length, total = PREFIX.unpack_from(begin)
        if magic != MAGIC:
            raise self._damage("it does not begin as a checkpoint does")
        if total != size or BEGIN + length > size:
            raise self._damage(f"it has {size} bytes, and should have {total}")
        header = self._read(length, BEGIN)
        (checksum,) = CHECKSUM.unpack_from(begin, PREFIX.size)
        if xxhash.xxh3_64_intdigest(begin[: PREFIX.size] + header) != checksum:
            raise self._damage("its header does not match its checksum")
        if version != VERSION:
            raise FormatError(self.path, f"is of version {version}; this garaph_py reads version {VERSION}")
        self._begin = BEGIN + length
        try:
            described = Header(**json.loads(header))
            if (
                type(described.generation) is type(described.iterations) is int
                and self._begin + sum(stored["bytes"] for stored in described.arrays) == size
            ):
                return described
        except (TypeError, ValueError, KeyError):
            pass
        raise self._damage("its header is invalid")

    def load(self, into: Mapping[str, Array]) -> None:
        """Fill the arrays `into`, which must have the names, types and sizes of the arrays in the file."""
        expected = [(name, str(array.dtype), array.nbytes) for name, array in into.items()]
        if [(stored["name"], stored["dtype"], stored["bytes"]) for stored in self.header.arrays] != expected:
            raise self._damage("its arrays do not match the run's")
        offset = self._begin
        for stored, array in zip(self.header.arrays, into.values(), strict=True):
            view = octets(array)
            self._fill(view, offset)
            if xxhash.xxh3_64_intdigest(view) != stored["checksum"]:
                raise self._damage(f"{stored['name']} does not match its checksum", offset)
            offset += len(view)

    def _read(self, length: int, offset: int) -> bytes:
        with enough_memory("a checkpoint"):
            data = bytearray(length)
        self._fill(memoryview(data), offset)
        return bytes(data)

    def _fill(self, view: memoryview, offset: int) -> None:
        while view:
            count = self._files.read(self._handle, view, offset)
            if count == 0:
                raise self._damage("it ends early", offset)
            view, offset = view[count:], offset + count

    def _damage(self, problem: str, offset: int | None = None) -> DamagedCheckpointError:
        return DamagedCheckpointError(self.path, problem, offset=offset)
