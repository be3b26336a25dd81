"""Every reader against files that are changed at random, and again where a change reached code that was new.

A round reads files of one target, chosen by its seed, in a process of its own. `probes` tells which branches of the
package a file reached; a file that reached a new one is changed further. `corpus.zip` has such files of earlier rounds,
from which rounds begin. A file must be read, or refused by a typed error that names it. Bad is anything else: another
exception, a warning, a dead process, silence for a while, or more memory than twice the arrays (of the graph or, if
there is none, of the file) and 64 MiB.

    python scripts/attack.py fuzz --minutes 60 --tallies attacks.json
    cd scripts && python -m attacks.fuzz 100    # the same number of rounds, and add to the corpus
"""

from __future__ import annotations

import dataclasses
import faulthandler
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from attacks import Outcome, probes

PROBED = tuple(
    f"garaph_py.{name}"
    for name in ("io", "storage", "graph", "codec.blocks", "codec.checked", "checkpoint", "cli.request", "experiment")
)
"""The modules whose branches guide the search."""
INPUTS = {"manifest": 150_000, "request": 150_000, "gap": 120_000, "gap-weighted": 120_000, "galois": 120_000}
INPUTS |= {"metis": 90_000, "ligra": 90_000, "checkpoint": 90_000, "parquet": 90_000}
INPUTS |= {"text": 20_000, "matrix-market": 20_000, "dimacs": 20_000, "graphalytics": 20_000, "graph directory": 20_000}
OTHERS = 60_000
"""Files of a round by target, and for the other targets, so that a round takes about half a minute and its start, two
seconds, counts little."""
BATCH = 50
"""Files between two looks at the memory, which take as long as reading a small file."""
STARTING = 600
"""Seconds after which a worker hangs that has not read all valid files: it may have to compile, on a busy machine."""
PATIENCE = 60
"""Seconds without a report after which a worker hangs; a batch takes a second at most."""
LONGEST_FOUND = 16 << 10
"""Most bytes of a file to change further; more make it slow."""
CORPUS = Path(__file__).with_name("corpus.zip")
"""Files that reached new branches, as TARGET/NUMBER/ORIGIN/PART: `samples.samples_of` has the sample that is changed
at the place ORIGIN."""
IN_MEMORY = "/dev/shm"
"""Where files to read are made, if there is such a folder: nobody waits for a disk."""
KEPT = Path(tempfile.gettempdir(), "garaph-fuzz")
"""Where files that are bad are kept."""


@dataclass
class Report:
    """What a worker has done since its last report."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    found: list[tuple[int, dict[str, bytes]]] = field(default_factory=list)
    done: bool = False


def targets() -> tuple[str, ...]:
    from attacks import samples

    return samples.TARGETS


def attack(seed: int, folder: Path) -> Outcome:
    names = targets()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if os.path.isdir(IN_MEMORY) else folder) as place:
        return fuzz(names[seed % len(names)], seed, Path(place))[0]


def fuzz(target: str, seed: int, folder: Path, inputs: int | None = None) -> tuple[Outcome, list[Any]]:
    """One round of a target: what came of it, and the files that reached new branches."""
    outcome, found = Outcome(), []
    context = multiprocessing.get_context("spawn")
    (folder / "input").mkdir(mode=0o700, exist_ok=True)
    reports, far_end = context.Pipe(duplex=False)
    work = (target, seed, inputs or INPUTS.get(target, OTHERS), folder, far_end)
    worker = context.Process(target=read_many, args=work, daemon=True)
    worker.start()
    far_end.close()
    report, problem, patience = Report(), None, STARTING
    try:
        while problem is None and not report.done:
            if reports.poll(patience):
                report, patience = reports.recv(), PATIENCE
                outcome.counts += report.counts
                outcome.problems += report.problems
                found += report.found
            else:
                problem = f"{target}: the reader hangs"
    except EOFError:
        worker.join()
        problem = f"{target}: the process ended with {worker.exitcode}"
    if problem is not None:
        worker.kill()
        outcome.problems.append(f"{problem}; see {keep(folder / 'input', target, seed)}")
    worker.join()
    return outcome, found


def keep(path: Path, target: str, number: object) -> Path:
    """Copy a bad input to where it stays."""
    kept = KEPT / f"{target.replace(' ', '-')}-{number}"
    shutil.copytree(path, kept, dirs_exist_ok=True)
    return kept


def empty(folder: Path) -> None:
    """Remove what is in a folder, which takes less time than to remove the folder and make it again."""
    for name in os.listdir(folder):
        try:
            os.unlink(folder / name)
        except IsADirectoryError:
            shutil.rmtree(folder / name)


def read_many(target: str, seed: int, inputs: int, folder: Path, reports: Connection) -> None:
    """Change and read files, and report on them; the process to be limited."""
    faulthandler.enable()
    warnings.simplefilter("error")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else pyarrow starts a thread at each call, to interrupt it
    probes.install(*PROBED)
    from attacks import reading

    with reading.without_threads():
        reader = Reader(target, seed, folder / "input")
        reports.send(Report())
        reading.limit_addresses()
        for first in range(0, inputs, BATCH):
            reports.send(reader.batch(range(first, min(first + BATCH, inputs))))
    reports.send(Report(done=True))


class Reader:
    """Reads valid files, so that all is imported and compiled, and then changed ones batch by batch."""

    def __init__(self, target: str, seed: int, folder: Path) -> None:
        from attacks import samples

        self.target, self.seed, self.folder = target, seed, folder
        self.rng, self.tokens = random.Random(f"{target} {seed}"), sorted(probes.TOKENS)
        plain = samples.samples_of(target)
        self.plain = [dataclasses.replace(one, origin=origin) for origin, one in enumerate(plain)]
        for one in self.plain:
            outcome, note, _ = self.read(one)
            if outcome != "read":
                sys.exit(f"{target}: a valid sample is not read: {note}")
        self.found = [dataclasses.replace(plain[origin % len(plain)], origin=origin % len(plain), parts=parts)
                      for origin, parts in corpus(target)]  # fmt: skip
        for one in self.found:
            self.read(one)
        self.known = bytes(probes.SEEN)

    def read(self, one: Any) -> tuple[str, str, int]:
        from attacks import reading

        empty(self.folder)
        one.pack(one.parts, self.folder)
        return reading.attempt(self.folder / one.entry, self.target)

    def batch(self, numbers: range) -> Report:
        """Change and read a batch of files; if it takes too much memory, find out which file of it does."""
        from attacks import reading, samples

        report, tried, largest = Report(), [], 0
        before = reading.reset_peak()
        for number in numbers:
            base = self.rng.choice(self.found if self.found and self.rng.random() < 0.5 else self.plain)
            one = samples.changed(base, self.plain, self.tokens, self.rng)
            tried.append(one)
            outcome, note, declared = self.read(one)
            largest = max(largest, declared)
            report.counts[f"files {outcome}"] += 1
            if outcome == "bad":
                report.problems.append(f"{self.problem(number)}: {note}")
            if self.known != probes.SEEN:
                self.known = bytes(probes.SEEN)
                if sum(map(len, one.parts.values())) <= LONGEST_FOUND:
                    report.counts["branches reached anew"] += 1
                    report.found.append((one.origin, one.parts))
                    self.found.append(one)
        if reading.times_allowed(before, largest) > 1:
            for number, one in zip(numbers, tried, strict=True):
                before = reading.reset_peak()
                outcome, note, declared = self.read(one)
                if (times := reading.times_allowed(before, declared)) > 1:
                    said = f"{times:.1f} times the memory it may take, then: {outcome} {note}"
                    report.problems.append(f"{self.problem(number)}: {said}")
        return report

    def problem(self, number: int) -> str:
        return f"{self.target}, file {number}, {keep(self.folder, self.target, f'{self.seed}-{number}')}"


# The corpus


def corpus(target: str) -> list[tuple[int, dict[str, bytes]]]:
    """The files of a target in the corpus: the number of the sample that each was, and its parts."""
    if not CORPUS.exists():
        return []
    files: dict[str, tuple[int, dict[str, bytes]]] = {}
    with zipfile.ZipFile(CORPUS) as archive:
        for name in archive.namelist():
            of, number, origin, part = name.split("/", 3)
            if of == target:
                files.setdefault(number, (int(origin), {}))[1][part] = archive.read(name)
    return list(files.values())


def extend_corpus(rounds: int) -> None:
    """Add what so many rounds find to the corpus."""
    for seed in range(rounds):
        target = targets()[seed % len(targets())]
        there = len({name.split("/")[1] for name in names_in_corpus() if name.startswith(f"{target}/")})
        with tempfile.TemporaryDirectory() as folder:
            outcome, found = fuzz(target, seed + there, Path(folder))
        print(target, dict(outcome.counts), *outcome.problems, sep="\n  ", flush=True)
        with zipfile.ZipFile(CORPUS, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for number, (origin, parts) in enumerate(found, there):
                for part, data in parts.items():
                    archive.writestr(zipfile.ZipInfo(f"{target}/{number}/{origin}/{part}"), data, zipfile.ZIP_DEFLATED)


def names_in_corpus() -> list[str]:
    if not CORPUS.exists():
        return []
    with zipfile.ZipFile(CORPUS) as archive:
        return archive.namelist()


if __name__ == "__main__":
    extend_corpus(int(sys.argv[1]))
