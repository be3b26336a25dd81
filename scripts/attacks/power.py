"""Losses of power during every job: a recording of its calls, cut anywhere, and what a disk may then have kept.

What the job had told must be whole when the next process looks; anything else must be absent, as before, or whole, or
end in one error of `garaph_py.errors`. This follows ALICE (Pillai et al., OSDI 2014) and CrashMonkey (Mohan et al.,
OSDI 2018), with the weakest promises of a file system that POSIX allows.
"""

from __future__ import annotations

import pickle
import random
from pathlib import Path

from . import Outcome
from .calls import stand_between
from .children import fresh
from .disk import Disk, Recorder, Recording
from .trials import Trials, trials_of

STATES = 32
"""States of the disk in a round."""


def attack(seed: int, folder: Path) -> Outcome:
    return fresh(one_round, seed, folder)


def one_round(seed: int, folder: Path) -> Outcome:
    """Cut the power of one of the jobs many times; `attack` does this in a process of its own."""
    trials, _ = trials_of(seed, folder)
    recording = recorded(trials, folder / "recording")
    chance, outcome = random.Random(seed), Outcome()
    for _ in range(STATES):
        steps = chance.choice((chance.randint(0, len(recording.steps)), len(recording.steps)))
        disk = Disk(recording, steps)
        disk.lose_power(trials.here, chance)
        outcome.counts["states of the disk"] += 1
        outcome.counts["things told before"] += len(disk.told)
        if problem := trials.finish(disk.told, torn=True):
            outcome.problems.append(f"{trials.name}: after {steps} of {len(recording.steps)} steps: {problem}")
    return outcome


def recorded(trials: Trials, path: Path) -> Recording:
    """What a job does to files, if nothing disturbs it; `path` is for a temporary file."""

    def record() -> None:
        recorder = Recorder(trials.here)
        stand_between(trials.here, recorder.meet)
        trials.job.start()
        path.write_bytes(pickle.dumps(recorder.recording))

    trials.undisturbed(record)
    recording = pickle.loads(path.read_bytes())
    seen = contents(trials.here)
    Disk(recording, len(recording.steps)).end(trials.here)
    if contents(trials.here) != seen:
        raise RuntimeError(f"{trials.name}: calls were missed")
    return recording


def contents(folder: Path) -> dict[str, bytes]:
    """The data of all files in a folder, by their paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
