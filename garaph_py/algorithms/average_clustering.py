"""The average clustering coefficient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import GraphError
from ..graph import Graph
from ..system.arguments import explained
from .clustering import clustering
from .in_memory import check_in_memory, check_vertices


@explained
def average_clustering(
    graph: Graph, *, nodes: Any = None, weight: bool = False, count_zeros: bool = True, threads: int | None = None
) -> float:
    """The mean of the clustering coefficients of all vertices, or of some.

    Parameters
    ----------
    graph : Graph
        Directed or undirected. Edges count as in `clustering`.
    nodes : iterable, optional
        The vertices over which to take the mean, each once; by default all.
    weight : bool
        Whether edge values are weights, as in `clustering`.
    count_zeros : bool
        Whether vertices whose coefficient is 0 count.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    float

    Raises
    ------
    GraphError
        As in `clustering`, or if there are no coefficients to average.
    UnknownVertexError
        If the graph lacks one of the `nodes`.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores; `triangles` says what that costs.

    References
    ----------
    .. [1] Kaiser, M., "Mean clustering coefficients: the role of isolated nodes and leafs on clustering measures for
       small-world networks", New Journal of Physics 10, 2008.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.average_clustering(graph)
    0.583...
    """
    check_in_memory(graph, "average_clustering")
    check_vertices(graph, "average_clustering")
    chosen = None if nodes is None else graph.ids.take(graph.ids.indices(nodes))
    found: Any = clustering(graph, nodes=chosen, weight=weight, threads=threads)
    values = found.values if nodes is None else np.array(list(found.values()))
    if not len(values):
        raise GraphError("average_clustering: nodes is empty; give some")
    if not count_zeros:
        values = values[values != 0]
        if not len(values):
            raise GraphError(
                "average_clustering: no vertex has a coefficient other than 0; leave count_zeros=False out"
            )
    return float(values.mean())
