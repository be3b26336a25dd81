"""Finds the internal ids of vertices that are asked for one by one."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..graph import VertexIds

Array = npt.NDArray[Any]


class Lookup:
    """Finds internal ids. A vertex that follows the last one in the order of the ids is found without a search.

    ``dict(result)`` and loops over a result ask for all vertices in this order.

    Parameters
    ----------
    ids : VertexIds
    """

    def __init__(self, ids: VertexIds) -> None:
        self._ids, self._following = ids, 0
        self.listed: Array | None = None
        """All of the user's ids, in order; None until somebody needed them."""

    def find(self, vertex: Any) -> int | None:
        """The internal id of the user's id `vertex`; None if there is no such vertex."""
        guess, listed = self._following, self.listed
        if listed is not None and guess < len(listed) and type(vertex) in (int, str) and listed[guess] == vertex:
            place: int | None = guess
        else:
            place = self._ids.find(vertex)
        if place is not None:
            self._following = place + 1
        return place
