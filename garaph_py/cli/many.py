"""``garaph run --sources``: one program from many sources at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..apps.registry import build
from ..errors import ParameterError, printable
from ..graph.ids import IdText
from ..program import VertexId, VertexProgram
from ..program.fields import hints
from . import show
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..graph import Graph
    from ..output import Progress
    from ..output.many import ResultTable
    from ..runtime.options import RunOptions


def sources_in(text: str) -> list[IdText]:
    """The vertices that ``--sources`` names: those in ``A,B,C``, or in the lines of the file in ``@FILE``.

    Raises
    ------
    ParameterError
        If the file cannot be read, or no vertex is named.
    """
    names = text.split(",")
    if text.startswith("@"):
        try:
            names = Path(text[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not text in UTF-8"
            raise ParameterError(f"--sources {text}: {reason}; name a file with a vertex in each line") from None
    sources = [IdText(name.strip()) for name in names if name.strip()]
    if not sources:
        raise ParameterError(f"--sources {text!r} names no vertex; write A,B,C, or @FILE with a vertex in each line")
    return sources


def check_alone(options: Mapping[str, Any]) -> None:
    """Refuse options, by their names, that mean something for one run only."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise ParameterError(f"{name} is for one run; leave it out, or give --source instead of --sources")


def program_for(kind: type[VertexProgram], given: dict[str, str], sources: list[IdText]) -> VertexProgram:
    """The program with its parameters; `run_many` replaces its source.

    Raises
    ------
    ParameterError
        As `build`, or if the program has no source, or has been given one.
    """
    from ..runtime.many import source_parameter

    name = source_parameter(kind)
    if name in given:
        raise ParameterError(f"--sources and -p {name}={given[name]} both set {name}; leave one out")
    return build(kind, given | ({name: sources[0]} if hints(kind)[name] == VertexId else {}))


def run(
    program: VertexProgram, graph: Graph, sources: list[IdText], options: RunOptions, progress: Progress
) -> ResultTable:
    """Run the program from all sources."""
    from ..runtime.many import run_many
    from ..runtime.options import Options

    others = Options(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Options)})
    return run_many(
        program, graph, sources, iterations=options.iterations, device=options.device, threads=options.threads,
        verify=options.verify, options=others, on_event=progress,
    )  # fmt: skip


def print_table(table: ResultTable, heading: str, count: int, smallest: bool, verified: bool) -> None:
    """Print how the runs ended, and the vertices with the largest or smallest values of each."""
    say(heading)
    for source, result in table.items():
        say(f"from {printable(source)}: {show.ending(result.stats)}")
        show.top(result, count, smallest)
    if verified:
        say("verified: each answer has the properties that define it")


def print_documents(table: ResultTable, graph: Graph, count: int, smallest: bool, read_seconds: float) -> None:
    """Print the object of ``--json``: what a run from one source prints, for each of them."""
    runs = [
        {"source": source} | show.document(result, graph, result.top(count, smallest=smallest), read_seconds)
        for source, result in table.items()
    ]
    print_json({"runs": runs})
