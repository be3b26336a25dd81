"""When the GPU copied and computed: events with a clock around what is put on streams, told as the host's time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..events import Span
from ..pages.layout import Page

TO_DEVICE, TO_HOST = "copy to device", "copy to host"


class Timeline:
    """Collects spans from any thread in which the device's context is current.

    Parameters
    ----------
    driver : module
        `pycuda.driver`.
    streams : list of pycuda.driver.Stream
        Those that compute: the tracks ``"stream 0"`` and so on.
    spans : list of Span
        Where they go, an iteration at a time.
    """

    def __init__(self, driver: Any, streams: list[Any], spans: list[Span]) -> None:
        self._driver, self._spans = driver, spans
        self._names = {id(stream): f"stream {k}" for k, stream in enumerate(streams)}
        self._marks: list[tuple[str, str, Page, Any, Any]] = []
        self._spare: list[Any] = []  # events of iterations that have been told

    @contextmanager
    def copying(self, engine: str, page: Page, stream: Any) -> Iterator[None]:
        """What is put on `stream` meanwhile is copied by that engine."""
        began = self._mark(stream)
        yield
        self._marks.append((engine, "copy", page, began, self._mark(stream)))

    @contextmanager
    def computing(self, page: Page, stream: Any) -> Iterator[None]:
        """What is put on `stream` meanwhile are a page's kernels."""
        began = self._mark(stream)
        yield
        self._marks.append((self._names[id(stream)], "gather and apply", page, began, self._mark(stream)))

    def _mark(self, stream: Any) -> Any:
        event = self._spare.pop() if self._spare else self._driver.Event()
        event.record(stream)
        return event

    def tell(self, stream: Any) -> None:
        """Tell the spans of what has ended, all of it, while `stream` is idle: an event on it is of this very moment.

        An engine copies for one stream after another: a copy that waited for another began when that one ended.
        """
        now = self._mark(stream)
        now.synchronize()
        host = time.perf_counter_ns()
        marks, self._marks = self._marks, []
        ended: dict[str, int] = {}

        def at(event: Any) -> int:
            return host - round(float(event.time_till(now)) * 1e6)

        spans = [
            Span(track, name, at(begin), at(end), {"page": page.number, "edges": page.edges})
            for track, name, page, begin, end in marks
        ]
        self._spare += [event for *_, begin, end in marks for event in (begin, end)] + [now]
        for span in sorted(spans, key=lambda span: (span.end, span.start)):
            start = min(max(span.start, ended.get(span.track, span.start)), span.end)
            ended[span.track] = span.end
            self._spans.append(span._replace(start=start))
