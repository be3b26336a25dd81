"""`Estimate`: the median of repeated measurements, and how sure it is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""The least probability with which an interval has the median of all measurements that could be made."""
LEAST = 6
"""The fewest values that have such an interval: it goes from the least to the most, and has the median in 1 - 2^-5."""


@dataclass(frozen=True)
class Estimate:
    """The median of a sample, and an interval around it.

    Attributes
    ----------
    n : int
        The number of values in the sample.
    median, low, high : float
        If `n` is less than `LEAST`, the interval has all values; otherwise it is a confidence interval of the median.
    """

    n: int
    median: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """The median of `values`, and its distribution-free confidence interval, whose ends are two of the sorted values.

    The sample needs not have a normal distribution, as times never have. Of n values, the kth smallest is above the
    median with the probability that fewer than k of n fair coins show heads, and so is the kth largest below it. The
    interval between these is the shortest that has the median in at least `CONFIDENCE`.
    """
    ordered = sorted(values)
    outside = outside_of(len(ordered))
    return Estimate(len(ordered), statistics.median(ordered), ordered[outside], ordered[-1 - outside])


def outside_of(n: int) -> int:
    """How many of `n` sorted values are outside the interval at either end; 0 if even all `n` are too few for one."""
    tail, outside = 2.0**-n, 0  # the probability that at most `outside` values are below the median
    while 2 * (tail := tail + math.comb(n, outside + 1) * 2.0**-n) <= 1 - CONFIDENCE:
        outside += 1
    return outside


def described(sizes: Sequence[int]) -> str:
    """What the intervals around medians of samples of these sizes are."""
    few, enough = [n for n in sizes if n < LEAST], [n for n in sizes if n >= LEAST]
    interval = f"{CONFIDENCE:.0%} confidence intervals of the median, from order statistics (n = {span(enough)})"
    spread = "from the least to the most"
    if not few:
        return f"Intervals: {interval}."
    if not enough:
        return f"Intervals: {spread}, as n = {span(few)} is too small for a {CONFIDENCE:.0%} one, which takes {LEAST}."
    return (
        f"Intervals: {interval}; where n is only {span(few)}, {spread}, as a {CONFIDENCE:.0%} interval takes {LEAST}."
    )


def span(sizes: Sequence[int]) -> str:
    """The least and the most of the sizes."""
    return " to ".join(str(size) for size in dict.fromkeys((min(sizes), max(sizes)))) if sizes else ""
