"""Integers in text, however many on a line: parsed block by block, and the line each stands on.

No library reads lines of any length. Given each number on a line of its own, pyarrow's CSV reader takes 2.5 times as
long as the kernel here, and does not know the lines any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from ...native import Kernel, prepare
from .format import malformed, shortened
from .streams import decompressed, line_blocks, parsed_in_order

Array = npt.NDArray[Any]

BLOCK = 4 << 20
COMMENT = -1
NEWLINE, BLANK, TAB, MARK, MINUS, ZERO = b"\n \t%-0"
LEAST = -(2**63)  # ...808
TENTH = -(2**63 // 10)


class Numbers(NamedTuple):
    """What a block of lines holds.

    Attributes
    ----------
    values : ndarray of int64, shape (k,)
    counts : ndarray of int64, shape (lines,)
        How many of the values stand on each line; `COMMENT` for one that begins with ``%``.
    """

    values: Array
    counts: Array


class BadLine(ValueError):
    """A line of a block (from 0) with something that is no integer."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def scan(text: Any, size: int, values: Any, counts: Any) -> int:
    """Parse ``text[:size]``, which ends with a newline; the place of the first token that is no int64, or -1.

    Receives `values` and `counts` of `Numbers`: `values` has room for every second byte.
    """
    place, found, line = 0, 0, 0
    while place < size:
        if text[place] == MARK:
            while text[place] != NEWLINE:
                place += 1
            counts[line] = COMMENT
        else:
            before = found
            while text[place] != NEWLINE:
                if text[place] == BLANK or text[place] == TAB:
                    place += 1
                    continue
                token = place
                negative = text[place] == MINUS
                if negative:
                    place += 1
                number: Any = 0  # not above zero: below it there is one number more
                digits = 0
                while True:
                    digit = np.int64(text[place]) - ZERO
                    if digit < 0 or digit > 9:
                        break
                    if number <= TENTH and (number < TENTH or digit > 8):
                        return token
                    number = 10 * number - digit
                    digits += 1
                    place += 1
                end = text[place]
                if digits == 0 or end not in (BLANK, TAB, NEWLINE):
                    return token
                if not negative and number == LEAST:
                    return token
                values[found] = number if negative else -number
                found += 1
            counts[line] = found - before
        line += 1
        place += 1
    return -1


SCAN = Kernel("u8* i64 i64* i64*", scan)


def text_blocks(path: Path, listener: events.Listener) -> Iterator[bytes]:
    """The contents of a plain or compressed file in blocks of whole lines."""
    with malformed(path, "not readable"):
        size = path.stat().st_size
        raw = open(path, "rb")  # noqa: SIM115 - closed below; a listener's own errors must pass unchanged
    with raw, decompressed(raw) as stream:
        for block in line_blocks(path, stream, BLOCK):
            listener(events.Step("reading", min(raw.tell(), size - 1), size))
            yield block
    listener(events.Step("reading", size, size))


def number_blocks(
    path: Path, blocks: Iterable[bytes], threads: int, line: int, listener: events.Listener
) -> Iterator[tuple[int, Numbers]]:
    """`blocks` parsed by several threads, in order, each with the number of its first line; `line` is the first's.

    Raises
    ------
    FormatError
        If there is anything but 64-bit integers; names the line.
    """
    prepare([SCAN], listener)
    for future in parsed_in_order(parse, blocks, threads):
        try:
            numbers = future.result()
        except BadLine as error:
            raise FormatError(path, str(error), line=line + error.line) from None
        yield line, numbers
        line += len(numbers.counts)


def parse(block: bytes) -> Numbers:
    """The integers in `block`.

    Raises
    ------
    BadLine
        For the first line with anything else.
    """
    if not block.endswith(b"\n"):
        block += b"\n"
    text = np.frombuffer(block, np.uint8)
    values = np.empty(len(text) // 2, np.int64)
    counts = np.empty(np.count_nonzero(text == NEWLINE), np.int64)
    bad = SCAN(text, len(text), values, counts)
    if bad >= 0:
        token = block[bad : bad + 100].split(b"\n")[0].replace(b"\t", b" ").split(b" ")[0]
        problem = f"{shortened(token.decode('utf-8', 'backslashreplace'))!r} is no 64-bit integer"
        raise BadLine(block.count(b"\n", 0, bad), problem)
    return Numbers(values[: counts.sum(where=counts > 0)], counts)
