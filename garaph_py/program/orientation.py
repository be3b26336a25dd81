"""The edges that a program gathers over, and the graph over which it therefore runs."""

from __future__ import annotations

import inspect

from ..errors import ProgramError
from ..graph import Graph
from .vertex_program import VertexProgram

OUT = "out"
GATHERS = ("in", OUT, "both")
"""What `VertexProgram.gathers` may be."""


def oriented(program: VertexProgram, graph: Graph) -> Graph:
    """The graph over which a program runs: `graph`, or the reversed one if the program gathers over out-edges.

    It has edge values if the program's `gather` or `delta` asks for them.

    Raises
    ------
    ProgramError
        If `VertexProgram.gathers` is not one of the allowed words.
    GraphError
        As in `Graph.reversed`.
    """
    check_gathers(program)
    if program.gathers != OUT:
        return graph
    readers = (getattr(type(program), name, None) for name in ("gather", "delta"))
    asked = [name for reader in readers if reader is not None for name in inspect.signature(reader).parameters]
    return turned(graph, valued="edge" in asked)


def turned(graph: Graph, valued: bool) -> Graph:
    """The graph with every edge turned round, with edge values if they are read.

    Raises
    ------
    GraphError
        As in `Graph.reversed`.
    """
    return graph.reversed() if valued else graph._reversed(valued=False)


def check_gathers(program: VertexProgram) -> None:
    """Raise `ProgramError` if the program gathers over something else than a graph has."""
    if program.gathers not in GATHERS:
        allowed = ", ".join(f'"{name}"' for name in GATHERS)
        raise ProgramError(f"{type(program).__name__}.gathers is {program.gathers!r}; allowed are {allowed}")


def gathers_both_ways(program: VertexProgram) -> bool:
    """Whether the program gathers over both directions apart, so that it takes two runs for each iteration."""
    return getattr(program, "gather_out", None) is not None
