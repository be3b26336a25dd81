"""What plain Python cannot say in a kernel: the bodies are the meaning, `lowering` puts machine code in their place.

Atomic operations stand in one order that all threads see; elements are numbers of 64 bits, where said also of 32.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np


def atomic_or(words: Any, index: int, mask: np.uint64) -> Any:
    """``words[index] |= mask``, safe when several threads set bits of one word (uint64); the word before."""
    before = words[index]
    words[index] |= mask
    return before


def atomic_and(words: Any, index: int, mask: np.uint64) -> Any:
    """``words[index] &= mask``, likewise; the word before."""
    before = words[index]
    words[index] &= mask
    return before


def atomic_add(words: Any, index: int, amount: int) -> Any:
    """``words[index] += amount`` (int64); the number before."""
    before = words[index]
    words[index] += amount
    return before


def atomic_load(words: Any, index: int) -> Any:
    """``words[index]`` (int64 or uint64); what its writer wrote before is seen after."""
    return words[index]


def atomic_store(words: Any, index: int, value: int) -> None:
    """``words[index] = value`` (int64); what was written before is seen by whoever loads it."""
    words[index] = value


def compare_and_swap(values: Any, index: int, old: Any, new: Any) -> bool:
    """``values[index] = new`` if it is `old`, bit for bit; whether it was. Numbers of 32 or 64 bits."""
    if values[index] != old:
        return False
    values[index] = new
    return True


def pause() -> None:
    """A breath in a loop that waits for another thread."""


def clock() -> int:
    """Nanoseconds, by the clock of ``time.perf_counter_ns``."""
    return time.perf_counter_ns()


def no_unroll() -> None:
    """In the body of a loop: leave it as it is. A loop over a vertex's few edges ends in one branch that is hard to
    predict; unrolled it ends in two."""


def prefetch(array: Any, index: int) -> None:
    """``array[index]`` will be read soon, and then no more. The index may lie outside."""


def prefetch_kept(array: Any, index: int) -> None:
    """The same, but it will be read again; to the second level, where hundreds that are on their way find room."""


def call(entry: int, result: int, row: int) -> int:
    """Run the kernel at address `entry` on the arguments at address `row`; its status, not 0 if it failed."""
    raise NotImplementedError("a kernel's twin in Python has no address")


def struct_array(pointer: Any, dtype: np.dtype[Any]) -> Any:
    """The array of structures of `dtype` that starts at an untyped `pointer`."""
    return pointer


def sums_of_packed(words: Any, position: int, width: int, begins: Any, before: Any, sums: Any, at: int) -> Any:
    """`before` plus the sums of 32 packed numbers, modulo 2**32, to ``sums[at:]``, begun anew from 0 at number k where
    bit k of `begins` is set; the last, and a bit for each that wrapped. Number k is the bits k `width` to (k + 1)
    `width` - 1 of ``words[position:]``, of which `width` are read; all uint32."""
    width, bits, wrapped = int(width), sum(int(words[position + k]) << 32 * k for k in range(width)), 0
    for k in range(32):
        total = (0 if int(begins) >> k & 1 else int(before)) + (bits >> k * width & (1 << width) - 1)
        before, wrapped = np.uint32(total & 0xFFFFFFFF), wrapped | (total >> 32) << k
        sums[at + k] = before
    return before, np.uint32(wrapped)


def trailing_zeros(word: np.uint64) -> int:
    """Number of the lowest set bit of `word`, which is not 0."""
    return (int(word) & -int(word)).bit_length() - 1
