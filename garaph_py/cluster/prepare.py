"""Makes a worker's `Hosting` from the client's first message, and the parts from their arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import DeviceError
from ..graph.part import Part
from ..graph.place import Place
from ..program import VertexProgram
from ..program.part import with_columns
from ..runtime.options import RunOptions
from .messages import Message, decode
from .part_run import Changed, Counts, PartRun, Tell
from .reading import PartReader
from .source import SentProgram, received
from .superstep import Report
from .worker import Call, Hosting

Array = npt.NDArray[Any]
Content = Part | dict[str, Array]
"""A part that was read, or the arrays of one that was sent."""


class HostedRun:
    """A `PartRun` as a `PartHost` needs it (`host.Runs`): with messages, limits, and copies that have the counts.

    Parameters
    ----------
    program : VertexProgram
    part : Part
    options : RunOptions
    sends : dict of int to ndarray
        The numbers of own vertices that other parts mirror, by part.
    address : str
        The worker's, for messages.
    """

    def __init__(
        self, program: VertexProgram, part: Part, options: RunOptions, sends: Mapping[int, Array], address: str
    ) -> None:
        self._program, self._part, self._options, self._sends = program, part, options, sends
        self._address = address
        self._run = self._new()
        self._part = self._run.part  # with out-edges, if it needs them
        self._is_new = True  # no superstep was done since the state was made or loaded, so that all mirrors are right
        self._counts: Counts | None = None
        self.converged = False

    def _new(self) -> PartRun:
        run = PartRun(self._program, self._part, self._options, self._options.threads)
        for part, numbers in self._sends.items():
            run.connect(part, numbers)
        return run

    @property
    def state_bytes(self) -> int:
        """Bytes of a copy of the state."""
        return len(self._part.place.numbers) * self._run.bound.value.itemsize

    def open(self) -> Counts:
        """Make the initial state.

        Raises
        ------
        DeviceError
            If the run needs a GPU, and this worker cannot use one.
        """
        if self._counts is not None:  # it was opened before
            self._run.close()
            self._run = self._new()
        try:
            self._is_new, self._counts = True, self._run.open()
        except DeviceError as error:
            raise DeviceError(f"the worker {self._address} cannot use a GPU: {error}") from error
        return self._counts

    def step(self, counts: Sequence[Counts], tell: Tell) -> Counts:
        """Do a superstep."""
        self._counts, self._is_new = self._run.step(self._run.total([Counts(*each) for each in counts]), tell), False
        return self._counts

    def ends(self, counts: Sequence[Counts], superstep: int) -> bool:
        """Whether the run has converged, or reached its limit."""
        self.converged = self._run.ends(self._run.total([Counts(*each) for each in counts]), superstep)
        limit = self._options.iterations
        return self.converged or (limit is not None and superstep >= limit)

    def outgoing(self, part: int) -> Changed:
        """What to tell another part."""
        if self._is_new:
            return Changed(np.zeros(0, self._run.bound.value), *np.zeros((2, 0), np.bool_))
        return self._run.outgoing(part)

    def incoming(self, part: int, message: Message) -> None:
        """Put what another part has told in place."""
        if self._is_new:
            return
        first, last = self._part.mirrors(part)
        self._run.incoming(part, decode(message, last - first, self._run.bound.value))

    def save(self) -> dict[str, Any]:
        """A copy of the state, with its counts."""
        assert self._counts is not None
        return {"state": self._run.save(), "counts": tuple(self._counts)}

    def load(self, saved: Mapping[str, Any]) -> Counts:
        """Go on from a copy."""
        self._run.load(saved["state"])
        known = saved["counts"]  # None in a checkpoint
        self._counts, self._is_new = self._run.counts(saved["total"]) if known is None else Counts(*known), True
        return self._counts

    def own(self, saved: Mapping[str, Any]) -> dict[str, Any]:
        """What a copy has of the own vertices, with its counts."""
        return {**self._run.own(saved["state"]), "counts": saved["counts"]}

    def not_finite(self) -> tuple[Any, ...]:
        """The numbers of the own vertices that are not finite: a `finite.Found`."""
        return tuple(self._run.not_finite())

    def report(self) -> Array:
        """The reported values of the own vertices."""
        return self._run.report()

    def close(self) -> None:
        """Give back memory and threads."""
        self._run.close()


def counts_of(report: Report) -> Counts:
    """The counts in a report, with the record of the superstep."""
    counts = Counts(*report.counts)
    return counts if counts.record is None else counts._replace(record=events.Iteration(*counts.record))


def hosting(
    reader: PartReader, call: Call, program: tuple[Any, ...], options: Mapping[str, Any], parts: int
) -> Hosting:
    """The worker's side of a run.

    Parameters
    ----------
    reader : PartReader
        Knows the worker: its address, its threads and its memory.
    call : coroutine function
        How it asks other workers.
    program : tuple
        A `SentProgram`; its vertices are numbers of the undivided graph.
    options : dict
        The options of the run that are not their defaults.
    parts : int
        How many parts the graph has.
    """
    chosen = RunOptions(**{**options, "threads": reader.threads})
    sent = SentProgram(*program)

    def make(part: int, content: Content, sends: dict[int, Array], columns: dict[str, Array]) -> HostedRun:
        made = content if isinstance(content, Part) else Part.of(content)
        return HostedRun(with_columns(received(sent), columns), made, chosen, sends, reader.address)

    return Hosting(make, places, parts, reader.address, call, reader)


def places(content: Content) -> tuple[Array, dict[int, Array]]:
    """The numbers of a part's vertices, and those of its mirrors by the part that owns them."""
    place = content.place if isinstance(content, Part) else Place.of(content)
    found = {owner: place.wanted(owner) for owner in range(place.parts) if owner != place.part}
    return place.numbers, {owner: numbers for owner, numbers in found.items() if len(numbers)}
