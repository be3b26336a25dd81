"""Structures of numbers: their types, and the named tuples as which functions see them."""

from __future__ import annotations

import threading
from collections import namedtuple
from functools import lru_cache
from typing import Any

import numpy as np

DType = np.dtype[Any]

_records: dict[tuple[str, ...], Any] = {}
"""The classes that `record_class` has made, by their fields."""
_making_records = threading.Lock()


@lru_cache(256)
def structure(fields: tuple[tuple[str, DType], ...]) -> DType:
    """The aligned structure with these fields. NumPy takes microseconds to make one, and to hash it the first time."""
    return np.dtype(list(fields), align=True)


def scalars(dtype: DType) -> list[DType]:
    """The scalar types in a scalar dtype or structure."""
    return [dtype[name] for name in dtype.names] if dtype.names else [dtype]


def record_class(names: tuple[str, ...]) -> Any:
    """The named tuple with these fields, as which functions see a structure. The same names give the same class."""
    with _making_records:
        if names not in _records:
            _records[names] = namedtuple("Record", names)
        return _records[names]
