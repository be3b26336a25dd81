"""Centrality of nodes by distances, by shortest paths, and by that of their neighbours."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from .. import algorithms
from ..algorithms.betweenness_centrality import betweenness_from
from ..errors import NumberError, ParameterError
from ..graph import Graph
from ..output.result import Result
from ..pages.passes import out_weights
from .cluster import with_whole_zeros
from .functions import implements
from .graph import BackendGraph, bunch_of, vertex_of
from .weighted import callable_weight, start_of

Array = npt.NDArray[Any]


def callable_distance(distance: Any, **others: Any) -> str | None:
    """Why a function does not run here: programs cannot call a function of Python for each edge."""
    return callable_weight(distance)


def sampled(k: Any, weight: Any, **others: Any) -> str | None:
    """Why `betweenness_centrality` does not run here with these arguments; None if it does."""
    return "k is less than 1" if k is not None and k < 1 else callable_weight(weight)


def unlike_hits(tol: Any, **others: Any) -> str | None:
    """Why `hits` does not run here with these arguments; None if it does."""
    return None if tol > 0 else f"tol is {tol}, and must be above 0"


def first_numbers(nstart: Any, G: BackendGraph, signed: bool = False) -> Array | None:
    """The first values by `nstart`, if there is one.

    Raises
    ------
    NotImplementedError
        If it has other keys than the nodes, or not finite numbers; or, unless they may be `signed`, numbers below 0 or
        nothing else than 0.
    """
    if nstart is None:
        return None
    if set(nstart) != set(G):
        raise NotImplementedError("nstart has other keys than the nodes")
    found = np.array([nstart[node] for node in G], dtype=float)
    if not np.isfinite(found).all() or not (signed or (found.min() >= 0 and found.any())):
        raise NotImplementedError("nstart has numbers below 0, infinite or NaN, or only 0")
    return found


def power_iteration(run: Any, graph: Any, max_iter: int, tol: float, **given: Any) -> Result:
    """The result of an algorithm that iterates; NetworkX's exception if it has not converged."""
    if max_iter < 1 or not tol > 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        result: Result = run(graph, max_iter=max_iter, tol=tol, **given)
    except NumberError as error:  # values have become infinite
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    if not result.stats.converged:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return result


@implements(callable_distance)
def closeness_centrality(G: BackendGraph, u: Any = None, distance: Any = None, wf_improved: bool = True) -> Any:
    """The number of nodes that reach a node, divided by the sum of their distances; of one node, or of each."""
    how: dict[str, Any] = {"distance": distance is not None, "wf_improved": wf_improved}
    if u is None:
        every: Any = algorithms.closeness_centrality(G.weighted(distance), **how)
        return G.keyed(every.values)
    vertex = vertex_of(G, u) if distance is None else start_of(G, u)
    return algorithms.closeness_centrality(G.weighted(distance), u=G.id_of(vertex), **how)


@implements(callable_distance)
def harmonic_centrality(
    G: BackendGraph, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    """The sum of 1 / distance over all nodes, or some sources, that reach a node; of some nodes, or of each."""
    starts = None
    if sources is not None:
        starts = [G.id_of(vertex_of(G, node)) for node in ([sources] if sources in G else bunch_of(G, sources))]
    how: dict[str, Any] = {"distance": distance is not None, "sources": starts}
    found = with_whole_zeros(G.keyed(algorithms.harmonic_centrality(G.weighted(distance), **how).values))
    wanted = G if nbunch is None else [nbunch] if nbunch in G else bunch_of(G, nbunch)
    return {node: found[node] for node in set(wanted)}  # NetworkX's is in the order of a set


@implements()
def global_efficiency(G: BackendGraph) -> float:
    """The mean of 1 / distance over all pairs of two nodes."""
    n = len(G)
    return float(algorithms.harmonic_centrality(G.graph).values.sum()) / (n * (n - 1)) if n > 1 else 0


@implements(sampled)
def betweenness_centrality(
    G: BackendGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """The share of shortest paths that each node is on, over the paths from all nodes, or from `k` of them."""
    sources = np.arange(len(G))
    if k is not None and k != len(G):
        sources = np.array(nx.utils.create_py_random_state(seed).sample(range(len(G)), k), np.int64)
    how = bool(normalized), weight is not None, bool(endpoints)
    return G.keyed(betweenness_from(G.weighted(weight), sources, *how).values)


@implements(callable_weight)
# wide: NetworkX's signature.
def katz_centrality(
    G: BackendGraph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Any = None,
    normalized: bool = True,
    weight: str | None = None,
) -> dict[Any, float]:
    """A node is central if central nodes lead to it."""
    if len(G) == 0:
        return {}
    try:
        own: Any = float(beta)
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        own = np.array([beta[node] for node in G], dtype=float)
    result = power_iteration(
        algorithms.katz_centrality, G.weighted(weight), max_iter, tol, alpha=alpha, beta=own, normalized=normalized,
        nstart=first_numbers(nstart, G, signed=True),
    )  # fmt: skip
    return G.keyed(result.values)


@implements(callable_weight)
def eigenvector_centrality(
    G: BackendGraph, max_iter: int = 100, tol: float = 1.0e-6, nstart: Any = None, weight: str | None = None
) -> dict[Any, float]:
    """A node is central if central nodes lead to it."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if nstart is not None and all(value == 0 for value in nstart.values()):
        raise nx.NetworkXError("initial vector cannot have all zero values")
    first = first_numbers(nstart, G)
    found = power_iteration(algorithms.eigenvector_centrality, G.weighted(weight), max_iter, tol, nstart=first)
    return G.keyed(found.values)


@implements(unlike_hits)
def hits(
    G: BackendGraph, max_iter: int = 100, tol: float = 1.0e-8, nstart: Any = None, normalized: bool = True
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Hubs and authorities: good hubs lead to good authorities."""
    if len(G) == 0:
        return {}, {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    graph, first = G.weighted("weight"), first_numbers(nstart, G)
    try:
        result = algorithms.hits(graph, max_iter=max_iter, tol=tol, nstart=first)
    except ParameterError as error:  # no edge leads where `nstart` is above 0
        raise NotImplementedError(str(error)) from None
    if not result.stats.converged:
        raise NotImplementedError(f"hubs have not converged after {max_iter} iterations")
    hubs, authorities = result.values["hub"], result.values["authority"]
    if not normalized:
        hubs, authorities = unnormalized(graph, hubs, authorities)
    return G.keyed(hubs), G.keyed(authorities)


def unnormalized(graph: Graph, hubs: Array, authorities: Array) -> tuple[Array, Array]:
    """Hubs and authorities scaled as NetworkX leaves them: the vector of authorities has length 1, and a hub is the sum
    of the authorities over its out-edges.

    Scaled to length 1, both are singular vectors, so the sums of hubs over in-edges are the authorities times the
    singular value. Hence that value is the sum of all hubs, each times the weight of its out-edges, divided by the sum
    of all authorities.
    """
    if not hubs.any():
        return hubs, authorities
    hubs, authorities = hubs / np.linalg.norm(hubs), authorities / np.linalg.norm(authorities)
    weights = graph.out_degrees if graph.edge_dtype is None else out_weights(graph)
    return hubs * (hubs @ weights / authorities.sum()), authorities
