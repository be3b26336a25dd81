"""Memory of the host."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


def on_own_pages(length: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A new array of zeros that shares no page of memory with others, so that a GPU can pin it."""
    nbytes = length * dtype.itemsize
    pages = mmap.mmap(-1, max(nbytes, mmap.PAGESIZE))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them; otherwise as NumPy's own arrays
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)[:nbytes].view(dtype)
