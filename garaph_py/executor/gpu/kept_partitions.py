"""Partitions of the edge lists that stay in the GPU's memory from one superstep to the next, and to later runs.

Those stay whose lists have been needed most, as far as the budget goes. A partition comes when its copy costs nothing,
because the superstep copies it as a whole anyway, or once its lists have been needed for as many bytes as the copy has:
a copy at the beginning would have paid by then. Before anything is measured, partitions with hubs come first.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..partitions import PartitionCounts, Partitions

Array = npt.NDArray[Any]

NAME = "kept partitions"
"""Name of their allocation in the device's memory."""
NOBODY = -1
"""In `Uses.holders`: the place is free."""


@dataclass
class Uses:
    """What is known of the partitions of one graph, from one run to the next.

    Attributes
    ----------
    nbytes : ndarray of int64, shape (partitions,)
        Bytes of active vertices' lists that supersteps have needed.
    holders : ndarray of int64, shape (places,)
        The partition that is in each place, or `NOBODY`.
    """

    nbytes: Array
    holders: Array


class KeptPartitions:
    """Places for partitions, which are equally large.

    Parameters
    ----------
    partitions : Partitions
    edge_bytes : int
        Bytes of an edge with the value that the program reads.
    place_bytes : int
        Bytes of a place: any partition fits.
    in_offsets : ndarray of int64, shape (n + 1,)
        CSC offsets: vertices with many in-edges, hubs, become active often.

    Attributes
    ----------
    count : int
        The number of places. Set by `fit`.
    uses : Uses
        Set by `begin`.
    """

    def __init__(self, partitions: Partitions, edge_bytes: int, place_bytes: int, in_offsets: Array) -> None:
        self.partitions, self.edge_bytes, self.place_bytes, self.count = partitions, edge_bytes, place_bytes, 0
        vertices = np.maximum(np.diff(partitions.bounds), 1)
        self.hubs: Array = np.diff(in_offsets[partitions.bounds]) / vertices

    def fit(self, room: int) -> int:
        """Make as many places as `room` bytes allow, and return their bytes."""
        self.count = min(self.partitions.count, room // self.place_bytes) if self.place_bytes else 0
        return self.count * self.place_bytes

    @property
    def key(self) -> Hashable:
        """The key of the uses of these partitions."""
        return NAME, self.edge_bytes, self.place_bytes, self.partitions.count

    def made(self) -> Uses:
        """The uses before anything is measured."""
        return Uses(np.zeros(self.partitions.count, np.int64), np.full(self.count, NOBODY, np.int64))

    def begin(self, uses: Uses, are_there: bool) -> None:
        """Begin a run with what is known; `are_there`: the places hold what the last run has left in them."""
        self.uses = uses
        if not are_there or len(uses.holders) != self.count:
            uses.holders = np.full(self.count, NOBODY, np.int64)

    @property
    def places(self) -> dict[int, int]:
        """The place of each partition that is there."""
        return {int(number): place for place, number in enumerate(self.uses.holders) if number != NOBODY}

    def count_uses(self, counts: PartitionCounts) -> None:
        """Add what a superstep needs."""
        self.uses.nbytes += counts.active_edges * self.edge_bytes

    def admit(self, active: Array, copied: set[int]) -> list[int]:
        """Choose the partitions that this superstep copies to stay, by the bytes that earlier ones needed; return
        these.

        Parameters
        ----------
        active : ndarray of bool, shape (partitions,)
            Which partitions have active edges.
        copied : set of int
            Those that it copies as a whole anyway.
        """
        uses, holders, here = self.uses.nbytes, self.uses.holders, set(self.places)
        order = np.lexsort((-self.hubs, -uses)).tolist()  # the most needed first
        rank = {number: k for k, number in enumerate(order)} | {NOBODY: len(order)}
        places = sorted(range(self.count), key=lambda place: rank[int(holders[place])])
        admitted = list[int]()
        for number in (number for number in order if active[number] and number not in here):
            if not places:
                break
            place = places[-1]  # it is free, or its partition has been needed least
            holder, price = holders[place], 0 if number in copied else self._bytes_of(number)
            if uses[number] >= price if holder == NOBODY else uses[number] - uses[holder] > price:
                holders[places.pop()] = number
                admitted.append(number)
        return sorted(admitted)

    def _bytes_of(self, number: int) -> int:
        return int(self.partitions.edges[number]) * self.edge_bytes
