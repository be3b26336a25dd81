"""Edge lists as text: SNAP, CSV, TSV; plain or compressed.

The reader cuts the text into blocks of whole lines and parses several blocks at a time, without the GIL. A compiled
kernel parses lines of two numbers (`pairs.py`); pyarrow's CSV reader parses all others. That reader does not know
comments and runs of blanks, so they are removed first: always if ids are strings; if they are integers, only if the
block cannot be parsed otherwise, because no comment can be mistaken for two integers.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from ...graph.columns import encoded, numbers_of
from ...native import prepare
from .format import (
    MIXED_SIGNS,
    EdgeList,
    Format,
    FormatFidelity,
    ReadOptions,
    check_memory,
    joined_edges,
    narrowed,
    shortened,
)
from .layout import COMMENT_MARKS, SAMPLE, Layout, data_lines, find_layout, is_number, is_too_large
from .pairs import SCAN_PAIRS, pairs
from .streams import BadLine, parsed_in_order, text_blocks
from .text_writer import write_text
from .windows import decoder_buffers

Array = npt.NDArray[Any]
log = logging.getLogger("garaph_py")

BLOCK = 2 << 20
"""Bytes of a block of text. Parsing one takes up to nine times as much memory. Names take a tenth longer in blocks of
1 MiB, and no less in those of 4 MiB (measured)."""
WATCHED = 32
"""Blocks in which the names of the first edge are looked for, 64 MiB of text: it takes four passes over the names of a
block."""
LONGEST_OPENING = 16 * BLOCK
"""Most bytes in which to look for the first `SAMPLE` data lines: there may be many comments between them."""
OTHER_FORMATS = {b"%%MatrixMarket": "Matrix Market"}
"""First bytes of formats whose lines could be mistaken for edges."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANK_LINE_ENDS = re.compile(rb"[ \t]*\n[ \t]*")
COMMENT = re.compile(rb"\n[#%][^\n]*")


class Columns(NamedTuple):
    """The edges of one block, with ids as integer arrays or Arrow string arrays, and its number of lines."""

    sources: Any
    targets: Any
    weights: Array | None
    lines: int


def read_text(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read a text edge list; see `FORMAT`."""
    batches, nbytes = [], 0
    for batch in stream_text(path, options, listener):
        batches.append(batch)
        if options.memory is not None:
            nbytes += batch.sources.nbytes + batch.targets.nbytes
            check_memory(path, nbytes, "its edges", options.memory)
    return joined_edges(batches)


def stream_text(path: Path, options: ReadOptions, listener: events.Listener) -> Generator[EdgeList, None, None]:
    """Read a text edge list block by block."""
    for part in text_parts(path, options, listener):
        yield EdgeList(part.sources, part.targets, part.weights)


def text_parts(path: Path, options: ReadOptions, listener: events.Listener) -> Iterator[Columns]:
    """The edges of every block of the file."""
    blocks = text_blocks(path, BLOCK, listener, options.memory is not None)
    text, line = opening(path, blocks)
    if not text:
        return
    layout, offset = find_layout(path, text, options, line)
    line += text.count(b"\n", 0, offset)
    if layout.columns == 2 and not layout.strings:
        prepare([SCAN_PAIRS], listener)
    parts = parsed(chain([text[offset:]], blocks), layout, options.threads, path, line)
    has_header = offset > 0
    yield from parts if has_header or not layout.strings else watched(parts, path, line)


def opening(path: Path, blocks: Iterator[bytes]) -> tuple[bytes, int]:
    """Text that begins with the first data line and has enough lines to detect the layout, and that line's number."""
    text, line, found = b"", 1, 0
    for number, block in enumerate(blocks):
        if number == 0:
            block = block.removeprefix(BYTE_ORDER_MARK)
            for magic, name in OTHER_FORMATS.items():
                if block.startswith(magic):
                    raise FormatError(path, f"a {name} file, not an edge list; name its format")
        if not text:
            start = next((offset for offset, _ in data_lines(block)), len(block))
            line += block.count(b"\n", 0, start)
            block = block[start:]
        text += block
        found += sum(1 for _ in islice(data_lines(block), SAMPLE))
        if found >= SAMPLE or len(text) > LONGEST_OPENING:
            break
    return text, line


def watched(parts: Iterable[Columns], path: Path, line: int) -> Iterator[Columns]:
    """Pass on edges between names. Warn if neither name of the first one occurs again in `WATCHED` blocks, as those of
    a header."""
    import pyarrow.compute as pc

    first: list[Any] = []  # the names, as Arrow's strings: to make these of Python's, Arrow would import pandas
    edges, again = 0, False
    for number, part in enumerate(parts):
        edges += len(part.sources)
        if number < WATCHED and not again and edges:
            skipped = int(not first)  # the first edge itself
            first = first or [part.sources[0], part.targets[0]]
            again = any(is_number(name.as_py()) for name in first) or any(
                pc.any(pc.equal(column.slice(skipped), name)).as_py()
                for column in (part.sources, part.targets)
                for name in first
            )
        yield part
    if edges > 1 and not again:
        log.warning(
            "%s: line %d (%r, %r) was read as an edge; if it is a header, name its columns: source_column=, "
            "target_column= (--source-column, --target-column)",
            path,
            line,
            *(shortened(name.as_py(), 40) for name in first),
        )


def parsed(blocks: Iterable[bytes], layout: Layout, threads: int, path: Path, line: int) -> Iterator[Columns]:
    """Parse blocks with several threads, in order; `line` is the number of the first line."""
    results = parsed_in_order(path, partial(parse_block, layout=layout), blocks, threads, line, lambda part: part.lines)
    return (columns for _, columns in results)


def parse_block(block: bytes, layout: Layout) -> Columns:
    """The edges of `block`.

    Raises
    ------
    BadLine
        For the first line that cannot be parsed.
    """
    columns = try_parse(block, layout)
    if columns is not None:
        return columns
    good, bad = 0, len(block)  # the first bad line is in block[good:bad], which is whole lines
    while True:
        middle = (good + bad) // 2
        cut = block.find(b"\n", middle, bad - 1) + 1 or block.rfind(b"\n", good, middle) + 1
        if not cut:
            break
        if try_parse(block[good:cut], layout) is None:
            bad = cut
        else:
            good = cut
    line = block[good:bad].removesuffix(b"\n")
    if try_parse(line, layout) is not None:
        raise BadLine(None, MIXED_SIGNS)
    problem = layout.problem(line.strip(b" \t")) or "not an edge"
    raise BadLine(block.count(b"\n", 0, good), problem, shortened(line.decode("utf-8", "backslashreplace")))


def try_parse(block: bytes, layout: Layout) -> Columns | None:
    """The edges of `block`, or None if it has a line that cannot be parsed."""
    import pyarrow as pa

    weights = (pa.float64(),) if layout.fractions else (pa.int64(), pa.float64())
    ids = (pa.string(),) if layout.strings else (pa.int64(), pa.uint64())
    attempts = [(id_type, weight) for weight in weights for id_type in ids]
    if not layout.strings:
        lines = line_count(block)
        if layout.columns == 2 and (both := pairs(block, layout.separator, lines)) is not None:
            return Columns(narrowed(both[layout.source]), narrowed(both[layout.target]), None, lines)
        columns = parse(block, layout, *attempts[0])
        if columns is not None:
            return columns
    elif b"\0" in block:
        return None
    plain = normalized(block, layout.separator)
    for id_type, weight in attempts:
        columns = parse(plain, layout, id_type, weight)
        if columns is not None:
            return columns._replace(lines=line_count(block))
    return None


def normalized(block: bytes, separator: str) -> bytes:
    """`block` without comments and blanks at line ends; if blanks separate columns, every run becomes one blank."""
    block = b"\n" + block + b"\n"
    if separator == " ":
        block = squeezed(block.replace(b"\t", b" "), b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
    elif any(blank in block and (b"\n" + blank in block or blank + b"\n" in block) for blank in (b" ", b"\t")):
        block = BLANK_LINE_ENDS.sub(b"\n", block)
    # searching for one byte is far faster than for two, so search for the mark alone first
    if any(mark in block and b"\n" + mark in block for mark in COMMENT_MARKS):
        block = COMMENT.sub(b"", block)
    return block


def squeezed(text: bytes, byte: bytes) -> bytes:
    """`text` with every run of `byte` replaced by one."""
    while 2 * byte in text:
        text = text.replace(2 * byte, byte)
    return text


def parse(text: bytes, layout: Layout, id_type: Any, weight_type: Any) -> Columns | None:
    """The edges of `text`, or None if it cannot be parsed with these types."""
    lines = line_count(text)
    guard = layout.quotes and b'"' in text
    if guard:  # pyarrow lets quoted fields span lines: add a last line, to see whether an open quote swallows it
        text = squeezed(text.strip(b"\n"), b"\n")
        rows = line_count(text) + 1
        text += b"\n" + layout.separator.join(["0"] * layout.columns).encode()
    if not text:
        text = b"\n"
    kinds = {str(layout.source): id_type, str(layout.target): id_type}
    if layout.weight is not None:
        kinds[str(layout.weight)] = weight_type
    table = table_of(text, layout, kinds)
    if table is None:
        return None
    if guard:
        if len(table) != rows + 1:
            return None
        table = table.slice(0, rows)
    sources, targets, *weights = table.columns
    values = numbers_of(weights[0]) if weights else None
    if values is not None and values.dtype.kind == "f" and are_too_large(values, text, layout):
        return None
    if not layout.strings:
        return Columns(narrowed(numbers_of(sources)), narrowed(numbers_of(targets)), values, lines)
    import pyarrow.compute as pc

    if any(blank.encode() in text for blank in " \t" if blank != layout.separator):
        sources, targets = pc.ascii_trim(sources, " \t"), pc.ascii_trim(targets, " \t")
    complete = pc.min(pc.binary_length(sources)).as_py() != 0 and pc.min(pc.binary_length(targets)).as_py() != 0
    return Columns(encoded(sources), encoded(targets), values, lines) if complete else None


def table_of(text: bytes, layout: Layout, kinds: dict[str, Any]) -> Any:
    """The columns of `text` whose types are given by their numbers, as an Arrow table; None if it cannot be parsed."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(
                use_threads=False,
                block_size=len(text) + 1,
                column_names=[str(number) for number in range(layout.columns)],
            ),
            csv.ParseOptions(delimiter=layout.separator, quote_char='"' if layout.quotes else False),
            csv.ConvertOptions(column_types=kinds, include_columns=list(kinds), null_values=[]),
        )
    except pa.ArrowInvalid:
        return None


def are_too_large(values: Array, text: bytes, layout: Layout) -> bool:
    """Whether weights of `text` became infinite, and are not written so."""
    import pyarrow as pa

    infinite = np.flatnonzero(np.isinf(values))
    if not len(infinite):
        return False
    (written,) = table_of(text, layout, {str(layout.weight): pa.string()}).columns
    return any(map(is_too_large, written.take(pa.array(infinite)).unique().to_pylist()))


def line_count(block: bytes) -> int:
    """``block.count(b"\\n")``, but faster, and without the GIL."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


FORMAT = Format(
    name="text",
    suffixes=(".txt", ".tsv", ".csv", ".el", ".wel", ".e", ".edges", ".edgelist", ".snap"),
    magic=b"",
    description="edge list: SNAP, CSV, TSV; plain, .gz, .xz or .zst",
    read=read_text,
    keeps=FormatFidelity(ids="any", weights="any", direction="one", isolated=False),
    write=write_text,
    compresses=True,
    buffers=decoder_buffers,
    stream=stream_text,
    names_columns=True,
)
