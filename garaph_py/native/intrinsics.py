"""Operations for kernels that plain Python does not have, such as atomic ones.

The bodies here define what they do. In compiled code `lowering` puts machine instructions in their place. Atomic
operations are sequentially consistent. Their elements are 64-bit numbers unless the docstring says otherwise.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np


def atomic_or(words: Any, index: int, mask: np.uint64) -> Any:
    """Atomically ``words[index] |= mask`` (uint64); return the word before."""
    before = words[index]
    words[index] |= mask
    return before


def atomic_and(words: Any, index: int, mask: np.uint64) -> Any:
    """Atomically ``words[index] &= mask`` (uint64); return the word before."""
    before = words[index]
    words[index] &= mask
    return before


def atomic_add(words: Any, index: int, amount: int) -> Any:
    """Atomically ``words[index] += amount`` (int64); return the number before."""
    before = words[index]
    words[index] += amount
    return before


def atomic_load(words: Any, index: int) -> Any:
    """``words[index]`` (int64 or uint64); after it, this thread sees what the writer of that word wrote before."""
    return words[index]


def atomic_store(words: Any, index: int, value: int) -> None:
    """``words[index] = value`` (int64); a thread that loads it also sees what this thread wrote before."""
    words[index] = value


def compare_and_swap(values: Any, index: int, old: Any, new: Any) -> bool:
    """Atomically store `new` in ``values[index]`` if that holds the bits of `old`; return whether it did.

    Elements are numbers of 32 or 64 bits.
    """
    if values[index] != old:
        return False
    values[index] = new
    return True


def pause() -> None:
    """Tell the CPU that this loop waits for another thread (the instruction PAUSE on x86)."""


def sleep(words: Any, index: int) -> int:
    """Wait until the semaphore at ``words[index]`` has been raised, and lower it (``sem_wait`` of the C library).

    A signal may end the wait, too; the result is 0 only if the semaphore was lowered.
    """
    raise NotImplementedError("compiled code only: a thread that waits here holds no lock of Python's")


def wake(words: Any, index: int) -> int:
    """Raise the semaphore at ``words[index]``, which ends one `sleep` (``sem_post`` of the C library)."""
    raise NotImplementedError("compiled code only, as `sleep`")


def clock() -> int:
    """The time in nanoseconds, by the clock of ``time.perf_counter_ns``."""
    return time.perf_counter_ns()


def no_unroll() -> None:
    """In the body of a loop: keep the compiler from unrolling it.

    The branch that ends a loop over a vertex's few edges is hard to predict. Unrolled, the loop has two such branches.
    """


def prefetch(array: Any, index: int) -> None:
    """Load ``array[index]`` into the cache, to be read soon and only once. `index` may be out of range."""


def prefetch_near(array: Any, index: int) -> None:
    """Load ``array[index]`` into the caches of all levels, to be read soon, in order. `index` may be out of range.

    In a loop over all edges, this is faster than `prefetch` on a Xeon, and as fast on an EPYC (docs/results/cpu.md,
    "Edges prefetched in order").
    """


def prefetch_kept(array: Any, index: int) -> None:
    """Load ``array[index]`` into the second-level cache, to be read repeatedly or written; `index` may be out of range.

    Unlike the first level, the second has room for hundreds of lines that are being loaded.
    """


def call(entry: int, result: int, row: int) -> int:
    """Run the kernel whose code is at address `entry`, and return its status, 0 for success.

    `row` is the address of its arguments, and `result` the address for what it returns.
    """
    raise NotImplementedError("compiled code only: a Python function has no machine address")


def call_c(function: int, arguments: tuple[int, ...]) -> int:
    """Call the C function at an address, with words or pointers; return the word that it returns.

    What a function returns that is narrower has undefined bits above. A kernel that calls Python's functions must have
    been made with ``holds_gil=True``.
    """
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
    return int(kind(int(function))(*map(int, arguments)))


def call_c_f64(function: int, arguments: tuple[int, ...]) -> float:
    """As `call_c`, of a function that returns a double."""
    kind = ctypes.PYFUNCTYPE(ctypes.c_double, *[ctypes.c_int64] * len(arguments))
    return float(kind(int(function))(*map(int, arguments)))


def struct_array(pointer: Any, dtype: np.dtype[Any]) -> Any:
    """The array of structures of type `dtype` that starts at the untyped `pointer`."""
    return pointer


def room(count: int, dtype: np.dtype[Any]) -> Any:
    """An array of `count` numbers with any contents, on the stack of the function that calls this, until that returns.

    `count` must be a constant.
    """
    return np.empty(count, dtype)


def u32_at(address: int, index: int) -> int:
    """Element `index` of the array of uint32 that begins at `address`, as an int64."""
    return ctypes.c_uint32.from_address(int(address) + 4 * int(index)).value


def word_at(data: Any, at: int) -> Any:
    """The 8 bytes of an array of bytes from byte `at` on, as a uint64. They may be anywhere."""
    return data[at : at + 8].copy().view(np.uint64)[0]


def numbers_of(array: Any) -> Any:
    """The numbers of which the structures in `array` consist, all of one type and without gaps, as an array."""
    return array.view(array.dtype[0])


def sum_of_bytes(numbers: Any, at: int, count: int) -> int:
    """The sum of ``numbers[at : at + count]``, where ``count <= 32``; compiled code reads all 32 bytes at once."""
    return sum(int(numbers[at + k]) for k in range(int(count)))


def numbers_of_packed(words: Any, position: int, width: int, numbers: Any, at: int) -> None:
    """Unpack 32 numbers of `width` bits, as for `sums_of_packed`, to ``numbers[at : at + 32]``.

    It is fastest if most groups have the same width, as edge values do.
    """
    sums_of_packed(words, position, width, np.uint32(0xFFFFFFFF), np.uint32(0), numbers, at)


def sums_of_packed(words: Any, position: int, width: int, begins: Any, before: Any, sums: Any, at: int) -> Any:
    """Unpack 32 numbers of `width` bits and write their running sums, modulo 2**32, to ``sums[at : at + 32]``.

    Parameters
    ----------
    words : array of uint32
        The packed numbers are the `width` words from `position` on: number k has the bits from ``k * width`` on.
    begins : uint32
        Where bit k is set, the sum starts again: it is number k alone.
    before : uint32
        The sum before the first number.

    Returns
    -------
    last : uint32
        The last sum.
    wrapped : uint32
        Bit k is set where sum k exceeded 2**32 - 1.
    """
    width, bits, wrapped = int(width), sum(int(words[position + k]) << 32 * k for k in range(width)), 0
    for k in range(32):
        total = (0 if int(begins) >> k & 1 else int(before)) + (bits >> k * width & (1 << width) - 1)
        before, wrapped = np.uint32(total & 0xFFFFFFFF), wrapped | (total >> 32) << k
        sums[at + k] = before
    return before, np.uint32(wrapped)


def trailing_zeros(word: np.uint64) -> int:
    """The position of the lowest set bit of `word`, which must not be 0."""
    return (int(word) & -int(word)).bit_length() - 1
