"""Programs whose parameters are given as text."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.apps.registry import build, find
from garaph_py.errors import ParameterError, ProgramError, UnknownVertexError
from garaph_py.program import bind

GRAPHS = {
    "integers": gp.from_edges([10, 20], [20, 30], [0.5, 1.5]),
    "strings": gp.from_edges(["10", "20"], ["20", "30"], [0.5, 1.5]),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_text_becomes_an_id_of_the_graph(graph):
    assert bind(build(gp.apps.BFS, {"source": "20"}), graph).parameters["source"] == 1
    data = bind(build(gp.apps.HeatSimulation, {"initial": '{"30": 1.5, "10": 2}'}), graph).vertex_data
    np.testing.assert_array_equal(data["initial"], [2, 0, 1.5])
    with pytest.raises(UnknownVertexError, match="vertex '21' is not in the graph"):
        bind(build(gp.apps.BFS, {"source": "21"}), graph)


def test_a_file_without_a_class_is_no_program():
    with pytest.raises(ParameterError, match=r"katz\.py is a file; name the class in it too: katz\.py:ClassName"):
        find("katz.py")


def test_a_check_of_parameters_that_fails_names_its_line():
    class Rate(gp.VertexProgram):
        rate: float = 0.5

        def __post_init__(self):
            assert self.rate > 0

    message = (
        r"^Rate\.__post_init__ \(.*test_registry\.py, line \d+\): AssertionError.*; raise gp\.errors\.ParameterError"
    )
    with pytest.raises(ProgramError, match=message):
        build(Rate, {"rate": "-1"})


def test_python_gives_ids_of_their_own_type():
    for source, kind in (("20", "integers"), (True, "integers"), (20, "strings")):
        with pytest.raises(UnknownVertexError, match=f"its ids are {kind}, not {type(source).__name__}"):
            bind(gp.apps.BFS(source), GRAPHS[kind])
    with pytest.raises(UnknownVertexError, match="its ids are integers, not str; near it: 30"):
        bind(gp.apps.HeatSimulation(initial={"30": 1.5}), GRAPHS["integers"])
