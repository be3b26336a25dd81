"""What a graph says of its vertices and edges, by the user's ids: in memory, packed and on disk."""

from collections import Counter

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError, UnknownVertexError
from tests.support import twins
from tests.support.graphs import edges_of
from tests.support.stored_graphs import opened

NAMES = st.sampled_from(["libc6", "é", "", "a\0", "zlib"])
NUMBERS = st.sampled_from([-5, 0, 1, 7, 2**40])
EDGES = st.one_of(
    st.lists(st.tuples(NAMES, NAMES, st.integers(0, 9)), min_size=1, max_size=25),
    st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 9)), min_size=1, max_size=25),
)


def both(edges, directed):
    """The same graph here and in NetworkX."""
    sources, targets, weights = map(list, zip(*edges, strict=True))
    theirs = nx.MultiDiGraph() if directed else nx.MultiGraph()
    theirs.add_weighted_edges_from(edges)
    return gp.from_edges(sources, targets, weights, directed=directed), theirs


def table_of(graph):
    """The rows of `edges`."""
    return sorted(zip(*graph.edges().to_pydict().values(), strict=True))


def rows_of(theirs):
    """The edges of a graph of NetworkX; an undirected edge in one of its two directions."""
    return sorted(theirs.edges(data="weight"))


def turned(rows):
    return Counter((*sorted(map(str, row[:2])), row[2]) for row in rows)


PUBLIC = {
    "degree", "directed", "directory", "edge_batches", "edge_dtype", "edges", "encoding", "ids", "in_degree",
    "in_degrees", "is_directed", "is_multigraph", "m", "memory", "n", "nbytes", "neighbors", "number_of_edges",
    "on_disk", "out_degree", "out_degrees", "packed", "predecessors", "release", "reversed", "subgraph", "symmetrized",
    "to_device", "unpacked",
}  # fmt: skip


def test_users_see_no_internal_arrays():
    graph = gp.from_edges([1, 2], [2, 3], [0.5, 1.5])
    assert {name for name in dir(graph) if not name.startswith("_")} == PUBLIC
    with pytest.raises(AttributeError, match="'Graph' object has no attribute 'tiles'"):
        _ = graph.tiles
    with pytest.raises(AttributeError, match="cannot assign"):
        graph.ids = None


def test_one_is_singular():
    assert repr(gp.from_edges([1], [1])) == "<Graph: 1 vertex, 1 directed edge>"
    assert repr(gp.from_edges([1], [1], directed=False)) == "<Graph: 1 vertex, 1 undirected edge>"


def test_release_frees_what_was_derived():
    graph = gp.from_edges([1, 2], [2, 3])
    degrees = graph.in_degrees
    assert graph.in_degrees is degrees
    graph.release()
    assert graph.in_degrees is not degrees


@given(EDGES, st.booleans())
@settings(max_examples=30, deadline=None)
def test_vertices_have_the_neighbours_that_networkx_says(edges, directed):
    graph, theirs = both(edges, directed)
    assert len(graph) == len(theirs)
    for vertex in theirs:
        assert vertex in graph
        # NetworkX counts an undirected self-loop twice
        loops = 0 if directed else theirs.number_of_edges(vertex, vertex)
        assert graph.degree(vertex) == theirs.degree(vertex) - loops
        others = [other for _, other in theirs.edges(vertex)] if directed else graph.neighbors(vertex).tolist()
        assert Counter(graph.neighbors(vertex).tolist()) == Counter(others)
        assert set(graph.neighbors(vertex)) == set(theirs.neighbors(vertex))
        if directed:
            assert set(graph.predecessors(vertex)) == set(theirs.predecessors(vertex))
            assert graph.in_degree(vertex) == theirs.in_degree(vertex)
            assert graph.out_degree(vertex) == theirs.out_degree(vertex)


@given(EDGES, st.booleans(), st.data())
@settings(max_examples=30, deadline=None)
def test_edges_and_subgraphs_are_those_of_networkx(edges, directed, data):
    graph, theirs = both(edges, directed)
    kept = data.draw(st.lists(st.sampled_from(sorted(theirs))))
    part = graph.subgraph(kept)
    for ours, expected in ((graph, theirs), (part, theirs.subgraph(kept))):
        assert turned(table_of(ours)) == turned(rows_of(expected))
        assert set(ours.ids) == set(expected)
    if directed:
        assert table_of(part) == rows_of(theirs.subgraph(kept))
    assert part.directed == directed
    assert part.edge_dtype == graph.edge_dtype


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def stored(request, tmp_path_factory):
    """A graph, and others with the same edges: packed, and on disk in both encodings."""
    edges = twins.skewed(7, 300, 3000)
    graph = gp.from_edges(edges.sources + 5, edges.targets + 5, np.arange(3000, dtype=np.int32), directed=request.param)
    folder = tmp_path_factory.mktemp("stored")
    for encoding in ("raw", "packed"):
        gp.save(graph, folder / encoding, encoding=encoding, block_bytes=8192)
    return graph, [graph.packed(), *(opened(folder / encoding, 40000) for encoding in ("raw", "packed"))]


def test_packed_and_stored_graphs_say_the_same(stored):
    graph, others = stored
    vertices = [*graph.ids.array()[:: graph.n // 7].tolist(), int(graph.ids.take(graph.out_degrees.argmax()))]
    for other in others:
        for vertex in vertices:
            assert other.neighbors(vertex).tolist() == graph.neighbors(vertex).tolist()
            assert other.predecessors(vertex).tolist() == graph.predecessors(vertex).tolist()
            assert other.degree(vertex) == graph.degree(vertex)
        assert other.edge_batches(rows=700).read_all().equals(graph.edges())
        assert edges_of(other.subgraph(vertices)) == edges_of(graph.subgraph(vertices))
    assert [other.on_disk for other in others] == [False, True, True]
    with pytest.raises(GraphError, match=r"stay on disk; read them part by part with edge_batches\(\)"):
        others[1].edges()


def test_reversed_graphs_have_every_edge_turned_round(stored):
    graph, others = stored
    for one in (graph, *others):
        turned = one.reversed()
        batches = turned.edge_batches().read_all()
        rows = sorted(zip(*batches.to_pydict().values(), strict=True))
        assert rows == sorted((v, u, *rest) for u, v, *rest in table_of(graph)) if graph.directed else turned is one
        assert (turned.in_degrees == one.out_degrees).all()
        assert turned.edge_dtype == one.edge_dtype
        assert turned.reversed().directory == one.directory


def test_a_reversed_graph_shares_the_edges():
    graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"])
    turned = graph.reversed()
    assert turned is not graph
    assert turned._arrays.in_edges.neighbour_array is graph._arrays.out_edges.neighbour_array
    assert graph.reversed()._arrays is turned._arrays  # so that a GPU keeps what it has of it


def test_a_graph_on_disk_without_values_of_out_edges_cannot_be_reversed(tmp_path):
    gp.save(gp.rmat(6, 4, weights=(1, 9)), tmp_path / "g")
    without = opened(tmp_path / "g", 1 << 20)
    without = without._replace(out_edges=without._arrays.out_edges.without_values())
    with pytest.raises(GraphError, match="has no values of out-edges; import it again"):
        without.reversed()


@pytest.mark.parametrize("ids", [[1, 2], ["a", "b"]], ids=["integers", "strings"])
@pytest.mark.parametrize("ask", ["neighbors", "predecessors", "degree", "in_degree", "out_degree"])
def test_a_vertex_that_is_not_there(ids, ask):
    graph = gp.from_edges(ids, ids)
    with pytest.raises(UnknownVertexError, match=r"vertex 'c' is not in the graph"):
        getattr(graph, ask)("c")
    assert "c" not in graph


def test_subgraphs_of_what():
    graph = gp.from_edges([1, 2], [2, 3])
    assert graph.subgraph([]).n == graph.subgraph([]).m == 0
    assert graph.subgraph({2}).n == 1
    assert graph.subgraph(np.array([3, 2], np.uint64)).m == 1
    with pytest.raises(UnknownVertexError, match=r"vertex 9 is not in the graph.*near it: 3"):
        graph.subgraph([1, 9])
    with pytest.raises(UnknownVertexError, match=r"vertex '2' is not .* integers, not str; near it: 2"):
        graph.subgraph(["2"])
    assert list(graph.subgraph(graph.ids[graph.in_degrees > 0]).ids) == [2, 3]
    assert graph.subgraph(graph.ids).m == 2
    for mask in (graph.in_degrees > 0, [False, True, True], [1, True]):
        with pytest.raises(GraphError, match=r"True or False; give ids, such as graph.ids\[mask\]"):
            graph.subgraph(mask)
    for ids in ("1", 1, None):
        with pytest.raises(GraphError, match="a list, an array"):
            graph.subgraph(ids)


def test_edges_stream_into_other_libraries():
    graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"])
    assert pa.table(graph.edge_batches(rows=1)).equals(graph.edges())
    assert gp.from_arrow(graph.edge_batches()).edges().equals(graph.edges())
    assert gp.from_edges([], []).edges().num_rows == 0
    for rows in (0, 1.5, True):
        with pytest.raises(ParameterError, match="a number of edges"):
            graph.edge_batches(rows)


def test_a_notebook_shows_what_a_graph_has():
    html = gp.from_edges(["<b>"], ["c"], [1.5])._repr_html_()
    for fact in ("vertices</th><td>2", "ids</th><td>string", "1 directed", "values</th><td>float64", "raw, in memory"):
        assert fact in html
    assert "edge values</th><td>none" in gp.from_edges([1], [2]).packed()._repr_html_()
