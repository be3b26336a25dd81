"""`run_with`: `garaph_py.run` with every option as a keyword, for tests that pass on a dict of options."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import garaph_py as gp

OPTIONS = {field.name for field in fields(gp.Options)}


def run_with(program: gp.VertexProgram, graph: gp.Graph, **given: Any) -> gp.Result:
    """Run a program with options of `gp.Options` and arguments of `gp.run`, mixed."""
    chosen = gp.Options(**{name: value for name, value in given.items() if name in OPTIONS})
    return gp.run(program, graph, options=chosen, **{k: v for k, v in given.items() if k not in OPTIONS})


def ways_of(rows: Any) -> set[Any]:
    """How the edges of these iterations reached a GPU."""
    return {group.transfer for row in rows for group in row.groups}
