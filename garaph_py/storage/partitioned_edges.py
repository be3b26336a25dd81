"""`PartitionedEdges`: the edges of a graph that is on disk in parts, which only the workers of a cluster read."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..codec.arrays import RAW
from ..codec.codecs import Limits
from ..errors import GraphError

Array = npt.NDArray[Any]


class PartitionedEdges:
    """An array of edges whose elements are in parts; an `EdgeArray` that says so whenever they are asked for.

    Parameters
    ----------
    path : str
        The directory of the partition.
    length : int
    dtype : dtype
    limits : Limits, optional
        The limits of edge values.
    """

    codec = RAW
    on_disk = True
    unit = 1
    nbytes = 0
    buffers: tuple[Array, ...] = ()

    def __init__(self, path: str, length: int, dtype: np.dtype[Any], limits: Limits | None = None) -> None:
        self.path, self.dtype, self.limits, self._length = path, dtype, limits, length

    def __len__(self) -> int:
        return self._length

    @property
    def k(self) -> float:
        """Nothing is known of its location."""
        self.refuse()

    def slice(self, first: int, last: int) -> NoReturn:
        """Its elements cannot be read here."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Refuse to read an edge.

        Raises
        ------
        GraphError
        """
        raise GraphError(
            f"the edges of {self.path} are in parts, which the workers of a cluster read; run a program over it with "
            "cluster= (--cluster), and use the undivided graph for anything else"
        )

    def __getattr__(self, name: str) -> Any:
        """What a run on this machine asks of an array on disk."""
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse()
