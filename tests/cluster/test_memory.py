import numpy as np

import garaph_py as gp
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS, part_bytes, rooms
from garaph_py.cluster.mirrors import mirror_counts
from garaph_py.graph.part import part_of
from garaph_py.program import bind


def test_a_part_takes_more_than_its_arrays(graph, bound):
    cuts = cut(graph, 3)
    for part, needed in enumerate(part_bytes(graph, cuts, bound)):
        arrays = part_of(graph, cuts, part).arrays()
        edges = arrays["sources"].nbytes
        assert sum(array.nbytes for array in arrays.values()) + edges < needed
        assert needed < 2 * edges + 110 * len(arrays["numbers"])  # 108 a vertex


def test_bytes_of_all_parts_are_near_those_of_their_edges(graph, bound):
    total = part_bytes(graph, cut(graph, 4), bound).sum()
    assert 8 * graph.m < total
    assert np.all(part_bytes(graph, cut(graph, 1), bound) <= total)


def test_what_workers_have_for_parts():
    limit = int((PROCESS + 1000) / LIMIT_SHARE) + 1
    assert rooms([limit, 0, PROCESS]).tolist() == [1000, np.inf, 0]


class Weighed(gp.VertexProgram):
    weight: gp.PerVertex = 1.0

    value = np.float64
    sum = gp.add

    def init(self, weight):
        return weight

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc


def test_parameters_with_a_number_for_each_vertex_count(graph, bound):
    given, cuts = bind(Weighed(np.arange(float(graph.n))), graph), cut(graph, 3)
    more = part_bytes(graph, cuts, given) - part_bytes(graph, cuts, bound)
    vertices = np.diff(cuts.vertices) + mirror_counts(graph, cuts)
    assert (more == 2 * 8 * vertices).all()
