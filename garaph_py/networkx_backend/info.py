"""What NetworkX reads of this backend whenever it is imported. It imports nothing."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FUNCTIONS = (
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "ancestors",
    "average_shortest_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bfs_layers",
    "bidirectional_shortest_path",
    "center",
    "connected_components",
    "degree_centrality",
    "descendants",
    "descendants_at_distance",
    "diameter",
    "dijkstra_path",
    "dijkstra_path_length",
    "eccentricity",
    "has_path",
    "in_degree_centrality",
    "is_connected",
    "is_isolate",
    "is_weakly_connected",
    "isolates",
    "multi_source_dijkstra_path_length",
    "node_connected_component",
    "number_connected_components",
    "number_of_isolates",
    "number_weakly_connected_components",
    "out_degree_centrality",
    "pagerank",
    "periphery",
    "radius",
    "shortest_path",
    "shortest_path_length",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
    "weakly_connected_components",
)


def get_info() -> "dict[str, Any]":
    """The backend's name, its pages, and the functions that it has."""
    return {
        "backend_name": "garaph",
        "project": "garaph_py",
        "package": "garaph_py",
        "short_summary": "Vertex programs on all cores and a GPU, over graphs in memory or on disk.",
        "functions": {name: {} for name in FUNCTIONS},
    }
