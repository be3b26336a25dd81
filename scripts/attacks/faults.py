"""Faults of the system in every job: a call that fails, and a read or write that does less than it was asked for.

Each must end in the right answer, or in one error of `garaph_py.errors` after which the next start works. The reads by
Linux AIO are among the calls.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import itertools
import os
import random
from pathlib import Path
from typing import Any

import numpy as np

from garaph_py.storage.aio import EVENT

from . import Outcome
from .calls import Call, Meet
from .children import fresh
from .trials import trials_of

FAULTS = 24
"""Faults of a round."""
NUMBERS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EINTR": errno.EINTR}
LESS = "less"
"""The fault that a call reads or writes less than it was asked for."""
PARTS = {"write", "pwrite", "readv", "preadv", "io_getevents"}
"""Calls that may do less."""
SECTOR, PAGE = 512, 4096
"""Bytes of which reads and writes with O_DIRECT are multiples."""


def attack(seed: int, folder: Path) -> Outcome:
    return fresh(one_round, seed, folder)


def one_round(seed: int, folder: Path) -> Outcome:
    """Have calls of one of the jobs fail; `attack` does this in a process of its own."""
    trials, _ = trials_of(seed, folder)
    chance, outcome = random.Random(seed), Outcome()
    points: dict[str, list[int]] = {}
    for k, name in enumerate(name for name in trials.calls if name != "print"):
        points.setdefault(name, []).append(k)
    for _ in range(FAULTS):
        name = chance.choice(list(points))
        point = chance.choice(points[name])
        kind = chance.choice([LESS, *NUMBERS] if name in PARTS else [*NUMBERS])
        ended = trials.live(trials.job.start, failing(point, kind))
        outcome.counts[f"{kind} in {name}"] += 1
        outcome.counts["typed errors" if ended.typed else "answers"] += 1
        if problem := ended.error or trials.finish(ended.told):
            outcome.problems.append(f"{trials.name}: {kind} in call {point}, {name}: {ended.typed} {problem}")
        trials.begin()
    return outcome


def failing(point: int, kind: str) -> Meet:
    """Has the call of that number, prints not counted, fail or do less than it was asked for."""
    count = itertools.count()

    def meet(call: Call) -> Any:
        return fault(call, kind) if call.name != "print" and next(count) == point else call()

    return meet


def fault(call: Call, kind: str) -> Any:
    """Make a call as a system does that is at fault."""
    if call.name == "io_getevents" and kind != "EINTR":
        return faulty_event(call, kind)
    if kind == LESS:
        return less(call)
    if call.name.startswith("io_"):
        ctypes.set_errno(NUMBERS[kind])
        return -1
    if call.name == "close":  # the handle is gone all the same
        call()
    raise OSError(NUMBERS[kind], os.strerror(NUMBERS[kind]))


def less(call: Call) -> Any:
    """Read or write half."""
    if call.name not in PARTS:  # threads take turns as they like: it was another call's turn
        return call()
    handle, data, *rest = call.arguments
    several = call.name in ("readv", "preadv")
    views = [memoryview(part).cast("B") for part in (data if several else [data])]
    total = sum(map(len, views))
    unit = PAGE if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_DIRECT else 1
    half = max(total // 2 // unit * unit, min(unit, total))
    return call.make(handle, before(views, half) if several else views[0][:half], *rest)


def faulty_event(call: Call, kind: str) -> Any:
    """Have the first read that ends fail, or have read half."""
    count = call()
    if count > 0:
        stored = (ctypes.c_char * EVENT.itemsize).from_address(call.arguments[4].value)
        results = np.frombuffer(stored, EVENT)["result"]
        half = max(results[0] // 2 // SECTOR * SECTOR, min(SECTOR, results[0]))
        results[0] = half if kind == LESS else -errno.EIO
    return count


def before(views: list[memoryview], count: int) -> list[memoryview]:
    """The first `count` bytes of `views`."""
    found = []
    for view in views:
        found.append(view[:count])
        count -= len(found[-1])
    return found
