"""Records when the GPU copied and computed: CUDA events with timing, converted to spans of host time."""

from __future__ import annotations

import time
from typing import Any

from ...events import Span
from ...pages.layout import Page

TO_DEVICE, TO_HOST, TO_GPUS = "copy to device", "copy to host", "copy to other GPUs"
"""The tracks of copies."""
MANY = 1 << 14
"""Marks after which spans are written before the run ends. Fewer marks are kept until the end, because reading an
event's time takes as long as recording the event."""


class Timeline:
    """Makes spans from CUDA events. The device's context must be current in the thread that uses it.

    Parameters
    ----------
    driver : module
        `pycuda.driver`.
    streams : list of pycuda.driver.Stream
        The streams that compute: the tracks ``"stream 0"`` and so on.
    spans : list of Span
        The list to which spans are appended.
    gpu : int
        The GPU's number, which the tracks of all but the first have behind their names.
    """

    def __init__(self, driver: Any, streams: list[Any], spans: list[Span], gpu: int = 0) -> None:
        self._driver, self._spans = driver, spans
        self._behind = f" of GPU {gpu}" if gpu else ""
        self._tracks = {id(stream): f"stream {k}" for k, stream in enumerate(streams)}
        self._marks: list[tuple[str, str, Page | None, int, Any]] = []
        self._spare: list[Any] = []  # events whose spans are written

    def mark_end(self, track: str, name: str, page: Page | None, began: int, stream: Any) -> None:
        """Mark the end of the work that was put on `stream` since `began`, in ``time.perf_counter_ns``: for a page, or
        for all edges that it needed."""
        self._marks.append((track, name, page, began, self._record(stream)))

    def track_of(self, stream: Any) -> str:
        """The track of a stream that computes."""
        return self._tracks[id(stream)]

    def _record(self, stream: Any) -> Any:
        try:
            event = self._spare.pop()
        except IndexError:  # asked for beforehand, another thread might have taken the last one since
            event = self._driver.Event()
        event.record(stream)
        return event

    def write_spans(self, stream: Any, least: int = 1) -> None:
        """Write a span for each mark that the GPU has passed, if there are at least `least` marks.

        `stream` must be idle, so that an event recorded on it has the time of this call. Copies of `Streams.prefetch`
        may still be in flight; a later call writes their spans. A span begins when the previous span of its track and
        the previous span of its page have ended.
        """
        if len(self._marks) < least:
            return
        now = self._record(stream)
        now.synchronize()
        host = time.perf_counter_ns()
        every, self._marks = self._marks, []
        passed = list[Any]()
        for mark in every:
            (passed if mark[-1].query() else self._marks).append(mark)
        ends = [host - round(float(event.time_till(now)) * 1e6) for *_, event in passed]
        self._spare += [*(event for *_, event in passed), now]
        last: dict[str | Page, int] = {}
        for end, (track, name, page, began, _) in sorted(zip(ends, passed, strict=True), key=lambda each: each[0]):
            own = [track] if page is None else [track, page]
            start = min(max(began, *(last.get(key, began) for key in own)), end)
            last.update(dict.fromkeys(own, end))
            details = {} if page is None else {"page": page.number, "edges": page.edges}
            self._spans.append(Span(track + self._behind, name, start, end, details))
