"""What `device="auto"` has learned from the times of earlier calls: the machine's rates, and the history of each graph.

The rates are kept on disk in the cache of compiled code, so they are read only if no other user can have written them
and their checksum is right; a rate must also be in the range that `reckoning` believes. What is damaged is ignored, and
written anew at the next lesson. Two processes that learn at the same time overwrite one another's lessons, no more.

A rate that has changed is written at once. On a busy machine most calls raise doubts or settle them, so these are
written when the process ends.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import date
from statistics import median_low
from typing import Any

from ..graph.arrays import GraphArrays
from ..native import cache
from ..native.references import fingerprint
from ..program import BoundProgram
from ..system.machine import processor_name
from .lessons import Measured, is_believable, revised
from .options import RunOptions
from .reckoning import NAMES, Past, Rates, Verdict, cpu_iterating, cpu_seconds, gpu_seconds, reversing_seconds

MOST_BYTES = 1 << 14
"""Bytes of the largest file that is read; one of all rates has about 1,000."""
DAYS = 180
"""Days after which a rate is forgotten: the machine, or this package, may have changed."""
CALLS = 3
"""Calls whose median is the expected time of the next one."""
LEAST_ON_GPU = 2
"""Calls on the GPU before their time counts: after a single slow one, the CPU would be chosen for good."""
MOST_KINDS = 64
"""Kinds of calls that a graph remembers; the oldest is forgotten first."""
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
            own = {name: rate for name, rate in known.rates.items() if name.startswith("cpu_")}
            known = replace(known, rates=own, doubts={}, architecture=architecture)
        rates, doubts = revised(known.rates, known.doubts, learned)
        dates = {
            name: known.dates[name] if known.rates.get(name) == rate else today.isoformat()
            for name, rate in rates.items()
        }
        return replace(known, rates=rates, doubts=doubts, dates=dates)


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
_unwritten: set[str] = set()  # the folders whose file has other doubts


def key() -> str:
    """The key of this machine's rates in the cache, which several machines may share."""
    return f"rates-{fingerprint(processor_name(), os.cpu_count())}"


def known() -> Learned:
    """What is known of this machine; the file is read once in a process."""
    with _lock:
        name = str(cache.folder())
        if name not in _known:
            _known[name] = read()
        return _known[name]


def read() -> Learned:
    """What the file says."""
    return Learned.parsed(cache.load(key()) or b"", date.today())


def rates() -> Rates:
    """The machine's rates, as far as they are known; the others are the first estimates."""
    return Rates(**known().rates)


def teach(learned: dict[str, float], architecture: str | None) -> None:
    """Revise the rates by these lessons, and write them to the file if they have changed."""
    mine, name = known(), str(cache.folder())
    after = mine.after(learned, architecture, date.today())
    if after == mine or cache.folder() is None:
        return
    with _lock:
        if (after.rates, after.architecture) == (mine.rates, mine.architecture):
            _known[name] = after
            _unwritten.add(name)
            return
        before = replace(read(), doubts=mine.doubts)  # another process may have learned meanwhile
        _known[name] = after = before.after(learned, architecture, date.today())
        _unwritten.discard(name)
        cache.overwrite(key(), text_of(after))


@atexit.register
def write_doubts() -> None:
    """Write the doubts that are not in the file."""
    with _lock:
        if (name := str(cache.folder())) not in _unwritten:
            return
        _unwritten.discard(name)
        written, mine = read(), _known[name]
        if written.architecture == mine.architecture:  # else they are about another GPU
            cache.store(key(), text_of(replace(written, doubts=mine.doubts)))


def text_of(known: Learned) -> bytes:
    """The file's text."""
    return json.dumps(vars(known)).encode()


class Calls:
    """The latest calls of one kind on a graph: their seconds on the CPU, and on a GPU that had the graph already."""

    def __init__(self) -> None:
        self.iterations: int | None = None
        self.reached, self.few = 1.0, 0
        self.cpu, self.gpu = deque[float](maxlen=CALLS), deque[float](maxlen=CALLS)


class History:
    """The calls on one graph. It is among the graph's derived arrays, and is released with them.

    Attributes
    ----------
    lost : float
        Seconds that calls have lost by using the CPU, since the graph last was on the GPU.
    """

    def __init__(self) -> None:
        self.lost = 0.0
        self._kinds: dict[str, Calls] = {}

    @classmethod
    def of(cls, arrays: GraphArrays) -> History:
        """The history of a graph."""
        return arrays.derived.get(HISTORY, cls, lambda _: 0)

    def past(self, called: str) -> Past:
        """What is known for the next call of the kind `called`."""
        calls = self._kinds.get(called, Calls())
        cpu = median_low(calls.cpu) if calls.cpu else None
        gpu = median_low(calls.gpu) if len(calls.gpu) >= LEAST_ON_GPU else None
        return Past(calls.iterations, cpu, gpu, self.lost, calls.reached, calls.few)

    def add(self, called: str, verdict: Verdict, measured: Measured) -> None:
        """Add a call of the kind `called`.

        The first call on the CPU makes arrays that later ones find, so of its time only the iterations count, and not
        what it takes to order edge values. A call that has copied the graph to the GPU tells nothing about those that
        find it there.
        """
        calls = self._kinds.setdefault(called, Calls())
        call, there, rates = verdict.call, verdict.there, verdict.rates
        if measured.on_gpu:
            if there.missing(call):
                self.lost = 0.0
            else:
                calls.gpu.append(measured.seconds)
        else:
            model = replace(call, past=Past(iterations=measured.iterations), reverses=False)
            beyond = cpu_seconds(model, rates) - cpu_iterating(model, rates)
            counted = measured.seconds if calls.iterations is not None else measured.iterating + beyond
            counted = min(counted, measured.seconds) - reversing_seconds(call)
            calls.cpu.append(max(counted, beyond))
            self.lost += max(measured.seconds - gpu_seconds(call, there, rates), 0.0)
        calls.iterations, calls.few = measured.iterations, measured.few
        calls.reached = measured.active / max(call.vertices, 1)
        if len(self._kinds) > MOST_KINDS:
            self._kinds.pop(next(iter(self._kinds)))


def kind(bound: BoundProgram, options: RunOptions, threads: int) -> str:
    """The kind of a call, by which a graph remembers it: the program, whatever its parameters are, and the options that
    matter."""
    program = type(bound.program)
    asked = options.iterations, options.mode, options.sync, options.engine, options.gather, options.gpu_bytes, threads
    return f"{program.__module__}.{program.__qualname__} {bound.value} {bound.edge} {asked}"
