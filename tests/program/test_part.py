import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster.cuts import cut
from garaph_py.errors import UnknownVertexError
from garaph_py.graph.part import part_of
from garaph_py.program.part import bind_on_part, by_numbers, of_vertices

NAMES = ["d", "b", "a", "c"]
GRAPH = gp.from_edges(["d", "b", "a", "c"], ["b", "a", "c", "d"])


class Weighted(gp.VertexProgram):
    root: gp.VertexId
    weight: gp.PerVertex = 1.5

    value = np.float64
    sum = gp.add

    def init(self, id, weight):
        return weight if id == self.root else 0.0

    def gather(self, src, src_id):
        return src + src_id


def test_vertices_are_given_by_number():
    program = by_numbers(Weighted(root="a", weight={"c": 4.0}), GRAPH)
    assert program.root == GRAPH.ids.index("a")
    assert program.weight.tolist() == [4.0 if name == "c" else 1.5 for name in GRAPH.ids]


def test_one_number_for_all_vertices_stays_one():
    assert by_numbers(Weighted(root="a"), GRAPH).weight == 1.5


def test_numbers_for_which_no_function_asks_are_left_out():
    program = by_numbers(gp.apps.PageRank(personalization={"a": 1.0}), GRAPH)
    assert program.personalization is None
    assert program.root == GRAPH.ids.index("a")


def test_an_unknown_vertex_is_refused():
    with pytest.raises(UnknownVertexError):
        by_numbers(Weighted(root="x"), GRAPH)


def test_records_have_what_functions_ask_of_the_undivided_graph():
    part = part_of(GRAPH, cut(GRAPH, 2), 1)
    program = of_vertices(by_numbers(Weighted(root="a"), GRAPH), part.place.numbers)
    bound = bind_on_part(program, part.graph)
    assert bound.parameters["undivided_n"].tolist() == [4]
    assert bound.vertex_data.dtype.names == ("weight", "undivided_id")
    assert bound.vertex_data["undivided_id"].tolist() == part.place.numbers.tolist()
    assert not bound.undirected
