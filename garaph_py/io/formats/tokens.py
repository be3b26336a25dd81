"""Parse text of integers, with any number of them on a line, and count the integers of each line.

A compiled kernel parses, because no library reads lines of different lengths. pyarrow's CSV reader, given one number
per line, takes 2.5 times as long, and the original lines are lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...native import Kernel, prepare
from .format import shortened
from .streams import BadLine, parsed_in_order, text_blocks

Array = npt.NDArray[Any]

BLOCK = 1 << 20
"""Bytes of a block of text. Numbers and counts of lines take up to 12 times as much; five blocks wait at most."""
COMMENT = -1
"""Count of a comment line; see `Numbers`."""
NEWLINE, BLANK, TAB, MARK, MINUS, ZERO = b"\n \t%-0"
LEAST = -(2**63)
"""The least int64. Numbers are read as negative ones, of which there is one more."""
TENTH = -(2**63 // 10)
"""`LEAST` / 10, rounded towards zero. One more digit fits below it only if it is at most 8, the last digit of 2^63."""


class Numbers(NamedTuple):
    """The integers in a block of lines.

    Attributes
    ----------
    values : ndarray of int64, shape (k,)
    counts : ndarray of int64, shape (lines,)
        Number of values on each line; `COMMENT` for a line that begins with ``%``.
    """

    values: Array
    counts: Array


def scan(text: Any, size: int, values: Any, counts: Any) -> int:
    """Parse ``text[:size]``, which ends with a newline; return the position of the first token that is no int64, or -1.

    `values` and `counts` receive what `Numbers` describes; `values` needs room for ``size // 2`` numbers.
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
                number: Any = 0  # accumulate the negative number: int64 has one more of them
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


def blocks_of(path: Path, listener: events.Listener, bounded: bool = False) -> Iterator[bytes]:
    """The contents of a plain or compressed file in blocks of whole lines; see `text_blocks`."""
    return text_blocks(path, BLOCK, listener, bounded)


def number_blocks(
    path: Path, blocks: Iterable[bytes], threads: int, line: int, listener: events.Listener
) -> Iterator[tuple[int, Numbers]]:
    """Parse blocks with several threads, in order; yield the number of each block's first line, and its integers.

    Parameters
    ----------
    line : int
        Number of the first line of the first block.

    Raises
    ------
    FormatError
        If there is anything but 64-bit integers; it names the line.
    """
    prepare([SCAN], listener)
    return parsed_in_order(path, parse, blocks, threads, line, lambda numbers: len(numbers.counts))


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
    values = values[: counts.sum(where=counts > 0)]
    # A view of few numbers would keep the memory for all that the block had room for.
    return Numbers(values.copy() if len(values) < len(text) // 8 else values, counts)
