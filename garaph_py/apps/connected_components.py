"""Connected components."""

from __future__ import annotations

import numpy as np

from ..errors import GraphError, VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum
from .checks import components


class ConnectedComponents(VertexProgram):
    """Connected components: ``c_v = min(c_v, min over neighbours u of c_u)``, starting from ``c_v = v``.

    The graph must be undirected. For the weakly connected components of a directed graph, call
    `garaph_py.algorithms.weakly_connected_components`, or run it on ``graph.symmetrized()``.

    Returns
    -------
    value : vertex
        The component: the vertex with the smallest internal id in the same component. ``result.column()`` and tables
        have the user's id of that vertex; ``len(set(result.column()))`` is the number of components.

    References
    ----------
    .. [1] Zhu, X., Z. Ghahramani, "Learning from labeled and unlabeled data with label propagation", 2002.

    Examples
    --------
    >>> graph = gp.from_edges([0, 3], [1, 4], vertices=range(5), directed=False)
    >>> gp.run(gp.apps.ConnectedComponents(), graph).column()
    array([0, 0, 2, 3, 3])
    """

    gathers = "both"
    value = np.uint32
    sum = minimum
    monotone = True
    reports = VertexId

    def init(self, id):
        return id

    def gather(self, src):
        return src

    def result(self, value):
        return value

    def check_graph(self, graph):
        if graph.directed:
            raise GraphError(
                "ConnectedComponents gathers over both directions, but the graph is directed; call "
                "gp.algorithms.weakly_connected_components(graph), or run it on graph.symmetrized(), or add "
                "--symmetrize to `garaph run` or `garaph import`"
            )

    def verify(self, graph, result):
        verify_components(graph, result.values)


def verify_components(graph, label):
    """Raise `VerificationError` unless the labels (internal ids) are the connected components.

    It checks three properties: both ends of every edge have the same label; every label is the smallest vertex that
    has it; and there are as many labels as components, so that no label covers two components.
    """
    for edges in listed(graph, values=False):
        if (label[edges.sources] != label[edges.targets]).any():
            raise VerificationError("ConnectedComponents: an edge joins two components")
    if (label < 0).any() or (label > np.arange(graph.n)).any() or (label[label] != label).any():
        raise VerificationError("ConnectedComponents: a label is not the least vertex of its component")
    count = components(graph)
    if count != len(np.unique(label)):
        raise VerificationError(f"ConnectedComponents: {len(np.unique(label))} labels for {count} components")
