"""`Heard`: makes the records of iterations, and the timeline of the parts, from what the client hears of supersteps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import events
from ..executor.modes import BOTH, CPU
from ..output.history import History
from ..output.record import Record
from ..output.recording import PAUSES
from .balance import Move
from .part_run import total_of
from .prepare import counts_of
from .superstep import Report

NONE = events.Iteration(0, "", 0.0, 0, 0, 0, 0, 0.0)
"""The record of a part without vertices."""


class Heard:
    """Makes the records of iterations from what the parts report.

    A part measures the time of each superstep by its own clock, and reports it. A superstep ends for all parts when the
    last part has done it, and no part begins the next one before; so the clocks of the workers need not agree.

    Parameters
    ----------
    put : callable
        Receives each record, and a step for each move of parts.
    record : Record
        Receives the totals, and a span for each part and superstep, if somebody wants them. The first superstep begins
        when the `record` does.
    total : dtype, optional
        The type of the program's total, if it has one.

    Attributes
    ----------
    history : History
    seconds : float
        The time of all supersteps, and of moves between them, with what parts spent compiling.
    compile_seconds : float
        How much sooner supersteps would have ended if no part had compiled.
    moves : list of Move
    device : str
        The processors that did the last superstep.
    """

    def __init__(self, put: Callable[[events.Event], None], record: Record, total: np.dtype[Any] | None = None) -> None:
        self.history, self.seconds, self.compile_seconds = History(), 0.0, 0.0
        self.moves: list[Move] = []
        self.device = CPU
        self._put, self._record, self._total = put, record, total
        self._until: list[float] = []  # for each part, when it had done its last superstep

    def __call__(self, reports: Sequence[Report], addresses: Sequence[str]) -> None:
        """Take the parts' `reports` of a superstep, which they did in the workers at these `addresses`."""
        counts = [counts_of(report) for report in reports]
        records = [each.record or NONE for each in counts]
        self._until = [
            max(until + report.seconds, self.seconds + each.seconds)
            for until, report, each in zip(self._until or [self.seconds] * len(reports), reports, counts, strict=True)
        ]
        began, self.seconds = self.seconds, max(self._until)
        computed = max(at - each.compile_seconds for at, each in zip(self._until, records, strict=True)) - began
        compiled = self.seconds - began - computed
        self.compile_seconds += compiled
        first = next((each for each in records if each is not NONE), NONE)
        devices = {each.device for each in records if each is not NONE} or {CPU}
        self.device = devices.pop() if len(devices) == 1 else BOTH
        iteration = first._replace(
            edges=sum(each.edges for each in records), pages=sum(each.pages for each in records),
            pages_skipped=sum(each.pages_skipped for each in records), device=self.device,
            seconds=computed, started=began, compile_seconds=compiled,
            to_device=sum(each.to_device for each in records),
            from_device=sum(each.from_device for each in records),
            from_disk=sum(each.from_disk for each in records), sent=sum(report.sent for report in reports),
        )  # fmt: skip
        self.history.add(iteration)
        self._put(iteration)
        if self._record.spans is not None:
            self._record.total(iteration.number, total_of(counts, self._total))
            self._record.spans += [
                self._span(part, address, records[part], reports[part].sent)
                for part, address in enumerate(addresses)
                if records[part] is not NONE
            ]

    def moved(self, move: Move) -> None:
        """Take a move of parts, after the superstep that was heard last."""
        self.moves.append(move)
        self._put(events.Step("moving parts", move.nbytes, move.nbytes))
        began, self.seconds, self._until = self.seconds, self.seconds + move.seconds, []
        if self._record.spans is not None:
            start, end = (round((self._record.began + at) * 1e9) for at in (began, self.seconds))
            self._record.spans.append(events.Span(PAUSES, f"parts move: {move.slowest} is slow", start, end, {}))

    def _span(self, part: int, address: str, did: events.Iteration, sent: int) -> events.Span:
        """What a part did in its last superstep; between two spans it waits for the others."""
        end = self._record.began + self._until[part]
        details = {"iteration": did.number, "edges": did.edges, "sent": sent}
        return events.Span(f"part {part}", address, round((end - did.seconds) * 1e9), round(end * 1e9), details)
