"""Lines for people: names in them may hold anything, and are escaped (see `errors.printable`)."""

from __future__ import annotations

import logging
import sys

from ..errors import printable


def say(line: str, *, error: bool = False) -> None:
    """Print one line, on standard error if `error`."""
    print(printable(line), file=sys.stderr if error else sys.stdout)


class OneLine(logging.Formatter):
    """Formats log messages as one line each."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))
