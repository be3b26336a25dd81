"""How a device numbers the vertices of a graph: as the user does, or in hub order.

In hub order, the vertices whose values are read often come first, so that these values lie close together and stay in
the device's cache. Vertices are sorted by the class of their out-degree, which is its number of binary digits; within a
class they keep their order, and so the locality that the user's numbers may have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...native.threads import ThreadPool
from .ranks import Ranks, parts_of

Array = npt.NDArray[Any]

CLASSES = 64
"""Classes of out-degrees: one for each number of binary digits of an int64, from 63 down to 0."""


@dataclass(frozen=True)
class Order:
    """The hub order of a graph.

    Attributes
    ----------
    position : ndarray of uint32, shape (n,)
        The device's number of each vertex.
    given : ndarray of uint32, shape (n,)
        The inverse: for each vertex in the device's order, its number in the graph.
    """

    position: Array
    given: Array

    @classmethod
    def of(cls, offsets: Array, pool: ThreadPool) -> Order:
        """The order for these CSR offsets of the out-edges."""
        n = len(offsets) - 1
        position, given, classes = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.uint8)

        def count(first: int, last: int) -> Array:
            classes[first:last] = classes_of(offsets[first : last + 1])
            return np.bincount(classes[first:last], minlength=CLASSES)

        def place(first: int, last: int, counts: Array, begins: Array) -> None:
            vertices = (first + np.argsort(classes[first:last], kind="stable")).astype(np.uint32)
            ends = np.cumsum(counts)
            for k in np.flatnonzero(counts):
                of_class, begin = vertices[ends[k] - counts[k] : ends[k]], int(begins[k])
                given[begin : begin + len(of_class)] = of_class
                position[of_class] = np.arange(begin, begin + len(of_class), dtype=np.uint32)

        parts = parts_of(n, pool)
        counts = np.stack(pool.run(count, parts))  # by part, by class
        begins = (np.cumsum(counts.T) - counts.T.ravel()).reshape(counts.T.shape).T
        pool.run(place, [(*part, *rows) for part, *rows in zip(parts, counts, begins, strict=True)])
        return cls(position, given)

    def offsets(self, offsets: Array, pool: ThreadPool) -> Array:
        """The offsets of the same lists of edges in the device's order."""
        made = np.zeros(len(offsets), np.int64)

        def add_up(first: int, last: int) -> int:
            vertices = self.given[first:last].astype(np.intp)
            np.cumsum(offsets.take(vertices + 1) - offsets.take(vertices), out=made[first + 1 : last + 1])
            return int(made[last]) if last > first else 0

        def shift(first: int, last: int, by: int) -> None:
            made[first + 1 : last + 1] += by

        parts = parts_of(len(offsets) - 1, pool)
        sums = accumulate(pool.run(add_up, parts), initial=0)
        pool.run(shift, [(*part, by) for part, by in zip(parts, sums, strict=False)])
        return made

    def to_device(self, array: Array, pool: ThreadPool) -> Array:
        """An array with an item for each vertex, in the device's order."""
        made = np.empty_like(array)

        def take(first: int, last: int) -> None:
            made[first:last] = array.take(self.given[first:last])

        pool.run(take, parts_of(len(array), pool))
        return made

    def bits_to_device(self, bits: Array) -> Array:
        """The words of a vertex set, in the device's order."""
        flags = np.unpackbits(bits.view(np.uint8), bitorder="little", count=len(self.given))
        made = np.zeros_like(bits)
        packed = np.packbits(flags.take(self.given), bitorder="little")
        made.view(np.uint8)[: len(packed)] = packed
        return made


@dataclass(frozen=True)
class Numbering:
    """The vertices of a graph as a device numbers them.

    Attributes
    ----------
    arrays : GraphArrays
    ranks : Ranks
        The ranks of destinations, and the offsets of in-edges, by the device's numbers.
    order : Order or None
        None if the device has the user's numbers.
    """

    arrays: GraphArrays
    ranks: Ranks
    order: Order | None = None

    def name(self, name: str) -> str:
        """The name of an allocation that depends on the numbers; those of other numberings have other names."""
        return name if self.order is None else f"{name} in hub order"

    def contents(self, names: Iterable[str]) -> dict[str, Hashable]:
        """The allocations of the arrays with these names, and what each holds."""
        return {self.name(name): name for name in names}

    @property
    def positions(self) -> Array:
        """The device's number of each vertex, if it differs from the user's."""
        assert self.order is not None
        return self.order.position

    def out_offsets(self, threads: int | None) -> Array:
        """The sums of out-degrees, by the device's numbers."""
        offsets = self.arrays.degree_offsets
        if self.order is None:
            return offsets
        with ThreadPool(threads) as pool:
            return self.order.offsets(offsets, pool)

    def to_device(self, array: Array, threads: int | None) -> Array:
        """An array with an item for each vertex, by the device's numbers."""
        if self.order is None:
            return array
        with ThreadPool(threads) as pool:
            return self.order.to_device(array, pool)

    def bits_to_device(self, bits: Array) -> Array:
        """The words of a vertex set, by the device's numbers."""
        return bits if self.order is None else self.order.bits_to_device(bits)


def classes_of(offsets: Array) -> Array:
    """The class of each out-degree, from the offsets of the out-edges; class 0 has the largest degrees."""
    found: Array = CLASSES - 1 - np.frexp(np.diff(offsets).astype(np.float64))[1]
    return found
