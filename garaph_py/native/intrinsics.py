"""What plain Python cannot say in a kernel: the bodies are the meaning, `compiler` puts machine code in their place."""

from __future__ import annotations

from typing import Any

import numpy as np


def atomic_or(words: Any, index: int, mask: np.uint64) -> None:
    """``words[index] |= mask``, safe when several threads set bits of one word (`words`: uint64)."""
    words[index] |= mask


def struct_array(pointer: Any, dtype: np.dtype[Any]) -> Any:
    """The array of structures of `dtype` that starts at an untyped `pointer`."""
    return pointer


def trailing_zeros(word: np.uint64) -> int:
    """Number of the lowest set bit of `word`, which is not 0."""
    return (int(word) & -int(word)).bit_length() - 1
