"""Measures how fast all threads together read memory, sequentially and at random."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...native import Kernel
from ...native.threads import ThreadPool, split
from ...system.memory import available_memory

REPEATS = 5
"""Number of measurements of a memory speed; the median is reported."""
READ_BYTES = 1 << 30
"""Bytes read to measure memory bandwidth: more than the caches of most processors hold."""
TABLE_BYTES, GATHERS = 64 << 20, 1 << 25
"""Size (bytes) of the table for random reads, and number of random reads."""
PARTS = 8
"""Pieces of work per thread, a guess: with several, a slow core does not delay the measurement."""


def fill(words: Any, start: int, stop: int) -> int:
    """Write ``words[start:stop]``."""
    for k in range(start, stop):
        words[k] = k
    return 0


def read(words: Any, start: int, stop: int) -> int:
    """Read ``words[start:stop]``; returns their sum, so that the compiler cannot drop the reads."""
    total = 0
    for k in range(start, stop):
        total += words[k]
    return total


def gather(table: Any, places: Any, start: int, stop: int) -> int:
    """Read `table` at ``places[start:stop]``; returns the sum."""
    total = 0
    for k in range(start, stop):
        total += table[places[k]]
    return total


FILL = Kernel("i64* i64 i64", fill)
READ = Kernel("i64* i64 i64", read)
GATHER = Kernel("u32* u32* i64 i64", gather)
KERNELS = (FILL, READ, GATHER)


def read_bandwidth(pool: ThreadPool, nbytes: int = READ_BYTES) -> float:
    """Measure the memory bandwidth: bytes per second that all threads together read sequentially.

    They read `nbytes` bytes, or a quarter of the free memory if that is less.
    """
    words = np.empty(max(min(nbytes, available_memory() // 4) // 8, 1), np.int64)
    bounds = split(len(words), PARTS * pool.size)
    first, last = bounds[:-1], bounds[1:]
    pool.launch(FILL.rows(len(first), words, first, last))
    rows = READ.rows(len(first), words, first, last)
    return words.nbytes / median_seconds(lambda: pool.launch(rows))


def gather_rate(pool: ThreadPool, table_bytes: int = TABLE_BYTES, count: int = GATHERS) -> float:
    """Measure random reads from memory: 4-byte numbers per second that all threads together read.

    The threads read at random indices of a table of `table_bytes` bytes. The indices come from an array, like the
    sources of a graph.
    """
    table = np.ones(table_bytes // 4, np.uint32)
    places = np.random.default_rng(1).integers(0, len(table), count, np.uint32)
    bounds = split(count, PARTS * pool.size)
    rows = GATHER.rows(len(bounds) - 1, table, places, bounds[:-1], bounds[1:])
    return count / median_seconds(lambda: pool.launch(rows))


def median_seconds(work: Callable[[], object]) -> float:
    """The wall time of ``work()`` in seconds: the median of `REPEATS` calls."""
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)
