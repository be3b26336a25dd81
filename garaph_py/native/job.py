"""A job: calls of one kernel that a pool of threads shares. A thread that is free takes the next call.

A job is an array of 64-bit words that all threads see. A thread takes a call with one atomic subtraction. So even a job
of a few microseconds is worth sharing, which it would not be with Python's queues and locks.

The threads are workers, numbered from 0. Each has a cache line of notes in the job. If the job asks for it, a worker
notes when its first call of the job started, when its last one ended, and how many calls it made. The leader, worker 0,
may read and clear the notes after the job.
"""

from __future__ import annotations

import numpy as np

from .intrinsics import atomic_add, atomic_load, atomic_store, call, clock, pause
from .kernel import ArgumentTable, Array, Kernel

LINE = 8
"""64-bit words in a cache line. Words that several threads write have a line of their own."""
REMAINING, DONE, FAILED = 0, LINE, 2 * LINE
"""Numbers of calls that are not taken yet, that have ended, and that have failed."""
CLOSED = -(1 << 62)
"""The value of `REMAINING` when the pool is closed."""
ENTRY, ROWS, ROW_BYTES, CALLS, RESULTS, NOTING = range(3 * LINE, 3 * LINE + 6)
"""Address of the kernel's code, address of the first row of arguments, bytes in a row, number of calls, address of the
first result, and whether workers take notes."""
WORKERS = 4 * LINE
"""Where the workers' notes begin; each worker has a cache line."""
STARTED, ENDED, MADE = range(3)
"""A worker's notes: when its first call started and its last call ended (nanoseconds), and how many calls it made."""
LEADER = 0
"""The worker that publishes a job and waits for its end."""


def empty_job(workers: int) -> Array:
    """A job without calls, for this number of workers."""
    return np.zeros(WORKERS + workers * LINE, np.int64)


def notes_of(job: Array) -> Array:
    """The workers' notes: a view with a row for each worker."""
    return job[WORKERS:].reshape(-1, LINE)[:, : MADE + 1]


def publish(job):
    """Offer the calls of the job, whose other fields have been written, to all workers."""
    atomic_store(job, DONE, 0)
    atomic_store(job, FAILED, 0)
    atomic_store(job, REMAINING, job[CALLS])
    return 0


def work(job, spins, worker):
    """Take calls until there has been none `spins` times in a row, or the pool is closed.

    The leader returns as soon as the job is done. Returns 1 if so, else 0.
    """
    idle = 0
    mine = WORKERS + worker * LINE
    while idle <= spins:
        remaining = atomic_load(job, REMAINING)
        if remaining <= CLOSED:
            return 0
        if remaining > 0:
            left = atomic_add(job, REMAINING, -1)
            if left > 0:  # the leader changes the job's fields only after this call is counted in DONE
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
        if worker == LEADER and atomic_load(job, DONE) == job[CALLS]:
            return 1
        idle += 1
        pause()
    return 0


def in_turn(entry, rows, row_bytes, calls, results):
    """Do all calls; return how many have failed."""
    failed = 0
    for k in range(calls):
        failed += call(entry, results + 8 * k, rows + k * row_bytes) != 0
    return failed


def run_in_turn(table: ArgumentTable) -> Array:
    """Run all calls of a table in this thread, without Python in between; return their results.

    Raises
    ------
    ProgramError
    """
    if IN_TURN(*table.job):
        raise table.failure()
    return table.results


IN_TURN = Kernel("i64 i64 i64 i64 i64", in_turn)
PUBLISH = Kernel("i64*", publish)
WORK = Kernel("i64* i64 i64", work)
