"""Does a job take more memory than it may? Runs commands in little memory, and compares what they answer.

Even rounds give a command ``--memory``, from far too little to twice the graph, in a control group of that size and
200 MiB, without swap: the system must never kill it. It must give the answer that it gives without a bound, or end with
a typed error. Files of the page cache count for the group, too, but the system takes them back; so the folder must not
be in memory (tmpfs).

Odd rounds limit the addresses of a process (``ulimit -v``) at the moment when it has loaded the modules that it needs:
those of others end in many ways without memory. A refused command leaves no file behind.

A garaph command has no child processes that could be killed in its stead.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from attacks import Outcome
from garaph_py.storage import directory as store

MIB = 1 << 20
BESIDE = 200 * MIB
"""Bytes that a process may take beside ``--memory``: Python, its modules, code, and buffers of the system."""
LEAST = 1 * MIB
TRIES = 6
"""Sizes that a round tries, after the largest."""
ADDRESSES = 512 * MIB
"""Most addresses beyond the modules' that odd rounds allow, in bytes. With that, the small jobs always answer."""
PATIENCE = 300
"""Seconds after which a command hangs."""
COMMAND = """
import importlib, resource, sys
from contextlib import suppress
from pathlib import Path

beyond, modules = int(sys.argv.pop(1)), Path(sys.argv.pop(1))
from garaph_py import cli

if beyond:
    for name in modules.read_text().split():
        with suppress(ImportError):
            importlib.import_module(name)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + beyond, mapped + beyond))
try:
    cli.main()
finally:
    if not beyond:
        modules.write_text(" ".join(sys.modules))
"""
"""``garaph`` in a process that may have so many bytes of addresses more when it has loaded the modules that are listed
in a file; 0 to list them."""


@dataclass(frozen=True)
class Job:
    """A command, and what it needs.

    Attributes
    ----------
    arguments : tuple of str
        The command without ``--memory``, run in a folder where ``g``, ``p``, ``edges.npy``, ``edges.tsv`` and
        ``edges.parquet`` are the same graph: raw and packed directories, and files.
    answer : str
        The file or directory that it makes.
    """

    arguments: tuple[str, ...]
    answer: str


def importing(name: str, encoding: str, *more: str) -> Job:
    return Job(("import", name, "new", "--encoding", encoding, *more), "new")


ALONE = ("--threads", "1")
"""For Parquet: if one of pyarrow's threads gets no memory, those that still decode other columns use freed memory."""
FROM_0 = ("--source", "0", "--top", "0", "--output", "new.npy")
JOBS = (
    Job(("run", "SSSP", "g", *FROM_0), "new.npy"),
    importing("edges.npy", "raw"),
    Job(("run", "BFS", "p", *FROM_0), "new.npy"),
    importing("edges.tsv", "packed"),
    Job(("generate", "rmat", "new", "--scale", "{scale}", "--weights", "1:9", "--encoding", "raw"), "new"),
    importing("edges.parquet", "raw", *ALONE),
    Job(("run", "PageRank", "g", "--mode", "pull-tiled", "--top", "0", "--output", "new.npy"), "new.npy"),
    Job(("convert", "g", "new", "--to", "directory", "--encoding", "packed"), "new"),
)
"""The last one has no ``--memory``."""


def attack(seed: int, folder: Path) -> Outcome:
    rng, turn = random.Random(seed), seed // 2
    if seed % 2:
        return with_few_addresses(JOBS[turn % len(JOBS)], rng.choice((12, 14)), rng, folder)
    return in_group(JOBS[turn % (len(JOBS) - 1)], rng.choice((17, 18)), rng, folder)


def in_group(job: Job, scale: int, rng: random.Random, folder: Path) -> Outcome:
    """Run a job with ``--memory`` of several sizes, in control groups of hardly more."""
    outcome, trial = Outcome(), Trial(job, scale, folder)
    most = 2 * sum(array.raw_bytes for array in store.info(folder / "g").arrays.values())
    refused, answered = LEAST, most
    for number in range(TRIES + 1):
        memory = most if number == 0 else between(refused, answered, rng)
        with group(memory + BESIDE) as place:
            if place is None:
                outcome.counts["skipped: no control group can be made"] += 1
                return outcome
            ending = trial.run((*WITHIN, str(place)), "--memory", str(memory))
            if kills(place):
                trial.run((), "--memory", str(memory))  # compiles what no earlier run has: that takes memory of its own
                before = kills(place)
                ending = trial.run((*WITHIN, str(place)), "--memory", str(memory))
                if kills(place) > before:
                    ending = "killed by the system"
        if number == 0 and ending == REFUSED:
            ending = "refused, although it may take twice the graph"
        trial.count(outcome, f"in a group, {job.arguments[0]}", ending, f"--memory {memory}")
        refused = max(refused, memory) if ending == REFUSED else refused
        answered = min(answered, memory) if ending == ANSWERED else answered
    return outcome


def between(refused: int, answered: int, rng: random.Random) -> int:
    """A size nearer to the least that works, or any size that may work."""
    low = refused if rng.random() < 0.6 else LEAST
    return int(math.exp(rng.uniform(math.log(low), math.log(max(answered, low + 1)))))


def with_few_addresses(job: Job, scale: int, rng: random.Random, folder: Path) -> Outcome:
    """Run a job with limits on its addresses."""
    outcome, trial = Outcome(), Trial(job, scale, folder)
    for _ in range(2 * TRIES):
        beyond = int(math.exp(rng.uniform(math.log(LEAST), math.log(ADDRESSES))))
        ending = trial.run((), beyond=beyond)
        trial.count(outcome, f"with few addresses, {job.arguments[0]}", ending, f"{beyond} bytes of addresses")
    return outcome


ANSWERED, REFUSED = "answers", "typed errors"
WITHIN = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"')
"""Runs a command in the control group whose folder follows."""


class Trial:
    """Runs a job in `folder`, again and again, and compares what it makes with what it made the first time."""

    def __init__(self, job: Job, scale: int, folder: Path) -> None:
        self._folder, self._modules = folder, folder / "modules"
        self._answer = folder / job.answer
        self._arguments = [argument.format(scale=scale) for argument in job.arguments]
        make_graph(scale, "p" in job.arguments, folder, self._garaph)
        self._garaph((), 0, *self._arguments)
        self._digest = digest(self._answer)
        remove(self._answer)
        self._files = set(os.listdir(folder))

    def _garaph(self, within: tuple[str, ...], beyond: int, *arguments: str) -> tuple[int, str]:
        command = [*within, sys.executable, "-W", "ignore", "-c", COMMAND, str(beyond), str(self._modules), *arguments]
        try:
            done = subprocess.run(
                [*command, "--quiet"], cwd=self._folder, capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return 1, f"nothing for {PATIENCE} s"
        return done.returncode, done.stderr

    def run(self, within: tuple[str, ...], *more: str, beyond: int = 0) -> str:
        """`ANSWERED`, `REFUSED`, or what went wrong."""
        status, said = self._garaph(within, beyond, *self._arguments, *more)
        last = (said.strip().splitlines() or [""])[-1]
        right = status == 0 and digest(self._answer) == self._digest
        if status == 0:
            remove(self._answer)
        left = sorted(set(os.listdir(self._folder)) - self._files)
        for name in left:
            remove(self._folder / name)
        if status == 0 and not right:
            return "another answer than without a bound"
        if status not in (0, 1) or (status == 1 and ("Traceback" in said or not last.startswith("error: "))):
            return f"exit {status}: {last[:200]}"
        if left:
            return f"left behind: {left}"
        return REFUSED if status else ANSWERED

    def count(self, outcome: Outcome, how: str, ending: str, limit: str) -> None:
        outcome.counts[f"{how}: {ending if ending in (ANSWERED, REFUSED) else 'problems'}"] += 1
        if ending not in (ANSWERED, REFUSED):
            outcome.problems.append(f"garaph {' '.join(self._arguments)}, {limit}: {ending}")


def make_graph(scale: int, packed: bool, folder: Path, garaph: Callable[..., tuple[int, str]]) -> None:
    """Write a graph to the `folder` in all the forms that `Job` names; ``p`` only if `packed`."""
    numbers = np.random.default_rng(scale)
    ends = numbers.integers(0, 1 << scale, (16 << scale, 2))
    np.save(folder / "edges.npy", ends)
    table = pa.table({"source": ends[:, 0], "target": ends[:, 1], "weight": numbers.integers(1, 9, len(ends))})
    pa.parquet.write_table(table, folder / "edges.parquet")
    pa.csv.write_csv(table, folder / "edges.tsv", pa.csv.WriteOptions(include_header=False, delimiter="\t"))
    for name, encoding in (("g", "raw"), ("p", "packed")) if packed else (("g", "raw"),):
        status, said = garaph((), 0, "import", "edges.parquet", name, "--encoding", encoding)
        if status:
            raise RuntimeError(said)


def digest(path: Path) -> str:
    """A hash of a file, or of all data of a graph directory."""
    whole = hashlib.sha256()
    for file in sorted(path.glob("*.data")) if path.is_dir() else [path]:
        whole.update(file.name.encode())
        with file.open("rb") as opened:
            while part := opened.read(MIB):
                whole.update(part)
    return whole.hexdigest()


def remove(path: Path) -> None:
    if path.is_dir():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


# Control groups

GROUPS = Path("/sys/fs/cgroup")
LIMITS = {
    1: (("memory.limit_in_bytes", "{limit}"), ("memory.memsw.limit_in_bytes", "{limit}")),
    2: (("memory.max", "{limit}"), ("memory.swap.max", "0")),
}
"""What to write to which files, by the version of control groups. Where there is no swap, the second is absent."""
EVENTS = "memory.events", "memory.oom_control"
"""The files, of either version, that count the processes that were killed."""


@contextmanager
def group(limit: int) -> Iterator[Path | None]:
    """In ``with``: a control group of so many bytes of memory without swap; None where none can be made."""
    made = None
    for version, parent in parents():
        place = parent / f"garaph-attack-{os.getpid()}"
        try:
            place.mkdir()
        except OSError:
            continue
        try:
            for name, value in LIMITS[version]:
                if name == LIMITS[version][0][0] or (place / name).exists():
                    (place / name).write_text(value.format(limit=limit))
            made = place
            break
        except OSError:
            place.rmdir()
    try:
        yield made
    finally:
        if made is not None:
            made.rmdir()


def parents() -> Iterator[tuple[int, Path]]:
    """Folders in which a control group may be made, and their version: this process's own first."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, own = line.split(":", 2)
        if "memory" in controllers.split(","):
            for place in (GROUPS / "memory" / own.lstrip("/"), GROUPS / "memory"):
                yield 1, place
        elif not controllers:
            place = GROUPS / own.lstrip("/")
            for parent in (place, *place.parents):
                if parent.is_relative_to(GROUPS):
                    yield 2, parent


def kills(place: Path) -> int:
    """How many processes of the group the system has killed for memory."""
    for name in EVENTS:
        if (place / name).exists():
            words = (place / name).read_text().split()
            return int(words[words.index("oom_kill") + 1])
    return 0
