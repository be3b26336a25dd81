"""A graph and a path in the wrong order, or of the wrong kind: one error says what to write."""

import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from tests.support.programs import RING

WRITE = {
    "save": "save takes the graph first, then the path; write save(graph, path)",
    "write": "write takes the graph first, then the path; write write(graph, path)",
}


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
