"""How much of a table is in memory at once: the largest pages of a Parquet file, the largest batch of an Arrow one.

Writers choose these sizes, and pyarrow tells them only after it has read the data. So this reads the headers.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from .format import malformed
from .windows import varying

HEADER, LONGEST_HEADER = 1 << 12, 1 << 20
"""Bytes that are read for the header of a page, and for one that is longer; more is damage."""
BOOLEANS, BYTE, INTEGERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
"""The types of values in Thrift's compact protocol, which headers of pages are written in."""
PAGE_TYPE, UNCOMPRESSED, COMPRESSED = 1, 2, 3
"""The numbers of fields in the header of a page."""
DICTIONARY_PAGE = 2
CONTINUATION = b"\xff\xff\xff\xff"
"""The first bytes of a message of Arrow."""
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
"""Kinds of messages of Arrow."""
LONGEST_METADATA = 1 << 24
"""Most bytes of a message's metadata, which lists the buffers of the columns; more is damage."""


# Parquet


def largest_pages(path: Path, metadata: Any, names: Sequence[str]) -> int:
    """Bytes for a page of each of the columns `names`, the largest of a row group, and for dictionaries.

    `metadata` is what pyarrow says of the file. Damaged headers count as far as they go.
    """
    largest = 0
    with malformed(path, "not readable"), open(path, "rb") as file:
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            chunks = (row_group.column(number) for number in range(metadata.num_columns))
            largest = max(largest, sum(chunk_bytes(file, one) for one in chunks if one.path_in_schema in names))
    return largest


def chunk_bytes(file: IO[bytes], chunk: Any) -> int:
    """Bytes for the largest page of a column of a row group, as it is stored and decompressed, and its dictionary."""
    place, dictionary, largest = int(chunk.data_page_offset), 0, 0
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        place = min(place, int(chunk.dictionary_page_offset))
    end = min(place + int(chunk.total_compressed_size), file.seek(0, os.SEEK_END))
    while 0 <= place < end:
        file.seek(place)
        fields, length = page_header(file)
        stored = fields.get(COMPRESSED, -1)
        if stored < 0:
            break
        if fields.get(PAGE_TYPE) == DICTIONARY_PAGE:
            dictionary += fields.get(UNCOMPRESSED, 0)
        largest = max(largest, stored + fields.get(UNCOMPRESSED, 0))
        place += length + stored
    return largest + dictionary


def page_header(file: IO[bytes]) -> tuple[dict[int, int], int]:
    """The integers by field of the header that comes next in a file, and its length; none if it is damaged."""
    data = file.read(HEADER)
    for more in (LONGEST_HEADER, 0):
        try:
            return struct_fields(data, 0)
        except IndexError:
            data += file.read(more)
    return {}, 0


def struct_fields(data: bytes, place: int) -> tuple[dict[int, int], int]:
    """The integers by field of a structure at a place, and the place behind it."""
    fields, field = {}, 0
    while data[place]:
        kind, step = data[place] & 15, data[place] >> 4
        place += 1
        if step:
            field += step
        else:
            field, place = signed(data, place)
        if kind in INTEGERS:
            fields[field], place = signed(data, place)
        elif kind not in BOOLEANS:  # the type is the value
            place = behind(data, place, kind)
    return fields, place + 1


def behind(data: bytes, place: int, kind: int) -> int:
    """The place behind a value of a type of more than an integer."""
    if kind == STRUCT:
        return struct_fields(data, place)[1]
    if kind == BINARY:
        count, place = varying(data, place)
        return place + count
    if kind in LISTS:
        count, of = data[place] >> 4, data[place] & 15
        place += 1
        if count == 15:
            count, place = varying(data, place)
        for _ in range(count):
            place = place + 1 if of in BOOLEANS else behind(data, place, of)
        return place
    if kind in INTEGERS:
        return varying(data, place)[1]
    return place + {BYTE: 1, DOUBLE: 8}.get(kind, len(data))


def signed(data: bytes, place: int) -> tuple[int, int]:
    """A signed integer, which is stored so that small ones are short; and the place behind it."""
    if place >= len(data):
        raise IndexError
    number, place = varying(data, place)
    return (number >> 1) ^ -(number & 1), place


# Arrow


def largest_batch(path: Path, begin: int) -> int:
    """Bytes for all dictionaries of an Arrow file and its largest batch of rows, as stored and decompressed.

    The first message is at `begin`. Damaged metadata count as far as they go.
    """
    dictionaries = largest = 0
    with malformed(path, "not readable"), open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(begin)
        while file.read(4) == CONTINUATION:
            size = int.from_bytes(file.read(4), "little")
            if not 0 < size <= LONGEST_METADATA:
                break
            metadata, body = file.read(size), file.tell()
            try:
                kind, length, buffers = message(metadata)
            except struct.error:
                break
            if body + length > end:
                break
            nbytes = length + sum(decompressed_bytes(file, body + place, stored) for place, stored in buffers)
            if kind == DICTIONARY_BATCH:
                dictionaries += nbytes
            elif kind == RECORD_BATCH:
                largest = max(largest, nbytes)
            file.seek(body + length)
    return dictionaries + largest


def decompressed_bytes(file: IO[bytes], place: int, stored: int) -> int:
    """The size that stands before a compressed buffer; 0 if the buffer is empty, or stored as it is."""
    if stored < 8:
        return 0
    file.seek(place)
    return max(int.from_bytes(file.read(8), "little", signed=True), 0)


def message(data: bytes) -> tuple[int, int, list[tuple[int, int]]]:
    """The kind of a message, the length of its body, and the places and lengths of the buffers to decompress."""
    root = number("<I", data, 0)
    kind_at, header_at, length_at = (field(data, root, place) for place in (1, 2, 3))
    kind = number("<B", data, kind_at) if kind_at else 0
    length = max(number("<q", data, length_at), 0) if length_at else 0
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH) or not header_at:
        return kind, length, []
    batch = target(data, header_at)
    if kind == DICTIONARY_BATCH:
        batch_at = field(data, batch, 1)
        batch = target(data, batch_at) if batch_at else 0
    buffers_at = field(data, batch, 2) if batch and field(data, batch, 3) else 0
    if not buffers_at:
        return kind, length, []
    vector = target(data, buffers_at)
    pairs = struct.Struct("<qq")
    count = min(number("<I", data, vector), len(data) // pairs.size)
    found = [pairs.unpack_from(data, vector + 4 + pairs.size * each) for each in range(count)]
    return kind, length, [(place, stored) for place, stored in found if 0 <= place <= length]


def field(data: bytes, table: int, which: int) -> int:
    """Where field number `which` of a table of FlatBuffers is; 0 if it has none."""
    entries = table - number("<i", data, table)
    place = 4 + 2 * which
    offset = number("<H", data, entries + place) if place < number("<H", data, entries) else 0
    return table + offset if offset else 0


def target(data: bytes, place: int) -> int:
    """Where the table or vector is to which the offset at `place` leads."""
    return place + number("<I", data, place)


def number(format: str, data: bytes, place: int) -> int:
    if place < 0:
        raise struct.error("a place before the beginning")
    return int(struct.unpack_from(format, data, place)[0])
