"""`Snapshots`: the client's copies of a run's state, over the undivided graph, from which parts of any cuts can go
on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError
from ..graph.vertex_set import VertexSet
from ..program import BoundProgram
from .part_run import Counts, total_of

Array = npt.NDArray[Any]
Ask = Callable[[int, str, Mapping[str, Any]], Awaitable[Any]]
"""``await ask(part, what, data)`` asks the worker that has a part about it."""


class Snapshot(NamedTuple):
    """The state after a superstep.

    Attributes
    ----------
    superstep : int
    arrays : dict
        The arrays of the state, as `checkpoint.saver.arrays_of` returns them.
    """

    superstep: int
    arrays: dict[str, Array]

    async def give(self, ask: Ask, parts: int) -> None:
        """Have each part's worker keep the part's state, as if the worker had copied it."""
        arrays = self.arrays
        active = np.unpackbits(arrays["active"].view(np.uint8), count=len(arrays["values"]), bitorder="little")
        for part in range(parts):
            numbers = await ask(part, "numbers", {})
            state = {
                "values": arrays["values"][numbers],
                "frontier": bits(active[numbers]),
                "numbers": np.array([self.superstep, np.count_nonzero(active[numbers])], np.int64),
            }
            saved = {"state": state, "counts": None, "total": arrays.get("total")}
            await ask(part, "keep", {"superstep": self.superstep, "saved": saved})


class Snapshots:
    """Makes snapshots of one run.

    Parameters
    ----------
    bound : BoundProgram
        The program, bound to the undivided graph.
    n : int
        The number of vertices of that graph.
    """

    def __init__(self, bound: BoundProgram, n: int) -> None:
        self._bound, self._n = bound, n

    async def take(self, superstep: int, ask: Ask, parts: int) -> Snapshot:
        """Join the own vertices of all parts after a superstep of which they have copies, or after which the run has
        ended."""
        taken = [await ask(part, "take", {"superstep": superstep}) for part in range(parts)]
        return Snapshot(superstep, self._joined(taken))

    def _joined(self, taken: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
        """The arrays of a snapshot, from what all parts own."""
        arrays = self.empty()
        sizes = [len(each["values"]) for each in taken]
        if sum(sizes) != self._n or any(each["values"].dtype != self._bound.value for each in taken):
            raise ClusterError(
                f"workers sent {sum(sizes)} values for {self._n} vertices; use the same version of garaph_py on all"
            )
        arrays["values"][:] = np.concatenate([each["values"] for each in taken])
        arrays["active"][:] = bits(np.concatenate([each["active"] for each in taken]))
        if (total := total_of([Counts(*each["counts"]) for each in taken], self._bound.total)) is not None:
            arrays["total"][:] = total
        return arrays

    def empty(self) -> dict[str, Array]:
        """Arrays for a snapshot."""
        arrays = {"values": np.empty(self._n, self._bound.value), "active": VertexSet.empty(self._n).bits}
        return arrays if self._bound.total is None else arrays | {"total": np.zeros(1, self._bound.total)}


def bits(mask: Array) -> Array:
    """A bitmap in words, from truth values or bytes."""
    found = VertexSet.empty(len(mask)).bits
    packed = np.packbits(mask, bitorder="little")
    found.view(np.uint8)[: len(packed)] = packed
    return found


def common(copies: Iterable[Mapping[int, list[int]]], parts: int) -> int | None:
    """The newest superstep of which every part has a copy somewhere; None if there is none."""
    kept: dict[int, set[int]] = {part: set() for part in range(parts)}
    for one in copies:
        for part, supersteps in one.items():
            kept[part].update(supersteps)
    everywhere = set.intersection(*kept.values())
    return max(everywhere) if everywhere else None
