"""`Checkpoints`: a cluster's checkpoints, in the form of those of one machine, so that either can resume from them.

The client asks part 0 for a copy. That part's next report tells all others, so all parts copy their state after the
same superstep (superstep.py), and go on. The client then takes the copies, joins the values that each part owns, and
writes the checkpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..checkpoint.saver import Saver
from ..errors import ClusterError
from ..graph import Graph
from ..graph.vertex_set import VertexSet
from ..native.threads import ThreadPool
from ..program import BoundProgram
from ..system import interrupts
from .part_run import Counts, total_of

Array = npt.NDArray[Any]
Ask = Callable[[int, str, Mapping[str, Any]], Awaitable[Any]]
"""``await ask(part, what, data)`` asks the worker that has a part about it."""


class Checkpoints:
    """The checkpoints of one run.

    Parameters
    ----------
    saver : Saver
        The saver of the checkpoints, which the caller has opened.
    bound : BoundProgram
        The program, bound to the undivided graph.
    n : int
        The number of vertices of that graph.
    """

    def __init__(self, saver: Saver, bound: BoundProgram, n: int) -> None:
        self._saver, self._bound, self._n = saver, bound, n
        self._loaded: dict[str, Array] | None = None
        self._is_asked = False  # part 0, for copies
        self._runs = False  # there is something to keep
        self._is_interrupted = False
        self._kept: int | None = None  # after which superstep the run was kept since

    @classmethod
    def open(cls, saver: Saver, bound: BoundProgram, graph: Graph, limit: int | None) -> Checkpoints:
        """The checkpoints of a run that does at most `limit` iterations; `Saver.open` refuses those of another run."""
        with ThreadPool(None) as pool:
            saver.open(bound, graph, True, limit, pool)
        return cls(saver, bound, graph.n)

    async def load(self, after: int | None = None) -> int | None:
        """Load the newest checkpoint, if it is of a later superstep than `after`; return its superstep.

        Raises
        ------
        DamagedCheckpointError
            If there are checkpoints, and all are damaged.
        """
        self._is_asked = False
        if after is not None and self._saver.saved <= after:
            return None
        arrays = self._empty()
        found = await asyncio.to_thread(self._saver.load, arrays)
        self._loaded = None if found is None else arrays
        return found

    async def give(self, superstep: int, ask: Ask, parts: int) -> None:
        """Have each part's worker keep the part's state in the loaded checkpoint, as if the worker had copied it."""
        arrays, self._loaded = self._loaded, None
        assert arrays is not None
        active = np.unpackbits(arrays["active"].view(np.uint8), count=self._n, bitorder="little")
        for part in range(parts):
            numbers = await ask(part, "numbers", {})
            state = {
                "values": arrays["values"][numbers],
                "frontier": bits(active[numbers]),
                "numbers": np.array([superstep, np.count_nonzero(active[numbers])], np.int64),
            }
            saved = {"state": state, "counts": None, "total": arrays.get("total")}
            await ask(part, "keep", {"superstep": superstep, "saved": saved})

    async def watch(self, superstep: int, copied: Mapping[int, int], ask: Ask, parts: int) -> None:
        """After news of a superstep, ask for copies if a checkpoint is due, or take them once they are there.

        Parameters
        ----------
        copied : mapping of int to int
            After which superstep each part has made the copy for the client, if it is there.
        """
        self._runs = True
        if self._is_asked and len(copied) == parts:
            await self._take(copied[0], ask, parts)
            self._is_asked, self._kept = False, copied[0]
        elif not self._is_asked and (self._is_interrupted or self._saver.is_due(superstep)):
            self._is_asked = True
            await ask(0, "ask", {})

    async def end(self, superstep: int, ask: Ask, parts: int) -> None:
        """Make the checkpoint of a run that has ended after a superstep."""
        await self._take(superstep, ask, parts)
        self._saver.mark_end(superstep)

    def listen(self) -> None:
        """Deliver a signal that this thread has received once there is a checkpoint; deliver a second signal at
        once."""
        if interrupts.pending():
            if not self._is_interrupted:
                self._is_interrupted, self._kept = True, None
            if not self._runs:
                interrupts.deliver()
            elif self._kept is not None:
                self._is_interrupted = False
                self._saver.deliver(self._kept)
        interrupts.check()

    async def _take(self, superstep: int, ask: Ask, parts: int) -> None:
        """Take the copies of a superstep and write them, unless this has been done before. The supersteps go on
        meanwhile."""
        if self._saver.saved == superstep:
            return
        taken = [await ask(part, "take", {"superstep": superstep}) for part in range(parts)]
        await asyncio.to_thread(self._saver.save, self._joined(taken), superstep)

    def _joined(self, taken: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
        """The arrays of a checkpoint, from what all parts own."""
        arrays = self._empty()
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

    def _empty(self) -> dict[str, Array]:
        """The arrays of a checkpoint, as `checkpoint.saver.arrays_of` has them."""
        arrays = {"values": np.empty(self._n, self._bound.value), "active": VertexSet.empty(self._n).bits}
        return arrays if self._bound.total is None else arrays | {"total": np.zeros(1, self._bound.total)}


def bits(mask: Array) -> Array:
    """A bitmap in words, from truth values or bytes."""
    found = VertexSet.empty(len(mask)).bits
    packed = np.packbits(mask, bitorder="little")
    found.view(np.uint8)[: len(packed)] = packed
    return found


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """In ``with``: Ctrl-C and SIGTERM wait for `Checkpoints.listen`."""
    with interrupts.deferred(termination=True), interrupts.hold_first():
        yield


@contextlib.contextmanager
def saying_how_to_resume(saver: Saver | None) -> Iterator[None]:
    """Have an error of the cluster say how to go on from the newest checkpoint, if there is one."""
    try:
        yield
    except ClusterError as error:
        if saver is not None and saver.saved:
            where = saver.directory
            error.add_note(
                f"{where} has a checkpoint after {saver.saved} iterations: resume=True (garaph resume {where}) goes on "
                "from there, on any cluster (--cluster) or on this machine"
            )
        raise
