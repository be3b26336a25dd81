"""What verifiers share: the neighbours of vertices as plain arrays, and errors that name a vertex."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ParameterError, UnknownVertexError, VerificationError
from ...graph import Graph
from ...graph.arguments import kind_of
from ...output.result import Result
from ...pages.passes import EdgeChunk, listed
from ...system.sizes import counted

Array = npt.NDArray[Any]
Pairs = tuple[Array, Array]

CLOSE = 1e-9
"""By what share two sums of the same numbers may differ: rounding, in another order, of up to millions of terms."""


class Lists(NamedTuple):
    """The neighbours of each vertex: those of v are ``others[offsets[v] : offsets[v + 1]]``."""

    offsets: Array
    others: Array

    def places(self, vertices: Array) -> Array:
        """Where in `others` the neighbours of these vertices are, one list after the other."""
        lengths = self.offsets[vertices + 1] - self.offsets[vertices]
        ends = np.cumsum(lengths)
        steps = np.arange(int(ends[-1]) if len(ends) else 0)
        return np.repeat(self.offsets[vertices] - ends + lengths, lengths) + steps


def simple(edges: EdgeChunk) -> Array:
    """Which of the edges are no self-loops, and the first of parallel ones."""
    kept: Array = (edges.sources != edges.targets) & edges.first
    return kept


def pairs(graph: Graph) -> Iterator[Pairs]:
    """The sources and the targets of in-edges, page by page, without self-loops, and with one of parallel edges."""
    for edges in listed(graph, values=False):
        kept = simple(edges)
        yield edges.sources[kept], edges.targets[kept]


def pairs_both_ways(graph: Graph) -> Iterator[Pairs]:
    """`pairs`, and in a directed graph each also from its target to its source."""
    for u, v in pairs(graph):
        yield u, v
        if graph.directed:
            yield v, u


def joined(parts: Iterable[Pairs]) -> Pairs:
    """All of these pairs."""
    found = [np.stack(part) for part in parts]
    u, v = np.concatenate([np.zeros((2, 0), np.uint32), *found], axis=1)
    return u, v


def grouped(n: int, u: Array, v: Array) -> Lists:
    """For each of `n` vertices the v of its pairs."""
    offsets = np.append(0, np.cumsum(np.bincount(u, minlength=n)))
    return Lists(offsets, v[np.argsort(u, kind="stable")])


def refute(function: str, graph: Graph, wrong: Array, problem: Callable[[int], str]) -> None:
    """Raise `VerificationError`, naming the first vertex that is `wrong`, if one is; ``problem(v)`` says how."""
    if wrong.any():
        place = int(np.argmax(wrong))
        raise VerificationError(f"{function}: vertex {graph.ids[place]} {problem(place)}")


def require(right: bool, function: str, problem: str) -> None:
    """Raise `VerificationError` unless what was verified is right."""
    if not right:
        raise VerificationError(f"{function}: {problem}")


def values_of(function: str, graph: Graph, answer: Any) -> Array:
    """The values of an answer that has one for each vertex.

    Raises
    ------
    ParameterError
        If it has not.
    """
    if not isinstance(answer, Result):
        raise ParameterError(f"check takes the Result of {function}, not {kind_of(answer)}; give what it returned")
    if len(answer) != graph.n:
        sizes = counted(len(answer), "value"), counted(graph.n, "vertex", "vertices")
        raise ParameterError(f"the result has {sizes[0]}, but the graph has {sizes[1]}; give the graph of the call")
    return answer.values


def places_of(function: str, graph: Graph, ids: Any) -> Array:
    """The internal ids of vertices that an answer names by the user's ids.

    Raises
    ------
    VerificationError
        If the graph lacks one of them.
    """
    try:
        return graph.ids.indices(ids).astype(np.int64)
    except UnknownVertexError as error:
        raise VerificationError(f"{function}: {error}") from error
