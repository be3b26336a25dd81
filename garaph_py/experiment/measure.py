"""`run`: makes the measurements of a spec, in an order in which a drift of the machine affects all combinations."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from .. import events
from ..errors import GaraphError, Interrupted, ParameterError
from ..io.formats.format import malformed
from ..system.files import make_names_durable, remove_leftovers, try_lock, write_whole
from .kinds import Combination, Row
from .machine import Found, describe
from .plots import draw
from .spec import RESULTS, Spec
from .tables import Tables

T = TypeVar("T")
SPEC = "spec.toml"
"""The file in an experiment's folder that has its spec."""
MACHINES = "machines.json"
"""The file in a folder of joined measurements that describes the machines."""
PLACE = ".measuring-"
"""How the name of the temporary directory in that folder begins that is for the files of measurements."""


def run(
    spec: Spec,
    folder: Path,
    *,
    resume: bool = False,
    without: Collection[str] = (),
    known: dict[int, Found] | None = None,
    on_event: events.Listener = events.ignore,
) -> list[Row]:
    """Make all measurements of `spec`; write results.parquet, iterations.parquet, plots, spec.toml and machine.json.

    Parameters
    ----------
    spec : Spec
    folder : Path
        The folder to create for the files. Results are written after every round, and after an interrupt.
    resume : bool
        Continue an experiment of the same spec in `folder`; if all its measurements failed, make them again.
    without : collection of str
        Graphs to leave out, as the spec names them; `resume` measures them later.
    known : dict of int to Found, optional
        What `machine.describe` has measured; experiments that are given the same one measure the machine once.
    on_event : callable, optional

    Returns
    -------
    list of dict
        The rows of the results.

    Raises
    ------
    ParameterError
        If `folder` exists and `resume` is false, or if `folder` has another spec, or the spec no graph in `without`.
    FormatError
        If a file in the `folder` to resume is damaged.
    Interrupted
        After Ctrl-C. The measurements made so far are kept.
    """
    check_left_out(spec, without)
    tables = Tables(spec, folder)
    if resume:
        check_same(spec, folder, "has no experiment to continue; leave --resume out")
        if (folder / MACHINES).exists():
            raise ParameterError(f"{folder}: is joined of several machines; resume this machine's, and join them again")
        write_text(folder / SPEC, spec.text)
        sweep(folder)
        tables.load()
        tables.drop_failures()
    else:
        begin(spec, folder)
    try:
        tables.made_on(keep_machine(describe(folder, on_event, known), folder / "machine.json"))
        measure(spec, folder, tables, on_event, without)
    except KeyboardInterrupt:
        done, total = len(tables.rows[RESULTS]), spec.repeats * len(spec.combinations)
        raise Interrupted(
            f"interrupted after {done} of {total} measurements, which are in {folder}; continue with --resume"
        ) from None
    finally:
        tables.save()
    draw(spec, tables.rows, folder)
    return tables.rows[RESULTS]


def check_left_out(spec: Spec, without: Collection[str]) -> None:
    """Refuse graphs to leave out that the spec does not name, and leaving out all."""
    named = dict.fromkeys(combination.graph.text for combination in spec.combinations)
    for graph in without:
        if graph not in named:
            raise ParameterError(f"without {graph!r}: the spec has no such graph; choose from {', '.join(named)}")
    if set(without) == set(named):
        raise ParameterError("without: no graph is left to measure; leave one in")


def begin(spec: Spec, folder: Path) -> None:
    """Make the folder of an experiment, and write the spec there."""
    check_free(folder)
    try:
        make_folder(folder)
    except OSError as error:
        raise ParameterError(f"{folder}: {error.strerror}; choose another place") from None
    write_text(folder / SPEC, spec.text)


def is_begun(folder: Path) -> bool:
    """Whether there is an experiment in `folder`, perhaps one that was interrupted."""
    return (folder / SPEC).exists()


def check_free(folder: Path) -> None:
    """Refuse a folder that an experiment cannot create."""
    if is_taken(folder):
        raise ParameterError(f"{folder}: is there already; choose another folder, or continue it with --resume")


def is_taken(folder: Path) -> bool:
    """Whether there is anything in `folder` but what an experiment that was killed at its beginning has left."""
    remove_leftovers(folder / SPEC)
    try:
        return bool(os.listdir(folder))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, so that they survive a loss of power."""
    missing = [parent for parent in folder.parents if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder, *missing):
        make_names_durable(path.parent)


@contextlib.contextmanager
def place_in(folder: Path) -> Iterator[Path]:
    """A temporary directory in an experiment's folder, which `sweep` leaves alone in this block."""
    with contextlib.ExitStack() as stack:
        try:
            temporary = tempfile.TemporaryDirectory(dir=folder, prefix=PLACE, ignore_cleanup_errors=True)
            stack.callback(clean_up, temporary)
            place = Path(temporary.name)
            stack.enter_context(try_lock(place))
        except OSError as error:
            raise ParameterError(f"{folder}: {error.strerror}; choose a place that can be written") from None
        yield place


def clean_up(temporary: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a temporary directory, as far as that works: `sweep` removes what stays."""
    with contextlib.suppress(OSError):  # Python 3.11 may raise one although it is told to ignore them
        temporary.cleanup()


def sweep(folder: Path) -> None:
    """Remove the temporary directories of experiments that were killed: those that no process has locked."""
    for path in folder.glob(f"{PLACE}*"):
        with contextlib.suppress(OSError), try_lock(path) as locked:
            if locked:
                shutil.rmtree(path)


def check_same(spec: Spec, folder: Path, missing: str) -> None:
    """Refuse a folder whose spec differs in more than its plots; `missing` is said of one that has no experiment."""
    try:
        before = (folder / SPEC).read_bytes()
    except OSError:
        raise ParameterError(f"{folder}: {missing}") from None
    if before != spec.text and without_plots(before) != without_plots(spec.text):
        raise ParameterError(
            f"{folder}: was made from another spec; choose another place, or leave all but the plots as it was"
        )


def without_plots(text: bytes) -> dict[str, Any] | None:
    """What the text of a spec says of measurements; None if it is not TOML."""
    try:
        return {key: value for key, value in tomllib.loads(text.decode()).items() if key != "plots"}
    except ValueError:
        return None


def keep_machine(machine: dict[str, Any], path: Path) -> str:
    """Write the description of the machine, and return it in short; if the file exists, it must say the same."""
    now = summarized(machine)
    if not path.exists():
        write_text(path, json.dumps(machine, indent=1, allow_nan=False).encode())
        return now
    with malformed(path, "does not describe a machine; remove it if the measurements were made on this one"):
        before = summarized(json.loads(path.read_bytes()))
    if before != now:
        raise ParameterError(f"{path.parent}: was measured on {before}, and this is {now}; choose another place")
    return now


def summarized(machine: dict[str, Any]) -> str:
    """The CPU and GPUs of a machine as text, to compare two descriptions."""
    cpu, gpus = machine["cpu"], machine["gpus"]
    return f"{cpu['name']}, {cpu['cores']} cores, GPU: {', '.join(gpu['name'] for gpu in gpus) or 'none'}"


def write_text(path: Path, text: bytes) -> None:
    """Write a file atomically."""

    def write(file: IO[bytes]) -> None:
        file.write(text)

    write_whole(path, write)


def order(spec: Spec) -> Iterator[tuple[int, Combination]]:
    """The order of the measurements, as pairs of a repeat's number (negative for warm-ups) and a combination.

    The order goes graph by graph, so that only one graph is in memory at a time. For each graph, every round has all
    combinations in another random order.
    """
    shuffled = random.Random(spec.seed)
    for graph in dict.fromkeys(combination.graph for combination in spec.combinations):
        own = [combination for combination in spec.combinations if combination.graph == graph]
        for repeat in range(-spec.warmups, spec.repeats):
            for combination in shuffled.sample(own, len(own)):
                yield repeat, combination


def measure(spec: Spec, folder: Path, tables: Tables, on_event: events.Listener, without: Collection[str] = ()) -> None:
    """Make the measurements that `tables` lack, and add a row for each; the row of a failed one has the error.

    Those over the graphs `without` are not made.
    """
    done = tables.done
    steps = [
        step for step in order(spec) if (step[1].number, step[0]) not in done and step[1].graph.text not in without
    ]
    missing = {combination.graph for repeat, combination in steps if repeat >= 0}
    steps = [step for step in steps if step[1].graph in missing]
    asked = {combination.number: combination for _, combination in steps}
    problems = {number: attempt(partial(spec.kind.check, one))[1] for number, one in asked.items()}
    finished = 0
    for graph, grouped in itertools.groupby(steps, lambda step: step[1].graph):
        those = list(grouped)
        with place_in(folder) as place:
            prepared, problem = None, None
            if any(problems[one.number] is None for _, one in those):  # otherwise nobody needs the graph
                prepared, problem = attempt(partial(spec.kind.prepare, graph, place, on_event))
            for repeat, rounds in itertools.groupby(those, lambda step: step[0]):
                for _, combination in rounds:
                    on_event(events.Step("measuring", finished, len(steps), "measurements"))
                    found, error = None, problems[combination.number] or problem
                    if spec.fresh and not error:
                        _, error = attempt(partial(spec.kind.forget, prepared))
                    if not error:
                        found, error = attempt(partial(spec.kind.measure, combination, prepared, place))
                    if repeat >= 0:
                        tables.add(combination, repeat, *(found or ({"error": error}, [])))
                    finished += 1
                if repeat >= 0:
                    tables.save()
    on_event(events.Step("measuring", finished, finished, "measurements"))


def attempt(work: Callable[[], T]) -> tuple[T | None, str | None]:
    """Call `work`; return its result and None, or None and the message of the error that it raised."""
    try:
        return work(), None
    except GaraphError as error:
        return None, str(error)
    except MemoryError:
        return None, "not enough memory; use a smaller graph, or a machine with more"
