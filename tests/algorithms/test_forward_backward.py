"""Strongly connected components by vertex programs: beside SciPy's, in graphs of any shape, and their verifiers."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from garaph_py.algorithms.forward_backward import (
    SETTLED,
    SETTLED_BACK,
    Colour,
    Return,
    Trim,
    TrimBack,
    label_components,
    rank,
)
from garaph_py.algorithms.runs import Runs
from garaph_py.errors import VerificationError
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pairs, random_pair
from tests.support.stored_graphs import with_memory


def chain(count, size):
    """Cycles of `size` vertices, each with an edge to the next one; vertices have random numbers."""
    places = np.random.default_rng(1).permutation(count * size).reshape(count, size)
    around = np.stack((places, np.roll(places, -1, axis=1))).reshape(2, -1)
    along = np.stack((places[:-1, 0], places[1:, 0]))
    return gp.from_edges(*np.hstack((around, along)), vertices=range(count * size))


def path(length):
    """A path of vertices with random numbers."""
    places = np.random.default_rng(1).permutation(length)
    return gp.from_edges(places[:-1], places[1:])


def layers(depth, width):
    """Pairs of vertices in layers; from each pair edges lead to all pairs of the next layer."""
    places = np.arange(2 * depth * width).reshape(depth, width, 2)
    one, other = places[..., 0], places[..., 1]
    down = [np.repeat(one[:-1], width, axis=1).ravel(), np.tile(one[1:], width).ravel()]
    sources = np.concatenate((one.ravel(), other.ravel(), down[0]))
    return gp.from_edges(sources, np.concatenate((other.ravel(), one.ravel(), down[1])))


SHAPES = {
    "path": lambda: path(300),
    "cycle": lambda: chain(1, 300),
    "chain": lambda: chain(100, 3),
    "layers": lambda: layers(12, 5),
    "ascending": lambda: gp.from_edges(*np.sort(np.random.default_rng(1).integers(0, 60, (2, 400)), axis=0)),
    "sparse": lambda: random_pair(3, 100, 130, directed=True).ours,
    "dense": lambda: random_pair(3, 300, 3000, directed=True).ours,
    "loops": lambda: gp.from_edges([0, 1, 1, 2, 4], [0, 1, 2, 3, 4], vertices=range(6)),
}


def expected(graph):
    """The least vertex of each component, by NetworkX."""
    ends = graph.edges().to_pydict()
    theirs = nx.DiGraph(zip(ends["source"], ends["target"], strict=True))
    theirs.add_nodes_from(graph.ids)
    found = np.empty(graph.n, np.int64)
    for component in nx.strongly_connected_components(theirs):
        places = [graph.ids.index(v) for v in component]
        found[places] = min(places)
    return found


@pytest.mark.full
@given(pairs(directed=True))
def test_networkx_has_the_same(both):
    found = label_components(Runs(both.ours, "cpu", 1, 0))
    assert found.tolist() == expected(both.ours).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("shape", mostly_full(SHAPES, "chain", "sparse"))
@pytest.mark.parametrize("kept", mostly_full(["memory", "packed", "raw on disk", "packed on disk"], "raw on disk"))
def test_graphs_of_any_shape(shape, kept, tmp_path):
    graph = SHAPES[shape]()
    wanted = expected(graph)
    graph = graph.packed() if "packed" in kept else graph
    graph = on_disk(graph, tmp_path / "g") if "disk" in kept else graph
    assert label_components(Runs(graph, "cpu", 2, 0)).tolist() == wanted.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: chain(400, 2), lambda: layers(40, 10)], ids=["chain", "layers"])
def test_the_rounds_are_few_however_many_components_follow_each_other(make, tmp_path):
    """Each round searches forward and backward: two runs. Components of one colour would be found one after another
    without ranks at random, and those of the layers one layer after another without colours in order."""
    heard = []

    class Counted(Runs):
        def __call__(self, program, **how):
            heard.append(type(program))
            return super().__call__(program, **how)

    label_components(Counted(on_disk(make(), tmp_path / "g"), "cpu", 1, 0))
    assert heard.count(Colour) == heard.count(Return) <= 20


def test_vertices_are_ranked_by_colour_first():
    ranks = np.array([5, 9, 2, 7, 1], np.uint32)
    rank(np.array([True, True, False, True, True]), np.array([3, 1, 1, 1, 3], np.uint32), ranks)
    assert ranks[[3, 1, 4, 0]].tolist() == [1, 2, 3, 4]


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize("shape", mostly_full(SHAPES, "sparse"))
def test_a_simulated_gpu_finds_the_same(shape):
    graph = SHAPES[shape]()
    result = gp.algorithms.strongly_connected_components(graph, device="gpu")
    assert result.values.tolist() == expected(graph).tolist()
    assert result.stats.device == "NumPy"


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_gpu_finds_the_same(shape, device):
    graph = SHAPES[shape]()
    result = gp.algorithms.strongly_connected_components(graph, device=device)
    assert result.values.tolist() == expected(graph).tolist()


@pytest.mark.gpu
def test_a_gpu_finds_the_same_in_a_large_graph(tmp_path):
    graph = gp.rmat(18, 4, seed=2)
    wanted = gp.algorithms.strongly_connected_components(graph, device="cpu").values
    for each in graph, graph.packed(), with_memory(on_disk(graph, tmp_path / "g"), 64 << 20):
        found = gp.algorithms.strongly_connected_components(each, device="gpu")
        assert (found.values == wanted).all()
        assert found.stats.device != "cpu"


GRAPH = [0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 3, 2]
"""The cycle 0, 1, 2 leads to the cycle 3, 4; 5 leads to the first, and nothing to 5."""


def checked(program, values=None):
    """Have the program verify its answer, or these values."""
    graph = gp.from_edges(*GRAPH)
    result = gp.run(program, graph, debug=True)
    if values is not None:
        result.values[:] = values
    gp.check(program, graph, result)
    return result.values.tolist()


def test_the_programs_verify_their_answers():
    assert checked(Trim(1)) == [1, 1, 1, 1, 1, 0]
    assert checked(TrimBack(1)) == [1] * 6
    assert checked(TrimBack(np.array([1, 1, 0, 1, 1, 1]))) == [0, 0, 0, 1, 1, 0]
    assert checked(Colour(np.arange(1, 7, dtype=np.uint32))) == [6, 6, 6, 6, 6, 6]
    assert checked(Colour(np.array([1, 2, SETTLED, 3, 4, 5], np.uint32))) == [1, 2, SETTLED, 4, 4, 5]
    assert checked(Return(np.array([11, 10, SETTLED_BACK, 13, 12, 5]))) == [10, 10, SETTLED_BACK, 12, 12, 5]


@pytest.mark.parametrize(
    ("program", "values", "problem"),
    [
        (Trim(1), [1, 1, 1, 1, 1, 1], "kept without"),
        (Trim(1), [1, 1, 1, 0, 0, 0], "removed beside one"),
        (Trim(1), [0, 0, 0, 0, 0, 0], "a cycle is removed"),
        (Trim(np.array([0, 1, 1, 1, 1, 1])), [1, 1, 1, 1, 1, 0], "kept without"),
        (Colour(np.arange(1, 7, dtype=np.uint32)), [6, 6, 6, 6, 4, 6], "worse than the first"),
        (Colour(np.arange(1, 7, dtype=np.uint32)), [3, 3, 6, 6, 6, 6], "worse than that of an in-neighbour"),
        (Colour(np.array([1, 2, 3, 4, 5, 0], np.uint32)), [6, 6, 6, 6, 6, 0], "not that of a vertex"),
        (Colour(np.array([1, 1, 1, 4, 4, 0], np.uint32)), [3, 3, 3, 4, 4, 0], "not that of a vertex"),
        (Return(np.array([11, 10, 11, 13, 12, 5])), [10, 10, 11, 12, 12, 5], "worse than that of an in-neighbour"),
        (Return(np.array([11, 11, 11, 13, 12, 5])), [10, 10, 10, 12, 12, 5], "not that of a vertex"),
    ],
)
def test_the_verifiers_refuse_wrong_answers(program, values, problem):
    with pytest.raises(VerificationError, match=problem):
        checked(program, values)
