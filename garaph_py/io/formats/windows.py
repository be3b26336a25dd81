"""How much memory decompressing a file takes, from its headers: xz and zstd keep a window of what came out before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from .format import Buffers, ReadOptions, malformed

GZIP_MAGIC, ZSTD_MAGIC, XZ_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00"
ZSTD_SKIPPABLE = 0x184D2A5
"""The first 28 bits of a frame of zstd that holds something else, as a number."""
ZSTD_BESIDE, XZ_BESIDE = 1 << 20, 1 << 20
"""Bytes beside the window: for the decoder, and the buffers of what goes in and comes out. xz itself says 1 MiB."""
XZ_HEADER = 12
"""Bytes before the first block of a stream of xz."""
XZ_LZMA2 = 0x21
"""The number of the filter that compresses."""


def decoder_buffers(path: Path, options: ReadOptions) -> Buffers:
    """`decoder_memory`, for `Format.buffers`."""
    smaller = "compress it with a smaller window: xz -6, zstd without --long and --ultra"
    return Buffers(decoder_memory(path), "the buffers to decompress it", smaller)


def decoder_memory(path: Path) -> int:
    """Bytes of memory that decompressing a file takes, a window and buffers; 0 if it takes next to nothing.

    For zstd this holds for all frames of the file, for xz for its first block. Damaged headers count as far as they go.
    """
    with malformed(path, "not readable"), open(path, "rb") as file:
        beginning = file.read(XZ_HEADER)
        if beginning.startswith(ZSTD_MAGIC):
            file.seek(0)
            return largest_zstd_window(file) + ZSTD_BESIDE
        return first_xz_window(file) + XZ_BESIDE if beginning.startswith(XZ_MAGIC) else 0


def largest_zstd_window(file: IO[bytes]) -> int:
    """The largest window in bytes of the frames of a zstd file (RFC 8878, section 3.1.1)."""
    largest = 0
    while len(magic := file.read(4)) == 4:
        if int.from_bytes(magic, "little") >> 4 == ZSTD_SKIPPABLE:
            file.seek(number(file, 4), os.SEEK_CUR)
        elif magic == ZSTD_MAGIC:
            descriptor = number(file, 1)
            whole = descriptor >> 5 & 1  # in one piece, whose size takes the place of the window's
            exponent_and_eighths = 0 if whole else number(file, 1)
            window = (8 + (exponent_and_eighths & 7)) << (exponent_and_eighths >> 3) + 7
            file.seek((0, 1, 2, 4)[descriptor & 3], os.SEEK_CUR)  # the number of a dictionary
            width = (whole, 2, 4, 8)[descriptor >> 6]
            size = number(file, width) + 256 * (width == 2)
            largest = max(largest, size if whole else window)
            skip_zstd_blocks(file)
            file.seek(4 * (descriptor >> 2 & 1), os.SEEK_CUR)  # a checksum
        else:
            break
    return largest


def skip_zstd_blocks(file: IO[bytes]) -> None:
    """Go to the end of the blocks of a frame, or of the file."""
    while len(header := file.read(3)) == 3:
        block = int.from_bytes(header, "little")
        file.seek(1 if block >> 1 & 3 == 1 else block >> 3, os.SEEK_CUR)  # a run of one byte is stored once
        if block & 1:
            return


def first_xz_window(file: IO[bytes]) -> int:
    """The bytes of the dictionary of the first block, whose header comes next in a file; 0 if it has none."""
    header = file.read(4 * number(file, 1) + 3)  # without its size, but with its checksum
    if not header:
        return 0
    place = 1
    for _ in range(bool(header[0] & 0x40) + bool(header[0] & 0x80)):  # sizes of the block
        _, place = varying(header, place)
    for _ in range(1 + (header[0] & 3)):
        kind, place = varying(header, place)
        count, place = varying(header, place)
        if kind == XZ_LZMA2 and place < len(header):
            bits = header[place] & 0x3F
            return (2 | bits & 1) << bits // 2 + 11
        place += count
    return 0


def number(file: IO[bytes], count: int) -> int:
    """An integer of so many bytes."""
    return int.from_bytes(file.read(count), "little")


def varying(data: bytes, place: int) -> tuple[int, int]:
    """An integer of seven bits a byte, as many as it needs, at a place; and the place after it."""
    value = 0
    for shift, byte in enumerate(data[place : place + 9]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + shift + 1
    return 0, len(data)
