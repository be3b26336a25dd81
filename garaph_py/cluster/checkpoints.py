"""`Checkpoints`: a cluster's checkpoints, in the form of those of one machine, so that either can resume from them.

The client takes copies of all parts after the same superstep (client.py), joins the values that each part owns
(snapshots.py), and writes the checkpoint; the parts go on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from ..checkpoint.saver import Saver
from ..errors import ClusterError
from ..graph import Graph
from ..native.threads import ThreadPool
from ..program import BoundProgram
from ..system import interrupts
from .snapshots import Snapshot, Snapshots


class Checkpoints:
    """The checkpoints of one run.

    Parameters
    ----------
    saver : Saver
        The saver of the checkpoints, which the caller has opened.
    snapshots : Snapshots
        It makes the states that are saved.

    Attributes
    ----------
    saved : int
        The superstep of the newest checkpoint; 0 if there is none.
    """

    def __init__(self, saver: Saver, snapshots: Snapshots) -> None:
        self._saver, self.snapshots = saver, snapshots
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
        if after is not None and self.saved <= after:
            return None
        arrays = self.snapshots.empty()
        found = await asyncio.to_thread(self._saver.load, arrays)
        return None if found is None else Snapshot(found, arrays)

    @property
    def saved(self) -> int:
        return self._saver.saved

    def is_due(self, superstep: int) -> bool:
        """Whether to make a checkpoint soon; the client has heard of so many supersteps."""
        self._runs = True
        return self._is_interrupted or self._saver.is_due(superstep)

    async def save(self, taken: Snapshot) -> None:
        """Make a checkpoint of a state."""
        await asyncio.to_thread(self._saver.save, taken.arrays, taken.superstep)
        self._kept = taken.superstep

    def end(self, superstep: int) -> None:
        """Note that the run has ended after the superstep of the newest checkpoint."""
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


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """In ``with``: Ctrl-C and SIGTERM wait for `Checkpoints.listen`."""
    with interrupts.Deferred(termination=True), interrupts.hold_first():
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
