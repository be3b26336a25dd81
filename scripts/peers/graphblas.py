"""graphblas-algorithms, over python-graphblas, on as many threads as it is given."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import graphblas as gb
import graphblas_algorithms as ga
import numpy as np
from graphblas_algorithms import algorithms

from .edges import ALPHA, CORE, Call, Edges, numbers

VERSION = version("graphblas-algorithms")
gb.ss.config["nthreads"] = 2


def load(edges: Edges) -> Any:
    sources, targets = edges.sources.astype(np.uint64), edges.targets.astype(np.uint64)
    if not edges.directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    matrix = gb.Matrix.from_coo(sources, targets, 1.0, nrows=edges.n, ncols=edges.n)
    return (ga.DiGraph if edges.directed else ga.Graph)(matrix)


def vector(function: Any, **given: Any) -> Call:
    """A function whose answer is a vector."""
    return Call(lambda graph, _: fresh(function, graph, **given), lambda found: found.to_dense(0).astype(np.float64))


def single(function: Any) -> Call:
    return Call(lambda graph, _: fresh(function, graph), lambda found: numbers(found))


def fresh(function: Any, graph: Any, **given: Any) -> Any:
    """Call the function without what earlier calls have kept of the graph."""
    graph._cache.clear()
    return function(graph, **given)


CALLS = {
    "k_truss": Call(lambda graph, _: fresh(algorithms.k_truss, graph, k=CORE), lambda found: numbers(found._A.nrows)),
    "triangles": vector(algorithms.triangles),
    "clustering": vector(algorithms.clustering),
    "average_clustering": single(algorithms.average_clustering),
    "transitivity": single(algorithms.transitivity),
    "is_weakly_connected": single(algorithms.is_weakly_connected),
    "katz_centrality": vector(algorithms.katz_centrality, alpha=ALPHA, tol=1e-9),
    "eigenvector_centrality": vector(algorithms.eigenvector_centrality, tol=1e-9, max_iter=1000),
    "hits": Call(
        lambda graph, _: fresh(algorithms.hits, graph, tol=1e-8 / len(graph)),
        lambda found: found[1].to_dense(0).astype(np.float64),
    ),
    "shortest_path_tree": Call(
        lambda graph, given: algorithms.single_source_shortest_path_length(graph, given.hubs[0]),
        lambda found: found.to_dense(-1).astype(np.float64),
    ),
}
"""Of `shortest_path_tree` it has the distances only, as it has from NetworKit and NetworkX."""
