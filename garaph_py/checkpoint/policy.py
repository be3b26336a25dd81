"""When to make a checkpoint: pure functions of measurements."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import ParameterError
from ..system.arguments import is_count

SHARE = 0.02
"""Maximum share of a run's time for checkpoints, if the user does not choose an interval."""
EXPECTED_SPEED, EXPECTED_SECONDS = 200e6, 0.02
"""Initial estimate for a checkpoint: speed in bytes/s, and fixed cost in seconds; both are typical of a hard disk."""
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
PAGE = "page"
"""The interval after each page, and each iteration."""
PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*")


@dataclass(frozen=True)
class Every:
    """The interval between checkpoints, in `iterations` or `seconds`; if both are None, as often as `SHARE` allows.

    If `pages`, what a page has changed is written after each page, too (page_log.py).
    """

    iterations: int | None = None
    seconds: float | None = None
    pages: bool = False


def parse_every(every: int | str | None) -> Every:
    """Parse ``checkpoint_every``: ``10`` or ``"10"`` iterations, ``"30s"``, ``"5min"``, ``"1h"``, ``"page"``, or None.

    Raises
    ------
    ParameterError
    """
    if every is None:
        return Every()
    if is_count(every) and every > 0:
        return Every(iterations=int(every))
    if every == PAGE:
        return Every(iterations=1, pages=True)
    if isinstance(every, str):
        if every.isdecimal() and int(every) > 0:
            return Every(iterations=int(every))
        match = PATTERN.fullmatch(every)
        if match and float(match[1]) > 0:
            return Every(seconds=float(match[1]) * UNITS[match[2]])
    raise ParameterError(
        f"checkpoint_every={every!r}: give a number of iterations, a time such as 30s, 5min or 1h, or page"
    )


@dataclass(frozen=True)
class Measured:
    """Measurements of a run so far.

    Attributes
    ----------
    iterations, seconds : int, float
        Iterations and seconds since the last checkpoint began, or since the run began if there was none.
    elapsed, spent : float
        Seconds since the run began, and seconds of these spent on checkpoints.
    expected : float
        Expected seconds of the next checkpoint.
    """

    iterations: int
    seconds: float
    elapsed: float
    spent: float
    expected: float


def expected_seconds(nbytes: int) -> float:
    """Expected seconds of the first checkpoint, which has `nbytes` bytes."""
    return EXPECTED_SECONDS + nbytes / EXPECTED_SPEED


def is_due(every: Every, seen: Measured) -> bool:
    """Whether to make a checkpoint now, at the end of an iteration."""
    if every.iterations is not None:
        return seen.iterations >= every.iterations
    if every.seconds is not None:
        return seen.seconds >= every.seconds
    affordable = seen.spent + seen.expected <= SHARE * (seen.elapsed + seen.expected)
    return affordable and seen.expected <= SHARE * (seen.seconds + seen.expected)
