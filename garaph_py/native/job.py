"""A job: calls of one kernel that a pool of threads shares. A thread that is free takes a call that is left.

A job is an array of 64-bit words that all threads see. A thread takes a call with one or two atomic operations. So even
a job of a few microseconds is worth sharing, which it would not be with Python's queues and locks.

If few threads are to make the calls, each has a share of these, which it makes first, in their order; then it helps the
others with theirs. Calls of one kernel after the other are mostly over the same vertices in the same order. So a thread
mostly finds in its own caches what it wrote before, and not in those of another core (docs/decisions/cpu.md).

The threads are workers, numbered from 0. Worker 0, the leader, publishes jobs. All others stay in `work`, where they
wait in compiled code for the next job, first awake and then asleep: Python's lock lets one thread at a time through, so
a dozen that had to pass through Python would begin one after the other. They only leave `work` for a task, which is
something to do in Python.

Each worker has a cache line of notes in the job. If the job asks for it, a worker notes when its first call of the job
started, when its last one ended, and how many calls it made. The leader may read and clear the notes after the job.
"""

from __future__ import annotations

import numpy as np

from .intrinsics import atomic_add, atomic_load, atomic_store, call, clock, compare_and_swap, pause, sleep, wake
from .kernel import ArgumentTable, Array, Kernel

LINE = 8
"""64-bit words in a cache line. Words that several threads write have a line of their own."""
REMAINING, DONE, FAILED = 0, LINE, 2 * LINE
"""Numbers of calls that are not taken yet, that have ended, and that have failed."""
CLOSED, RESTING = -(1 << 62), -(1 << 61)
"""The value of `REMAINING` when workers are to end, and when they are to sleep because nobody has a job for long."""
ENTRY, ROWS, ROW_BYTES, CALLS, RESULTS, NOTING, MOST_SPINS, SHARES = range(3 * LINE, 3 * LINE + 8)
"""Address of the kernel's code, address of the first row of arguments, bytes in a row, number of calls, address of the
first result, whether workers take notes, how often a worker looks for calls before it goes to sleep, and how many
workers have a share of the calls."""
MOST_SHARES = 4
"""The most threads of which each has a share. With more, all calls are one share: 16 threads were as fast either way
(docs/results/cpu.md, "Shares of threads")."""
SLEEPING, TASKS, SEMAPHORE = 4 * LINE, 5 * LINE, 6 * LINE
"""How many workers are asleep and have not been called, how many tasks nobody has taken, and what sleepers wait for."""
WORKERS = 7 * LINE
"""Where the workers' notes begin; each worker has a cache line."""
STARTED, ENDED, MADE, TAKEN = range(4)
"""A worker's notes: when its first call started and its last call ended (nanoseconds), and how many calls it made. The
last word counts how often a worker tried to take a call of this one's share, in vain too, if none was left."""
LEADER = 0
"""The worker that publishes a job and waits for its end."""
ENDED_JOB, TASK = 1, 2
"""What `work` returns when the leader's job has ended, and when a worker has taken a task."""


def empty_job(workers: int) -> Array:
    """A job without calls, for this number of workers."""
    return np.zeros(WORKERS + workers * LINE, np.int64)


def notes_of(job: Array) -> Array:
    """The workers' notes: a view with a row for each worker."""
    return job[WORKERS:].reshape(-1, LINE)[:, : MADE + 1]


def publish(job, threads, helpers):
    """Offer the calls of the job, whose other fields have been written, to all workers.

    Of the `threads` besides the leader, as many are woken as must be for `helpers` to be awake.
    """
    atomic_store(job, DONE, 0)
    atomic_store(job, FAILED, 0)
    job[SHARES] = helpers + 1 if helpers < MOST_SHARES else 1
    for worker in range(job[SHARES]):
        atomic_store(job, WORKERS + worker * LINE + TAKEN, 0)
    atomic_store(job, REMAINING, job[CALLS])
    return rouse(job, helpers - (threads - atomic_load(job, SLEEPING)))


def offer(job):
    """Offer a task to one worker."""
    atomic_add(job, TASKS, 1)
    return rouse(job, 1)


def close(job):
    """Have all workers leave, after the tasks that have been offered."""
    atomic_store(job, REMAINING, CLOSED)
    return rouse(job, atomic_load(job, SLEEPING))


def rouse(job, most):
    """Wake up to `most` workers; return how many."""
    called = 0
    while called < most and claim(job, SLEEPING):
        wake(job, SEMAPHORE)
        called += 1
    return called


def claim(job, count):
    """Lower the number at `count` by one, unless it is 0; return whether it was lowered."""
    while True:
        found = atomic_load(job, count)
        if found <= 0:
            return False
        if compare_and_swap(job, count, found, found - 1):
            return True


def doze(job):
    """Sleep until woken. A job or task that is offered meanwhile is not missed: either this thread sees it after it has
    counted itself as a sleeper, or whoever offers it sees one more sleeper."""
    atomic_add(job, SLEEPING, 1)
    remaining = atomic_load(job, REMAINING)
    if (remaining <= 0 and remaining > CLOSED and atomic_load(job, TASKS) <= 0) or not claim(job, SLEEPING):
        while sleep(job, SEMAPHORE) != 0:
            pass


def take(job, worker, left):
    """Take a call for `worker` and return its number: one of its own share if any is left there, else of another.

    The worker has lowered `REMAINING` from `left`, so there is a call for it.
    """
    shares, calls = job[SHARES], job[CALLS]
    if shares == 1:
        return calls - left
    while True:
        for k in range(shares):
            share = (worker + k) % shares
            first, last, taken = share * calls // shares, (share + 1) * calls // shares, WORKERS + share * LINE + TAKEN
            if atomic_load(job, taken) < last - first:
                number = first + atomic_add(job, taken, 1)
                if number < last:  # else others have taken the last ones meanwhile
                    return number


def perform(job, k, mine):
    """Make call `k` of the job, and note that if the job asks for it."""
    if job[NOTING] != 0 and job[mine + MADE] == 0:
        job[mine + STARTED] = clock()
    if call(job[ENTRY], job[RESULTS] + 8 * k, job[ROWS] + k * job[ROW_BYTES]) != 0:
        atomic_add(job, FAILED, 1)
    if job[NOTING] != 0:
        job[mine + ENDED] = clock()
        job[mine + MADE] += 1
    atomic_add(job, DONE, 1)


def work(job, worker):
    """Take calls.

    The leader returns `ENDED_JOB` as soon as the job has ended, or 0 if there has been no call for a while. Others
    return `TASK` when they have taken a task, or 0 when the job is closed.
    """
    idle = 0
    while True:
        remaining = atomic_load(job, REMAINING)
        if remaining > 0:
            left = atomic_add(job, REMAINING, -1)
            if left > 0:  # the leader changes the job's fields only after this call is counted in DONE
                perform(job, take(job, worker, left), WORKERS + worker * LINE)
                idle = 0
                continue
        if worker == LEADER:
            if atomic_load(job, DONE) == job[CALLS]:
                return ENDED_JOB
            if idle > job[MOST_SPINS]:
                return 0
        elif claim(job, TASKS):
            return TASK
        elif remaining <= CLOSED:
            return 0
        elif remaining <= RESTING or idle > job[MOST_SPINS]:
            doze(job)
            idle = 0
        idle += 1
        pause()


def lead(job, threads, helpers):
    """Publish the job, and take part until it has ended: for a leader that keeps Python's lock meanwhile."""
    publish(job, threads, helpers)
    while work(job, LEADER) == 0:
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
PUBLISH = Kernel("i64* i64 i64", publish)
WORK = Kernel("i64* i64", work)
LEAD = Kernel("i64* i64 i64", lead, holds_gil=True)
OFFER, CLOSE = Kernel("i64*", offer), Kernel("i64*", close)
KERNELS = PUBLISH, WORK, OFFER, CLOSE
"""The kernels that every pool of threads needs."""
