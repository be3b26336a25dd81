"""When to make a checkpoint. Pure: measurements in, yes or no out."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..errors import ParameterError

SHARE = 0.02
"""Share of a run's time that checkpoints take at most, where the user does not say how often to make them."""
EXPECTED_SPEED, EXPECTED_SECONDS = 200e6, 0.02
"""Bytes a second, and seconds beside those for the bytes, that the first checkpoint is expected to take: those of a
spinning disk."""
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*")


@dataclass(frozen=True)
class Every:
    """How often to make checkpoints: after so many `iterations` or `seconds`; if both are None, as `SHARE` allows."""

    iterations: int | None = None
    seconds: float | None = None


def parse_every(every: int | str | None) -> Every:
    """What ``checkpoint_every`` means: ``10`` or ``"10"`` iterations, ``"30s"``, ``"5min"``, ``"1h"``, or None.

    Raises
    ------
    ParameterError
    """
    if every is None:
        return Every()
    if isinstance(every, (int, np.integer)) and not isinstance(every, bool) and every > 0:
        return Every(iterations=int(every))
    if isinstance(every, str):
        if every.isdecimal() and int(every) > 0:
            return Every(iterations=int(every))
        match = PATTERN.fullmatch(every)
        if match and float(match[1]) > 0:
            return Every(seconds=float(match[1]) * UNITS[match[2]])
    raise ParameterError(f"checkpoint_every={every!r}: give a number of iterations, or a time such as 30s, 5min or 1h")


@dataclass(frozen=True)
class Measured:
    """What was measured of a run so far.

    Attributes
    ----------
    iterations, seconds : int, float
        Iterations and seconds since the last checkpoint was begun, or since the run began if there was none.
    elapsed, spent : float
        Seconds since the run began, and how many of them were spent on checkpoints.
    expected : float
        Seconds that the next checkpoint is expected to take.
    """

    iterations: int
    seconds: float
    elapsed: float
    spent: float
    expected: float


def expected_seconds(nbytes: int) -> float:
    """Seconds that the first checkpoint, of so many bytes, is expected to take."""
    return EXPECTED_SECONDS + nbytes / EXPECTED_SPEED


def is_due(every: Every, seen: Measured) -> bool:
    """Whether a checkpoint is to be made now, at the end of an iteration."""
    if every.iterations is not None:
        return seen.iterations >= every.iterations
    if every.seconds is not None:
        return seen.seconds >= every.seconds
    affordable = seen.spent + seen.expected <= SHARE * (seen.elapsed + seen.expected)
    return affordable and seen.expected <= SHARE * (seen.seconds + seen.expected)
