"""``garaph run`` from one source, or with a program that has none: the run, and what is printed and written of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..program import VertexProgram
from . import show
from .recovery import flushed
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..graph import Graph
    from ..output import Progress
    from ..output.result import Result
    from ..runtime.options import RunOptions


@dataclass(frozen=True)
class Shown:
    """What a command prints and writes of the answers.

    Attributes
    ----------
    graph : Path
        The graph, as the user named it.
    outputs : mapping of str to Path or None
        The files to write: ``output``, which `write` writes, ``trace`` and ``report``.
    write : callable or None
        Writes the answer to a path.
    top : int
        How many vertices to print.
    smallest : bool
        Print those with the smallest values, and not with the largest.
    as_json, quiet, verified : bool
        Print JSON; print no table of iterations; the answers have been checked.
    started : float
        When the command started, by `time.perf_counter`.
    """

    graph: Path
    outputs: Mapping[str, Path | None]
    write: Callable[[Any, Path], None] | None
    top: int
    smallest: bool
    as_json: bool
    quiet: bool
    verified: bool
    started: float

    def write_output(self, answer: Any) -> None:
        """Write the answer to ``output``, if it is wanted."""
        if self.write is not None and self.outputs["output"] is not None:
            self.write(answer, self.outputs["output"])


@dataclass(frozen=True)
class Single:
    """A run of `program`.

    Attributes
    ----------
    program : VertexProgram
    request : mapping or None
        What a checkpoint records of the command.
    cluster : str or None
        Where to run, if not here.
    """

    program: VertexProgram
    request: Mapping[str, Any] | None
    cluster: str | None

    def run(self, graph: Graph, options: RunOptions, progress: Progress) -> Result:
        """Run the program."""
        from ..runtime.run import execute

        return execute(self.program, graph, options, progress, self.request, self.cluster)

    def finish(self, result: Result, graph: Graph, shown: Shown, read_seconds: float) -> None:
        """Write and print the result. The command took `read_seconds` to read the graph."""
        from ..program.sources import ends_at_once

        with result:
            shown.write_output(result)
            seconds = read_seconds, time.perf_counter() - shown.started
            with flushed(result):
                if shown.as_json:
                    best = result.top(shown.top, smallest=shown.smallest)
                    print_json(show.document(result, graph, best, read_seconds))
                    return
                say(f"{result.program} on {str(graph)[8:-1]} ({shown.graph})")
                show.ended(result, seconds, shown.quiet, shown.verified)
                if (reason := ends_at_once(self.program, graph)) is not None:
                    say(f"note: {reason}")
                show.top(result, shown.top, shown.smallest)
                show.written(result, **shown.outputs)
