"""Weakly connected components by hooking: beside NetworkX's, in graphs of any shape; what the verifier refuses."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from garaph_py.algorithms.hooking import LeastNear, hooked
from garaph_py.algorithms.runs import Runs
from garaph_py.graph.build import from_numbered_edges
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.components import GRAPHS
from tests.support.networkx_graphs import FIRST, on_disk, pairs
from tests.support.stored_graphs import with_memory


@given(pairs(directed=True))
def test_networkx_has_the_same(both):
    components = nx.weakly_connected_components(both.theirs)
    expected = {v: min(component) for component in components for v in component}
    found = hooked(Runs(both.ours, "cpu", 1, 0))
    assert dict(zip(both.ours.ids, (found + FIRST).tolist(), strict=True)) == expected


@pytest.mark.parametrize("kept", mostly_full(["memory", "packed", "raw on disk", "packed on disk"], "raw on disk"))
@pytest.mark.parametrize("called", mostly_full(GRAPHS, "dense"))
def test_graphs_of_any_shape(called, kept, tmp_path):
    edges = GRAPHS[called]
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n)
    graph = graph.packed() if "packed" in kept else graph
    graph = on_disk(graph, tmp_path / "g") if "disk" in kept else graph
    np.testing.assert_array_equal(hooked(Runs(graph, "cpu", 2, 0)), twins.components(edges))


@pytest.mark.parametrize("order", ["ascending", "random"])
def test_a_long_path_takes_few_rounds(order):
    """Along it, labels alone would take 9,999 iterations."""
    places = np.arange(10_000) if order == "ascending" else np.random.default_rng(1).permutation(10_000)
    runs = Runs(gp.from_edges(places[:-1], places[1:], vertices=range(10_000)), "cpu", 1, 0)
    assert not hooked(runs).any()
    assert len(runs.stats().iterations) < 20


def test_the_program_verifies_its_answer():
    graph, given = gp.from_edges([0, 1, 3], [1, 2, 3], vertices=range(5)), np.array([4, 7, 5, 6, 1], np.uint32)
    result = gp.run(LeastNear(given), graph, iterations=1, verify=True)
    assert result.values.tolist() == [4, 4, 5, 6, 1]
    result.values[2] = 4
    with pytest.raises(gp.errors.VerificationError, match="not the least near"):
        gp.check(LeastNear(given), graph, result)


@pytest.mark.gpu
def test_a_gpu_finds_the_same_in_a_large_graph(tmp_path):
    graph = gp.rmat(18, 4, seed=2)
    wanted = gp.algorithms.weakly_connected_components(graph, device="cpu").values
    for each in graph, graph.packed(), with_memory(on_disk(graph, tmp_path / "g"), 64 << 20):
        found = gp.algorithms.weakly_connected_components(each, device="gpu")
        assert (found.values == wanted).all()
        assert found.stats.device != "cpu"
