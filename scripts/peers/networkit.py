"""NetworKit, on as many threads as it is given."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import networkit as nk
import numpy as np

from .edges import ALPHA, Arguments, Call, Edges, numbers, places_of

VERSION = version("networkit")
nk.engineering.setNumberOfThreads(2)


def load(edges: Edges) -> Any:
    ends = edges.sources.astype(np.uint64), edges.targets.astype(np.uint64)
    graph = nk.GraphFromCoo(ends, n=edges.n, directed=edges.directed)
    graph.sortEdges()
    return graph


def scores(make: Any) -> Call:
    """An algorithm that has a score for each vertex."""
    return Call(lambda graph, _: make(graph).run().scores(), numbers)


def parts(make: Any) -> Call:
    """An algorithm that divides the vertices."""
    return Call(lambda graph, _: make(graph).run().getPartition(), lambda found: numbers(found.getVector()))


def count(make: Any) -> Call:
    return Call(lambda graph, _: make(graph).run().numberOfComponents(), numbers)


def is_one(make: Any) -> Call:
    return Call(lambda graph, _: make(graph).run().numberOfComponents() == 1, numbers)


def main_core(graph: Any, _: Arguments) -> Any:
    found = nk.centrality.CoreDecomposition(graph).run()
    cores = np.array(found.scores())
    return nk.graphtools.subgraphFromNodes(graph, np.flatnonzero(cores == cores.max()).tolist())


def reached(search: Any) -> Any:
    """The distances of all vertices; -1 for those that have none."""
    distances = numbers(search.getDistances())
    distances[distances > 1e300] = -1
    return distances


strong, weak = nk.components.StronglyConnectedComponents, nk.components.WeaklyConnectedComponents
coefficient = nk.globals.ClusteringCoefficient

CALLS = {
    "core_number": scores(nk.centrality.CoreDecomposition),
    "k_core": Call(main_core, lambda core: np.sort(list(core.iterNodes()))),
    "clustering": scores(lambda graph: nk.centrality.LocalClusteringCoefficient(graph, turbo=True)),
    "average_clustering": Call(lambda graph, _: coefficient.sequentialAvgLocal(graph), numbers),
    "transitivity": Call(lambda graph, _: coefficient.exactGlobal(graph), numbers),
    "strongly_connected_components": parts(strong),
    "is_strongly_connected": is_one(strong),
    "number_strongly_connected_components": count(strong),
    "weakly_connected_components": parts(weak),
    "is_weakly_connected": is_one(weak),
    "number_weakly_connected_components": count(weak),
    "katz_centrality": scores(lambda graph: nk.centrality.KatzCentrality(graph, ALPHA, 1.0, 1e-9)),
    "eigenvector_centrality": scores(lambda graph: nk.centrality.EigenvectorCentrality(graph, 1e-9)),
    "maximal_independent_set": Call(lambda graph, _: nk.independentset.Luby().run(graph), numbers),
    "label_propagation_communities": parts(nk.community.PLP),
    "topological_generations": Call(lambda graph, _: nk.graphtools.topologicalSort(graph), places_of),
    "betweenness_centrality": Call(
        lambda graph, given: nk.centrality.EstimateBetweenness(graph, len(given.sources), False, True).run().scores(),
        numbers,
    ),
    "shortest_path_tree": Call(lambda graph, given: nk.distance.BFS(graph, given.hubs[0]).run(), reached),
    "shortest_path": Call(
        lambda graph, given: nk.distance.BidirectionalBFS(graph, *given.hubs[:2]).run().getPath(),
        lambda between: numbers(len(between) + 2),
    ),
    "single_source_shortest_path": Call(
        lambda graph, given: (nk.distance.BFS(graph, given.hubs[0], True).run(), given.hubs[1:]),
        lambda found: numbers(sum(len(found[0].getPath(hub)) for hub in found[1])),
    ),
}
