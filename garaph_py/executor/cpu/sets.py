"""Kernels over vertices that do not depend on the program: counting the edges of a set, copying values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel
from ...native.threads import ThreadPool, shares
from .records import RecordKernel
from .walk import NOTHING, make_for_each


def count_vertex(acc, v, offsets):
    edges, vertices = acc
    return (edges + offsets[v + 1] - offsets[v], vertices + 1), True


count = make_for_each(count_vertex)


def count_edges(t):
    """Count, by block, the edges of the set's vertices that are in [first_vertex, last_vertex) and in the blocks
    [first_block, last_block); return the number of these vertices."""
    vertices = NOTHING
    for block in range(t.first_block, t.last_block):
        first, last = max(t.first_vertex, block << 12), min(t.last_vertex, (block + 1) << 12)
        edges, vertices = count((NOTHING, vertices), t.vertices, t.vertices_blocks, first, last, t.offsets)
        t.edges_by_block[block - (t.first_vertex >> 12)] = edges
    return vertices


COUNT_EDGES = RecordKernel(
    "count_edges", count_edges,
    ("vertices", "vertices_blocks", "offsets", "first_vertex", "last_vertex", "edges_by_block", "first_block",
     "last_block"),
)  # fmt: skip


def make_commit(width: int) -> RecordKernel:
    """Copy the new values of a set's vertices, `width` words of 32 bits each, over the old ones."""

    def copy(acc, v, t):
        for k in range(width):
            t.old_words[v * width + k] = t.new_words[v * width + k]
        return acc, True

    for_each = make_for_each(copy)

    def commit(t):
        return for_each(NOTHING, t.vertices, t.vertices_blocks, t.first_vertex, t.last_vertex, t)

    names = ("vertices", "vertices_blocks", "first_vertex", "last_vertex", "new_words", "old_words")
    return RecordKernel("commit", commit, names)


def copy(source, to, first, last):
    for k in range(first, last):
        to[k] = source[k]
    return 0


COPY = Kernel("u32* u32* i64 i64", copy)


def copy_words(source: npt.NDArray[Any], to: npt.NDArray[Any], pool: ThreadPool) -> None:
    """Copy an array, whose items have 32 bits or a multiple, to another one of the same type."""
    words = source.view(np.uint32)
    pool.launch(COPY.rows(pool.size, words, to.view(np.uint32), *shares(len(words), pool.size)))
