"""`Checkpoints`: a cluster's checkpoints, in the form of those of one machine, so that either can resume from them.

The client asks part 0 for a copy. That part's next report tells all others, so all parts copy their state after the
same superstep (superstep.py), and go on. The client then takes the copies, joins the values that each part owns, and
writes the checkpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping

from ..checkpoint.saver import Saver
from ..errors import ClusterError
from ..graph import Graph
from ..native.threads import ThreadPool
from ..program import BoundProgram
from ..system import interrupts
from .snapshots import Ask, Snapshot, Snapshots


class Checkpoints:
    """The checkpoints of one run.

    Parameters
    ----------
    saver : Saver
        The saver of the checkpoints, which the caller has opened.
    snapshots : Snapshots
        It makes the states that are saved.
    """

    def __init__(self, saver: Saver, snapshots: Snapshots) -> None:
        self._saver, self._snapshots = saver, snapshots
        self._is_asked = False  # part 0, for copies
        self._runs = False  # there is something to keep
        self._is_interrupted = False
        self._kept: int | None = None  # after which superstep the run was kept since

    @classmethod
    def open(cls, saver: Saver, bound: BoundProgram, graph: Graph, limit: int | None) -> Checkpoints:
        """The checkpoints of a run that does at most `limit` iterations; `Saver.open` refuses those of another run."""
        with ThreadPool(None) as pool:
            saver.open(bound, graph, True, limit, pool)
        return cls(saver, Snapshots(bound, graph.n))

    async def load(self, after: int | None = None) -> Snapshot | None:
        """Load the newest checkpoint, if it is of a later superstep than `after`.

        Raises
        ------
        DamagedCheckpointError
            If there are checkpoints, and all are damaged.
        """
        self._is_asked = False
        if after is not None and self._saver.saved <= after:
            return None
        arrays = self._snapshots.empty()
        found = await asyncio.to_thread(self._saver.load, arrays)
        return None if found is None else Snapshot(found, arrays)

    async def watch(self, superstep: int, copied: Mapping[int, int], ask: Ask, parts: int) -> int | None:
        """After news of a superstep, ask for copies if a checkpoint is due, or take them once they are there.

        Returns the superstep of the checkpoint, if it has made one.

        Parameters
        ----------
        copied : mapping of int to int
            After which superstep each part has made the copy for the client, if it is there.
        """
        self._runs = True
        if self._is_asked and len(copied) == parts:
            await self._take(copied[0], ask, parts)
            self._is_asked, self._kept = False, copied[0]
            return copied[0]
        if not self._is_asked and (self._is_interrupted or self._saver.is_due(superstep)):
            self._is_asked = True
            await ask(0, "ask", {})
        return None

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
        taken = await self._snapshots.take(superstep, ask, parts)
        await asyncio.to_thread(self._saver.save, taken.arrays, superstep)


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
