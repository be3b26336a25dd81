"""A job that several threads share: calls of one kernel, each taken by whoever is free.

Threads meet in a few words of memory: a call is handed out by one atomic subtraction, so that a job of microseconds
is worth dividing, which through Python's own queues and locks it is not.

Each thread has a seat, whose number it brings. There it notes, if asked to, from when to when it worked and on how many
calls; who leads may read and clear that when the job is done.
"""

from __future__ import annotations

import numpy as np

from .intrinsics import atomic_add, atomic_load, atomic_store, call, clock, pause
from .kernel import Array, Kernel

LINE = 8
"""Words in a cache line: those that threads fight for stand alone."""
REMAINING, DONE, FAILED = 0, LINE, 2 * LINE
CLOSED = -(1 << 62)
"""Calls that remain when there will never be another."""
ENTRY, ROWS, ROW_BYTES, CALLS, RESULTS, NOTING = range(3 * LINE, 3 * LINE + 6)
SEATS = 4 * LINE
"""The first seat; each is a cache line."""
STARTED, ENDED, MADE = range(3)
"""In a seat: when its thread took its first call and ended its last, and how many it made."""
LEADER = 0
"""The seat of the thread that publishes and waits."""


def empty_job(seats: int) -> Array:
    return np.zeros(SEATS + seats * LINE, np.int64)


def seats_of(job: Array) -> Array:
    """Notes, a row a seat."""
    return job[SEATS:].reshape(-1, LINE)[:, : MADE + 1]


def publish(job):
    """Open the job whose fields have been written."""
    atomic_store(job, DONE, 0)
    atomic_store(job, FAILED, 0)
    atomic_store(job, REMAINING, job[CALLS])
    return 0


def work(job, spins, seat):
    """Take calls until there have been none for `spins` looks; whether the job is done, for the leader."""
    idle = 0
    mine = SEATS + seat * LINE
    while idle <= spins:
        remaining = atomic_load(job, REMAINING)
        if remaining <= CLOSED:
            return 0
        if remaining > 0:
            left = atomic_add(job, REMAINING, -1)
            if left > 0:  # the job's fields hold until this call is counted as done
                k = job[CALLS] - left
                if job[NOTING] != 0 and job[mine + MADE] == 0:
                    job[mine + STARTED] = clock()
                if call(job[ENTRY], job[RESULTS] + 8 * k, job[ROWS] + k * job[ROW_BYTES]) != 0:
                    atomic_add(job, FAILED, 1)
                if job[NOTING] != 0:
                    job[mine + ENDED] = clock()
                    job[mine + MADE] += 1
                atomic_add(job, DONE, 1)
                idle = 0
                continue
        if seat == LEADER and atomic_load(job, DONE) == job[CALLS]:
            return 1
        idle += 1
        pause()
    return 0


PUBLISH = Kernel("i64*", publish)
WORK = Kernel("i64* i64 i64", work)
