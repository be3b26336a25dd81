"""``garaph experiment``: makes the measurements that a TOML file describes, or each file of a folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ExperimentError, ParameterError
from ..events import Event, Step
from ..output import Progress
from ..system.sizes import counted, show_seconds
from .options import AsJson, Quiet
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..experiment import Spec
    from ..experiment.kinds import Row
    from ..experiment.machine import Found

Option = typer.Option


def experiment(
    spec: Annotated[
        Path,
        typer.Argument(
            help='A TOML file, or a folder of such files; "Experiments" in the documentation says what they may hold.'
        ),
    ],
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The folder to create; by default the spec's name. For a folder of specs it gets a folder for each.",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue an interrupted experiment of the same spec, or those of a folder.")
    ] = False,
    join: Annotated[
        list[Path] | None,
        Option(
            metavar="DIR",
            help="Measure nothing; join what several machines have measured of this spec: one folder each, repeatable.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        Option(
            metavar="GRAPH", help="Leave out this graph, as the spec names it; --resume measures it later. Repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure every combination of the settings in a spec.

    The command measures each combination several times, and writes Parquet tables and plots. If some measurements fail,
    it says why, and goes on; the exit status is 1 if all fail.

    Examples:

      garaph experiment scripts/experiments/figure10.toml --out figure10

      garaph experiment scripts/experiments --out measured

      garaph experiment figure10.toml --join laptop/figure10 --join server/figure10 --out both
    """
    from .. import experiment as experiments

    if join:
        if resume or without:
            raise ParameterError(f"--join measures nothing; leave --{'resume' if resume else 'without'} out")
        chosen, folder = experiments.read(spec), Path(spec.stem) if out is None else out
        finish(found(chosen, experiments.join(chosen, join, folder), folder), as_json)
        return
    if not spec.is_dir():
        folder = Path(spec.stem) if out is None else out
        finish(measured(experiments.read(spec), folder, resume, quiet, without or ()), as_json, resume)
        return
    if without:
        raise ParameterError("--without leaves out graphs of one spec; name a spec, not a folder")
    finish_all(spec, out or Path(), resume, as_json, quiet)


def finish_all(specs: Path, out: Path, resume: bool, as_json: bool, quiet: bool) -> None:
    """Run the specs in a folder, and print what each has found; raise an error if all measurements of all failed."""
    from .. import experiment as experiments

    chosen_of = {out / path.stem: experiments.read(path) for path in specs_in(specs)}
    begun = {folder for folder in chosen_of if resume and experiments.is_begun(folder)}
    for folder in chosen_of.keys() - begun:
        experiments.check_free(folder)
    documents: list[dict[str, Any]] = []
    known: dict[int, Found] = {}
    for folder, chosen in chosen_of.items():
        documents.append(measured(chosen, folder, folder in begun, quiet, known=known))
        if not as_json:
            report(documents[-1], folder in begun)
    if as_json:
        print_json({"experiments": [printed(document) for document in documents]})
    check_some(documents)


def specs_in(folder: Path) -> list[Path]:
    """The specs in a folder, by name."""
    found = sorted(folder.glob("*.toml"))
    if not found:
        raise ParameterError(f"{folder}: has no spec, NAME.toml; name a spec, or a folder of some")
    return found


def measured(
    spec: Spec, folder: Path, resume: bool, quiet: bool, without: Collection[str] = (),
    known: dict[int, Found] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run an experiment; what it has found, as JSON has it. `known` is what others have found out about the machine."""
    from .. import experiment as experiments

    made = 0

    def listen(event: Event) -> None:
        nonlocal made
        if isinstance(event, Step) and event.name == "measuring":
            made = event.done
        progress(event)

    with Progress(quiet) as progress:
        rows = experiments.run(spec, folder, resume=resume, without=without, known=known, on_event=listen)
    return found(spec, rows, folder) | {"made": made}


def found(spec: Spec, rows: list[Row], folder: Path) -> dict[str, Any]:
    """What is in the results of an experiment, as JSON has it, and the `reasons` of failures."""
    from .. import experiment as experiments

    failed = sum(row["error"] is not None for row in rows)
    return {
        "folder": folder, "measurements": len(rows), "failed": failed,
        "combinations": list(experiments.summary(spec, rows)), "reasons": experiments.failures(spec, rows),
    }  # fmt: skip


def printed(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of JSON."""
    return {name: value for name, value in document.items() if name not in ("made", "reasons")}


def finish(document: dict[str, Any], as_json: bool, resumed: bool = False) -> None:
    """Print what an experiment has found; raise an error if all its measurements failed."""
    if as_json:
        print_json(printed(document))
    else:
        report(document, resumed)
    check_some([document])


def check_some(documents: list[dict[str, Any]]) -> None:
    """Raise an error if all measurements failed; it says which was the first, and why."""
    failed = sum(document["failed"] for document in documents)
    if failed and failed == sum(document["measurements"] for document in documents):
        folder, reason = next((one["folder"], one["reasons"][0]) for one in documents if one["reasons"])
        then = "then continue with --resume, or in another folder if the spec changes"
        raise ExperimentError(f"all measurements failed: the first in {folder}: {reason}; {then}")


def report(document: dict[str, Any], resumed: bool = False) -> None:
    """Print for people what an experiment has found: a line for each combination of settings, and for each failure."""
    for one in document["combinations"]:
        if one["error"] is not None:
            continue
        settings = one["settings"].items()
        what = " ".join(f"{name}={value}" for name, value in settings if value not in (None, "")) or "all"
        if one["seconds"] is None:
            say(f"{what}: counted")
        else:
            middle, least, most = map(show_seconds, one["seconds"].values())
            over = f" over {one['sources']} sources" * (one["sources"] > 1)
            notes = "".join(f"; {note}" for note in one["notes"])
            say(f"{what}: {middle} ({least} to {most}){over}{notes}")
    for reason in document["reasons"]:
        say(f"failed: {reason}")
    new = ", 0 of them new" * (resumed and document["made"] == 0)
    failed = f", {document['failed']} of them failed" * bool(document["failed"])
    say(f"{document['folder']}: {counted(document['measurements'], 'measurement')}{new}{failed}")
