"""``garaph experiment``: makes the measurements that a TOML file describes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..events import Event, Step
from ..output import Progress
from ..system.sizes import counted, show_seconds
from .options import AsJson, Quiet
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..experiment import Spec
    from ..experiment.kinds import Row

Option = typer.Option


def experiment(
    spec: Annotated[
        Path, typer.Argument(help='A TOML file; "Experiments" in the documentation says what it may hold.')
    ],
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR", help="The folder to create; by default the spec's name.")
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted experiment of the same spec.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure every combination of settings that a spec gives, repeatedly; write Parquet tables and plots.

    Example:

      garaph experiment scripts/experiments/figure10.toml --out figure10
    """
    from .. import experiment as experiments

    chosen = experiments.read(spec)
    folder = Path(spec.stem) if out is None else out
    made = 0

    def listen(event: Event) -> None:
        nonlocal made
        if isinstance(event, Step) and event.name == "measuring":
            made = event.done
        progress(event)

    with Progress(quiet) as progress:
        rows = experiments.run(chosen, folder, resume=resume, on_event=listen)
    failed = sum(row["error"] is not None for row in rows)
    combinations = list(summary(chosen, rows))
    if as_json:
        counts = {"folder": folder, "measurements": len(rows), "failed": failed}
        print_json(counts | {"combinations": combinations})
        return
    for one in combinations:
        settings = one["settings"].items()
        what = " ".join(f"{name}={value}" for name, value in settings if value not in (None, "")) or "all"
        if one["error"] is None:
            middle, least, most = map(show_seconds, one["seconds"].values())
            say(f"{what}: {middle} ({least} to {most})")
        else:
            say(f"{what}: {one['error']}")
    new = ", 0 of them new" * (resume and not made)
    say(f"{folder}: {counted(len(rows), 'measurement')}{new}" + f", {failed} of them failed" * bool(failed))


def summary(spec: Spec, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """For each combination: the settings that vary, and its times, or its error if all its measurements failed."""
    settings = [combination.settings for combination in spec.combinations]
    varied = [name for name in settings[0] if any(row[name] != settings[0][name] for row in settings)]
    for combination in spec.combinations:
        own = [row for row in rows if row["combination"] == combination.number]
        took = [row["seconds"] for row in own if row["error"] is None]
        times = {"median": statistics.median(took), "least": min(took), "most": max(took)} if took else None
        yield {
            "settings": {name: combination.settings[name] for name in varied},
            "seconds": times,
            "error": None if took else own[0]["error"],
        }
