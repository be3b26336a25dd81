"""Tables of edges: Parquet, and Arrow's own files and streams (Feather)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from ... import events
from ...errors import FormatError
from ...graph.columns import encoded, numbers_of
from ...graph.edges import edge_schema, record_batch
from ...graph.graph import Graph
from ...system.files import arrow_file, write_whole
from .batches import edge_batches, need_edges
from .columns import Table
from .format import (
    Buffers,
    EdgeList,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    joined_edges,
    malformed,
    narrowed,
)
from .pages import Chunk, Names, checked_chunks, largest_batch, largest_pages

ROWS, NAME_ROWS = 1 << 18, 1 << 14
"""Rows of a batch, and most of one with names, which may be long."""
READ_AHEAD = 1 << 20
"""Bytes of a column of a Parquet file that are read at a time."""
DECODED_BYTES = 16 << 20
"""Most bytes of names that are decoded from a dictionary at a time: a row may be one number, and its name very long."""
NAME_COPIES = 3
"""How often the names of a row are in memory at a time: in their batch, in the one before, in the making."""
FIRST_MESSAGE = 8
"""Where an Arrow file's first message is; a stream begins with one."""
STREAM_MAGIC = b"\xff\xff\xff\xff"
"""First bytes of an Arrow stream."""
UNREADABLE = "not readable as the {} file its name or beginning says it is"


Parts = Iterator[tuple[list[str], list[Any]]]
"""Names and contents of the columns of each batch."""
TableReader = Callable[[Path, ReadOptions, events.Listener], Parts]


def read_table(parts: TableReader, path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read the edge columns of a table; see `PARQUET` and `ARROW`."""
    return joined_edges(list(stream_table(parts, path, options, listener)))


def stream_table(
    parts: TableReader, path: Path, options: ReadOptions, listener: events.Listener
) -> Generator[EdgeList, None, None]:
    """Read the edge columns of a table batch by batch."""
    for part in parts(path, options, listener):
        yield edge_list(path, *part)


def parquet_parts(path: Path, options: ReadOptions, listener: events.Listener) -> Parts:
    from pyarrow import parquet

    problem = UNREADABLE.format("Parquet")
    with ExitStack() as opened:
        with malformed(path, problem):
            source = opened.enter_context(arrow_file(path))
            file = parquet.ParquetFile(source, buffer_size=READ_AHEAD, pre_buffer=False)  # else it reads row groups
        rows = file.metadata.num_rows
        with malformed(path, problem):
            names = edge_columns(path, file.schema_arrow, options)
            chunks = list(chain.from_iterable(checked_chunks(path, names)))
            rows_read = rows_at_a_time(path, file.schema_arrow, names[:2], chunks, options)
            batches = file.iter_batches(rows_read, columns=names, use_threads=options.threads > 1)
        found = 0
        for part in checked(path, problem, batches, names):
            yield names, part
            found += len(part[0])
            listener(events.Step("reading", min(found, rows - 1), rows, "edges"))
    if found != rows:
        raise FormatError(path, f"{found} rows, but its footer says {rows}; fetch or make the file again")
    listener(events.Step("reading", rows, rows, "edges"))


def rows_at_a_time(path: Path, schema: Any, names: list[str], chunks: list[Chunk], options: ReadOptions) -> int:
    """How many rows of the columns `names` may be decoded at a time; `chunks` are those of all row groups.

    Raises
    ------
    FormatError
        If one row would take too much memory.
    """
    import pyarrow as pa

    kinds = {name: schema.field(name).type for name in names}
    if all(map(pa.types.is_integer, kinds.values())):
        return ROWS
    columns = [
        Names(path, [chunk for chunk in chunks if chunk.is_of(name)], coded=pa.types.is_dictionary(kind))
        for name, kind in kinds.items()
        if not is_numeric(kind)
    ]
    rows = NAME_ROWS
    while (nbytes := sum(column.decoded_bytes(rows) for column in columns)) > DECODED_BYTES and rows > 1:
        rows //= 2
    if nbytes > DECODED_BYTES:
        check_memory(path, NAME_COPIES * nbytes, "the longest names of one row", options.memory)
    return rows


def parquet_buffers(path: Path, options: ReadOptions) -> Buffers:
    """The memory for pages, and what is read ahead."""
    from pyarrow import parquet

    with (
        malformed(path, UNREADABLE.format("Parquet")),
        arrow_file(path) as source,
        parquet.ParquetFile(source) as file,
    ):
        names = edge_columns(path, file.schema_arrow, options)
        nbytes = largest_pages(path, names) + READ_AHEAD * len(names)
    return Buffers(nbytes, "its largest pages", "write it again with smaller pages or row groups")


def arrow_buffers(path: Path, options: ReadOptions) -> Buffers:
    """The memory for a batch, which is read whole."""
    with malformed(path, "not readable"), open(path, "rb") as file:
        is_file = file.read(len(ARROW.magic)) == ARROW.magic
    nbytes = largest_batch(path, FIRST_MESSAGE if is_file else 0)
    return Buffers(nbytes, "its largest batches", "write it again with smaller batches (max_chunksize, row_group_size)")


def arrow_parts(path: Path, options: ReadOptions, listener: events.Listener) -> Parts:
    import pyarrow as pa

    problem = UNREADABLE.format("Arrow")
    with malformed(path, problem):
        file = arrow_file(path)
    with file:
        with malformed(path, problem):
            size = file.size()
            beginning = file.read(len(ARROW.magic))
            is_file = beginning == ARROW.magic
            if not is_file and not beginning.startswith(STREAM_MAGIC):
                raise FormatError(path, "neither an Arrow file nor an Arrow stream; check the name")
            file.seek(0)
            reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
            names = edge_columns(path, reader.schema, options)
            batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
        for part in checked(path, problem, batches, names):
            yield names, part
            listener(events.Step("reading", min(file.tell(), size - 1), size))
    listener(events.Step("reading", size, size))


def edge_columns(path: Path, schema: Any, options: ReadOptions) -> list[str]:
    """The names of the columns of sources, targets and, if it is wanted and there, weights."""
    names = schema.names
    if len(names) < 2:
        raise FormatError(path, f"{len(names)} columns; a table of edges has a source and a target")
    table = Table(path, names, lambda column: is_numeric(schema.types[column]))
    return [names[column] for column in table.edge_columns(options.columns, options.weights).all]


def is_numeric(kind: Any) -> bool:
    """Whether a column of this type of Arrow holds numbers."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def checked(path: Path, problem: str, batches: Iterator[Any], names: list[str]) -> Iterator[list[Any]]:
    """The columns `names` of each batch, after a check of lengths and offsets, which pyarrow itself does not check."""
    while True:
        with malformed(path, problem):
            batch = next(batches, None)
            if batch is None:
                return
            batch = batch.select(names)
            batch.validate(full=True)
            rows = min(decodable_rows(batch), ROWS)
        for start in range(0, len(batch), rows):
            with malformed(path, problem):
                columns = batch.slice(start, rows).columns
                part = [plain(path, name, column) for name, column in zip(names, columns, strict=True)]
                part[:2] = [narrowed(ids) if isinstance(ids, np.ndarray) else ids for ids in part[:2]]
            yield part


def decodable_rows(batch: Any) -> int:
    """Rows of a batch that take at most `DECODED_BYTES` when their names are decoded from a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [column.dictionary for column in batch.columns if pa.types.is_dictionary(column.type)]
    lengths: list[int | None] = [
        pc.max(pc.binary_length(each)).as_py() for each in names if not pa.types.is_primitive(each.type)
    ]
    return max(DECODED_BYTES // max([1, *filter(None, lengths)]), 1)


def plain(path: Path, name: str, column: Any) -> Any:
    """A column of a batch as a NumPy array of numbers, or as `graph.columns.encoded` strings."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise FormatError(path, f"column {name!r} has missing values (nulls); fill them or drop those rows")
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return numbers_of(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return encoded(column)
    raise FormatError(path, f"column {name!r} has type {kind}; vertex ids are integers or strings")


def edge_list(path: Path, names: list[str], columns: list[Any]) -> EdgeList:
    """The edges of a batch, from its columns."""
    for name, ids in zip(names[:2], columns, strict=False):
        if isinstance(ids, np.ndarray) and ids.dtype.kind == "f":
            raise FormatError(path, f"column {name!r} holds fractions; vertex ids are integers or strings")
    sources, targets, *weights = columns
    if isinstance(sources, np.ndarray) != isinstance(targets, np.ndarray):
        raise FormatError(path, f"{names[0]!r} and {names[1]!r} differ in kind; make both integers or both strings")
    return EdgeList(sources, targets, *weights)


def parquet_writer(file: IO[bytes], schema: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema)


def arrow_writer(file: IO[bytes], schema: Any) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(file, schema)


def write_table(
    new_writer: Callable[[IO[bytes], Any], Any], graph: Graph, path: Path, listener: events.Listener
) -> None:
    """Write the columns source and target (the user's ids) and, if there are weights, weight.

    Raises
    ------
    GraphError
        If there are no edges.
    """
    need_edges(graph)
    schema = edge_schema(graph.ids, graph.edge_dtype)

    def write(file: IO[bytes]) -> None:
        with new_writer(file, schema) as writer:
            for batch in edge_batches(graph, listener, ROWS):
                writer.write_batch(record_batch(graph.ids, batch, schema))

    write_whole(path, write)


KEEPS = FormatFidelity(ids="any", weights="any", direction="one", isolated=False)
PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    b"PAR1",
    "table of edges in Apache Parquet",
    partial(read_table, parquet_parts),
    KEEPS,
    partial(write_table, parquet_writer),
    stream=partial(stream_table, parquet_parts),
    names_columns=True,
    buffers=parquet_buffers,
)
ARROW = Format(
    "arrow",
    (".arrow", ".feather", ".ipc"),
    b"ARROW1",
    "table of edges, Arrow or Feather",
    partial(read_table, arrow_parts),
    KEEPS,
    partial(write_table, arrow_writer),
    stream=partial(stream_table, arrow_parts),
    names_columns=True,
    buffers=arrow_buffers,
)
