"""`run_with`: `garaph_py.run` with every option as a keyword, for tests that pass on a dict of options; and what
a run recorded."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import garaph_py as gp

OPTIONS = {field.name for field in fields(gp.Options)}


def run_with(program: gp.VertexProgram, graph: gp.Graph, **given: Any) -> gp.Result:
    """Run a program with options of `gp.Options` and arguments of `gp.run`, mixed."""
    chosen = gp.Options(**{name: value for name, value in given.items() if name in OPTIONS})
    return gp.run(program, graph, options=chosen, **{k: v for k, v in given.items() if k not in OPTIONS})


def rows_of(run: gp.Result) -> list[gp.events.Iteration]:
    """The records of a run's iterations, without the times, in which two runs differ."""
    return [row._replace(seconds=0, started=0, compile_seconds=0) for row in run.stats.iterations]


def ways_of(rows: Any) -> set[Any]:
    """How the edges of these iterations reached a GPU."""
    return {group.transfer for row in rows for group in row.groups}
