"""Classes that `Adjacency` has replaced. They work for one more version; the package warns when one is imported."""

from __future__ import annotations

from typing import Any

from ..codec.arrays import PACKED, EdgeArray
from ..native.threads import ThreadPool
from .adjacency import Adjacency, Array


class OldKind(type):
    """Makes ``isinstance(edges, PackedAdjacency)`` ask the edges."""

    on_disk: bool

    def __instancecheck__(cls, edges: object) -> bool:
        if not isinstance(edges, Adjacency) or edges.on_disk != cls.on_disk:
            return False
        return cls.on_disk or edges.encoding == PACKED


class PackedAdjacency(metaclass=OldKind):
    """Replaced by `Adjacency` with packed arrays."""

    on_disk = False

    def __new__(cls, offsets: Array, packed: EdgeArray, packed_values: Any = None) -> Adjacency:  # type: ignore[misc]
        return Adjacency(offsets, packed, packed_values)

    @staticmethod
    def of(edges: Adjacency, pool: ThreadPool) -> Adjacency:
        """`edges` packed."""
        return edges.encoded(PACKED, pool)


class StoredAdjacency(metaclass=OldKind):
    """Replaced by `Adjacency` with arrays on disk."""

    on_disk = True
