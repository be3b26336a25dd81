"""Algorithms, one per file, named as in NetworkX. Each takes a `Graph` and states its formula, its cost and its source.

Some run a vertex program by `garaph_py.run`. Others need more of a vertex's neighbours than a sum, or the graph that
others have left behind; they have kernels of their own, which run in memory, on all cores.
"""

from typing import Any

from .. import apps
from ..errors import did_you_mean
from .average_clustering import average_clustering
from .betweenness_centrality import betweenness_centrality
from .closeness_centrality import closeness_centrality
from .clustering import clustering
from .core_number import core_number
from .eigenvector_centrality import eigenvector_centrality
from .h_index import h_index
from .harmonic_centrality import harmonic_centrality
from .hits import hits
from .is_directed_acyclic_graph import is_directed_acyclic_graph
from .is_strongly_connected import is_strongly_connected
from .is_weakly_connected import is_weakly_connected
from .k_core import k_core
from .k_corona import k_corona
from .k_crust import k_crust
from .k_shell import k_shell
from .k_truss import k_truss
from .katz_centrality import katz_centrality
from .label_propagation_communities import label_propagation_communities
from .maximal_independent_set import maximal_independent_set
from .multi_source_dijkstra_path_length import multi_source_dijkstra_path_length
from .number_strongly_connected_components import number_strongly_connected_components
from .number_weakly_connected_components import number_weakly_connected_components
from .random_walks import random_walks
from .shortest_path import shortest_path
from .shortest_path_tree import shortest_path_tree
from .single_source_shortest_path import single_source_shortest_path
from .strongly_connected_components import strongly_connected_components
from .topological_generations import topological_generations
from .transitivity import transitivity
from .triangles import triangles
from .weakly_connected_components import weakly_connected_components

__all__ = [
    "average_clustering",
    "betweenness_centrality",
    "closeness_centrality",
    "clustering",
    "core_number",
    "eigenvector_centrality",
    "h_index",
    "harmonic_centrality",
    "hits",
    "is_directed_acyclic_graph",
    "is_strongly_connected",
    "is_weakly_connected",
    "k_core",
    "k_corona",
    "k_crust",
    "k_shell",
    "k_truss",
    "katz_centrality",
    "label_propagation_communities",
    "maximal_independent_set",
    "multi_source_dijkstra_path_length",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "random_walks",
    "shortest_path",
    "shortest_path_tree",
    "single_source_shortest_path",
    "strongly_connected_components",
    "topological_generations",
    "transitivity",
    "triangles",
    "weakly_connected_components",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    programs = {program.lower(): program for program in apps.__all__}
    program = programs.get(name.replace("_", "").lower())
    advice = f"write gp.apps.{program}" if program else did_you_mean(name, __all__, "it has " + ", ".join(__all__))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {advice}")
