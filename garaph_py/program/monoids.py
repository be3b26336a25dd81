"""Unified operations (Garaph, Figure 4): the commutative, associative operations that a vertex program can sum with.

Each is a plain binary function with an identity. The CPU calls that function; the GPU uses an atomic operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

Scalar = Any


@dataclass(frozen=True)
class Monoid:
    """A commutative and associative binary operation.

    Parameters
    ----------
    function : callable
        ``function(left, right)``, a plain Python function that Numba compiles. If the accumulator has named fields,
        a user's own function gets and returns tuples; the operations of this module work field by field.
    identity : number, tuple of numbers, or callable dtype -> number
        The value with ``function(identity, x) == x`` for every x.
    name : str, optional
        The name in messages.
    idempotent : bool
        Whether ``function(x, x) == x``. Then summing a contribution twice does no harm, and active vertices may push
        contributions.
    """

    function: Callable[[Any, Any], Any]
    identity: Any
    name: str = ""
    idempotent: bool = False

    @cached_property
    def is_named(self) -> bool:
        """Whether it is one of this module's operations, which work field by field, and not a user's own."""
        return any(self is monoid for monoid in NAMED)

    @cached_property
    def is_bitwise(self) -> bool:
        """Whether it is one of this module's operations on the bits of integers."""
        return self.is_named and self.name.startswith("bitwise")

    def identity_of(self, dtype: np.dtype[Any]) -> Any:
        """The identity for accumulators of a scalar `dtype`."""
        return self.identity(dtype) if callable(self.identity) else self.identity


@cache
def largest(dtype: np.dtype[Any]) -> Scalar:
    """The largest number of the scalar `dtype`; infinity for floats."""
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


@cache
def smallest(dtype: np.dtype[Any]) -> Scalar:
    """The smallest number of the scalar `dtype`; minus infinity for floats."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _all_bits(dtype: np.dtype[Any]) -> Scalar:
    """The integer of the scalar `dtype` in which every bit is set."""
    return np.iinfo(dtype).max if dtype.kind == "u" else -1


def _add(left, right):
    return left + right


def _mul(left, right):
    return left * right


def _min(left, right):
    return right if right < left else left


def _max(left, right):
    return right if right > left else left


def _logical_and(left, right):
    return (left != 0) and (right != 0)


def _logical_or(left, right):
    return (left != 0) or (right != 0)


def _logical_xor(left, right):
    return (left != 0) != (right != 0)


def _bitwise_and(left, right):
    return left & right


def _bitwise_or(left, right):
    return left | right


def _bitwise_xor(left, right):
    return left ^ right


add = Monoid(_add, 0, "add")
mul = Monoid(_mul, 1, "mul")
min = Monoid(_min, largest, "min", idempotent=True)
max = Monoid(_max, smallest, "max", idempotent=True)
logical_and = Monoid(_logical_and, 1, "logical_and")
logical_or = Monoid(_logical_or, 0, "logical_or")
logical_xor = Monoid(_logical_xor, 0, "logical_xor")
bitwise_and = Monoid(_bitwise_and, _all_bits, "bitwise_and", idempotent=True)
bitwise_or = Monoid(_bitwise_or, 0, "bitwise_or", idempotent=True)
bitwise_xor = Monoid(_bitwise_xor, 0, "bitwise_xor")

NAMED = (add, mul, min, max, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor)
