"""``garaph experiment``: makes the measurements that a TOML file describes."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import Progress
from .options import Quiet
from .terminal import say

if TYPE_CHECKING:
    from ..experiment import Spec
    from ..experiment.kinds import Row

Option = typer.Option


def experiment(
    spec: Annotated[Path, typer.Argument(help="A TOML file; docs/experiments.md says what it may hold.")],
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR", help="The folder to create; by default the spec's name.")
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue an interrupted experiment of the same spec.")] = False,
    quiet: Quiet = False,
) -> None:
    """Measure every combination of settings that a spec gives, repeatedly; write Parquet tables and plots.

    Example:

      garaph experiment scripts/experiments/figure10.toml --out figure10
    """
    from .. import experiment as experiments

    chosen = experiments.read(spec)
    folder = Path(spec.stem) if out is None else out
    with Progress(quiet) as progress:
        rows = experiments.run(chosen, folder, resume=resume, on_event=progress)
    if not quiet:
        summary(chosen, rows)
    failed = sum(row["error"] is not None for row in rows)
    say(f"{folder}: {len(rows)} measurements" + f", {failed} of them failed" * bool(failed))


def summary(spec: Spec, rows: list[Row]) -> None:
    """Print a line for each combination: the settings that vary, and its median time or its error."""
    settings = [combination.settings for combination in spec.combinations]
    varied = [name for name in settings[0] if any(row[name] != settings[0][name] for row in settings)]
    for combination in spec.combinations:
        own = [row for row in rows if row["combination"] == combination.number]
        took = [row["seconds"] for row in own if row["error"] is None]
        chosen = {name: combination.settings[name] for name in varied}
        what = " ".join(f"{name}={value}" for name, value in chosen.items() if value not in (None, "")) or "all"
        if took:
            say(f"{what}: {statistics.median(took):.4g} s ({min(took):.4g} to {max(took):.4g})")
        else:
            say(f"{what}: {own[0]['error']}")
