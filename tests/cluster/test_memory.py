import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import memory
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.memory import LIMIT_SHARE, PROCESS, check_memory, most_mirrors, part_bytes
from garaph_py.errors import ClusterError
from garaph_py.graph.part import part_of
from garaph_py.program import bind
from tests.support.stored_graphs import opened


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(14, 16, seed=1)


@pytest.fixture(scope="module")
def bound(graph):
    return bind(gp.apps.PageRank(), graph)


def test_a_part_takes_more_than_its_arrays(graph, bound):
    cuts = cut(graph, 3)
    for part, needed in enumerate(part_bytes(graph, cuts, bound)):
        arrays = part_of(graph, cuts, part).arrays()
        edges = arrays["sources"].nbytes
        assert sum(array.nbytes for array in arrays.values()) + edges < needed
        assert needed < 2 * edges + 110 * len(arrays["numbers"])  # 108 a vertex


def test_enough_memory_or_no_limit(graph, bound):
    cuts = cut(graph, 2)
    needed = int(part_bytes(graph, cuts, bound).max())
    check_memory(graph, cuts, bound, [0, 0])
    check_memory(graph, cuts, bound, [int((needed + PROCESS) / LIMIT_SHARE) + 2] * 2)


def test_too_little_memory_says_how_many_workers_would_do(graph, bound):
    limit = int((part_bytes(graph, cut(graph, 8), bound).max() + PROCESS) / LIMIT_SHARE) + 2
    with pytest.raises(ClusterError, match=r"a part takes .*; (\d+) workers like these would do") as caught:
        check_memory(graph, cut(graph, 2), bound, [limit, 0, limit])
    number = int(str(caught.value).split("; ")[1].split()[0])
    check_memory(graph, cut(graph, number), bound, [limit] * number)


def test_no_number_of_workers_would_do(graph, bound):
    with pytest.raises(ClusterError, match="no number of workers like these would do"):
        check_memory(graph, cut(graph, 2), bound, [PROCESS // 2])


def test_edges_of_a_graph_on_disk_may_stay_there(graph, tmp_path, monkeypatch):
    """What must fit is the vertices; the client reads no edges to see that."""
    gp.save(graph, tmp_path / "g")
    stored = opened(tmp_path / "g", 1 << 18)
    bound = bind(gp.apps.PageRank(), stored)
    cuts = cut(stored, 2)
    monkeypatch.setattr(memory, "SORTING", 0)
    monkeypatch.setattr(memory, "READING", 0)
    monkeypatch.setattr(memory, "PROCESS", 0)
    needed = int(part_bytes(stored, cuts, bound, most_mirrors(stored, cuts)).max())
    assert needed < part_bytes(graph, cuts, bound).max() * 0.9
    with monkeypatch.context() as no_edges:
        no_edges.setattr(memory, "mirror_counts", None)
        check_memory(stored, cuts, bound, [int(needed / LIMIT_SHARE) + 2])
    with pytest.raises(ClusterError, match=r"a part takes .* in a worker, even with its edges on disk, which may use"):
        check_memory(stored, cuts, bound, [needed // 2])


def test_bytes_of_all_parts_are_near_those_of_their_edges(graph, bound):
    total = part_bytes(graph, cut(graph, 4), bound).sum()
    assert 8 * graph.m < total
    assert np.all(part_bytes(graph, cut(graph, 1), bound) <= total)


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
    assert (more > 2 * 8 * graph.n).all()
