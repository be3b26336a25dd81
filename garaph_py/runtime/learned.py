"""What `device="auto"` has learned from the times of earlier calls: the machine's rates, and the history of each graph.

The rates are kept on disk in the cache of compiled code, so they are read only if no other user can have written them
and their checksum is right; a rate must also be in the range that `reckoning` believes. What is damaged is ignored, and
written anew at the next lesson. Two processes that learn at the same time overwrite one another's lessons, no more.

A rate that has changed is written at once, but at most once a second: to replace a file takes up to 5 ms, and on a busy
machine every fifth call changes a rate. Whatever else has changed is written when the process ends, and so are doubts,
which most calls raise or settle there.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import cached_property
from statistics import median_low
from typing import Any

from ..graph.arrays import GraphArrays
from ..native import cache
from ..native.references import fingerprint
from ..program import BoundProgram
from ..system.machine import processor_name
from .lessons import Measured, is_believable, known_after, revised
from .options import RunOptions
from .past import ON_CPU, Past, Took, Way
from .reckoning import NAMES, Rates, Verdict, gpu_seconds

MOST_BYTES = 1 << 14
"""Bytes of the largest file that is read; one of all rates has about 1,000."""
DAYS = 180
"""Days after which a rate is forgotten: the machine, or this package, may have changed."""
CALLS = 3
"""Calls whose median is the expected time of the next one."""
LEAST_ON_GPU = 2
"""Calls on the GPU before their time counts: after a single slow one, the CPU would be chosen for good."""
PAUSE = 1.0
"""Least seconds between two writes of a process. See above."""
MOST_KINDS = 64
"""Kinds of calls that a graph remembers, and of each kind the ways to compute; the oldest is forgotten first."""
HISTORY = "times of calls"
"""Name of a graph's `History` among its derived arrays."""


@dataclass(frozen=True)
class Learned:
    """What is known of this machine.

    Attributes
    ----------
    rates, doubts : dict of str to float
        As `lessons.revised` takes them; a rate that nobody has measured is missing.
    dates : dict of str to str
        When each rate was learned, such as ``"2026-11-23"``.
    architecture : str or None
        The GPU's architecture, such as ``"sm_90"``, once a run has used the GPU.
    """

    rates: dict[str, float] = field(default_factory=dict)
    doubts: dict[str, float] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    architecture: str | None = None

    @cached_property
    def all_rates(self) -> Rates:
        """All rates; those that nobody has measured are the first estimates."""
        return Rates(**self.rates)

    @classmethod
    def parsed(cls, text: bytes, today: date) -> Learned:
        """What a file's text says. Entries that are damaged, out of range or too old are left out."""
        try:
            found = json.loads(text) if len(text) <= MOST_BYTES else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            return cls()
        rates, doubts, dates = (entries(found, name) for name in ("rates", "doubts", "dates"))
        dates = {name: day for name, day in dates.items() if name in NAMES and is_recent(day, today)}
        architecture = found.get("architecture")
        return cls(
            {name: rate for name, rate in rates.items() if name in dates and is_believable(name, rate)},
            {name: rate for name, rate in doubts.items() if name in NAMES and is_believable(name, rate)},
            dates,
            architecture if isinstance(architecture, str) else None,
        )

    def after(self, learned: dict[str, float], architecture: str | None, today: date) -> Learned:
        """The rates after these lessons; those of another GPU are forgotten."""
        known = self
        if architecture not in (None, known.architecture):
            known = replace(known, rates=of_host(known.rates), doubts=of_host(known.doubts), architecture=architecture)
        rates, doubts = revised(known.rates, known.doubts, learned)
        dates = {
            name: known.dates[name] if known.rates.get(name) == rate else today.isoformat()
            for name, rate in rates.items()
        }
        return replace(known, rates=rates, doubts=doubts, dates=dates)


def of_host(rates: dict[str, float]) -> dict[str, float]:
    """The rates that do not depend on the GPU: those of the CPU and of disks."""
    return {name: rate for name, rate in rates.items() if name.startswith(("cpu_", "disk_"))}


def entries(found: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of the file; empty if it is damaged."""
    part = found.get(name)
    return part if isinstance(part, dict) else {}


def is_recent(day: object, today: date) -> bool:
    """Whether a rate that was learned on this day still counts."""
    try:
        return isinstance(day, str) and (today - date.fromisoformat(day)).days <= DAYS
    except ValueError:
        return False


_lock = threading.Lock()
_known: dict[str, Learned] = {}  # by the cache's folder; what this process has read or learned
_synced: dict[str, Learned] = {}  # by the folder: what was known when the file was last read or written
_written: dict[str, float] = {}  # by the folder: when this process last wrote the file, by the monotonic clock


def key() -> str:
    """The key of this machine's rates in the cache, which several machines may share."""
    return f"rates-{fingerprint(processor_name(), os.cpu_count())}"


def known() -> Learned:
    """What is known of this machine; the file is read once in a process."""
    with _lock:
        name = str(cache.folder())
        if name not in _known:
            _known[name] = _synced[name] = read()
        return _known[name]


def read() -> Learned:
    """What the file says."""
    return Learned.parsed(cache.load(key()) or b"", date.today())


def rates() -> Rates:
    """The machine's rates, as far as they are known; the others are the first estimates."""
    return known().all_rates


def teach(learned: dict[str, float], architecture: str | None) -> None:
    """Revise the rates by these lessons, and write them to the file if they have changed and it is time."""
    if cache.folder() is None:
        return
    known()
    with _lock:
        name = str(cache.folder())
        synced, after = _synced[name], _known[name].after(learned, architecture, date.today())
        _known[name] = after
        has_changed = (after.rates, after.architecture) != (synced.rates, synced.architecture)
        if has_changed and time.monotonic() >= _written.get(name, -PAUSE) + PAUSE:
            _write(name)


def _write(name: str) -> None:
    """Write what this process has learned since it last read or wrote the file, in which another may have learned.

    If that was about another GPU, and this process has not begun to use one, only the rates of CPU and disks are added.
    """
    mine, synced = _known[name], _synced[name]
    own = {rate: value for rate, value in mine.rates.items() if synced.rates.get(rate) != value}
    found, doubts = read(), mine.doubts
    if mine.architecture != synced.architecture:
        found = found.after({}, mine.architecture, date.today())
    elif mine.architecture not in (None, found.architecture):
        own, doubts = of_host(own), found.doubts | of_host(doubts)
    dates = found.dates | {rate: mine.dates[rate] for rate in own}
    _known[name] = _synced[name] = replace(found, rates=found.rates | own, doubts=doubts, dates=dates)
    _written[name] = time.monotonic()
    cache.overwrite(key(), text_of(_known[name]))


@atexit.register
def write_rest() -> None:
    """Write what is not in the file."""
    with _lock:
        name = str(cache.folder())
        if name in _known and _known[name] != _synced[name]:
            _write(name)


def text_of(known: Learned) -> bytes:
    """The file's text."""
    return json.dumps({item.name: getattr(known, item.name) for item in fields(known)}).encode()


@dataclass
class Times:
    """The latest calls that computed in the same way.

    Attributes
    ----------
    iterating, beyond : deque of float
        Seconds of all iterations, and of the rest of those calls that found what earlier ones had made.
    """

    iterating: deque[float] = field(default_factory=lambda: deque(maxlen=CALLS))
    beyond: deque[float] = field(default_factory=lambda: deque(maxlen=CALLS))

    def are_known(self, way: Way) -> bool:
        """Whether there are enough calls that computed in this `way`."""
        return len(self.iterating) >= (1 if way == ON_CPU else LEAST_ON_GPU)

    @property
    def took(self) -> Took:
        """What the next such call is expected to take."""
        return Took(median_low(self.iterating), median_low(self.beyond) if self.beyond else None)


@dataclass
class Calls:
    """The latest calls of one kind.

    Attributes
    ----------
    last : Past or None
        What is known of the iterations of the last one; None before the first.
    times : dict of (Way, object) to Times
        By what computed, and by the options that matter there (`placed`).
    """

    last: Past | None = None
    times: dict[tuple[Way, Hashable], Times] = field(default_factory=dict)


class History:
    """The calls on one graph. It is among the graph's derived arrays, and is released with them.

    Attributes
    ----------
    lost : float
        Seconds that calls have lost by using the CPU, since a GPU was used last.
    found_out : int
        How often something has become known: how long iterations take in one way, or the rest of such calls.
    """

    def __init__(self) -> None:
        self.lost, self.found_out = 0.0, 0
        self._kinds: dict[Hashable, Calls] = {}

    @classmethod
    def of(cls, arrays: GraphArrays) -> History:
        """The history of a graph."""
        return arrays.derived.get(HISTORY, cls, lambda _: 0)

    def past(self, called: Hashable, placed: Hashable = None) -> Past:
        """What is known for the next call of the kind `called`, with these options (`placed`)."""
        calls = self._kinds.get(called, Calls())
        took = {
            way: times.took
            for (way, how), times in list(calls.times.items())  # another thread may add to them
            if how in (None, placed) and times.are_known(way)
        }
        return replace(calls.last or Past(), lost=self.lost, took=took)

    def add(
        self, called: Hashable, way: Way, placed: Hashable, measured: Measured, vertices: int, ordering: float = 0.0
    ) -> None:
        """Add a call of the kind `called`, in which the CPU took `ordering` seconds to order edge values by source.

        The first call on the CPU, and calls that copy the graph to a GPU, make what later ones find. So of their time
        only the iterations count.
        """
        calls, on_cpu = self._kinds.setdefault(called, Calls()), way == ON_CPU
        times = calls.times.setdefault((way, None if on_cpu else placed), Times())
        before = times.are_known(way), bool(times.beyond)
        times.iterating.append(max(measured.iterating - ordering, 0.0))
        if len(times.iterating) > 1 if on_cpu else measured.found_all:
            times.beyond.append(max(measured.seconds - measured.iterating, 0.0))
        self.found_out += before != (times.are_known(way), bool(times.beyond))
        if not on_cpu:
            self.lost = 0.0
        calls.last = known_after(Past(), measured, vertices)
        forget_oldest(self._kinds)
        forget_oldest(calls.times)

    def lose(self, verdict: Verdict, measured: Measured) -> None:
        """Add what a call has lost by its choice of the CPU, if it has lost anything."""
        self.lost += max(measured.seconds - gpu_seconds(verdict.call, verdict.there, verdict.rates), 0.0)


def forget_oldest(remembered: dict[Any, Any]) -> None:
    """Forget what was added first, if there are too many entries. Other threads may add and forget entries, too."""
    for key in list(remembered)[:-MOST_KINDS]:
        remembered.pop(key, None)


def kind(bound: BoundProgram, options: RunOptions, threads: int) -> Hashable:
    """The kind of a call, by which a graph remembers it: the program, whatever its parameters are, and the options that
    matter on all processors."""
    program = type(bound.program)
    asked = options.iterations, options.mode, options.sync, options.engine, threads
    return program.__module__, program.__qualname__, bound.value, bound.edge, asked


def placed(options: RunOptions) -> Hashable:
    """The options that matter on GPUs alone."""
    return (
        options.gather, options.gpu_bytes, options.gpu_order, options.streams, options.replication, options.page_edges
    )  # fmt: skip
