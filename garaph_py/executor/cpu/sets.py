"""Kernels over sets of vertices."""

from __future__ import annotations

import numpy as np

from ...native import Kernel, atomic_load, atomic_or, trailing_zeros

TO_THE_END = 1 << 62
"""A bound beyond every edge."""


def mark(bits, blocks, v):
    """Put vertex v in a set that other threads put vertices in too; whether it was not in."""
    mask = np.uint64(1) << np.uint64(v & 63)
    if atomic_load(bits, v >> 6) & mask != np.uint64(0):
        return False
    if atomic_or(bits, v >> 6, mask) & mask != np.uint64(0):
        return False
    blocks[v >> 12] = 1
    return True


def select(bits, blocks, offsets, first, last, sums, first_block, last_block):
    """Edges of the set's vertices in [first, last), summed into ``sums[block - first // 4096]``; how many vertices.

    Looks at the blocks [first_block, last_block).
    """
    vertices = np.int64(0)
    for block in range(first_block, last_block):
        edges = np.int64(0)
        if blocks[block] != 0:
            for w in range(max(block << 6, first >> 6), min((block + 1) << 6, ((last - 1) >> 6) + 1)):
                word = bits[w]
                while word != np.uint64(0):
                    v = (w << 6) + trailing_zeros(word)
                    word &= word - np.uint64(1)
                    if first <= v < last:
                        edges += offsets[v + 1] - offsets[v]
                        vertices += 1
        sums[block - (first >> 12)] = edges
    return vertices


SELECT = Kernel("u64* u8* i64* i64 i64 i64* i64 i64", select)


def make_commit(width: int) -> Kernel:
    """Copy the new values of a set's vertices, `width` words of 32 bits each, over the old ones."""

    def commit(bits, blocks, first, last, pending, values):
        w = first >> 6
        while w < ((last - 1) >> 6) + 1:
            if w & 63 == 0 and blocks[w >> 6] == 0:
                w += 64
                continue
            word = bits[w]
            while word != np.uint64(0):
                v = (w << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                if first <= v < last:
                    for k in range(width):
                        values[v * width + k] = pending[v * width + k]
            w += 1
        return 0

    return Kernel("u64* u8* i64 i64 u32* u32*", commit)
