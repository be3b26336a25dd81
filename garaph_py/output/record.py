"""Collects what a run's ``trace`` and ``report`` show, if one of them is asked for, and writes them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from ..events import Span
from ..graph import Graph
from ..system.files import check_distinct, check_place
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

    Raises
    ------
    ParameterError
        If a file cannot be written there, or both are the same file. So a run fails at its start, not at its end.
    """

    def __init__(self, trace: Place | None, report: Place | None) -> None:
        self._trace, self._report = trace, report
        places = {name: path for name, path in (("trace", trace), ("report", report)) if path is not None}
        for name, path in places.items():
            check_place(path, name)
        check_distinct(places)
        self.began = time.perf_counter()
        self.spans: list[Span] | None = None if trace is None and report is None else []

    def write(self, result: Result, graph: Graph, more: Iterable[Span], facts: Mapping[str, Any]) -> None:
        """Write the files that are wanted.

        Parameters
        ----------
        result : Result
        graph : Graph
        more : iterable of Span
            Spans besides those in `spans`.
        facts : mapping
            What was run and how, for the trace.
        """
        if self.spans is None:
            return
        from .page import write_report
        from .trace import write_trace

        spans, title = [*self.spans, *more], f"{result.program} on {str(graph)[8:-1]}"
        if self._trace is not None:
            write_trace(self._trace, title, result.stats.iterations, spans, self.began, facts)
        if self._report is not None:
            write_report(self._report, title, result.stats, spans, self.began)
