import garaph_py as gp
from garaph_py.program.sources import ends_at_once, largest, sources_of

EDGES = gp.from_edges(["a", "a", "c"], ["b", "c", "b"])


class FromOut(gp.apps.BFS):
    gathers = "out"


def test_sources_are_parameters_that_are_vertices():
    (source,) = sources_of(gp.apps.BFS("a"), EDGES)
    assert (source.vertex, source.edges) == ("a", 2)
    assert sources_of(gp.apps.PageRank(), EDGES) == []
    assert largest(EDGES) == "a"


def test_a_source_without_out_edges_reaches_nothing():
    expected = "source b has no out-edges, so it reaches no other vertex; a has the most out-edges"
    assert ends_at_once(gp.apps.BFS("b"), EDGES) == expected
    for program in (gp.apps.BFS("a"), gp.apps.PageRank(), FromOut("b")):
        assert ends_at_once(program, EDGES) is None
    assert ends_at_once(gp.apps.BFS(0), gp.rmat(1, 0)) is None  # nobody has edges
