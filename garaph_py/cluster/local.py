"""Runs a program over the parts of a graph in one process: what a cluster does, without messages.

Tests compare its answers with those of one machine, and the answers of a cluster with it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.part import Part, part_of
from ..program import VertexProgram, oriented
from ..program.part import by_numbers, of_vertices
from ..runtime.options import RunOptions
from .cuts import cut
from .part_run import Counts, PartRun

Array = npt.NDArray[Any]


def run_parts(
    program: VertexProgram,
    graph: Graph,
    parts: int,
    options: RunOptions,
    make: Callable[[Part], Part] = lambda part: part,
) -> tuple[Array, list[Counts]]:
    """Run `program` over `graph` in this many parts, one after another.

    Parameters
    ----------
    make : callable
        ``make(part)``: the part with its edges in another form.

    Returns
    -------
    values : ndarray, shape (n,)
        The reported values, with vertices given by number.
    supersteps : list of Counts
        The sums over all parts: at the beginning, and after each superstep.
    """
    graph = oriented(program, graph)
    cuts, program = cut(graph, parts), by_numbers(program, graph)
    with ExitStack() as stack:
        made = [run_of(program, make(part_of(graph, cuts, p)), options) for p in range(parts)]
        for run in made:
            stack.callback(run.close)
        connect(made)
        history = [made[0].total([run.open() for run in made])]
        while not made[0].ends(history[-1], len(history) - 1):
            if options.iterations is not None and len(history) > options.iterations:
                break
            history.append(made[0].total([run.step(history[-1]) for run in made]))
            exchange(made)
        return np.concatenate([run.report() for run in made]), history


def run_of(program: VertexProgram, part: Part, options: RunOptions) -> PartRun:
    """The run of a program, whose parameters are those of all vertices, over one part."""
    return PartRun(of_vertices(program, part.place.numbers), part, options, options.threads)


def connect(runs: list[PartRun]) -> None:
    """Tell all parts which of their vertices the others mirror."""
    for p, run in enumerate(runs):
        for q, other in enumerate(runs):
            if p != q and len(wanted := other.part.wanted(p)):
                run.connect(q, wanted)


def exchange(runs: list[PartRun]) -> None:
    """Exchange what a superstep has changed, between all pairs of parts."""
    told = {(p, q): run.outgoing(q) for p, run in enumerate(runs) for q in range(len(runs)) if p != q}
    for (p, q), changed in told.items():
        runs[q].incoming(p, changed)
