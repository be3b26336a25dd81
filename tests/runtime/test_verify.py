"""Checks an answer: what `check` takes."""

import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from tests.support.programs import RING


@pytest.mark.parametrize(
    ("graph", "result", "message"),
    [
        ("RING", None, "check takes a Graph, not str"),
        (RING, None, "check takes the Result of a run, not NoneType"),
        (RING, [1, 2], "check takes the Result of a run, not list"),
    ],
)
def test_other_objects_are_refused(graph, result, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        gp.check(gp.apps.BFS(0), graph, result)


def test_the_result_of_another_graph_is_refused():
    result = gp.run(gp.apps.BFS(0), gp.from_edges([0], [1]), debug=True)
    with pytest.raises(
        ParameterError, match=rf"^the result has 2 values, but the graph has {RING.n} vertices; give the"
    ):
        gp.check(gp.apps.BFS(0), RING, result)
