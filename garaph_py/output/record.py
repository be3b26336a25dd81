"""Collects what a run's ``trace`` and ``report`` show, if one of them is asked for, and writes them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy.typing as npt

from ..events import Span
from ..graph import Graph
from ..system.files import check_distinct, check_place
from .recording import PAUSES, Recording, circumstances
from .result import Result

Place = str | os.PathLike[str]


class Record:
    """The spans of a run, and the files to write them to.

    Parameters
    ----------
    trace, report : path, optional
        The files; None for those that are not wanted.

    Attributes
    ----------
    began : float
        When the run began, by ``time.perf_counter``.
    spans : list of Span, or None
        The spans so far, which any thread may append to; None if neither file is wanted.
    totals : dict
        See `Recording`.

    Raises
    ------
    ParameterError
        If a file cannot be written there, or both are the same file. So a run fails at its start, not at its end.
    """

    def __init__(self, trace: Place | None, report: Place | None) -> None:
        self._trace, self._report = trace, report
        self.began = time.perf_counter()
        self.spans: list[Span] | None = None
        if trace is not None or report is not None:
            places = {name: path for name, path in (("trace", trace), ("report", report)) if path is not None}
            for name, path in places.items():
                check_place(path, name)
            check_distinct(places)
            self.spans = []
        self.totals: dict[int, dict[str, float]] = {}

    def total(self, number: int, total: npt.NDArray[Any] | None) -> None:
        """Keep the program's total, if it has one, at the end of an iteration."""
        if self.spans is not None and total is not None:
            names = total.dtype.names
            self.totals[number] = {name: float(total[name][0]) for name in names} if names else {"": float(total[0])}

    @contextlib.contextmanager
    def pause(self, name: str, happened: Callable[[], bool]) -> Iterator[None]:
        """Record the ``with`` block, in which the run does not iterate, if it did what it is for."""
        start = time.perf_counter_ns()
        yield
        if self.spans is not None and happened():
            self.spans.append(Span(PAUSES, name, start, time.perf_counter_ns(), {}))

    def write(self, result: Result, graph: Graph, more: Iterable[Span], facts: Mapping[str, Any]) -> None:
        """Write the files that are wanted.

        Parameters
        ----------
        result : Result
        graph : Graph
        more : iterable of Span
            Spans besides those in `spans`.
        facts : mapping
            What was run and how.
        """
        if self.spans is None:
            return
        from .page import write_report
        from .trace import write_trace

        title, spans = f"{result.program} on {str(graph)[8:-1]}", [*self.spans, *more]
        run = Recording(title, result.stats, spans, self.began, {**facts, **circumstances()}, self.totals)
        if self._trace is not None:
            write_trace(self._trace, title, result.stats.iterations, spans, self.began, run.document())
        if self._report is not None:
            write_report(self._report, run)
