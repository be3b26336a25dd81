"""Programs that gather over out-edges: the same as over the reversed graph, in memory, packed and on disk."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError
from tests.support import twins
from tests.support.stored_graphs import opened


class Ahead(gp.VertexProgram):
    """The sum over out-neighbours of their ids, times the edge value."""

    value = np.int64
    sum = gp.add
    gathers = "out"

    def init(self, id):
        return id + 1

    def gather(self, src, edge):
        return src * edge

    def apply(self, acc, in_degree):
        return 1000 * acc + in_degree

    def verify(self, graph, result):
        if (result.values % 1000 != graph.in_degrees).any():
            raise gp.errors.VerificationError("Ahead: these are not the degrees of the reversed graph")


class Reaches(gp.VertexProgram):
    """The least vertex that a vertex reaches; it reads no edge values."""

    value = np.uint32
    sum = gp.min
    gathers = "out"
    monotone = True

    def init(self, id):
        return id

    def gather(self, src):
        return src


EDGES = twins.skewed(7, 300, 3000)
VALUES = np.arange(3000, dtype=np.int32) % 7


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    graph = gp.from_edges(EDGES.sources, EDGES.targets, VALUES, vertices=range(300))
    folder = tmp_path_factory.mktemp("out")
    for encoding in ("raw", "packed"):
        gp.save(graph, folder / encoding, encoding=encoding, block_bytes=8192)
    return [graph, graph.packed(), *(opened(folder / encoding, 8 << 20) for encoding in ("raw", "packed"))]


@pytest.mark.full
def test_out_neighbours_are_gathered(graphs):
    sums, degrees = np.zeros(300, np.int64), np.bincount(EDGES.sources, minlength=300)
    np.add.at(sums, EDGES.sources, (EDGES.targets + 1) * VALUES)
    for graph in graphs:
        result = gp.run(Ahead(), graph, iterations=1, device="cpu", verify=True)
        assert (result.values == 1000 * sums + degrees).all()
        gp.check(Ahead(), graph, result)
    assert (gp.run(Ahead(), graphs[0], iterations=1, debug=True).values == 1000 * sums + degrees).all()


@pytest.mark.full
@pytest.mark.parametrize("mode", ["auto", "pull", "push"])
def test_relaxations_go_against_the_edges(graphs, mode):
    least = np.arange(300)
    while True:
        better = least.copy()
        np.minimum.at(better, EDGES.sources, least[EDGES.targets])
        if (better == least).all():
            break
        least = better
    for graph in graphs:
        found = gp.run(Reaches(), graph, device="cpu", options=gp.Options(mode=mode))
        assert (found.values == least).all()


def test_only_programs_that_read_edge_values_need_them(graphs):
    without = graphs[2]._replace(out_edges=graphs[2]._arrays.out_edges.without_values())
    gp.run(Reaches(), without, device="cpu")
    for call in (gp.run, gp.plan):
        with pytest.raises(GraphError, match="import it again"):
            call(Ahead(), without, iterations=1, device="cpu")


@pytest.mark.full
def test_undirected_graphs_are_their_own_reverse():
    graph = gp.from_edges([0, 1], [1, 2], directed=False)
    assert list(gp.run(Ahead(), graph, iterations=1, device="cpu").values) == [2001, 4002, 2001]
