"""Connected components."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum
from .checks import components


class ConnectedComponents(VertexProgram):
    """Connected components: ``c_v = min(c_v, min over neighbours u of c_u)``, from ``c_v = v``.

    Reports for each vertex the one with the least internal id in its component. On directed input these are the weak
    components: run it on ``graph.symmetrized()``.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani, "Learning from labeled and unlabeled data with label propagation", 2002.
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

    def verify(self, graph, result):
        verify_components(graph, result.values)


def verify_components(graph, label):
    """Raise `VerificationError` unless labels (internal ids) partition the vertices into connected components.

    No edge joins two labels, every label is the least of the vertices that bear it, and there are as many labels as
    components: so no label covers two.
    """
    for edges in listed(graph, values=False):
        if (label[edges.sources] != label[edges.targets]).any():
            raise VerificationError("ConnectedComponents: an edge joins two components")
    if (label < 0).any() or (label > np.arange(graph.n)).any() or (label[label] != label).any():
        raise VerificationError("ConnectedComponents: a label is not the least vertex of its component")
    count = components(graph)
    if count != len(np.unique(label)):
        raise VerificationError(f"ConnectedComponents: {len(np.unique(label))} labels for {count} components")
