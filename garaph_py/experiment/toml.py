"""Checks the values of a TOML file. Errors name the key, and say what to write instead."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from ..errors import FormatError, GaraphError, ParameterError
from ..system.files import no_such_file
from ..system.sizes import parse_bytes

T = TypeVar("T")
Table = dict[str, Any]

MOST_COUNT = 1 << 53
"""The largest count in a file: a float holds it exactly."""
MOST_PARTS = 1 << 16
"""Most GPUs, or machines, of a simulation: a guard against mistakes."""


def read(path: str | os.PathLike[str], make: Callable[[Table, bytes, Path], T], wanted: str) -> T:
    """Parse the file `path`, and return ``make(document, text, folder)``.

    Raises
    ------
    FormatError
        If the file is missing, cannot be read or is not TOML; `wanted` is the hint for a missing file.
    ParameterError
        If `make` raised an error; the path is prepended to its message.
    """
    path = Path(path)
    try:
        text = path.read_bytes()
        document = tomllib.loads(text.decode())
    except (FileNotFoundError, IsADirectoryError):
        raise FormatError(path, no_such_file(path, wanted, ".toml")) from None
    except OSError as error:
        raise FormatError(path, f"cannot be read ({error.strerror}); {wanted}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"is not TOML: {error}; correct the file") from None
    try:
        return make(document, text, path.parent)
    except GaraphError as error:
        raise ParameterError(f"{path}: {error}") from error


def known(given: Table, allowed: Collection[str], where: str) -> None:
    """Refuse keys that are not allowed."""
    for key in given:
        if key not in allowed:
            raise ParameterError(f"{where}there is no {key!r}; choose from {', '.join(allowed)}")


def chosen(key: str, value: Any, allowed: Collection[str]) -> str:
    """The value, which must be one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{key}={value!r}: choose from {', '.join(allowed)}")
    return value


def table(document: Table, key: str) -> Table:
    """The table under a key; by default an empty one."""
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise ParameterError(f"{key}={value!r}: give a table, [{key}]")
    return value


def tables(document: Table, key: str) -> list[Table]:
    """The list of tables under a key; by default an empty one."""
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ParameterError(f"{key}={value!r}: give tables, [[{key}]]")
    return value


def listed(value: Any) -> list[Any]:
    """Return a list unchanged, and any other value as a list of one element."""
    return value if isinstance(value, list) else [value]


def is_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def number(given: Table, key: str, where: str, fits: Callable[[float], bool], wanted: str) -> float:
    """The number under a key, which `fits` must accept; the error message ends in `wanted`."""
    value = given.get(key)
    if value is None:
        raise ParameterError(f"{where}{key} is missing; give {wanted}")
    if not is_number(value) or not fits(value):
        raise ParameterError(f"{where}{key}={value!r}: give {wanted}")
    return float(value)


def positive(given: Table, key: str, where: str = "") -> float:
    """The number under a key, above 0."""
    return number(given, key, where, lambda value: value > 0, "a number above 0")


def amount(given: Table, key: str, where: str = "") -> float:
    """The number under a key, 0 or more; by default 0."""
    return number({key: 0.0} | given, key, where, lambda value: value >= 0, "a number, 0 or more")


def share(given: Table, key: str, otherwise: float, where: str = "") -> float:
    """The number under a key, above 0 and up to 1; `otherwise` is the default."""
    return number({key: otherwise} | given, key, where, lambda value: 0 < value <= 1, "a share, above 0 and up to 1")


def count(given: Table, key: str, least: int, where: str = "", most: int = MOST_COUNT) -> int:
    """The whole number under a key, from `least` to `most`."""
    wanted = f"a count, {least} or more" if most == MOST_COUNT else f"a count from {least} to {most}"
    return int(number(given, key, where, lambda value: least <= value <= most and value == int(value), wanted))


def counts(given: Table, what: str, where: str) -> tuple[int, ...]:
    """The numbers of `what` under the key ``count``, each 1 or more; one number may stand without a list."""
    every = listed(given.get("count", []))
    if not every:
        raise ParameterError(f"{where}count is missing; give the number of {what}, or a list of numbers")
    return tuple(count({"count": one}, "count", 1, where, MOST_PARTS) for one in every)


def pair(given: Table, key: str, where: str) -> tuple[float, float]:
    """The pair under a key: seconds, and additional seconds for each doubling of the data (by default 0)."""
    value = given.get(key, 0.0)
    both = value if isinstance(value, list) else [value, 0.0]
    if len(both) != 2 or not all(is_number(one) and one >= 0 for one in both):
        raise ParameterError(f"{where}{key}={value!r}: give seconds, or [seconds, more seconds per doubling]")
    return float(both[0]), float(both[1])


def bounds(given: Table, key: str, where: str) -> tuple[float, float] | None:
    """The pair of numbers under a key, 0 or more, the smaller one first; None if the key is missing."""
    value = given.get(key)
    if value is None:
        return None
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(map(is_number, value))
        or not 0 <= value[0] <= value[1]
    ):
        raise ParameterError(f"{where}{key}={value!r}: give [least, most]")
    return float(value[0]), float(value[1])


def size(given: Table, key: str) -> int | None:
    """The size under a key, in bytes; None if the key is missing."""
    return None if key not in given else parse_bytes(given[key], key)


def string(given: Table, key: str, where: str = "", otherwise: str | None = None) -> str:
    """The string under a key, which must not be empty."""
    value = given.get(key, otherwise)
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{where}{key}={value!r}: give a string")
    return value


def one_of(given: Table, key: str, allowed: Collection[str], where: str = "", otherwise: str | None = None) -> str:
    return chosen(f"{where}{key}", given.get(key, otherwise), allowed)


def flag(given: Table, key: str, otherwise: bool) -> bool:
    """The bool under a key."""
    value = given.get(key, otherwise)
    if not isinstance(value, bool):
        raise ParameterError(f"{key}={value!r}: give true or false")
    return value
