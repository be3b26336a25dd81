"""kill -9 of every job, at random moments, and before and after every call that changes files."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import Outcome
from .calls import CHANGES, Call, Meet
from .children import Ended, attend, fresh
from .trials import Trials, trials_of

KILLS = 16
"""Kills of a round at a call."""
INSTANTS = 8
"""Kills of a round at random moments."""
NEW_PROCESSES = 2
"""Kills of a round of processes that are not forks; each takes a second to start."""
AGAIN = 0.3
"""How often a job that was killed is killed again while it goes on."""
NEW_PROCESS = "from attacks import jobs; jobs.stand_in(); jobs.JOBS[{!r}].start()"
"""What a new process does."""
STARTING = 2.0
"""Seconds that it takes to start, or more."""


def attack(seed: int, folder: Path) -> Outcome:
    return fresh(one_round, seed, folder)


def one_round(seed: int, folder: Path) -> Outcome:
    """Kill one of the jobs many times; `attack` does this in a process of its own."""
    trials, number = trials_of(seed, folder)
    chance, outcome = random.Random(seed), Outcome()
    points = 2 * sum(call in CHANGES for call in trials.calls)
    for k in range(number * KILLS, (number + 1) * KILLS):
        ended = trials.live(trials.job.start, killing(k % points))
        finish(trials, ended, f"killed at point {k % points} of {points}", chance, outcome)
    for _ in range(INSTANTS):
        after = chance.uniform(0, 1.1 * trials.seconds)
        ended = trials.live(trials.job.start, kill_after=after)
        finish(trials, ended, f"killed after {after:.4f} s", chance, outcome)
    for _ in range(NEW_PROCESSES):
        after = chance.uniform(0, STARTING)
        ended = new_process(trials, after)
        finish(trials, ended, f"a new process killed after {after:.4f} s", chance, outcome)
    return outcome


def finish(trials: Trials, ended: Ended, how: str, chance: random.Random, outcome: Outcome) -> None:
    """Go on with a job that was killed, perhaps killing it again; note what came out, and put the inputs in place."""
    told, problem = list(ended.told), ended.error or ended.typed
    while ended.killed and not problem:
        outcome.counts["kills"] += 1
        if chance.random() >= AGAIN:
            break
        point = chance.randrange(2 * len(trials.calls))
        ended = trials.live(trials.job.go_on, killing(point))
        how, told, problem = f"{how}, then at point {point}", told + ended.told, ended.error or ended.typed
    problem = problem or trials.finish(told)
    outcome.counts["trials"] += 1
    if problem:
        outcome.problems.append(f"{trials.name}: {how}: {problem}")
    trials.begin()


def new_process(trials: Trials, kill_after: float) -> Ended:
    """Start the job in a new process, and kill that."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", NEW_PROCESS.format(trials.name)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=trials.here, env=environment, **pipes) as process:
        return attend(process.pid, process.stdout.fileno(), kill_after)


def killing(point: int) -> Meet:
    """Kills this process before (an even point) or after (an odd one) its call number ``point // 2`` of `CHANGES`."""
    count = itertools.count()

    def meet(call: Call) -> Any:
        number = 2 * next(count) if call.name in CHANGES else None
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call()
        if number == point - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return meet
