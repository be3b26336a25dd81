"""The option `gpus`: how many GPUs a run is to use, or which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..system.arguments import is_count

ALL = "all"
"""The value of `gpus` for as many as there are."""
Asked = int | tuple[int, ...] | str | None
"""The number of GPUs, or their numbers, or `ALL`, or None if the run chooses."""


def parse_gpus(gpus: Any) -> Asked:
    """How many GPUs are asked for, or which. On the command line that is text.

    Raises
    ------
    ParameterError
        If it is none of these forms, or names a GPU twice.
    """
    if gpus is None or (isinstance(gpus, str) and gpus == ALL):
        return ALL if gpus == ALL else None
    found = gpus
    if isinstance(gpus, str):
        numbers = [int(part) if part.strip().isdecimal() else -1 for part in gpus.split(",")]
        found = numbers[0] if len(numbers) == 1 else numbers
    if is_count(found) and found >= 1:
        return int(found)
    if not isinstance(found, (list, tuple, range, np.ndarray)) or not len(found) or not all(map(is_count, found)):
        raise ParameterError(f"gpus={gpus!r}: give how many, such as 2, or 'all', or their numbers, such as [0, 1]")
    which = tuple(map(int, found))
    if len(set(which)) < len(which):
        raise ParameterError(f"gpus={gpus!r}: a GPU is named twice; name each once")
    return which


def numbers_of(asked: Asked, there: int) -> Sequence[int]:
    """The numbers of the GPUs that are asked for: those named, the first so many, or else all that are `there`."""
    if isinstance(asked, tuple):
        return asked
    return range(asked if isinstance(asked, int) else there)


def is_one(asked: Asked) -> bool:
    """Whether no more than one GPU is asked for."""
    return asked is None or asked == 1 or (isinstance(asked, tuple) and len(asked) == 1)
