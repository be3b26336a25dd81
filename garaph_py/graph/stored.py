"""Edges that stay on disk: offsets are in memory, lists and values are read a page at a time (pages/stored.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import GraphError

Array = npt.NDArray[Any]


class Stored(Protocol):
    """An array in blocks on disk."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def encoding(self) -> str:
        """``"raw"`` or ``"packed"``."""

    @property
    def stored_bytes(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Of memory."""

    def room(self, first: int, last: int) -> int:
        """Bytes that the blocks with elements [first, last) take in memory, as they are stored."""

    @property
    def least(self) -> Any:
        """The least element, of an array that has any."""


@dataclass(frozen=True, eq=False)
class StoredAdjacency:
    """Edges grouped by one endpoint, on disk.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    lists : Stored
        The other endpoints.
    numbers : Stored or None
        Edge values.
    memory : int
        Bytes that a run over the graph may take, these offsets among them.
    k : float
        How much faster the disks read one block after the other than at random (Garaph section 4.2).
    """

    offsets: Array
    lists: Stored
    numbers: Stored | None = None
    memory: int = 0
    k: float = 1.0

    @property
    def encoding(self) -> str:
        return self.lists.encoding

    @property
    def value_dtype(self) -> np.dtype[Any] | None:
        return None if self.numbers is None else self.numbers.dtype

    @property
    def has_packed_values(self) -> bool:
        return self.numbers is not None and self.numbers.encoding != "raw"

    @property
    def least_value(self) -> Any:
        """The least edge value; of edges that there are, with values."""
        assert self.numbers is not None
        return self.numbers.least

    def arrays(self, values: bool) -> list[Stored]:
        """What is on disk: the lists, and the edge values if they are of interest and there are some."""
        return [self.lists] if self.numbers is None or not values else [self.lists, self.numbers]

    @property
    def nbytes(self) -> int:
        """Of memory."""
        return int(self.offsets.nbytes) + sum(array.nbytes for array in self.arrays(values=True))

    @property
    def neighbours(self) -> NoReturn:
        raise GraphError(
            "the graph's edges stay on disk, and this takes all of them in memory; open it with more memory (memory, "
            "--memory), or do without"
        )

    values = neighbours

    def unpacked(self, pool: object) -> StoredAdjacency:
        return self if self.encoding == "raw" else self.neighbours
