"""Edge lists as text: SNAP, CSV, TSV; plain or compressed.

The stream is cut into blocks of whole lines, parsed several at once, without the GIL: pairs of numbers by a kernel
(`pairs.py`), all else by pyarrow's CSV reader. What that does not know (comments, runs of blanks) is put right first:
for string ids always; for integers only when a block does not parse as it stands, since no such line reads as two
integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from ...native import prepare
from .format import EdgeList, Format, FormatFidelity, ReadOptions, joined, malformed, narrowed, shortened
from .layout import COMMENT_MARKS, SAMPLE, Layout, data_lines, find_layout
from .pairs import SCAN_PAIRS, pairs
from .streams import decompressed, line_blocks, parsed_in_order
from .text_writer import write_text

Array = npt.NDArray[Any]

BLOCK = 4 << 20  # fits the caches of two threads; larger ones are slower
LONGEST_OPENING = 16 * BLOCK  # a hundred lines and the comments among them
OTHER_FORMATS = {b"%%MatrixMarket": "Matrix Market"}  # whose lines would pass for edges
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANK_LINE_ENDS = re.compile(rb"[ \t]*\n[ \t]*")
COMMENT = re.compile(rb"\n[#%][^\n]*")
MIXED_SIGNS = "ids below 0 and above 2^63 - 1 in one file; no integer type holds both: renumber them, or use names"


class Columns(NamedTuple):
    """Edges of one block: integer arrays or lists of Arrow string arrays."""

    sources: Any
    targets: Any
    weights: Array | None
    lines: int


class BadLine(ValueError):
    """A line of a block (from 0) that does not parse; None when each does, but not all together."""

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def read_text(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read a text edge list; see `FORMAT`."""
    parts = list(text_parts(path, options, listener))
    if not parts:
        return EdgeList(np.zeros(0, np.int64), np.zeros(0, np.int64))
    join = joined_integers if isinstance(parts[0].sources, np.ndarray) else joined_strings
    weighted = parts[0].weights is not None
    pieces = [[part.sources for part in parts], [part.targets for part in parts], [part.weights for part in parts]]
    parts.clear()  # so that joining one column frees its pieces before the next is joined
    weights = joined(pieces[2]) if weighted else None
    return EdgeList(join(path, pieces[0]), join(path, pieces[1]), weights)


def stream_text(path: Path, options: ReadOptions, listener: events.Listener) -> Iterator[EdgeList]:
    """The same, a block at a time."""
    for part in text_parts(path, options, listener):
        yield EdgeList(part.sources, part.targets, part.weights)


def text_parts(path: Path, options: ReadOptions, listener: events.Listener) -> Iterator[Columns]:
    """The edges of every block of the file."""
    with malformed(path, "not readable"):
        size = path.stat().st_size
        raw = open(path, "rb")  # noqa: SIM115 - closed below; a listener's own errors must pass unchanged
    with raw, decompressed(raw) as stream:
        blocks = line_blocks(path, stream, BLOCK)
        text, line = opening(path, blocks)
        if not text:
            return
        layout, offset = find_layout(path, text, options.weights, line)
        line += text.count(b"\n", 0, offset)
        if layout.columns == 2 and not layout.strings:
            prepare([SCAN_PAIRS], listener)
        for part in parsed(chain([text[offset:]], blocks), layout, options.threads, path, line):
            yield part
            listener(events.Step("reading", min(raw.tell(), size - 1), size))
    listener(events.Step("reading", size, size))


def opening(path: Path, blocks: Iterator[bytes]) -> tuple[bytes, int]:
    """The text from the first data line on, long enough to tell the layout, and the number of its first line."""
    text, line = b"", 1
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
        if sum(1 for _ in islice(data_lines(text), SAMPLE)) == SAMPLE or len(text) > LONGEST_OPENING:
            break
    return text, line


def parsed(blocks: Iterable[bytes], layout: Layout, threads: int, path: Path, line: int) -> Iterator[Columns]:
    """`blocks` parsed by several threads, in order; `line` is the number of the first."""
    for future in parsed_in_order(lambda block: parse_block(block, layout), blocks, threads):
        try:
            columns = future.result()
        except BadLine as error:
            raise FormatError(path, str(error), line=None if error.line is None else line + error.line) from None
        line += columns.lines
        yield columns


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
    lines = block.split(b"\n")
    good, bad = 0, len(lines)  # the first bad line is in lines[good:bad]
    while bad - good > 1:
        middle = (good + bad) // 2
        if try_parse(b"\n".join(lines[good:middle]), layout) is None:
            bad = middle
        else:
            good = middle
    line = lines[good]
    if try_parse(line, layout) is not None:
        raise BadLine(None, MIXED_SIGNS)
    problem = layout.problem(line.strip(b" \t")) or "not an edge"
    raise BadLine(good, f"{problem}: {shortened(line.decode('utf-8', 'backslashreplace'))}")


def try_parse(block: bytes, layout: Layout) -> Columns | None:
    """The edges of `block`, or None when it has a bad line."""
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
    plain = without_oddities(block, layout.separator)
    for id_type, weight in attempts:
        columns = parse(plain, layout, id_type, weight)
        if columns is not None:
            return columns._replace(lines=line_count(block))
    return None


def without_oddities(block: bytes, separator: str) -> bytes:
    """`block` without comments, blanks at line ends and, if blanks separate, runs of them."""
    block = b"\n" + block + b"\n"
    if separator == " ":
        block = squeezed(block.replace(b"\t", b" "), b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n")
    elif any(blank in block and (b"\n" + blank in block or blank + b"\n" in block) for blank in (b" ", b"\t")):
        block = BLANK_LINE_ENDS.sub(b"\n", block)
    # one byte is found far faster than two, so look for that first
    if any(mark in block and b"\n" + mark in block for mark in COMMENT_MARKS):
        block = COMMENT.sub(b"", block)
    return block


def squeezed(text: bytes, byte: bytes) -> bytes:
    """`text` with every run of `byte` made a single one."""
    while 2 * byte in text:
        text = text.replace(2 * byte, byte)
    return text


def parse(text: bytes, layout: Layout, id_type: Any, weight_type: Any) -> Columns | None:
    """The edges of `text`, or None when it does not parse with these types."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    lines = line_count(text)
    guard = layout.quotes and b'"' in text
    if guard:  # pyarrow lets a quoted field run over line ends: a quote left open must not swallow this last line
        text = squeezed(text.strip(b"\n"), b"\n")
        rows = line_count(text) + 1
        text += b"\n" + layout.separator.join(["0"] * layout.columns).encode()
    if not text:
        text = b"\n"
    kinds = {str(layout.source): id_type, str(layout.target): id_type}
    if layout.weight is not None:
        kinds[str(layout.weight)] = weight_type
    try:
        table = csv.read_csv(
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
    if guard:
        if len(table) != rows + 1:
            return None
        table = table.slice(0, rows)
    sources, targets, *weights = table.columns
    values = weights[0].to_numpy() if weights else None
    if not layout.strings:
        return Columns(narrowed(sources.to_numpy()), narrowed(targets.to_numpy()), values, lines)
    if any(blank.encode() in text for blank in " \t" if blank != layout.separator):
        sources, targets = pc.ascii_trim(sources, " \t"), pc.ascii_trim(targets, " \t")
    complete = pc.min(pc.binary_length(sources)).as_py() != 0 and pc.min(pc.binary_length(targets)).as_py() != 0
    return Columns(sources, targets, values, lines) if complete else None


def line_count(block: bytes) -> int:
    """``block.count(b"\\n")``, but faster, and without the GIL."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def joined_integers(path: Path, pieces: list[Array]) -> Array:
    """`joined`, with the types of integers that occur made one."""
    if any(piece.dtype == np.uint64 for piece in pieces):
        if any(piece.dtype == np.int64 and len(piece) and int(piece.min()) < 0 for piece in pieces):
            raise FormatError(path, MIXED_SIGNS)
        pieces[:] = [piece.astype(np.uint64, copy=False) for piece in pieces]
    return joined(pieces)


def joined_strings(path: Path, pieces: list[Any]) -> Any:
    import pyarrow as pa

    return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], pa.string())


FORMAT = Format(
    name="text",
    suffixes=(".txt", ".tsv", ".csv", ".el", ".wel", ".e", ".edges", ".edgelist", ".snap"),
    magic=b"",
    description="edge list: SNAP, CSV, TSV; plain, .gz, .xz or .zst",
    read=read_text,
    keeps=FormatFidelity(ids="any", weights="any", direction="one", isolated=False),
    write=write_text,
    compresses=True,
    stream=stream_text,
    edge_bytes=8,
)
