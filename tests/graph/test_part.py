import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster.cuts import cut
from garaph_py.errors import GraphError
from garaph_py.graph.part import Part, part_of

GRAPH = gp.rmat(12, seed=1)
CUTS = cut(GRAPH, 3)


@pytest.mark.parametrize("number", range(3))
def test_a_part_has_the_in_edges_of_its_own_vertices(number):
    part = part_of(GRAPH, CUTS, number)
    edges, whole = part.graph._arrays.in_edges, GRAPH._arrays.in_edges
    numbers, (first, last) = part.place.numbers, part.own
    assert numbers[first:last].tolist() == list(range(*CUTS.vertices[number : number + 2]))
    for v in range(part.graph.n):
        sources = numbers[edges.neighbours[edges.offsets[v] : edges.offsets[v + 1]]]
        u = numbers[v]
        is_own = first <= v < last
        expected = whole.neighbours[whole.offsets[u] : whole.offsets[u + 1]] if is_own else []
        assert sources.tolist() == list(expected)
    assert np.array_equal(part.place.out_degrees, GRAPH.out_degrees[numbers])
    assert np.array_equal(part.place.in_degrees, GRAPH.in_degrees[numbers])


def test_mirrors_are_ranges_of_what_others_own():
    parts = [part_of(GRAPH, CUTS, number) for number in range(3)]
    for part in parts:
        for other in parts:
            if other is not part:
                wanted = part.wanted(other.place.part)
                places = other.local(wanted)
                assert np.array_equal(other.place.numbers[places], wanted)
                assert ((places >= other.own[0]) & (places < other.own[1])).all()


def test_a_vertex_that_a_part_lacks_is_refused():
    part = part_of(GRAPH, CUTS, 0)
    absent = np.setdiff1d(np.arange(GRAPH.n, dtype=np.uint32), part.place.numbers)[:1]
    with pytest.raises(GraphError, match="part 0 lacks vertices"):
        part.local(absent)


def test_a_part_is_made_again_from_its_arrays():
    part = part_of(GRAPH, CUTS, 1)
    again = Part.of(part.arrays()).with_out_edges()
    assert {name: array.tobytes() for name, array in again.arrays().items()} == {
        name: array.tobytes() for name, array in part.arrays().items()
    }
    out, made = part.graph._arrays.out_edges, again.graph._arrays.out_edges
    assert np.array_equal(out.offsets, made.offsets)
    assert np.array_equal(out.neighbours, made.neighbours)
