"""The offsets of edge lists as a GPU stores them: the low 32 bits of each, and where the high part changes.

This halves what kernels read of them. As offsets never decrease, the high part changes at few vertices: once per 2^32
edges (`kernels/offsets.cuh`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...native.threads import ThreadPool
from .ranks import SHARE, parts_of

Array = npt.NDArray[Any]

BITS = 32
"""Bits of an offset that are stored for each vertex."""


def wraps_of(m: int) -> int:
    """How often the high part changes up to offset `m`."""
    return m >> BITS


def begins_bytes(n: int, m: int) -> int:
    """Bytes of the stored offsets of `n` vertices and `m` edges."""
    return 8 * ((n + 2) // 2 + wraps_of(m))


def begins_of(offsets: Array, threads: int | None, most: int | None = None) -> Array:
    """The stored form of CSR or CSC `offsets`, made by `threads` threads, with room for offsets up to `most`.

    Returns
    -------
    ndarray of uint32
        The low bits; then, from a multiple of 8 bytes on and in 8 bytes each, the first vertex whose offset is 2^32 or
        more, that whose offset is 2 * 2^32 or more, and so on.
    """
    n, m = len(offsets) - 1, int(offsets[-1]) if most is None else most
    made = np.zeros(begins_bytes(n, m) // 4, np.uint32)
    made.view(np.int64)[(n + 2) // 2 :] = np.searchsorted(offsets, np.arange(1, wraps_of(m) + 1) << BITS)

    def store(first: int, last: int) -> None:
        np.copyto(made[first:last], offsets[first:last], casting="unsafe")

    with ThreadPool(threads) as pool:
        pool.run(store, parts_of(n + 1, pool, SHARE))
    return made
