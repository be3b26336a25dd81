"""Damage to what pages have changed since a checkpoint (pages.log): does the run go on from it to the right answer?

Each byte of the log and of both checkpoints is changed, and each file is cut at every length. Records of the log are
left out, repeated and put in another order, and get bounds beyond the graph with a right checksum; the log is replaced
by that of another run, of another graph, or of an earlier iteration, and by what is not a file. `ROUNDS` rounds with
successive seeds make every damage once. Each damaged run goes on in three ways; none may end in another answer, nor in
an error that is not typed. If only the log is damaged, the checkpoint before it is whole, so an error is refused too.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

import garaph_py as gp
from attacks import Outcome
from attacks.damage import ROUNDS, Specimen, harm, swaps
from attacks.samples import Parts, files_in, write_parts
from garaph_py import apps
from garaph_py.checkpoint.page_log import CHECKSUM, MAGIC, PAGE, PREFIX, VERSION, header_of
from garaph_py.checkpoint.saver import Saver
from garaph_py.checkpoint.store import LOG, NAMES
from garaph_py.errors import ParameterError
from garaph_py.graph import Graph
from garaph_py.graph.vertex_set import WORD

VERTICES, EDGES = 150, 500
PAGE_EDGES = 120
"""Bound on a page's edges, so that an iteration has some five pages."""
STOPPED_AFTER, EARLIER = 9, 3
"""Pages after which the run dies whose files are damaged; and those after which an earlier one did."""
SOURCE = 0
HEADER = PREFIX.size + CHECKSUM.size
"""Bytes of a log's header."""


class Died(Exception):
    """A run was ended on purpose, within an iteration."""


def attack(seed: int, folder: Path) -> Outcome:
    logging.disable(logging.WARNING)  # of checkpoints and logs that are passed over
    try:
        outcome = Outcome()
        logs = Logs(folder)
        harm(logs.specimen, seed, folder / "damaged", outcome)
        for what, make in itertools.islice(logs.all_damages(), seed % ROUNDS, None, ROUNDS):
            logs.go_on(what, make, folder / "damaged", outcome)
        return outcome
    finally:
        logging.disable(logging.NOTSET)


class Logs:
    """The files of a run that died within an iteration, and those of others.

    Attributes
    ----------
    files : dict of str to bytes
        Two checkpoints and the log on top of the newer one.
    specimen : Specimen
        They, for damage that may also hit the checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        self.graph, other = (small_graph(seed) for seed in (1, 2))
        self.files = left_behind(self.graph, folder / "run", STOPPED_AFTER)
        self._others = {
            "another graph": left_behind(other, folder / "other", STOPPED_AFTER),
            "an earlier iteration": left_behind(self.graph, folder / "earlier", EARLIER),
        }
        self.log = self.files[LOG]
        self.records = list(records_of(self.log))
        assert len(self.records) > 2, "the run died too early in its iteration"
        self.right = distances(self.graph)
        self._ways = (self.resumed, self.resumed_by_page, self.dies_again)
        swapped = [each for others in self._others.values() for each in swaps(self.files, self.files | others)]
        self.specimen = Specimen("checkpoint with a page log", self.files, self._ways, swapped)

    # Ways to go on, which all end in the right answer

    def resumed(self, folder: Path) -> bytes:
        return distances(self.graph, checkpoint=folder, resume=True)

    def resumed_by_page(self, folder: Path) -> bytes:
        return distances(self.graph, checkpoint=folder, resume=True, checkpoint_every="page")

    def dies_again(self, folder: Path) -> bytes:
        """The run goes on, dies after two more pages, and goes on."""
        with dying_after(2):
            try:
                return self.resumed_by_page(folder)
            except Died:
                pass
        return self.resumed(folder)

    # Damage to the log alone

    def all_damages(self) -> Iterator[tuple[str, Callable[[Path], None]]]:
        """What is done to the log, and a function that does it in a folder with whole files."""
        for what, log in itertools.chain(self._changed_bytes(), self._moved_records(), self._wrong_numbers()):
            yield what, lambda folder, log=log: write_parts({LOG: log}, folder)
        yield from self._odd_files()

    def _changed_bytes(self) -> Iterator[tuple[str, bytes]]:
        for end, bytes_of in ((b"", "nothing"), (bytes(1000), "zeros"), (b"\xff" * 1000, "ones")):
            yield f"{bytes_of} instead of the log", end
            yield f"{bytes_of} behind the log", self.log + end
            yield f"{bytes_of} instead of the records", self.log[:HEADER] + end
        at = HEADER
        for number, record in enumerate(self.records):
            for kept, what in ((0, "record"), (PAGE.size + CHECKSUM.size, "values of record")):
                changed = record[:kept] + bytes(len(record) - kept)
                yield f"{what} {number} of zeros", self.log[:at] + changed + self.log[at + len(record) :]
            at += len(record)

    def _moved_records(self) -> Iterator[tuple[str, bytes]]:
        """A record says which page it is of, so in any order, and any number of times, it is true."""
        head, numbers = self.log[:HEADER], range(len(self.records))
        orders = [list(numbers)[::-1], [*numbers, *numbers]]
        orders += [[k for k in numbers if k != left] for left in numbers]
        orders += [[*numbers, again] for again in numbers]
        for one, two in itertools.combinations(numbers, 2):
            order = list(numbers)
            order[one], order[two] = two, one
            orders.append(order)
        for order in orders:
            yield f"records {order}", head + b"".join(self.records[k] for k in order)
        for name, files in self._others.items():
            theirs = files[LOG]
            yield f"the log of {name}", theirs
            yield f"the records of {name}", head + theirs[HEADER:]
            yield f"the records of {name} behind the log", self.log + theirs[HEADER:]
            yield f"the header of {name}", theirs[:HEADER] + self.log[HEADER:]

    def _wrong_numbers(self) -> Iterator[tuple[str, bytes]]:
        """With right checksums, unless a value of other vertices would be one of the page's."""
        base = PREFIX.unpack_from(self.log)[3]
        for size in 0, 1, 2, 8, 1 << 31:
            yield f"values of {size} bytes", header_of(base, size) + self.log[HEADER:]
        for version in 0, VERSION + 1:
            prefix = PREFIX.pack(MAGIC, version, 4, base)
            yield f"version {version}", prefix + CHECKSUM.pack(xxhash.xxh3_64_intdigest(prefix)) + self.log[HEADER:]
        huge = (1 << 32) - 1, 1 << 60, 1 << 63, (1 << 64) - 1
        bounds = [(0, 0), (5, 4), (0, VERTICES + 1), (VERTICES, VERTICES + 1), *((0, size) for size in huge)]
        bounds += [(size - 1, size) for size in huge] + [(VERTICES - 1, size) for size in huge]
        for first, last in bounds:
            for body in bytes(8), bytes(4 * VERTICES + 8 * WORD):
                record, said = sealed(base, first, last, body), f"a page from {first} to {last}, {len(body)} bytes"
                yield f"{said}, before the others", self.log[:HEADER] + record + self.log[HEADER:]
                yield f"{said}, behind the others", self.log + record
        for number, record in enumerate(self.records):
            first, last = PAGE.unpack_from(record)
            others = self.records[:number], self.records[number + 1 :]
            for bounds_now in (first + 1, last), (first, last - 1), (first, last + 1), (0, VERTICES):
                if bounds_now != (first, last):
                    wrong = PAGE.pack(*bounds_now) + record[PAGE.size :]
                    log = b"".join([self.log[:HEADER], *others[0], wrong, *others[1]])
                    yield f"record {number} from {bounds_now[0]} to {bounds_now[1]}", log

    def _odd_files(self) -> Iterator[tuple[str, Callable[[Path], None]]]:
        """What is no file of the user's own, in the place of the log."""

        def replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
            def act(folder: Path) -> None:
                (folder / LOG).unlink()
                make(folder / LOG)

            return act

        yield "a folder", replaced(Path.mkdir)
        yield "a FIFO", replaced(os.mkfifo)
        yield "a symbolic link to itself", replaced(lambda path: path.symlink_to(path))
        yield "a symbolic link to a checkpoint", replaced(lambda path: path.symlink_to(path.with_name(NAMES[0])))
        yield "a file that others can write to", lambda folder: (folder / LOG).chmod(0o666)

    def go_on(self, what: str, make: Callable[[Path], None], folder: Path, outcome: Outcome) -> None:
        """Damage the log, and nothing else; go on in each way."""
        for way in self._ways:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            write_parts(self.files, folder)
            make(folder)
            if problem := self._problem(way, folder, "others can write" in what):
                outcome.problems.append(f"{what}, {way.__name__}: {problem}")
        outcome.counts["damages to a page log"] += 1

    def _problem(self, way: Callable[[Path], bytes], folder: Path, is_refused: bool) -> str | None:
        """What is wrong with how a run goes on, if anything is."""
        try:
            answer = way(folder)
        except ParameterError as error:
            return None if is_refused else repr(error)
        except Exception as error:
            return repr(error)
        return None if answer == self.right else "another answer"


def small_graph(seed: int) -> Graph:
    """A directed graph with weights; of all seeds the arrays have the same types and lengths."""
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, VERTICES, (2, EDGES))
    sources[:VERTICES] = np.arange(VERTICES)
    return gp.from_edges(sources, targets, rng.random(EDGES, np.float32))


def distances(graph: Graph, checkpoint: Path | None = None, resume: bool = False, **options: Any) -> bytes:
    """By an asynchronous run, page by page."""
    how = gp.Options(sync=False, page_edges=PAGE_EDGES, engine="garaph", **options)
    program = apps.SSSP(source=SOURCE)
    with gp.run(program, graph, threads=1, device="cpu", checkpoint=checkpoint, resume=resume, options=how) as result:
        return result.values.tobytes()


@contextmanager
def dying_after(pages: int) -> Iterator[None]:
    """In ``with``: a run dies as soon as it has logged so many pages."""
    log, count = Saver.page, itertools.count(1)

    def page(self: Saver, *told: Any) -> None:
        log(self, *told)
        if next(count) == pages:
            raise Died

    Saver.page = page  # type: ignore[method-assign]
    try:
        yield
    finally:
        Saver.page = log  # type: ignore[method-assign]


def left_behind(graph: Graph, folder: Path, pages: int) -> Parts:
    """The checkpoints and the log of a run that died after so many pages."""
    with dying_after(pages):
        try:
            distances(graph, checkpoint=folder, checkpoint_every="page")
        except Died:
            return files_in(folder)
    raise AssertionError("the run has not died")


def records_of(log: bytes) -> Iterator[bytes]:
    """The records of a log of values of 4 bytes."""
    at = HEADER
    while at < len(log):
        first, last = PAGE.unpack_from(log, at)
        words = -(-last // WORD) - first // WORD
        size = PAGE.size + CHECKSUM.size + 4 * (last - first) + WORD // 8 * words
        yield log[at : at + size]
        at += size


def sealed(base: int, first: int, last: int, body: bytes) -> bytes:
    """A record with a right checksum, whatever it says."""
    begin = struct.pack("<QQ", first, last)
    return begin + CHECKSUM.pack(xxhash.xxh3_64_intdigest(begin + body, seed=base)) + body
