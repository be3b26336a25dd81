import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError, UnknownVertexError
from garaph_py.program.vertex_data import vertex_column

GRAPH = gp.from_edges(["a", "b"], ["b", "c"])
NONE = object()


def test_a_mapping_of_all_vertices_needs_no_default():
    column = vertex_column({"c": 3, "a": 1, "b": 2}, NONE, GRAPH, "weight")
    assert (column.tolist(), column.dtype.kind) == ([1, 2, 3], "i")
    assert vertex_column({"b": 2}, 0.5, GRAPH, "weight").tolist() == [0.5, 2.0, 0.5]


def test_a_mapping_of_some_vertices_without_a_default():
    message = (
        r"weight=\{...\} names 2 of 3 vertices; declare a default for the others, `weight: gp.PerVertex = 0.0`, or "
        "give an array of 3 numbers"
    )
    with pytest.raises(ParameterError, match=message):
        vertex_column({"a": 1, "b": 2}, NONE, GRAPH, "weight")
    with pytest.raises(UnknownVertexError):
        vertex_column({"a": 1, "b": 2, "x": 3}, NONE, GRAPH, "weight")


def test_an_array_is_taken_as_it_is():
    given = np.ones(3)
    assert vertex_column(given, NONE, GRAPH, "weight") is given
