"""`run_many`: every column has the answer of its own run, in memory, packed and on disk; what is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import garaph_py as gp
from garaph_py import apps
from garaph_py.errors import GraphError, NumberError, ParameterError, VerificationError
from garaph_py.runtime import many_blocks
from tests.support import twins

from ..support.runs import run_with

SOURCES = [0, 3, 7, 11, 20]


class Signal(gp.VertexProgram):
    """A signal that fades, and the hops it took: fields of two types, and parameters of two kinds."""

    source: gp.VertexId
    fading: float = 0.5

    value = {"strength": np.float32, "hops": np.int32}  # noqa: RUF012
    sum = gp.max

    def init(self, id):
        return (float(1) if id == self.source else float(0)), 0

    def gather(self, src, edge):
        return src.strength * self.fading * edge, src.hops + (1 if src.strength > 0 else 0)

    def apply(self, old, acc):
        return max(old.strength, acc.strength), max(old.hops, acc.hops)


class Coarse(gp.VertexProgram):
    """Vertices become active only by large changes, so columns stop at different times, and not at a fixed point."""

    source: gp.VertexId

    value = np.float64
    sum = gp.add

    def init(self, id):
        return float(1) if id == self.source else float(0)

    def gather(self, src):
        return src * 0.01

    def apply(self, acc, id):
        return acc + (float(1) if id == self.source else float(0))

    def activate(self, new, old):
        return abs(new - old) > 1e-4


class Upstream(Coarse):
    """The same over out-edges."""

    gathers = "out"


class Squares(gp.VertexProgram):
    """Numbers that grow without end on a cycle that has the source."""

    source: gp.VertexId

    value = {"size": np.float32, "hops": np.int32}  # noqa: RUF012
    sum = gp.add

    def init(self, id):
        return (float(2) if id == self.source else float(0)), 0

    def gather(self, src):
        return src.size * src.size, 1


@pytest.fixture(scope="module")
def edges():
    return twins.skewed(3, 800, 9000, "int32")


@pytest.fixture(scope="module")
def graph(edges, graph_of):
    return graph_of(edges)


def alone(program, graph, **how):
    """The answer of one run, which does what a column does."""
    return run_with(program, graph, device="cpu", sync=True, mode="pull", **how)


def assert_same(table, programs, graph, **how):
    for source, program in zip(table, programs, strict=True):
        expected = alone(program, graph, **how)
        for name in table[source].names:
            found, wanted = table[source].column(name), expected.column(name)
            assert found.dtype == wanted.dtype
            assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_shortest_paths(graph, threads):
    table = gp.run_many(apps.SSSP, graph, SOURCES, device="cpu", threads=threads)
    assert_same(table, [apps.SSSP(source) for source in SOURCES], graph)


def test_sparse_supersteps_of_shortest_paths_push():
    made = gp.rmat(13, 16, directed=False, weights=(1, 255), seed=3)
    table = gp.run_many(apps.SSSP, made, SOURCES, device="cpu", verify=True)
    modes = [row.mode for row in table[3].stats.iterations]
    assert "pull" in modes
    assert modes[-1] == "push"


@pytest.mark.full
def test_ranks_stop_column_by_column(graph):
    jumps = {0: 1e-3, 3: 1e-6, 7: 1e-2}
    programs = [
        apps.PageRank(weighted=False, dtype=np.float32, personalization={source: 1}, tolerance=bound)
        for source, bound in jumps.items()
    ]
    table = gp.run_many(programs, graph, device="cpu")
    assert_same(table, programs, graph)
    lengths = {len(alone(program, graph).stats.history) for program in programs}
    assert len(lengths) == 3
    assert len(table[0].stats.history) == max(lengths)


@pytest.mark.full
def test_columns_stop_where_no_vertex_is_active(graph):
    programs = [Coarse(source) for source in SOURCES]
    assert len({len(alone(program, graph).stats.history) for program in programs}) > 1
    assert_same(gp.run_many(Coarse, graph, SOURCES, device="cpu"), programs, graph)


@pytest.mark.full
def test_programs_that_differ_in_any_parameter(graph):
    programs = [Signal(0), Signal(3, 0.25), Signal(3, 0.75)]
    table = gp.run_many(programs, graph, iterations=4, device="cpu")
    assert list(table) == [0, 1, 2]
    assert_same(table, programs, graph, iterations=4)
    assert table.column("hops").shape == (graph.n, 3)


@pytest.mark.full
def test_programs_that_are_compiled_to_different_code(graph):
    """Types, and jumps to nowhere, one or several vertices."""
    jumps = None, {0: 1}, {0: 1, 5: 2}, {3: 1}
    programs = [apps.PageRank(personalization=jump, weighted=False) for jump in jumps]
    programs.insert(2, apps.PageRank(personalization={0: 1}, dtype=np.float32))
    table = gp.run_many(programs, graph, iterations=3, device="cpu")
    assert_same(table, programs, graph, iterations=3)


@pytest.mark.full
def test_numbers_for_each_vertex(graph):
    """Personalizations of several vertices, which are columns of the vertices' data."""
    programs = [apps.PageRank(personalization={source: 1, 5: 2}) for source in SOURCES]
    assert_same(gp.run_many(programs, graph, iterations=3, device="cpu"), programs, graph, iterations=3)


@pytest.mark.slow
@pytest.mark.parametrize("program", [pytest.param(apps.SSSP, marks=pytest.mark.full), apps.BFS])
def test_edges_packed_and_on_disk(graph, tmp_path, read_like_large_graphs, program):
    packed = graph.packed()
    gp.save(packed, tmp_path / "graph")
    for each in (packed, gp.open(tmp_path / "graph", memory=1 << 20)):
        table = gp.run_many(program, each, SOURCES, device="cpu")
        if program is apps.BFS:
            assert_levels(table, graph)
        else:
            assert_same(table, [program(source) for source in SOURCES], graph)


def assert_levels(table, graph):
    for source in table:
        expected = gp.run(apps.BFS(source), graph, device="cpu").column("level")
        np.testing.assert_array_equal(table[source].column("level"), expected)


@pytest.mark.slow
def test_searches(graph):
    """More sources than a word has bits: two blocks, whose levels are as narrow as those of one."""
    table = gp.run_many(apps.BFS, graph, range(70), device="cpu", verify=True)
    assert table.values.dtype == np.int8
    np.testing.assert_array_equal(table.values.T, [result.column("level") for _, result in table.items()])
    assert_levels(table, graph)


def test_searches_push_until_vertices_are_done():
    """About as many edges lead from active vertices in the second superstep and the fourth. In one, a pull would visit
    all edges, in the other few."""
    made = gp.rmat(13, 16, directed=False)
    sources = made.ids.take(np.argsort(-made.out_degrees, kind="stable")[[1800, 1850, 1900]]).tolist()
    table = gp.run_many(apps.BFS, made, sources, device="cpu", verify=True)
    records = table[sources[0]].stats.iterations
    assert [row.mode for row in records[:4]] == ["push", "push", "pull", "pull"]
    assert 0.1 < records[1].f < records[3].f < 0.2
    assert records[3].edges * 100 < records[1].edges
    assert_levels(table, made)


def test_no_vertex_waits_for_a_search_that_has_ended():
    """A search in a component of its own ends soon. The other vertices are done without it, and pulls skip them."""
    made = gp.rmat(12, 16, directed=False)
    offsets, neighbours = made._arrays.out_edges.offsets, made._arrays.out_edges.neighbours[:]
    ends = np.stack([np.repeat(np.arange(made.n), np.diff(offsets)), neighbours])
    first, other = made.n, made.n + 1
    ends = np.append(ends[:, ends[0] < ends[1]], [[first], [other]], axis=1)
    apart = gp.from_edges(*ends, vertices=np.arange(made.n + 2), directed=False)
    hubs = np.argsort(-made.out_degrees, kind="stable")[:5].tolist()
    table = gp.run_many(apps.BFS, apart, [*hubs, first], device="cpu", verify=True, options=gp.Options(mode="pull"))
    last = table[first].stats.iterations[-1]
    assert last.active > 0
    assert last.edges * 10 < apart.m
    assert_levels(table, apart)
    assert table[first].column("level")[other] == 1


def test_levels_beyond_a_byte(graph_of):
    n = 300
    path = graph_of(twins.Edges(n, np.arange(n - 1), np.arange(1, n)))
    table = gp.run_many(apps.BFS, path, [0, 150], device="cpu")
    np.testing.assert_array_equal(table[0].column("level"), np.arange(n))
    np.testing.assert_array_equal(table[150].column("level"), np.where(np.arange(n) < 150, -1, np.arange(n) - 150))


@pytest.mark.full
def test_blocks_that_fit_memory(graph, monkeypatch):
    widths, run_block = [], many_blocks.run_block

    def noted(programs, *others, **more):
        widths.append(len(programs))
        return run_block(programs, *others, **more)

    monkeypatch.setattr(many_blocks, "run_block", noted)
    monkeypatch.setattr(many_blocks, "available_memory", lambda: 2.5 * 24 * graph.n / many_blocks.MEMORY_SHARE)
    table = gp.run_many(apps.SSSP, graph, SOURCES, device="cpu")
    assert widths == [1, 2, 2]
    assert_same(table, [apps.SSSP(source) for source in SOURCES], graph)


def test_programs_that_need_a_run_of_their_own(graph):
    """`result` asks for parents, which only a value that is one number has."""

    class Own(apps.BFS):
        pass

    table = gp.run_many(Own, graph, SOURCES[:2], device="cpu")
    for source in table:
        assert table[source].column("parent").tolist() == alone(apps.BFS(source), graph).column("parent").tolist()


def test_names_as_ids():
    graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1, 5, 2])
    table = gp.run_many(apps.SSSP, graph, ["b", "a"], device="cpu")
    frame = table.to_pandas()
    assert frame.loc["c"].to_dict() == {"b": 2, "a": 3}
    assert pa.table(table).column_names == ["id", "b", "a"]
    assert pa.table(table).to_pydict()["a"] == [0, 1, 3]
    pd.testing.assert_frame_equal(frame, table.to_arrow().to_pandas().set_index("id"), check_names=False)
    assert len(table) == 2
    assert repr(table) == "<ResultTable: 3 vertices, 2 sources>"


def test_no_sources(graph):
    table = gp.run_many(apps.SSSP, graph, [])
    assert table.values.shape == (graph.n, 0)
    assert table.to_pandas().shape == (graph.n, 0)
    assert gp.run_many([], graph).sources == []


@pytest.mark.full
def test_no_vertices():
    graph = gp.from_edges([], [])
    assert gp.run_many([apps.PageRank()] * 2, graph, device="cpu").values.shape == (0, 2)
    with pytest.raises(GraphError):
        gp.run_many(apps.SSSP, graph, [0])


def test_verify_checks_each_column(graph, monkeypatch):
    def spoilt(rows, column, number):
        result = right(rows, column, number)
        if number == 1:
            result.values[5] += 1
        return result

    right = many_blocks.column_result
    gp.run_many(apps.SSSP, graph, SOURCES, device="cpu", verify=True)
    monkeypatch.setattr(many_blocks, "column_result", spoilt)
    with pytest.raises(VerificationError, match="SSSP"):
        gp.run_many(apps.SSSP, graph, SOURCES, device="cpu", verify=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((apps.SSSP, [0, 3, 0]), "0 comes twice"),
        ((apps.SSSP, np.zeros((2, 2), int)), "give a flat list of vertices"),
        ((apps.SSSP, [0, [3]]), "give a flat list of vertices"),
        ((apps.SSSP, None), "give a list of vertices"),
        ((apps.SSSP, "abc"), "give a list of vertices"),
        ((apps.SSSP, 5), "give a list of vertices"),
        ((apps.SSSP, np.array(0)), "give a list of vertices"),
        ((apps.ConnectedComponents(), [0]), "has no parameter that a source could be"),
        (("SSSP", [0]), "write gp.apps.SSSP"),
        (([apps.SSSP(0), apps.BFS(0)],), "of one class, not SSSP and BFS"),
        (([apps.SSSP(0)], [1]), "a list of programs without"),
        (([apps.SSSP(0), 3],), "not 3"),
    ],
)
def test_what_is_refused(graph, arguments, message):
    program, *sources = arguments
    with pytest.raises(ParameterError, match=message):
        gp.run_many(program, graph, *sources, device="cpu")


def test_sources_that_are_no_vertices(graph):
    for program in (apps.SSSP, apps.BFS, apps.PageRank()):
        with pytest.raises(GraphError, match="123456"):
            gp.run_many(program, graph, [0, 123456], device="cpu")


def test_options_of_single_runs(graph, tmp_path):
    for options, message in (
        (gp.Options(trace=tmp_path / "trace"), "run_many writes no files"),
        (gp.Options(sync=False), "is synchronous"),
    ):
        with pytest.raises(ParameterError, match=message):
            gp.run_many(apps.SSSP, graph, SOURCES, options=options)


def test_no_such_source_in_the_table(graph):
    with pytest.raises(ParameterError, match="has no source 4"):
        gp.run_many(apps.SSSP, graph, SOURCES, device="cpu")[4]


@pytest.mark.slow
def test_a_message_names_the_run_whose_numbers_go_wrong():
    graph = gp.from_edges(["a", "b", "c"], ["b", "a", "d"])
    said = r"Squares: the value.size of vertex . in the run of Squares\(source='a'\) is inf after 9 iterations"
    with pytest.raises(NumberError, match=said):
        gp.run_many(Squares, graph, sources=["c", "d", "a"], iterations=9)


@pytest.mark.parametrize("sources", [[0], [0, 3]])
def test_out_edges_are_those_of_the_graph_for_one_source_as_for_several(sources):
    graph = gp.from_edges([0, 1, 3, 2], [1, 2, 2, 4])
    table = gp.run_many(Upstream, graph, sources=sources, device="cpu")
    for source in sources:
        wanted = gp.run(Upstream(source), graph, device="cpu", options=gp.Options(sync=True, mode="pull"))
        assert table[source].values.tolist() == wanted.values.tolist()
