"""Reads and writes quantities the way people write them: sizes such as 6GiB, times and speeds such as 12.3 ms."""

from __future__ import annotations

import re
from math import ceil, floor, isfinite, log10

import numpy as np

from ..errors import ParameterError

UNITS = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40,
}  # fmt: skip
PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?(b?)\s*", re.IGNORECASE)
LEAST_BARE = 4096
"""Least number of bytes that text may state without a unit: a smaller one is probably meant in MiB or GiB."""


def parse_bytes(size: int | str, name: str) -> int:
    """The number of bytes that `size` states: a number, or text such as ``"6GiB"``, ``"500MB"`` or ``"1.5 GiB"``.

    Raises
    ------
    ParameterError
        If `size` is not a size of at least one byte, or text of a number below 4096 without a unit. The message names
        the parameter `name`.
    """
    is_whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    match = PATTERN.fullmatch(str(size)) if is_whole or isinstance(size, str) else None
    number = float(match[1]) * UNITS[(match[2] or "").lower()] if match else 0
    if match is None or number < 1:
        raise ParameterError(f"{name}={size!r}: give a size such as 6GiB, 500MB or a number of bytes")
    if isinstance(size, str) and number < LEAST_BARE and not match[2] and not match[3]:
        bare = match[1]
        raise ParameterError(f"{name}={size!r} has no unit; write {bare}MiB or {bare}GiB, or {bare}B for so few bytes")
    return int(size) if is_whole else int(number)


def show_bytes(size: float, up: bool = False) -> str:
    """A number of bytes as text such as ``"6.0 GiB"``, rounded to one decimal: to the nearest, or up if `up`."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{ceil(size * 10) / 10 if up else size:.1f} {unit}"


def show_number(number: float) -> str:
    """A number with three significant digits, or with all digits before the point; 0 only if it is 0."""
    if number == 0 or not isfinite(number):
        return f"{number:g}"
    return f"{number:,.{max(0, 2 - floor(log10(abs(number))))}f}"


def show_seconds(seconds: float) -> str:
    """A time as text such as ``"1.23 s"``, ``"45.6 ms"`` or ``"7.89 µs"``."""
    factor, unit = (1.0, "s") if seconds >= 1 or seconds == 0 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{show_number(seconds * factor)} {unit}"


def show_speed(speed: float, unit: str = "B/s") -> str:
    """A speed as text such as ``"1.23 GB/s"``, with decimal prefixes of `unit`."""
    factor, prefix = next((pair for pair in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if speed >= pair[0]), (1, ""))
    return f"{show_number(speed / factor)} {prefix}{unit}"


def counted(number: int, one: str, more: str = "") -> str:
    """A count with its noun: ``"1 run"``, ``"2 runs"``; `more` is the plural if it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
