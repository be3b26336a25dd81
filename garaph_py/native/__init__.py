"""Runs Python functions as machine code, which Numba compiles once and which later processes load without Numba.

A `Kernel` is a plain Python function over pointers and 64-bit numbers. The first process that calls it compiles it and
stores the object code on disk. Later processes load it through llvmlite in a few milliseconds, and do not import Numba,
which would take most of a second. Calls release the GIL, unless the kernel itself calls Python's C functions.
"""

from .intrinsics import (
    atomic_add,
    atomic_and,
    atomic_load,
    atomic_or,
    atomic_store,
    call,
    call_c,
    call_c_f64,
    clock,
    compare_and_swap,
    no_unroll,
    numbers_of,
    numbers_of_packed,
    pause,
    prefetch,
    prefetch_kept,
    prefetch_near,
    room,
    struct_array,
    sum_of_bytes,
    sums_of_packed,
    trailing_zeros,
    u32_at,
    word_at,
)
from .job import IN_TURN, run_in_turn
from .kernel import ArgumentTable, From, Kernel, PerCall, prepare

__all__ = [
    "IN_TURN",
    "ArgumentTable",
    "From",
    "Kernel",
    "PerCall",
    "atomic_add",
    "atomic_and",
    "atomic_load",
    "atomic_or",
    "atomic_store",
    "call",
    "call_c",
    "call_c_f64",
    "clock",
    "compare_and_swap",
    "no_unroll",
    "numbers_of",
    "numbers_of_packed",
    "pause",
    "prefetch",
    "prefetch_kept",
    "prefetch_near",
    "prepare",
    "room",
    "run_in_turn",
    "struct_array",
    "sum_of_bytes",
    "sums_of_packed",
    "trailing_zeros",
    "u32_at",
    "word_at",
]
