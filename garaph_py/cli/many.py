"""``garaph run --sources``: one program from many sources at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..apps.registry import build
from ..errors import ParameterError, printable
from ..graph.ids import IdText
from ..program import VertexId, VertexProgram
from ..program.fields import hints
from . import show
from .single import Shown
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..graph import Graph
    from ..output import Progress
    from ..output.many import ResultTable
    from ..output.result import Result
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


def runs_of(kind: type[VertexProgram], given: dict[str, str], sources: list[IdText]) -> Many:
    """The runs of a program with these parameters; `run_many` replaces its source.

    Raises
    ------
    ParameterError
        As `build`, or if the program has no source, or has been given one.
    """
    from ..runtime.many import source_parameter

    name = source_parameter(kind)
    if name in given:
        raise ParameterError(f"--sources and -p {name}={given[name]} both set {name}; leave one out")
    return Many(build(kind, given | ({name: sources[0]} if hints(kind)[name] == VertexId else {})), sources)


@dataclass(frozen=True)
class Many:
    """Runs of `program` from each of the `sources`."""

    program: VertexProgram
    sources: list[IdText]

    def run(self, graph: Graph, options: RunOptions, progress: Progress) -> ResultTable:
        """Run the program from all sources."""
        from ..runtime.many import run_many
        from ..runtime.options import Options

        others = Options(**{field.name: getattr(options, field.name) for field in fields(Options)})
        return run_many(
            self.program, graph, self.sources, iterations=options.iterations, device=options.device,
            threads=options.threads, verify=options.verify, options=others, on_event=progress,
        )  # fmt: skip

    def finish(self, table: ResultTable, graph: Graph, shown: Shown, read_seconds: float) -> None:
        """Write the table; print how the runs ended, and the vertices with the largest or smallest values of each."""
        shown.write_output(table)
        if shown.as_json:
            print_json({"runs": [self._document(*item, graph, shown, read_seconds) for item in table.items()]})
            return
        say(f"{type(self.program).__name__} on {str(graph)[8:-1]} ({shown.graph})")
        for source, result in table.items():
            say(f"from {printable(source)}: {show.ending(result.stats)}")
            show.top(result, shown.top, shown.smallest)
        if shown.verified:
            say("verified: each answer has the properties that define it")
        if shown.outputs["output"] is not None:
            say(f"wrote {len(table.vertex_ids):,} rows of {len(table)} values to {shown.outputs['output']}")

    @staticmethod
    def _document(source: Any, result: Result, graph: Graph, shown: Shown, read_seconds: float) -> dict[str, Any]:
        """What a run from one source prints with ``--json``, and its source."""
        best = result.top(shown.top, smallest=shown.smallest)
        return {"source": source} | show.document(result, graph, best, read_seconds)
