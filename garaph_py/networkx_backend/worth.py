"""Whether a call is worth the conversion of its graph."""

from __future__ import annotations

from typing import Any

import networkx as nx

from .graph import BackendGraph

CACHED_EDGES = 5_000
"""The least edges of a graph that NetworkX has converted and cached. With the conversion done, functions take a sixth
to three fifths of NetworkX's time at 4,773 edges, and some are slower at 2,137 (two cores of a Zen 3, seven functions,
2026-11-30)."""
ITERATED_EDGES = 10_000
"""The least edges for functions that take NetworkX longer than a conversion: at 10,528 edges, PageRank is twice as fast
as in NetworkX, conversion included, and shortest paths by weight are 1.2 times as fast (as above)."""
SWEPT_EDGES = 1_000
"""The least edges for a search from every node, next to which a conversion is nothing."""
PASS_EDGES = 20_000
"""The least edges for functions that go over the edges once, as a conversion does. The first call of
`connected_components` takes four fifths of NetworkX's time at 10,528 edges, half of it at 22,693, and a fifth at
101,900 (as above)."""

SWEEPS = frozenset({
    "all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length", "all_pairs_dijkstra",
    "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length", "all_pairs_shortest_path",
    "all_pairs_shortest_path_length", "average_shortest_path_length", "betweenness_centrality", "center",
    "closeness_centrality", "diameter", "eccentricity", "global_efficiency", "harmonic_centrality", "periphery",
    "radius", "wiener_index",
})  # fmt: skip
"""Functions that search from every node."""
ITERATED = frozenset({
    "average_clustering", "bellman_ford_path", "bellman_ford_path_length", "clustering", "core_number",
    "dijkstra_predecessor_and_distance", "eigenvector_centrality", "hits", "katz_centrality",
    "label_propagation_communities", "maximal_independent_set", "multi_source_dijkstra", "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length", "pagerank", "single_source_bellman_ford", "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length", "single_source_dijkstra", "single_source_dijkstra_path",
    "single_source_dijkstra_path_length", "transitivity", "triangles",
})  # fmt: skip
"""Functions that take NetworkX longer than a conversion."""
LOOKED_UP = frozenset({
    "bidirectional_shortest_path", "degree_centrality", "descendants_at_distance", "dijkstra_path",
    "dijkstra_path_length", "has_path", "in_degree_centrality", "is_isolate",
    "is_strongly_connected", "isolates", "node_connected_component", "number_of_isolates", "out_degree_centrality",
})  # fmt: skip
"""Functions for which NetworkX often looks at few of the edges. No conversion pays for them: of a graph that is not
strongly connected, the first component that it finds is often small."""
LIMITED = {
    "average_clustering": ("nodes",), "clustering": ("nodes",), "shortest_path": ("source", "target"),
    "shortest_path_length": ("source", "target"), "triangles": ("nodes",),
}  # fmt: skip
"""Functions for which it does so too if all of these arguments are given, the first after the graph. A path between two
nodes of 101,900 edges takes it 0.05 ms, and a conversion 3 ms."""


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a function is likely to be done sooner here, conversion included: True, or why not."""
    graph = args[0] if args else kwargs["G"]
    edges = graph.number_of_edges()
    if name in SWEEPS:
        least = SWEPT_EDGES
    elif is_cached(graph):
        least = CACHED_EDGES
    elif name in LOOKED_UP or is_limited(name, args, kwargs):
        return "it is done sooner than the graph is converted"
    else:
        least = ITERATED_EDGES if name in ITERATED else PASS_EDGES
    if edges >= least:
        return True
    return f"the graph has {edges:,} edges, and garaph is worth its conversion from {least:,} on"


def is_limited(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the arguments limit the function to few of the edges, as `LIMITED` says."""
    limits = LIMITED.get(name, ())
    given = dict(zip(("G", *limits), args, strict=False)) | kwargs
    return bool(limits) and all(given.get(limit) is not None for limit in limits)


def is_cached(graph: Any) -> bool:
    """Whether NetworkX has a converted graph."""
    cache = getattr(graph, "__networkx_cache__", None) or {}
    kept = cache.get("backends", {}).get("garaph", {}).values()  # also notes of conversions that have failed
    return nx.config.cache_converted_graphs and any(isinstance(each, BackendGraph) for each in kept)
