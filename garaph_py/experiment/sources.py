"""Sources that a spec describes instead of naming them, as it knows no graph yet; and what is said of poor ones.

GAPBS and Graph500 take random vertices with out-edges, because a search from any other one ends at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import GraphError, ParameterError
from ..graph import Graph
from ..output.stats import Stats
from ..program import VertexProgram
from ..program.sources import Source, id_of, largest, vertices_of

LARGEST, RANDOM = "largest", "random:"
MOST = 10_000
"""Random sources of one program, at most."""
LITTLE = 0.01
"""A search that reaches a smaller share of the vertices is noticed."""


@dataclass(frozen=True)
class Pick:
    """A source that is chosen when the graph is there: the same one for all programs and settings.

    Attributes
    ----------
    parameter : str
        The program's parameter that it is for.
    count : int
        The number of random sources that are asked for; 0 if it is the vertex with the most out-edges.
    number : int
        Which of the random sources this one is.
    seed : int
        The seed of the random choice.
    """

    parameter: str
    count: int
    number: int
    seed: int

    def of(self, graph: Graph) -> Any:
        """The id of the vertex.

        Raises
        ------
        GraphError
            If fewer vertices than are asked for have out-edges.
        """
        degrees = graph.out_degrees
        having = np.flatnonzero(degrees)
        if len(having) < max(self.count, 1):
            some = f"ask for {len(having)} at most, or " if len(having) and self.count else ""
            raise GraphError(f"only {len(having)} of {graph.n} vertices have out-edges; {some}take another graph")
        if not self.count:
            return largest(graph)
        chosen = np.random.default_rng(self.seed).choice(having, self.count, replace=False)[self.number]
        return id_of(graph, chosen)


def picks(kind: type[VertexProgram], parameters: dict[str, Any], seed: int) -> Iterator[tuple[Pick, ...]]:
    """The sources that `parameters` describe, one tuple for each measurement of the program; an empty one if none.

    Raises
    ------
    ParameterError
        If the number of random sources is no number, or too large.
    """
    described = []
    for name in (name for name in vertices_of(kind) if isinstance(parameters.get(name), str)):
        text = parameters[name]
        if text == LARGEST:
            described.append([Pick(name, 0, 0, seed)])
        elif text.startswith(RANDOM):
            count = text.removeprefix(RANDOM)
            if not count.isdecimal() or not 1 <= int(count) <= MOST:
                raise ParameterError(f'{name}={text!r}: write "{RANDOM}COUNT" with 1 to {MOST}, or "{LARGEST}"')
            described.append([Pick(name, int(count), number, seed) for number in range(int(count))])
    yield from itertools.product(*described)


def chosen(program: VertexProgram, described: Iterable[Pick], graph: Graph) -> VertexProgram:
    """The program with the vertices of this graph in place of those that were described."""
    vertices = {pick.parameter: pick.of(graph) for pick in described}
    return replace(program, **vertices)  # type: ignore[type-var]  # every program is a dataclass


def remark(sources: list[Source], stats: Stats, vertices: int, named: bool) -> str | None:
    """What a reader of the times should know: a source has no out-edges, or the search has reached very little.

    If the spec has `named` the source, also which ones to take instead.
    """
    if not sources:
        return None
    names = ", ".join(source.vertex for source in sources)
    advice = f'; take source = "{LARGEST}" or "{RANDOM}20"' * named
    if not any(source.edges for source in sources):
        return f"source {names} has no out-edges{advice}"
    reached = int(stats.history.column("active").sum())  # or fewer: a vertex may be active twice
    if stats.converged and reached < LITTLE * vertices:
        return f"source {names} reached {reached:,} of {vertices:,} vertices{advice}"
    return None
