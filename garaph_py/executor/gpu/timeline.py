"""When the GPU copied and computed: events with a clock around what is put on streams, told as the host's time."""

from __future__ import annotations

import time
from typing import Any

from ...events import Span
from ...pages.layout import Page

TO_DEVICE, TO_HOST = "copy to device", "copy to host"
MANY = 1 << 14
"""Spans that are worth telling in the midst of a run."""


class Timeline:
    """Collects spans from any thread in which the device's context is current.

    Parameters
    ----------
    driver : module
        `pycuda.driver`.
    streams : list of pycuda.driver.Stream
        Those that compute: the tracks ``"stream 0"`` and so on.
    spans : list of Span
        Where they go.
    """

    def __init__(self, driver: Any, streams: list[Any], spans: list[Span]) -> None:
        self._driver, self._spans = driver, spans
        self._names = {id(stream): f"stream {k}" for k, stream in enumerate(streams)}
        self._marks: list[tuple[str, str, Page, int, Any]] = []
        self._spare: list[Any] = []  # events of iterations that have been told

    def ends(self, track: str, name: str, page: Page, began: int, stream: Any) -> None:
        """What was put on `stream` for a page from `began` on, by ``time.perf_counter_ns``, ends here."""
        self._marks.append((track, name, page, began, self._mark(stream)))

    def stream(self, stream: Any) -> str:
        """The track of a stream."""
        return self._names[id(stream)]

    def _mark(self, stream: Any) -> Any:
        event = self._spare.pop() if self._spare else self._driver.Event()
        event.record(stream)
        return event

    def tell(self, stream: Any, least: int = 1) -> None:
        """Tell the spans of what has ended, while `stream` is idle: an event on it is of this very moment.

        Copies ahead may be under way, and are told later. What one engine or stream does, or is done with one page,
        follows upon what it did before. Fewer than `least` wait for others: to ask for an event's time takes as long as
        to record it.
        """
        if len(self._marks) < least:
            return
        now = self._mark(stream)
        now.synchronize()
        host = time.perf_counter_ns()
        every, self._marks = self._marks, []
        marks = list[Any]()
        for mark in every:
            (marks if mark[-1].query() else self._marks).append(mark)
        ends = [host - round(float(event.time_till(now)) * 1e6) for *_, event in marks]
        self._spare += [*(event for *_, event in marks), now]
        last: dict[str | Page, int] = {}
        for end, (track, name, page, began, _) in sorted(zip(ends, marks, strict=True), key=lambda each: each[0]):
            start = min(max(began, last.get(track, began), last.get(page, began)), end)
            last[track] = last[page] = end
            self._spans.append(Span(track, name, start, end, {"page": page.number, "edges": page.edges}))
