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

Numbers are little-endian. The first 32 bytes have this layout in every version. A header holds data only: nothing in it
is run, and each of its fields is checked by type and range.
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

from ..errors import DamagedCheckpointError, FormatError, ParameterError
from ..system.memory import enough_memory
from .files import Files

Array = npt.NDArray[Any]

MAGIC, VERSION, READABLE = b"GARAPHCP", 2, (1, 2)
"""First bytes of a file with a state, the version that is written, and those that are read."""
PREFIX = struct.Struct("<8sIIQ")
CHECKSUM = struct.Struct("<Q")
BEGIN = PREFIX.size + CHECKSUM.size
MOST_HEADER = 16 << 20
"""Greatest length of a header in bytes; headers have some kilobytes, and a parameter of a program a line at most."""


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
    request : mapping or None
        What ``garaph run`` was asked to do (`cli.request`); None if a script called `garaph_py.run`.
    arrays : list of dict
        ``name``, ``dtype``, ``bytes`` and ``checksum`` (XXH3-64) of each array, in the order in which they are stored.
    """

    generation: int
    iterations: int
    identity: Mapping[str, Any]
    request: Mapping[str, Any] | None
    arrays: list[dict[str, Any]]

    @classmethod
    def parse(cls, text: bytes, version: int) -> Header:
        """The header with this JSON text.

        Version 1 had a command line in the place of the request; it is ignored, so that nothing in a file is run.

        Raises
        ------
        ValueError
            If a field is absent, unknown, or not of its type and range.
        """
        try:
            read = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deep") from None
        if version == 1 and isinstance(read, dict):
            read = {key: value for key, value in read.items() if key not in ("command", "folder")} | {"request": None}
        if not isinstance(read, dict) or set(read) != set(cls.__annotations__):
            raise ValueError("its fields")
        arrays = read["arrays"]
        if not (
            is_whole(read["generation"], 1)
            and is_whole(read["iterations"], 0)
            and isinstance(read["identity"], dict)
            and (read["request"] is None or isinstance(read["request"], dict))
            and isinstance(arrays, list)
            and all(is_stored_array(one) for one in arrays)
        ):
            raise ValueError("the values of its fields")
        return cls(**read)


def is_whole(value: object, least: int) -> bool:
    """Whether a value of JSON is a whole number that is at least `least` and fits in 64 bits."""
    return type(value) is int and least <= value < 1 << 64


def is_stored_array(value: object) -> bool:
    """Whether a value of JSON describes an array."""
    return (
        isinstance(value, dict)
        and set(value) == {"name", "dtype", "bytes", "checksum"}
        and isinstance(value["name"], str)
        and isinstance(value["dtype"], str)
        and is_whole(value["bytes"], 0)
        and is_whole(value["checksum"], 0)
    )


def write(files: Files, path: Path, about: Header, arrays: Mapping[str, Array]) -> tuple[int, int]:
    """Write a checkpoint to a new file at `path`, sync it, and return its size in bytes and its header's checksum.

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
    checksum = xxhash.xxh3_64_intdigest(prefix + header)
    begin = prefix + CHECKSUM.pack(checksum) + header
    handle = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        try:
            write_all(files, handle, begin, *pieces.values())
            files.sync(handle)
        finally:
            files.close(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            files.unlink(path)
        raise
    return size, checksum


def write_all(files: Files, handle: int, *pieces: bytes | memoryview) -> None:
    """Write all bytes of the `pieces` to an open file, one after the other."""
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[files.write(handle, view) :]


def octets(array: Array) -> memoryview:
    """The bytes of an array."""
    return np.ascontiguousarray(array).view(np.uint8).data


class CheckpointFile:
    """An open checkpoint file. The constructor reads and checks the header, `load` the arrays; `close` it after use.

    Attributes
    ----------
    header : Header
    checksum : int
        The header's checksum. It covers those of the arrays, so it stands for the checkpoint.

    Raises
    ------
    OSError
        If the file cannot be read; `FileNotFoundError` if there is none.
    DamagedCheckpointError
        If the file's bytes are not those that were written.
    FormatError
        If another version of garaph_py wrote it.
    ParameterError
        If another user could have written it.
    """

    def __init__(self, files: Files, path: Path) -> None:
        self.path, self._files = path, files
        self._handle = files.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            check_trust(files, self._handle, path)
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
        if length > MOST_HEADER:
            raise self._damage(f"its header has {length} bytes, and at most {MOST_HEADER} are allowed")
        header = self._read(length, BEGIN)
        (self.checksum,) = CHECKSUM.unpack_from(begin, PREFIX.size)
        if xxhash.xxh3_64_intdigest(begin[: PREFIX.size] + header) != self.checksum:
            raise self._damage("its header does not match its checksum")
        if version not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise FormatError(self.path, f"is of version {version}; this garaph_py reads versions {known}")
        self._begin = BEGIN + length
        try:
            described = Header.parse(header, version)
        except ValueError as error:
            raise self._damage(f"its header is invalid: {error}") from None
        if self._begin + sum(stored["bytes"] for stored in described.arrays) != size:
            raise self._damage("its header does not match its size")
        return described

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


def check_trust(files: Files, handle: int, path: Path) -> None:
    """Refuse an open checkpoint, or its directory, if another user could have written it.

    Raises
    ------
    ParameterError
        It says how to use the checkpoint all the same.
    """
    if reason := files.distrust(handle):
        raise ParameterError(
            f"{path}: {reason}, and a checkpoint must be its user's own; if you trust it, copy it to a directory of "
            "your own with cp -r, and run chmod -R go-w there"
        )
