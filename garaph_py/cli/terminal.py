"""Lines for people, with all that names may hold escaped (see `errors.printable`); JSON for programs."""

from __future__ import annotations

import json
import logging
import math
import sys
from typing import Any

from ..errors import printable
from ..events import Iteration


def say(line: str, *, error: bool = False) -> None:
    """Print one line, on standard error if `error`."""
    print(printable(line), file=sys.stderr if error else sys.stdout)


def print_json(document: dict[str, Any]) -> None:
    """Print one object of JSON. Numbers that JSON does not have (infinity, NaN) become null."""
    print(json.dumps(_plain(document), allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    """A value as `json` writes it; an iteration's record becomes an object."""
    if isinstance(value, Iteration):
        value = value.row()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class OneLine(logging.Formatter):
    """Formats log messages as one line each."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))
