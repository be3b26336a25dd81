"""How far buckets of priorities reach: functions that the host calls and the CPU's kernels compile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..program.monoids import largest

TINY = 1e-30
"""First step of the threshold, times 64, if priorities are floats and the least one is 0."""


def first_of_integers(least: Any) -> Any:
    return 1


def first_of_reals(least: Any) -> Any:
    return max(abs(least), TINY) / 64


def make_first_step(kind: np.dtype[Any]) -> Callable[..., Any]:
    """Build ``first_step(least)`` for priorities of a `kind` of numbers: the first rise of the threshold, from the
    least priority on. It is small, since `next_step` doubles it."""
    return first_of_reals if kind.kind == "f" else first_of_integers


def half_of_integer(step: Any) -> Any:
    return max(step // 2, 1)


def half_of_real(step: Any) -> Any:
    return step / 2


@cache
def make_next_step(kind: np.dtype[Any], fastest: int) -> Callable[..., Any]:
    """Build ``next_step(step, edges, followed, before, enough)`` for priorities of a `kind` of numbers.

    A step becomes twice as large at most, and `fastest` times while hardly an edge is followed twice.
    """
    if kind.kind == "f":
        half, highest = half_of_real, float(np.finfo(kind).max)
    else:
        half, highest = half_of_integer, largest(kind)
    highest_fast = highest / fastest if kind.kind == "f" else highest // fastest

    def next_step(step: Any, edges: int, followed: int, before: int, enough: float) -> Any:
        """The rise of the threshold for the next bucket, after it rose by `step` for the last one.

        A bucket that is too small cannot keep its threads busy, which costs more than the buckets save. A bucket that
        is too large, or that takes many iterations, changes the same vertices again and again. So the step (the delta
        of delta-stepping) is adapted from bucket to bucket.

        Parameters
        ----------
        step : number
        edges : int
            Out-edges of the vertices that were active in the last bucket's first iteration.
        followed : int
            Edges followed in all its iterations.
        before : int
            `edges` of the bucket before it; 0 if there was none.
        enough : number
            Edges with which a bucket keeps its threads busy.
        """
        if followed > 8 * edges or edges > 4 * enough:
            return half(step)
        grows_by_itself = before > 0 and edges > 2 * before
        if edges < enough and followed <= 3 * edges and not grows_by_itself:
            if 64 * followed <= 65 * edges and step < highest_fast:
                return step * fastest
            if step < half(highest):
                return step + step
        return step

    return next_step
