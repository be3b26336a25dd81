"""How much of a table is in memory at once: the largest pages of a Parquet file, the largest batch of an Arrow one.

Writers choose these sizes, and pyarrow tells them only after it has read the data. So this reads the headers. It also
reads the footers of Parquet files: if one is damaged, pyarrow may end the process when it is asked for a column. And it
refuses pages that are longer than their file, for which pyarrow would take memory first.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from .format import malformed
from .thrift import struct_fields

HEADER, LONGEST_HEADER = 1 << 12, 1 << 20
"""Bytes that are read for the header of a page, and for one that is longer; more is damage."""
FOOTER_END = 8
"""Bytes behind the footer of a Parquet file: four of its length, and four that say that it is one."""
ROW_GROUPS, COLUMNS, METADATA = 4, 1, 3
"""The numbers of fields in a footer, in a row group of it, and in a column of that."""
PATH, CODEC, CHUNK_BYTES, DATA_PAGE, DICTIONARY = 3, 4, 7, 9, 11
"""The numbers of fields in the metadata of a column of a row group."""
COLUMN = {PATH: [bytes], CODEC: int, CHUNK_BYTES: int, DATA_PAGE: int, DICTIONARY: int}
FOOTER = {ROW_GROUPS: [{COLUMNS: [{METADATA: COLUMN}]}]}
"""What is read of a footer, a shape of `thrift`."""
PAGE_TYPE, UNCOMPRESSED, COMPRESSED = 1, 2, 3
"""The numbers of fields in the header of a page."""
VALUES_OF = {0: 5, 2: 7, 3: 8}
"""By type of page, the field whose first field is how many values the page has."""
PAGE = {PAGE_TYPE: int, UNCOMPRESSED: int, COMPRESSED: int} | {field: {1: int} for field in VALUES_OF.values()}
"""What is read of the header of a page, a shape of `thrift`."""
DICTIONARY_PAGE = 2
"""The type of a page with a dictionary."""
NOT_COMPRESSED = 0
"""The number of the codec that leaves data as they are."""
CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
"""By number of a codec in Parquet, that of Arrow. Of one that is not here, a dictionary is taken for one name."""
CONTINUATION = b"\xff\xff\xff\xff"
"""The first bytes of a message of Arrow."""
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
"""Kinds of messages of Arrow."""
LONGEST_METADATA = 1 << 24
"""Most bytes of a message's metadata, which lists the buffers of the columns; more is damage."""


# Parquet


class Chunk(NamedTuple):
    """A column of a row group: its name, the number of its codec, and where its pages are stored, the dictionary first.

    If it has no dictionary, the place of that is None.
    """

    name: str
    codec: int
    stored: int
    data_page: int
    dictionary_page: int | None

    def is_of(self, column: str) -> bool:
        """Whether it has the data of a column of the table, or some of them if the column is nested."""
        return f"{self.name}.".startswith(f"{column}.")


def largest_pages(path: Path, names: Sequence[str]) -> int:
    """Bytes for a page of each of the columns `names`, the largest of a row group, and for dictionaries.

    Damaged headers count as far as they go.

    Raises
    ------
    FormatError
        If the footer is damaged.
    """
    with malformed(path, "not readable"), open(path, "rb") as file:
        groups = chunks_of(file, names)
        return max((sum(chunk_bytes(file, chunk) for chunk in chunks) for chunks in groups), default=0)


def checked_chunks(path: Path, names: Sequence[str]) -> list[list[Chunk]]:
    """The columns `names` of each row group, as the footer says.

    The footer must name these columns, because pyarrow finds them by their places, whatever they are called there.

    Raises
    ------
    FormatError
        If a page of these columns is longer than the file, or if the footer is damaged.
    """
    with malformed(path, "not readable"), open(path, "rb") as file:
        size, groups = file.seek(0, os.SEEK_END), list(chunks_of(file, names))
        for chunks in groups:
            if missing := [name for name in names if not any(chunk.is_of(name) for chunk in chunks)]:
                raise ValueError(f"a row group lacks the column {missing[0]!r}; fetch or make it again")
            for chunk in chunks:
                if any(page.place + page.stored > size for page in chunk_pages(file, chunk)):
                    raise ValueError(f"a page of {chunk.name!r} is longer than the file; fetch or make it again")
    return groups


def chunks_of(file: IO[bytes], names: Sequence[str]) -> Iterator[list[Chunk]]:
    """For each row group, the columns `names`, as the footer says."""
    for group in footer(file).get(ROW_GROUPS, []):
        chunks = (chunk_in(column.get(METADATA, {})) for column in group.get(COLUMNS, []))
        yield [chunk for chunk in chunks if any(map(chunk.is_of, names))]


def footer(file: IO[bytes]) -> dict[int, Any]:
    """The part of a file's footer that `FOOTER` names."""
    end = file.seek(0, os.SEEK_END) - FOOTER_END
    file.seek(max(end, 0))
    length = int.from_bytes(file.read(4), "little")
    if length > end:
        raise ValueError("its footer is longer than the file; fetch or make it again")
    file.seek(end - length)
    try:
        return struct_fields(file.read(length), 0, FOOTER)[0]
    except IndexError as error:
        raise ValueError("its footer is damaged; fetch or make it again") from error


def chunk_in(fields: dict[int, Any]) -> Chunk:
    """What the footer says of a column of a row group."""
    name = b".".join(fields.get(PATH, [])).decode(errors="replace")
    codec, stored, data_page = (fields.get(field, -1) for field in (CODEC, CHUNK_BYTES, DATA_PAGE))
    return Chunk(name, codec, stored, data_page, fields.get(DICTIONARY))


class Page(NamedTuple):
    """A page of a column: where it is stored, its bytes there and decompressed, and how many values it has."""

    kind: int
    place: int
    stored: int
    nbytes: int
    values: int


def chunk_bytes(file: IO[bytes], chunk: Chunk) -> int:
    """Bytes for the largest page of a column of a row group, as it is stored and decompressed, and its dictionary."""
    dictionary = largest = 0
    for page in chunk_pages(file, chunk):
        if page.kind == DICTIONARY_PAGE:
            dictionary += page.nbytes
        largest = max(largest, page.stored + page.nbytes)
    return largest + dictionary


def chunk_pages(file: IO[bytes], chunk: Chunk) -> Iterator[Page]:
    """The pages of a column of a row group, up to the first damaged header."""
    place = chunk.data_page
    if chunk.dictionary_page is not None and chunk.dictionary_page > 0:  # else there is none: so pyarrow reads it
        place = min(place, chunk.dictionary_page)
    end = min(place + chunk.stored, file.seek(0, os.SEEK_END))
    while 0 <= place < end:
        file.seek(place)
        fields, length = page_header(file)
        stored, kind = fields.get(COMPRESSED, -1), fields.get(PAGE_TYPE, -1)
        if stored < 0:
            return
        values = fields.get(VALUES_OF.get(kind, -1), {}).get(1, 0)
        yield Page(kind, place + length, stored, max(fields.get(UNCOMPRESSED, 0), 0), max(values, 0))
        place += length + stored


class Names:
    """How long the names of a column of a Parquet file are, to tell how many rows of them may be decoded at a time.

    Parameters
    ----------
    path : Path
    chunks : iterable of Chunk
        The column's, of each row group.
    coded : bool
        Its names stay in dictionaries when it is read.

    Attributes
    ----------
    longest : int
        Bytes of the longest name in a dictionary; 0 if names stay there.
    """

    def __init__(self, path: Path, chunks: Iterable[Chunk], *, coded: bool) -> None:
        self.longest = 0
        self._pages: list[Page] = []
        with malformed(path, "not readable"), open(path, "rb") as file:
            for chunk in chunks:
                pages = list(chunk_pages(file, chunk))
                self._pages += (page for page in pages if page.kind != DICTIONARY_PAGE)
                dictionaries = (page for page in pages if page.kind == DICTIONARY_PAGE and not coded)
                lengths = (longest_name(file, page, chunk.codec) for page in dictionaries)
                self.longest = max(self.longest, *lengths, 0)

    def decoded_bytes(self, rows: int) -> int:
        """The most bytes of names in so many rows, beside a part of the first page that they are in and of the last."""
        most = nbytes = values = first = 0
        for page in self._pages:
            nbytes, values = nbytes + page.nbytes, values + page.values
            while values > rows:
                nbytes, values = nbytes - self._pages[first].nbytes, values - self._pages[first].values
                first += 1
            most = max(most, nbytes)
        return rows * self.longest + most


def longest_name(file: IO[bytes], page: Page, codec: int) -> int:
    """Bytes of the longest name of a dictionary: each stands behind its length, which takes four bytes."""
    import pyarrow as pa

    if codec != NOT_COMPRESSED and codec not in CODECS:
        return page.nbytes
    file.seek(page.place)
    data = file.read(page.stored)
    if codec != NOT_COMPRESSED:
        try:
            data = pa.Codec(CODECS[codec]).decompress(data, page.nbytes)
        except (OSError, pa.ArrowException):  # damaged
            return page.nbytes
    length_at, place, longest, last = struct.Struct("<I").unpack_from, 0, 0, len(data) - 4
    while place <= last:
        (length,) = length_at(data, place)
        if length > longest:
            longest = length
        place += 4 + length
    return min(longest, page.nbytes)


def page_header(file: IO[bytes]) -> tuple[dict[int, Any], int]:
    """The fields of the header that comes next in a file, and its length; none if it is damaged."""
    data = file.read(HEADER)
    for more in (LONGEST_HEADER, 0):
        try:
            return struct_fields(data, 0, PAGE)
        except IndexError:
            data += file.read(more)
    return {}, 0


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
