"""Divides a graph's destinations among GPUs: by their speeds, and within their memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...pages.provider import SourceFactory
from . import speeds
from .executor import GpuExecutor
from .parts import Part, divide, divide_pages

Array = npt.NDArray[Any]

LIKE = 0.9
"""If the smallest of the GPUs' memories has at least this share of the largest, all count as equal."""
ROOM_SHARE = 0.95
"""The share of a GPU's room for edges that a part may take. A part ends with a whole number of words of a bitmap, so it
may have a few lists more."""


def divided(gpus: Sequence[GpuExecutor], offsets: Array, synchronous: bool, sources: SourceFactory) -> list[Part]:
    """The part of each GPU.

    Parameters
    ----------
    gpus : sequence of GpuExecutor
        Not initialized yet.
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    synchronous : bool
    sources : SourceFactory
        Of a deterministic run: it adds the totals of pages in their order, so they are the pages that the first GPU
        would cut if it were alone.
    """
    first, rates = gpus[0], speeds.of([gpu.device for gpu in gpus])
    if first.settings.deterministic:
        return divide_pages(first.placer.place(sources, synchronous, first.budget()).residency.pages, rates)
    budgets = [gpu.budget() for gpu in gpus]
    if min(budgets) < LIKE * max(budgets):
        rooms = [gpu.placer.room(synchronous, budget) for gpu, budget in zip(gpus, budgets, strict=True)]
        rates = within(rates, [ROOM_SHARE * room for room in rooms], int(offsets[-1]))
    return divide(offsets, rates)


def within(rates: Sequence[float], rooms: Sequence[float], edges: int) -> list[float]:
    """The `rates`, changed so that no GPU gets more edges than it has room for, if all together have room for all."""
    found, all_rooms = np.asarray(rates, float), np.asarray(rooms, float)
    if not edges or all_rooms.sum() < edges:
        return list(rates)
    is_full = np.zeros(len(found), bool)
    while True:
        left = edges - all_rooms[is_full].sum()
        wanted = np.where(is_full, all_rooms, left * found / max(found[~is_full].sum(), 1e-300))  # all may be full
        too_much = wanted > all_rooms
        if not too_much.any():
            return list(map(float, wanted))
        is_full |= too_much
