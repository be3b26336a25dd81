"""How many requests of each size a GPU makes when it reads edge lists in host memory, as in EMOGI's Figures 5 and 7.

A request is for 1 to 4 adjacent sectors of 32 bytes of one line of 128 bytes (EMOGI section 3.3). The reads of a warp
at one time are merged, those of one thread after another are not: such a thread reads a sector when it enters it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .settings import ListPush

Array = npt.NDArray[Any]

SECTOR, LINE, WARP = 32, 128, 32
"""Bytes of the smallest request and of the largest one; threads of a warp."""
SIZES = (32, 64, 96, 128)
"""Bytes of requests."""


def aligned_elements(how: ListPush, value_bytes: int) -> int:
    """Elements at a multiple of which an aligned warp begins, so that targets and values begin a line."""
    return LINE // min(how.element_bytes, value_bytes or how.element_bytes)


def count_requests(
    begins: Array, ends: Array, how: ListPush, lead: int = 0, value_bytes: int = 0, warps: Array | None = None
) -> dict[int, int]:
    """The number of requests of each size, in bytes, for the targets of some lists, each read once.

    Parameters
    ----------
    begins, ends : ndarray of int64, shape (k,)
        The edges [begin, end) of each list, in the order in which warps read them.
    how : ListPush
        How threads read them.
    lead : int
        Elements between the last multiple of 128 bytes and the first edge in memory.
    value_bytes : int
        Bytes of an edge's value that the program reads beside the target; 0 if it reads none.
    warps : ndarray of int64, shape (k,), optional
        The warp that reads each list. A sector in which one of its lists ends and its next one begins is requested
        once; then it is in the cache.
    """
    width = how.element_bytes
    some = ends > begins
    begins, ends = begins[some] + lead, ends[some] + lead
    if how.thread_each:
        sectors = (ends * width - 1) // SECTOR - begins * width // SECTOR + 1
        return dict(zip(SIZES, [int(sectors.sum()), 0, 0, 0], strict=True))
    step = aligned_elements(how, value_bytes) if how.aligns else 1
    first = begins // step * step
    rows = -(-(ends - first) // WARP)
    of = np.repeat(np.arange(len(rows)), rows)
    number = np.arange(len(of)) - np.repeat(np.cumsum(rows) - rows, rows)
    low = np.maximum(first[of] + number * WARP, begins[of])[:, None] * width
    high = np.minimum(first[of] + (number + 1) * WARP, ends[of])[:, None] * width
    lines = low // LINE * LINE + np.arange(WARP * width // LINE + 1) * LINE  # that the read of a warp may touch
    low, high = np.maximum(low, lines), np.minimum(high, lines + LINE)
    wanted = high > low
    firsts, lasts = low[wanted] // SECTOR, (high[wanted] - 1) // SECTOR
    if warps is not None:
        reader = warps[some][of][np.nonzero(wanted)[0]]
        firsts[1:] += (firsts[1:] == lasts[:-1]) & (reader[1:] == reader[:-1])
    counts = np.bincount(lasts - firsts + 1, minlength=len(SIZES) + 1)
    return dict(zip(SIZES, counts[1:].tolist(), strict=True))


def amplification(requests: dict[int, int], nbytes: int) -> float:
    """Bytes of all requests, divided by the `nbytes` that are needed."""
    return sum(size * count for size, count in requests.items()) / max(nbytes, 1)
