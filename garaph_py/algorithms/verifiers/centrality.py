"""Verifiers of centralities: by the equations that define them, and by searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...apps.checks import in_sums
from ...errors import ParameterError
from ...graph import Graph
from ...program.vertex_data import vertex_column
from ..betweenness_centrality import chosen_sources, scale
from ..eigenvector_centrality import Eigenvector, WeightedEigenvector
from ..katz_centrality import Katz, WeightedKatz
from ..norm import unit
from ..seeds import generator
from .evidence import CLOSE, refute, require, values_of
from .lengths import Lengths

Array = npt.NDArray[Any]

SEARCHED = 16
"""Vertices to which closeness and harmonic centrality are computed anew, if there are more: a search for each."""
SETTLED = 4
"""How many times the tolerance of a power iteration its answer may be off: the last change, the change that would be
next, and as much again for the norm by which each is divided."""


def verify_katz_centrality(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` if a call that converged has values that do not fulfil the equation.

    Normalized values fulfil it up to a factor, which comes from the part of the equation that is beta.
    """
    values = values_of("katz_centrality", graph, answer)
    weighted = given.weight and graph.edge_dtype is not None
    beta = np.broadcast_to(vertex_column(given.beta, np.nan, graph, "beta").astype(np.float64), graph.n)
    if given.normalized:
        require(bool(np.allclose(unit(values), values)), "katz_centrality", "the values have another norm than 1")
        left = values - given.alpha * in_sums(graph, values, weighted)
        values = values * ((beta @ beta) / (beta @ left) if beta @ left else 0.0)
    program = (WeightedKatz if weighted else Katz)(given.alpha, given.tol, beta)
    program.verify(graph, replace(answer, values=values))


def verify_eigenvector_centrality(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` if a call that converged has found no eigenvector, or one with negative elements.

    By the theorem of Perron and Frobenius, an eigenvector without them has the largest eigenvalue of the part of the
    graph where it is not 0.
    """
    values = values_of("eigenvector_centrality", graph, answer)
    refute("eigenvector_centrality", graph, ~(values >= 0), lambda v: f"has {values[v]}, not 0 or more")
    require(bool(np.isclose(np.linalg.norm(values), 1)), "eigenvector_centrality", "the norm is not 1")
    weighted = given.weight and graph.edge_dtype is not None
    (WeightedEigenvector if weighted else Eigenvector)(given.tol).verify(graph, answer)


def verify_hits(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` if a call that converged has hubs that are not those of its authorities."""
    values = values_of("hits", graph, answer)
    hubs, authorities = values["hub"], values["authority"]
    weighted = given.weight and graph.edge_dtype is not None
    for field in hubs, authorities:
        refute("hits", graph, ~(field >= 0), lambda v: f"has {values[v]}, not 0 or more")
        size = field.sum() if given.normalized else field.max(initial=0)
        require(not field.any() or bool(np.isclose(size, 1)), "hits", "the scores have another sum, or largest score")
    some_weight = graph.m > 0 and (not weighted or graph._arrays.value_limits.most > 0)
    require(hubs.any() == authorities.any() == some_weight, "hits", "all scores are 0, or those of one kind")
    if answer.stats.converged:
        for one, image in (authorities, in_sums(graph, hubs, weighted)), (hubs, out_sums(graph, authorities, weighted)):
            off = float(np.linalg.norm(unit(one) - unit(image)))
            require(off <= SETTLED * given.tol + CLOSE, "hits", f"hubs and authorities differ by {off:.3g}")


def out_sums(graph: Graph, values: Array, weighted: bool) -> Array:
    """For each vertex the sum of its out-neighbours' values."""
    return in_sums(graph._reversed(valued=weighted), values, weighted)


def verify_closeness_centrality(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` if a value is another than distances give; of many vertices, it searches to some."""

    def closeness(distances: Array) -> float:
        reached = np.isfinite(distances)
        total, others = float(distances[reached].sum()), np.count_nonzero(reached) - 1
        share = others / (graph.n - 1) if given.wf_improved and graph.n > 1 else 1.0
        return share * others / total if total else 0.0

    places, found = vertices_of("closeness_centrality", graph, answer, given.u)
    edges, share = Lengths.of(graph, given.distance), CLOSE
    if given.u is not None and edges.lengths.dtype.kind == "f":  # then the function adds in the type of the lengths
        share = max(share, edges.steps_to(int(places[0])) * float(np.finfo(edges.lengths.dtype).eps))
    require_by_searches("closeness_centrality", graph, places, found, edges, closeness, share)


def verify_harmonic_centrality(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` if a value is another than distances give; of many vertices, it searches to some."""
    sources = slice(None) if given.sources is None else np.unique(graph.ids.indices(given.sources))

    def harmonic(distances: Array) -> float:
        some = distances[sources]
        return float((1 / some[some > 0]).sum())

    places, found = vertices_of("harmonic_centrality", graph, answer, None)
    require_by_searches("harmonic_centrality", graph, places, found, Lengths.of(graph, given.distance), harmonic)


def vertices_of(function: str, graph: Graph, answer: Any, u: Any) -> tuple[Array, Array]:
    """The vertices to search to, at most `SEARCHED` of them, evenly chosen, and their values in the answer."""
    if u is not None:
        return np.array([graph.ids.index(u)]), np.array([answer])
    places = np.linspace(0, graph.n - 1, min(graph.n, SEARCHED)).astype(np.int64)
    return places, values_of(function, graph, answer)[places]


# wide: an answer, and what makes each of its values.
def require_by_searches(
    function: str, graph: Graph, places: Array, found: Array, edges: Lengths, value: Callable[[Array], float],
    share: float = CLOSE,
) -> None:  # fmt: skip
    """Raise `VerificationError` unless each value is, up to a `share` of it, that of the distances to its vertex."""
    expected, wrong = np.zeros(graph.n), np.zeros(graph.n, bool)
    for place, number in zip(places.tolist(), found.tolist(), strict=True):
        expected[place] = value(edges.distances_to(place))
        wrong[place] = not np.isclose(number, expected[place], rtol=share, atol=0)
    refute(function, graph, wrong, lambda v: f"has another value than {expected[v]}, which its distances give")


def verify_betweenness_centrality(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` if a centrality is another than the shortest paths from all sources give.

    It counts the paths anew, from each source; so it takes O(k (m + n log n)) time.
    """
    if given.k is not None and given.seed is None:
        raise ParameterError("check of betweenness_centrality: give seed, by which the call chose its sources")
    values, scores = values_of("betweenness_centrality", graph, answer), np.zeros(graph.n)
    sources, edges = chosen_sources(graph.n, given.k, generator(given.seed)), Lengths.of(graph, given.weight)
    for source in sources.tolist():
        scores += edges.dependencies(source, given.endpoints)
    scale(scores, sources, directed=graph.directed, normalized=given.normalized, endpoints=given.endpoints)
    wrong = ~np.isclose(values, scores, rtol=CLOSE, atol=CLOSE, equal_nan=True)
    refute("betweenness_centrality", graph, wrong, lambda v: f"has {values[v]}, not {scores[v]}")
