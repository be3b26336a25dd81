"""Counts self-loops, which an undirected graph stores once and its other edges twice."""

from __future__ import annotations

from itertools import pairwise

from ..codec.codecs import decoded_slice
from ..codec.format import LISTS
from ..native import Kernel
from ..native.threads import ThreadPool, split
from .adjacency import Adjacency
from .transpose import CHUNK


def count_loops(offsets, vertex, start, stop, others, base):
    """Count the self-loops among the edges [start, stop), of which the first is `vertex`'s; ``others[0]`` is `base`."""
    loops = 0
    for edge in range(start, stop):
        while offsets[vertex + 1] <= edge:
            vertex += 1
        loops += others[edge - base] == vertex
    return loops


COUNT_LOOPS = Kernel("i64* i64 i64 i64 u32* i64", count_loops)


def self_loops(edges: Adjacency, pool: ThreadPool) -> int:
    """The number of self-loops among edges in memory; packed ones are decoded `CHUNK` at a time."""
    offsets, found, m = edges.offsets, 0, int(edges.offsets[-1])
    for base in range(0, m, CHUNK):
        others = decoded_slice(edges.neighbour_array, LISTS, base, base + CHUNK, pool, offsets)
        parts = list(pairwise(base + bound for bound in split(len(others), pool.parts(m))))
        owners = offsets.searchsorted([start for start, _ in parts], "right") - 1
        rows = [(offsets, owner, *part, others, base) for owner, part in zip(owners.tolist(), parts, strict=True)]
        found += sum(pool.run(COUNT_LOOPS, rows))
    return found
