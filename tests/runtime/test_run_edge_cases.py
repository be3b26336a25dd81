"""Small, odd and wrong inputs: the right answer or a named error."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError, ProgramError
from garaph_py.graph.ids import IdText
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, assert_close, assert_exact, mostly_kept

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

MODES = ("auto", "pull", "notify-pull")
CASES = EXACT + FLOAT
FAR = twins.UNREACHED

by_case = pytest.mark.parametrize("case", mostly_kept(CASES))


def edges_of(n, *pairs):
    sources, targets = np.array(pairs, np.int64).reshape(-1, 2).T
    return twins.Edges(n, sources, targets)


def weighted(edges, case):
    return edges if case.weights is None else edges.weighted(np.arange(1, len(edges.sources) + 1).astype(case.weights))


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "edges",
    [
        edges_of(1),
        edges_of(6),
        edges_of(1, (0, 0)),
        edges_of(1, (0, 0), (0, 0)),
        edges_of(5, (3, 3), (1, 1)),
        edges_of(4, (1, 2), (1, 2), (1, 2), (2, 3), (2, 3)),
        edges_of(130, (0, 129), (129, 0)),
        edges_of(4097, (0, 4096), (4096, 4095)),
    ],
    ids=["one", "no-edges", "loop", "two-loops", "loops", "parallel", "isolated", "last-of-a-block"],
)
@by_case
def test_odd_graphs(graph_of, case, edges, mode):
    edges = weighted(edges, case)
    symmetric = getattr(case, "symmetric", False)
    graph, edges = graph_of(edges, directed=not symmetric), edges.both_ways() if symmetric else edges
    for threads in (1, 3):
        if case in EXACT:
            assert_exact(run_with(case.program(edges), graph, mode=mode, threads=threads), case.twin(edges))
        else:
            run = run_with(case.program(edges), graph, mode=mode, threads=threads, iterations=4)
            assert_close(run, case.twin(edges, 4))


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("program", "weights"),
    [
        (gp.apps.PageRank(), None),
        (gp.apps.ConnectedComponents(), None),
        (gp.apps.HeatSimulation(initial=[]), "float64"),
        pytest.param(gp.apps.DeltaPageRank(), None, marks=pytest.mark.full),
        pytest.param(gp.apps.NeuralNetwork(), "float64", marks=pytest.mark.full),
        pytest.param(gp.apps.CircuitSimulation(fixed=np.zeros(0)), "float64", marks=pytest.mark.full),
    ],
    ids=lambda item: type(item).__name__,
)
def test_no_vertices(graph_of, program, weights, mode):
    edges = edges_of(0) if weights is None else edges_of(0).weighted(np.zeros(0, weights))
    verify = type(program).verify is not None
    result = run_with(program, graph_of(edges, directed=False), mode=mode, threads=3, verify=verify)
    assert result.values.shape == result.ids.shape == (0,)
    assert result.stats.converged
    assert result.stats.iterations == []
    assert result.top() == []
    assert result.to_pandas().empty


@pytest.mark.slow
@by_case
def test_no_iterations(graph_of, case):
    """The run reports the initial values as it would report final ones."""
    edges = twins.skewed(51, 300, 900, case.weights)
    edges = edges.both_ways() if getattr(case, "symmetric", False) else edges
    graph = graph_of(edges, directed=not getattr(case, "symmetric", False))
    result = gp.run(case.program(edges), graph, iterations=0)
    assert result.stats.iterations == []
    assert result.stats.edges == 0
    assert not result.stats.converged
    if case in EXACT:
        known = result.values["level"] >= 0 if case.name == "BFS" else result.values == case.twin(edges)
        assert known.any()
        assert not known.all()
    else:
        assert_close(result, case.twin(edges, 0))


# Vertex ids.


def wide():
    return gp.from_edges([2**40, -5, 2**40], [7, 2**40, 2**62])


def unsigned():
    return gp.from_edges(np.array([2**64 - 1, 5], np.uint64), np.array([7, 2**63], np.uint64))


def named():
    return gp.from_edges(["zoë", "a", ""], ["a", "0", "zoë"], vertices=["lonely"])


def small():
    return gp.from_edges([0], [1], vertices=[2])


def no_vertices():
    return gp.from_edges([], [])


def levels(source, graph):
    result = gp.run(gp.apps.BFS(source), graph())
    return dict(zip(result.ids.tolist(), result.values["level"].tolist(), strict=True))


def test_any_64_bit_ids():
    assert levels(-5, wide) == {-5: 0, 2**40: 1, 7: 2, 2**62: 2}
    assert levels(np.int64(2**40), wide) == {-5: -1, 2**40: 0, 7: 1, 2**62: 1}
    assert levels(IdText(2**40), wide) == levels(2**40, wide)  # as a command line gives it
    assert levels(2**64 - 1, unsigned) == {5: -1, 7: 1, 2**63: -1, 2**64 - 1: 0}


def test_string_ids():
    assert levels("", named) == {"": 0, "zoë": 1, "a": 2, "0": 3, "lonely": -1}
    assert levels("0", named) == {"": -1, "zoë": -1, "a": -1, "0": 0, "lonely": -1}
    assert gp.run(gp.apps.BFS(""), named()).top(1) == [("0", 3)]


@pytest.mark.parametrize(
    ("graph", "vertex"),
    [
        *((wide, vertex) for vertex in (3, 0, 2**70, -(2**70), "x", "", "7", None, 7.5, np.nan, (1, 2), b"7")),
        *((unsigned, vertex) for vertex in (-1, 2**64, 2**63 + 1)),
        *((named, vertex) for vertex in ("nobody", "A", 0, None)),
        *((small, vertex) for vertex in (3, -1, 2**32, 2**64, "one", True, None, 0.5, np.inf)),
        (no_vertices, 0),
    ],
)
def test_a_vertex_that_is_not_in_the_graph(graph, vertex):
    with pytest.raises(GraphError, match=r"vertex .* is not in the graph; it"):
        gp.run(gp.apps.BFS(vertex), graph())


# Edge values.


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_zero_weights(dtype):
    edges = edges_of(5, (0, 1), (1, 2), (2, 1), (3, 4), (4, 3)).weighted(np.zeros(5, dtype))
    graph = gp.from_edges(edges.sources, edges.targets, edges.weights)
    far = FAR if dtype == "int32" else np.inf
    for sync in (True, False):
        distance = run_with(gp.apps.SSSP(0), graph, sync=sync, verify=True).values
        assert distance.tolist() == [0, 0, 0, far, far]
        assert run_with(gp.apps.SSWP(0), graph, sync=sync, verify=True).values.tolist() == [far, 0, 0, 0, 0]


@pytest.mark.parametrize("kind", [gp.apps.SSSP, gp.apps.SSWP])
@pytest.mark.parametrize("value", [-1, np.int64(-(2**62)), -0.5, np.nan, -np.inf])
def test_negative_weights(kind, value):
    graph = gp.from_edges(["x", "y", "z"], ["y", "z", "x"], np.array([1, value, 2]))
    with pytest.raises(GraphError, match=rf"{kind.__name__} needs edge values of 0 or more, but the edge y -> z has"):
        gp.run(kind("x"), graph)


@pytest.mark.slow
def test_unlimited_weights():
    graph = gp.from_edges([0, 0, 1], [1, 2, 2], np.array([np.inf, 2.5, 1.0]))
    assert gp.run(gp.apps.SSSP(0), graph, verify=True).values.tolist() == [0, np.inf, 2.5]
    assert gp.run(gp.apps.SSWP(0), graph, verify=True).values.tolist() == [np.inf, np.inf, 2.5]


@pytest.mark.slow
def test_paths_too_long_for_int64():
    """Such a path counts as no path; its length must not wrap to a negative number."""
    graph = gp.from_edges([0, 1, 2, 0], [1, 2, 1, 3], np.array([2**62, 2**62, 2**62, 5]))
    assert gp.run(gp.apps.SSSP(0), graph, verify=True).values.tolist() == [0, 2**62, FAR, 5]


def test_components_of_a_directed_graph():
    with pytest.raises(
        GraphError, match=r"both directions.*gp\.algorithms\.weakly_connected_components\(graph\).*symmetrized\(\)"
    ):
        gp.run(gp.apps.ConnectedComponents(), gp.from_edges([0], [1]))


def test_numbers_of_numpy_count_iterations():
    assert len(gp.run(gp.apps.PageRank(), small(), iterations=np.int64(2)).stats.iterations) == 2


# Wrong arguments.


class Plain:
    """A class that is not derived from `VertexProgram`."""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"iterations": -1}, "iterations=-1"),
        ({"iterations": 2.0}, r"iterations=2\.0"),
        ({"iterations": True}, "iterations=True"),
        ({"iterations": "3"}, "iterations='3'"),
        ({"engine": "paper"}, "choose from auto, garaph"),
        ({"engine": None}, "choose from auto, garaph"),
        ({"mode": "drag"}, "choose from auto, pull, notify-pull, push, pull-tiled"),
        ({"mode": None}, "choose from auto, pull, notify-pull"),
        ({"threads": 0}, "threads=0"),
        ({"threads": -2}, "threads=-2"),
        ({"threads": 1.5}, r"threads=1\.5"),
        ({"threads": True}, "threads=True"),
        ({"threads": 10**6}, "from 1 to 4096"),
        ({"page_edges": 0}, "page_edges=0"),
        ({"page_edges": 10.0}, r"page_edges=10\.0"),
        ({"page_edges": "all"}, "page_edges='all'"),
    ],
    ids=str,
)
def test_wrong_options(options, problem):
    with pytest.raises(ParameterError, match=problem):
        run_with(gp.apps.PageRank(), small(), **options)


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        ("graph.txt", "takes a Graph, not str; make one with read"),
        (None, "takes a Graph, not NoneType"),
        (nx.DiGraph(), "takes a Graph, not networkx.classes.digraph.DiGraph; make one with from_networkx"),
        (pd.DataFrame(), r"takes a Graph, not pandas\..*DataFrame; make one with from_pandas"),
        (scipy.sparse.csr_array((2, 2)), r"takes a Graph, not scipy\..*csr_array; make one with from_scipy"),
    ],
)
def test_not_a_graph(graph, problem):
    with pytest.raises(ParameterError, match=problem):
        gp.run(gp.apps.PageRank(), graph)


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (gp.apps.PageRank, r"write PageRank\(\.\.\.\)"),
        ("pagerank", r"takes an instance of a VertexProgram, not 'pagerank'; write gp\.apps\.PageRank\(\.\.\.\)"),
        ("Ranks", "not 'Ranks'; gp.apps has the programs of the library"),
        (3, "takes an instance of a VertexProgram, not 3$"),
        (Plain(), r"not an object of class Plain; write class Plain\(gp\.VertexProgram\)$"),
        (Plain, r"not the class Plain; write class Plain\(gp\.VertexProgram\)$"),
    ],
)
def test_not_a_program(program, problem):
    with pytest.raises(ParameterError, match=problem):
        gp.run(program, small())


def test_the_program_is_first():
    with pytest.raises(ParameterError, match=r"the program first, then the graph; write run\(program, graph\)"):
        gp.run(small(), gp.apps.PageRank())


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (gp.apps.PageRank, {"damping": 1}),
        (gp.apps.PageRank, {"damping": -0.1}),
        (gp.apps.PageRank, {"damping": np.nan}),
        (gp.apps.PageRank, {"damping": "0.85"}),
        (gp.apps.PageRank, {"tolerance": 0}),
        (gp.apps.PageRank, {"tolerance": np.inf}),
        (gp.apps.PageRank, {"stop": "soon"}),
        (gp.apps.PageRank, {"dangling": None}),
        (gp.apps.DeltaPageRank, {"damping": 1.5}),
        (gp.apps.DeltaPageRank, {"tolerance": -1e-9}),
        (gp.apps.NeuralNetwork, {"tolerance": 0}),
        (gp.apps.HeatSimulation, {"conductivity": 0}),
        (gp.apps.HeatSimulation, {"tolerance": None}),
        (gp.apps.CircuitSimulation, {"tolerance": np.nan}),
        (gp.apps.PenalizedHittingProbability, {"query": 0, "decay": 1}),
        (gp.apps.PenalizedHittingProbability, {"query": 0, "tolerance": 0}),
    ],
    ids=str,
)
def test_wrong_parameters(kind, parameters):
    with pytest.raises(ParameterError, match=f"{kind.__name__}.*{list(parameters)[-1]}"):
        kind(**parameters)


@pytest.mark.parametrize("dtype", ["float16", "complex64", "nonsense", "datetime64[s]", "U5", object, {}])
def test_wrong_dtypes(dtype):
    with pytest.raises(ProgramError, match=r"PageRank\.value"):
        gp.run(gp.apps.PageRank(dtype=dtype), small())
