"""A graph and a path in the wrong order, or of the wrong kind: one error says what to write."""

import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError
from tests.support.programs import RING

WRITE = {
    "save": "save takes the graph first, then the path; write save(graph, path)",
    "write": "write takes the graph first, then the path; write write(graph, path)",
}


def test_a_graph_of_another_library_says_how_to_make_one():
    igraph = type("Graph", (), {"__module__": "igraph", "to_networkx": None})()
    making = r"igraph\.Graph; make .*from_networkx\(graph\.to_networkx\(\)\)"
    for use in (lambda graph: gp.run(gp.apps.BFS(0), graph), gp.read):
        with pytest.raises(ParameterError, match=making):
            use(igraph)
    with pytest.raises(
        GraphError, match=r"not a NetworkX graph but igraph\.Graph; its method to_networkx\(\) makes one"
    ):
        gp.from_networkx(igraph)


@pytest.mark.parametrize("name", WRITE)
def test_a_graph_comes_before_its_path(name, tmp_path):
    write = getattr(gp, name)
    for path in (str(tmp_path / "g.tsv"), tmp_path / "g.tsv"):
        with pytest.raises(ParameterError) as refused:
            write(path, RING)
        assert str(refused.value) == WRITE[name]
        with pytest.raises(ParameterError, match=f"^{name} takes a Graph, not str; make one with read"):
            write("RING", path)
    with pytest.raises(ParameterError, match=f"^{name} takes a path, a string or a pathlib.Path, not int"):
        write(RING, 3)
    assert not any(tmp_path.iterdir())
