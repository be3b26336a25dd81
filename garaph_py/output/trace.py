"""Writes a run as a trace in Chrome's format, which Perfetto (ui.perfetto.dev) shows: what ran, where and when."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np

from ..events import Iteration, Span
from ..system.files import write_whole

KINDS = ("cpu", "stream", "copy", "disk")
"""The first words of tracks, in the order in which they are shown."""
PROCESS = ITERATIONS = 1
"""The numbers of the process and of the track of iterations. Perfetto shows the thread that has the process's number,
or 0, as the main thread; so that is the track of iterations."""


def write_trace(
    path: str | os.PathLike[str], title: str, iterations: Sequence[Iteration], spans: Sequence[Span], began: float,
    facts: Mapping[str, Any],
) -> None:  # fmt: skip
    """Write the trace of a run that `began` at this time of ``time.perf_counter``.

    `facts` say what was run and how; `simulation.replay` needs them.

    Raises
    ------
    ParameterError
        If the file cannot be written. In that case no part of it remains.
    """

    def write(file: IO[bytes]) -> None:
        file.write(b'{"displayTimeUnit": "ms", "traceEvents": [')
        for k, event in enumerate(trace_events(title, iterations, spans, began)):
            file.write(b",\n" * (k > 0) + json.dumps(event, allow_nan=False).encode())
        file.write(b'],\n"otherData": ' + json.dumps(dict(facts), allow_nan=False).encode() + b"}\n")

    write_whole(path, write)


def trace_events(
    title: str, iterations: Iterable[Iteration], spans: Sequence[Span], began: float
) -> Iterator[dict[str, Any]]:
    """The events: names of tracks, iterations, counters at their starts, and spans. Times are in microseconds."""
    tracks = {track: k for k, track in enumerate(tracks_of(spans), ITERATIONS + 1)}
    yield named("process_name", ITERATIONS, name=title)
    for track, k in {"iterations": ITERATIONS, **tracks}.items():
        yield named("thread_name", k, name=track)
        yield named("thread_sort_index", k, sort_index=k)
    for row in iterations:
        at = row.started * 1e6
        counters = {"f": row.f, "alpha": row.alpha, "active vertices": row.active}
        known = {name: value for name, value in counters.items() if value is not None}
        details = {
            "why": row.why, **known, "edges": row.edges, "pages": row.pages, "skipped": row.pages_skipped,
            "device": row.device, "to device": row.to_device, "from device": row.from_device,
            "from disk": row.from_disk, "sent": row.sent, "compiling": row.compile_seconds,
            "groups": [group._asdict() for group in row.groups],
        }  # fmt: skip
        if row.partitions is not None:
            details["partitions"] = counts_of(row.partitions)
        yield complete(ITERATIONS, f"{row.number}: {row.mode}", at, row.ended * 1e6 - at, details)
        for name, value in known.items():
            yield {"ph": "C", "pid": PROCESS, "name": name, "ts": round(at, 3), "args": {name: value}}
    for span in spans:
        at = span.start / 1e3 - began * 1e6
        yield complete(tracks[span.track], span.name, at, (span.end - span.start) / 1e3, span.details)


def counts_of(partitions: Any) -> dict[str, Any]:
    """What an engine knew of partitions, as JSON has it."""
    return {
        name: np.nan_to_num(value).tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(partitions).items()
        if value is not None
    }


def named(kind: str, track: int, **arguments: Any) -> dict[str, Any]:
    """An event of metadata, such as a track's name."""
    return {"ph": "M", "pid": PROCESS, "tid": track, "name": kind, "args": arguments}


def complete(track: int, name: str, at: float, duration: float, details: Any) -> dict[str, Any]:
    """An event with a start and a duration."""
    return {
        "ph": "X", "pid": PROCESS, "tid": track, "name": name, "ts": round(at, 3), "dur": round(duration, 3),
        "args": dict(details),
    }  # fmt: skip


def tracks_of(spans: Iterable[Span]) -> list[str]:
    """The tracks of `spans` in order: CPU threads, streams, copy engines, disks, and others, each kind by number."""

    def place(track: str) -> tuple[int, int, str]:
        kind, number = track.split(" ", 1)[0], re.search(r"\d+$", track)
        return KINDS.index(kind) if kind in KINDS else len(KINDS), int(number[0]) if number else 0, track

    return sorted({span.track for span in spans}, key=place)
