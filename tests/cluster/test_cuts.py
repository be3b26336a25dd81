import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster.cuts import cut, most_parts, part_costs
from garaph_py.errors import ParameterError
from garaph_py.graph.build import from_numbered_edges


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_parts_have_equal_numbers_of_edges(parts):
    graph = gp.rmat(14, seed=1)
    cuts = cut(graph, parts)
    offsets = graph._arrays.in_edges.offsets[cuts.vertices] + 4 * cuts.vertices
    assert (cuts.parts, cuts.vertices[0], cuts.vertices[-1]) == (parts, 0, graph.n)
    assert abs(np.diff(offsets) - offsets[-1] / parts).max() < 0.15 * offsets[-1] / parts
    assert set(cuts.vertices) <= set(cuts.pieces[:, 1])


def test_a_small_graph_is_cut_between_any_vertices():
    graph = from_numbered_edges(np.arange(9), (np.arange(9) + 1) % 9, 9)
    assert cut(graph, 3).vertices.tolist() == [0, 3, 6, 9]


def test_there_may_be_more_parts_than_vertices():
    vertices = cut(from_numbered_edges(np.zeros(0, int), np.zeros(0, int), 2), 5).vertices
    assert (vertices[0], vertices[-1], len(vertices)) == (0, 2, 6)
    assert (np.diff(vertices) >= 0).all()


@pytest.mark.parametrize("parts", [0, -1, True, 2.0, "2", 1 << 17])
def test_a_bad_number_of_parts_is_refused(parts):
    with pytest.raises(ParameterError, match="give a number of parts from 1 to"):
        cut(gp.rmat(3), parts)


@pytest.mark.parametrize("scale", [5, 8, 10])
def test_no_part_has_less_than_a_piece(scale):
    graph = gp.rmat(scale, 16, seed=3)
    assert most_parts(graph) == {5: 1, 8: 1, 10: 5}[scale]
    for parts in range(1, most_parts(graph) + 1):
        cuts = cut(graph, parts)
        assert set(cuts.vertices) <= set(cuts.pieces[:, 1])


@pytest.mark.parametrize("shares", [[1, 4], [3, 1, 2], [0.1, 0.25, 0.4, 0.25]])
def test_parts_have_their_shares_of_the_edges(shares):
    graph = gp.rmat(14, seed=1)
    cuts = cut(graph, len(shares), shares)
    costs = part_costs(graph, cuts)
    expected = np.array(shares) / sum(shares) * costs.sum()
    assert abs(costs - expected).max() < 0.05 * costs.sum()
    assert costs.sum() == graph.m + 4 * graph.n
    assert set(cuts.vertices) <= set(cuts.pieces[:, 1])
