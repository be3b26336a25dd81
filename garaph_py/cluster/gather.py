"""Gathers what one part sends another after a superstep: one compiled pass over the vertices that the other mirrors."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..executor.cpu.runs import piece_count
from ..native import Kernel
from ..native.threads import ThreadPool, bounds_of

Array = npt.NDArray[Any]

WORD_BYTES = 4
"""Bytes of the words by which values are compared; every value has a whole number of them."""


@cache
def gathers(width: int) -> Kernel:
    """The kernel for values of `width` words."""

    # wide: a compiled function takes its arrays one by one.
    def gather(places, first, last, values, sent, bits, now, changed, active):
        """Gather the values at ``places[first:last]``, whether they are other than those `sent`, and who is active."""
        for k in range(first, last):
            v, differences = np.int64(places[k]), np.uint32(0)
            for w in range(width):
                word = values[v * width + w]
                differences |= word ^ sent[k * width + w]
                now[k * width + w] = word
            changed[k] = np.uint8(differences != np.uint32(0))
            active[k] = np.uint8((bits[v >> 6] >> np.uint64(v & 63)) & np.uint64(1))
        return 0

    return Kernel("u32* i64 i64 u32* u32* u64* u32* u8* u8*", gather)


def gather(places: Array, values: Array, sent: Array, bits: Array, now: Array, pool: ThreadPool) -> tuple[Array, Array]:
    """Copy the values at `places` to `now`.

    Parameters
    ----------
    places : ndarray of uint32
        Vertices, by which `values` and `bits` are read.
    values : ndarray
        The values of all vertices.
    sent, now : ndarrays of the same type, shape (places,)
        The values of these vertices that were sent last, and those to send now.
    bits : ndarray of uint64
        The bitmap of the active vertices.
    pool : ThreadPool

    Returns
    -------
    changed, active : ndarrays of bool, shape (places,)
        Whether the bits of a value are other than those sent, and whether the vertex is active.
    """
    count, kernel = len(places), gathers(values.dtype.itemsize // WORD_BYTES)
    changed, active = np.empty((2, count), np.uint8)
    bounds = bounds_of(count, piece_count(count))
    words = (each.view(np.uint32) for each in (values, sent))
    pool.launch(
        kernel.rows(
            len(bounds) - 1, places, bounds[:-1], bounds[1:], *words, bits, now.view(np.uint32), changed, active
        )
    )
    return changed.view(np.bool_), active.view(np.bool_)
