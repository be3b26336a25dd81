"""Numbers of all vertices that only a device has, until the host needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..graph import VertexIds

Array = npt.NDArray[Any]
DType = np.dtype[Any]


class Elsewhere(ABC):
    """An answer of a run that has stayed in a device's memory: a number, or a structure, for each vertex.

    Attributes
    ----------
    dtype : dtype
    size : int
        The number of vertices.
    """

    dtype: DType
    size: int

    def columns(self) -> list[Elsewhere]:
        """Each field of the answer, in order; the answer itself if it has no fields."""
        return [self]

    @abstractmethod
    def fetch(self) -> Array:
        """The answer on the host, shape (n,), the same array at each call; the device's memory is freed.

        Raises
        ------
        DeviceError
            If the device has failed, and the answer with it.
        """


@runtime_checkable
class HasNumbers(Protocol):
    """The result of a run, which another program may take as a `PerVertex` parameter."""

    def numbers_of(self, ids: VertexIds) -> Array | Elsewhere | None:
        """The numbers in the order of `ids`; None if it has other vertices, or not one number for each."""


def numbers_elsewhere(given: Any, ids: VertexIds, dtype: DType) -> Elsewhere | None:
    """The `PerVertex` parameter `given`, if only a device has it, and may convert it to `dtype`.

    A device does not look for numbers that do not fit, so the host narrows floats.
    """
    found = given.numbers_of(ids) if isinstance(given, HasNumbers) else None
    if not isinstance(found, Elsewhere):
        return None
    kind, size = found.dtype.kind, found.dtype.itemsize
    return found if kind in "iu" or (kind == dtype.kind == "f" and size <= dtype.itemsize) else None
