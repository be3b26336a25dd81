"""Parse lines of two numbers with a compiled kernel, several times as fast as a general CSV reader."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel

Array = npt.NDArray[Any]

NEWLINE, ZERO = b"\n0"
DIGITS = 18
"""Most digits of a number: all numbers of 18 digits fit in 63 bits."""


def number_at(text, place, end):
    """The number at `place`, and the position after the byte `end` that follows it; (0, 0) if there is none."""
    start, number = place, 0
    digit = np.int64(text[place]) - ZERO
    while 0 <= digit <= 9:
        number = 10 * number + digit
        place += 1
        digit = np.int64(text[place]) - ZERO
    if place == start or place - start > DIGITS or text[place] != end:
        return 0, 0
    return number, place + 1


def scan_pairs(text, size, separator, sources, targets):
    """Parse ``text[:size]``, which ends with a newline; return 1 if every line is two numbers and one `separator`."""
    place, line = 0, 0
    while place < size:
        source, place = number_at(text, place, separator)
        if place == 0:
            return 0
        target, place = number_at(text, place, NEWLINE)
        if place == 0:
            return 0
        sources[line], targets[line] = source, target
        line += 1
    return 1


SCAN_PAIRS = Kernel("u8* i64 i64 i64* i64*", scan_pairs)


def pairs(block: bytes, separator: str, lines: int) -> tuple[Array, Array] | None:
    """Both columns (int64) of a block of lines; None if it has other lines, which may be valid, too."""
    if not block.endswith(b"\n"):
        return None
    columns = np.empty(lines, np.int64), np.empty(lines, np.int64)
    plain = SCAN_PAIRS(np.frombuffer(block, np.uint8), len(block), ord(separator), *columns)
    return columns if plain else None
