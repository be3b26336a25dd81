"""Parts give one machine's answers, bit for bit, whatever form their edges have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.cluster.local import run_parts
from garaph_py.graph.build import from_numbered_edges
from garaph_py.runtime.options import RunOptions
from tests.support.cases import EXACT, FLOAT, mostly_full
from tests.support.programs import DataDriven, Sees, Strongest
from tests.support.stored_graphs import opened
from tests.support.twins import Edges

PARTS = (1, 2, 3, 5)
SCALE = 12
"""Of a graph with more pieces of work than parts, so that totals have the same bits, too."""


def rmat(weights=None, directed=True):
    """An R-MAT graph, and its edges."""
    graph = gp.rmat(SCALE, seed=1)
    sources, targets = np.repeat(np.arange(graph.n), graph.out_degrees), graph._arrays.out_edges.neighbours
    values = None if weights is None else np.random.default_rng(3).integers(1, 9, graph.m).astype(weights)
    return from_numbered_edges(sources, targets, graph.n, values, directed=directed), Edges(
        graph.n, sources, targets, values
    )


def packed(part):
    return part.on(part.graph.packed())


def from_disk(folder):
    """How to save a part's graph in `folder`, and to read its edges from there."""

    def make(part):
        path = folder / str(part.place.part) / str(part.place.parts)
        path.parent.mkdir(exist_ok=True)
        gp.save(part.graph, path)
        return part.on(opened(path, 18 << 20))

    return make


def assert_same(program, graph, mode="auto", iterations=None, make=lambda part: part, numbers=PARTS):
    """These numbers of parts have the bits of one machine."""
    options = gp.Options(deterministic=True, mode=mode)
    alone = gp.run(program, graph, device="cpu", iterations=iterations, options=options)
    for parts in numbers:
        asked = RunOptions(device="cpu", deterministic=True, mode=mode, iterations=iterations)
        values, supersteps = run_parts(program, graph, parts, asked, make)
        assert values.dtype == np.asarray(alone.values).dtype
        assert values.tobytes() == np.asarray(alone.values).tobytes(), parts
        assert iterations is None or len(supersteps) - 1 <= iterations


def test_functions_see_the_undivided_graph():
    graph, edges = rmat()
    program = Sees(root=int(edges.out_degrees.argmax()), salt=np.arange(graph.n) % 5)
    assert_same(program, graph, iterations=4)


def test_bits_of_sums_and_totals_of_floats():
    assert_same(gp.apps.PageRank(), rmat()[0], iterations=6)


@pytest.mark.parametrize("mode", mostly_full(["auto", "pull", "notify-pull", "push"], "pull", "push"))
def test_every_mode(mode):
    graph, edges = rmat()
    assert_same(gp.apps.BFS(int(edges.out_degrees.argmax())), graph, mode)


@pytest.mark.full
def test_packed_and_from_disk(tmp_path):
    graph, edges = rmat()
    program = gp.apps.BFS(int(edges.out_degrees.argmax()))
    for make in packed, from_disk(tmp_path):
        assert_same(program, graph, make=make)


@pytest.mark.full
@pytest.mark.parametrize("case", mostly_full(EXACT, "SSSP-int", "ConnectedComponents"))
def test_programs_with_one_answer(case, tmp_path):
    graph, edges = rmat(case.weights, not case.symmetric)
    assert_same(case.program(edges), graph)
    for make in packed, from_disk(tmp_path):
        assert_same(case.program(edges), graph, make=make, numbers=(3,))


@pytest.mark.full
@pytest.mark.parametrize("kind", [gp.apps.PageRank, pytest.param(gp.apps.DeltaPageRank, marks=pytest.mark.full)])
@pytest.mark.parametrize("jumps", [None, {3: 1.0}, {3: 1.0, 5: 2.0}], ids=["everywhere", "to one", "to two"])
def test_ranks_by_weights_and_personalization(kind, jumps):
    graph, _ = rmat("float64")
    assert_same(kind(personalization=jumps), graph, "pull", 6, numbers=(3,))


@pytest.mark.full
@pytest.mark.parametrize("case", mostly_full(FLOAT, "PageRank", "HeatSimulation"))
def test_float_programs(case):
    """But from disk, where pages end elsewhere, so that totals have other last bits."""
    graph, edges = rmat(case.weights)
    assert_same(case.program(edges), graph, "pull", 6)
    assert_same(case.program(edges), graph, "pull", 6, packed, (3,))


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "weights"), [pytest.param(DataDriven(), None, marks=pytest.mark.full), (Strongest(), "float64")]
)
def test_programs_of_users(program, weights):
    assert_same(program, rmat(weights)[0], "pull", 5)


def test_a_run_ends_at_the_limit_of_iterations():
    _, supersteps = run_parts(gp.apps.PageRank(), rmat()[0], 3, RunOptions(device="cpu", iterations=2))
    assert len(supersteps) == 3
    assert supersteps[-1].edges == rmat()[0].m


@st.composite
def odd_graphs(draw):
    """A few vertices, and edges among them: none, self-loops, parallel ones; all to one hub if it is drawn."""
    n = draw(st.integers(1, 9))
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=20))
    if draw(st.booleans()):
        pairs = [(source, 0) for source, _ in pairs]
    sources, targets = np.array(pairs, np.int64).reshape(-1, 2).T
    return from_numbered_edges(sources, targets, n, directed=draw(st.booleans()))


@settings(max_examples=15, deadline=None)
@given(odd_graphs(), st.integers(1, 12))
def test_odd_graphs(graph, parts):
    """Also more parts than vertices. Totals of integers are the same wherever the graph is cut."""
    program = Sees(root=0)
    alone = gp.run(program, graph, device="cpu", iterations=3)
    values, _ = run_parts(program, graph, parts, RunOptions(device="cpu", iterations=3))
    assert values.tolist() == alone.values.tolist()


def test_totals_of_a_graph_of_several_pages_have_the_same_bits(monkeypatch):
    """Parts and one machine cut the edges where the pages of a graph in memory end."""
    monkeypatch.setattr("garaph_py.pages.memory_source.MEMORY_PAGE_EDGES", 1 << 14)
    graph, _ = rmat()
    assert_same(gp.apps.PageRank(), graph, iterations=3)
