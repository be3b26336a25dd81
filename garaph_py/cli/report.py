"""``garaph report``: the page about a run, from its trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ParameterError
from ..system.files import check_place, is_same_file
from .terminal import say

Option = typer.Option


def report(
    trace: Annotated[Path, typer.Argument(help="What `garaph run --trace` has written.")],
    other: Annotated[Path | None, typer.Argument(help="Another trace, to show both side by side.")] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out", "-o", metavar="FILE.html", help="The page; by default named after the traces, beside the first."
        ),
    ] = None,
) -> None:
    """Write a page about a recorded run, or two side by side.

    Examples:

      garaph report run.json

      garaph report before.json after.json --out compared.html
    """
    from ..output.page import write_report
    from ..output.recording import read_recording

    names = trace.stem if other is None else f"{trace.stem}-{other.stem}"
    page = trace.with_name(f"{names}.html") if out is None else out
    check_place(page, "--out")
    for given in filter(None, (trace, other)):
        if is_same_file(page, given):
            raise ParameterError(f"--out {page}: is a trace to read; name another file")
    write_report(page, read_recording(trace), None if other is None else read_recording(other))
    say(f"wrote a report to {page}; open it in a browser")
