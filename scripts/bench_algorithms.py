"""How fast are the algorithms? Times each function of `garaph_py.algorithms`, and NetworkX on a smaller graph.

    python scripts/bench_algorithms.py [--scale 20] [--small 14] [--rounds 3] [--only core_number,triangles]

The graphs are R-MAT, by `garaph_py.rmat`; functions that need an undirected graph get the symmetrized one, and those
that need one without cycles get each edge from its lesser vertex to the larger. Times are of whole calls, after a first
one that compiles: the least and the median of the rounds. The rounds go through all functions in turn. NetworkX is
called once on the smaller graph, in memory, in its own form without parallel edges and self-loops; ours is on the same
graph. Both graphs give betweenness `FEW` sources at random, some of which have no edges; harmonic centrality gets
the `MANY` vertices with the most edges as sources, and closeness is that of the first of these.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import garaph_py as gp

FEW = 16
"""Sources of betweenness."""
MANY = 64
"""Sources of harmonic centrality."""

Function = Callable[..., Any]


class Case(NamedTuple):
    """What is timed: a kind of graph, our function, and NetworkX's. With `hubs` both also take the `MANY` vertices."""

    kind: str
    ours: Function
    theirs: Function
    hubs: bool = False


ALPHA = 1e-4
"""Of Katz centrality: below 1 / the largest eigenvalue of either graph."""

CASES = {
    "hits": Case("directed", gp.algorithms.hits, nx.hits),
    "eigenvector_centrality": Case("undirected", gp.algorithms.eigenvector_centrality, nx.eigenvector_centrality),
    "katz_centrality": Case(
        "directed",
        lambda g: gp.algorithms.katz_centrality(g, alpha=ALPHA),
        lambda g: nx.katz_centrality(g, alpha=ALPHA),
    ),
    "core_number": Case("undirected", gp.algorithms.core_number, nx.core_number),
    "k_core": Case("undirected", gp.algorithms.k_core, nx.k_core),
    "triangles": Case("undirected", gp.algorithms.triangles, nx.triangles),
    "clustering": Case("undirected", gp.algorithms.clustering, nx.clustering),
    "transitivity": Case("undirected", gp.algorithms.transitivity, nx.transitivity),
    "strongly_connected_components": Case(
        "directed", gp.algorithms.strongly_connected_components, lambda g: list(nx.strongly_connected_components(g))
    ),
    "weakly_connected_components": Case(
        "directed", gp.algorithms.weakly_connected_components, lambda g: list(nx.weakly_connected_components(g))
    ),
    "maximal_independent_set": Case(
        "undirected",
        lambda g: gp.algorithms.maximal_independent_set(g, seed=1),
        lambda g: nx.maximal_independent_set(g, seed=1),
    ),
    "label_propagation_communities": Case(
        "undirected",
        gp.algorithms.label_propagation_communities,
        lambda g: list(nx.community.label_propagation_communities(g)),
    ),
    "topological_generations": Case(
        "acyclic", gp.algorithms.topological_generations, lambda g: list(nx.topological_generations(g))
    ),
    "betweenness_centrality": Case(
        "undirected",
        lambda g: gp.algorithms.betweenness_centrality(g, k=FEW, seed=1),
        lambda g: nx.betweenness_centrality(g, k=FEW, seed=1),
    ),
    "closeness_centrality of one vertex": Case(
        "undirected",
        lambda g, hubs: gp.algorithms.closeness_centrality(g, u=hubs[0]),
        lambda g, hubs: nx.closeness_centrality(g, u=hubs[0]),
        hubs=True,
    ),
    "harmonic_centrality": Case(
        "undirected",
        lambda g, hubs: gp.algorithms.harmonic_centrality(g, sources=hubs),
        lambda g, hubs: nx.harmonic_centrality(g, sources=hubs),
        hubs=True,
    ),
}


def graphs(scale: int) -> dict[str, gp.Graph]:
    """The graph of each kind."""
    directed = gp.rmat(scale)
    edges = directed.edges()
    sources, targets = (edges[name].to_numpy() for name in ("source", "target"))
    kept = sources != targets
    low, high = np.minimum(sources, targets)[kept], np.maximum(sources, targets)[kept]
    acyclic = gp.from_edges(low, high, vertices=np.arange(directed.n))
    return {"directed": directed, "undirected": directed.symmetrized(), "acyclic": acyclic}


def networkx_of(graph: gp.Graph) -> Any:
    """The same graph of NetworkX, without parallel edges and self-loops."""
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(graph.ids)
    pairs = graph.edges().to_pydict()
    made.add_edges_from((u, v) for u, v in zip(pairs["source"], pairs["target"], strict=True) if u != v)
    return made


def hubs_of(graph: gp.Graph) -> list[int]:
    """The `MANY` vertices with the most edges, the first of them first."""
    found: list[int] = graph.ids[np.argsort(-graph.out_degrees, kind="stable")[:MANY]].tolist()
    return found


def seconds(function: Function, *arguments: Any) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--small", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CASES))
    options = parser.parse_args()
    chosen = {name: CASES[name] for name in options.only.split(",")}
    small, large = graphs(options.small), graphs(options.scale)
    theirs = {kind: networkx_of(graph) for kind, graph in small.items()}

    def arguments(case: Case, graph: dict[str, gp.Graph]) -> list[Any]:
        return [hubs_of(graph[case.kind])] * case.hubs

    for case in chosen.values():
        case.ours(small[case.kind], *arguments(case, small))  # compiles
    times: dict[str, list[list[float]]] = {name: [[], []] for name in chosen}
    for _ in range(options.rounds):
        for name, case in chosen.items():
            for graph, list_of in zip((small, large), times[name], strict=True):
                list_of.append(seconds(case.ours, graph[case.kind], *arguments(case, graph)))
    print(f"large: {large['directed']}; {large['undirected']}")
    print(f"small: {small['directed']}; {small['undirected']}")
    print("| function | large: least, median (s) | small: least (ms) | NetworkX, small (ms) | ratio |")
    print("|---|---|---|---|---|")
    for name, case in chosen.items():
        ours_small, ours_large = times[name]
        slow = seconds(case.theirs, theirs[case.kind], *arguments(case, small))
        print(
            f"| `{name}` | {min(ours_large):.3g}, {statistics.median(ours_large):.3g} | {min(ours_small) * 1e3:.3g} "
            f"| {slow * 1e3:.4g} | {slow / min(ours_small):.3g} |"
        )


if __name__ == "__main__":
    main()
