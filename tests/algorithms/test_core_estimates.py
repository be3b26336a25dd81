"""Core numbers by estimates: beside NetworkX's, on disk and on a GPU; what the verifier refuses."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from garaph_py.algorithms.core_estimates import Cores, bound, estimated_cores, self_loops
from garaph_py.algorithms.runs import Runs
from garaph_py.errors import GraphError
from tests.support.networkx_graphs import on_disk, pairs, random_pair
from tests.support.stored_graphs import with_memory


def simple(both):
    """The graph of a `Pair` without parallel edges, but with its self-loops."""
    looped = both.with_loops()
    return gp.from_edges(*zip(*looped.edges, strict=True), vertices=list(looped), directed=both.ours.directed)


def estimated(graph, device="cpu", threads=2):
    return estimated_cores(Runs(graph, device, threads, 0)).tolist()


@pytest.mark.full
@given(pairs())
def test_networkx_has_the_same(both):
    if both.ours.m:
        assert estimated(simple(both), threads=1) == list(nx.core_number(both.theirs).values())


@pytest.mark.full
def test_without_edges_all_numbers_are_0():
    assert estimated(gp.from_edges([], [], vertices=[3, 4], directed=False)) == [0, 0]


KINDS = {"undirected": False, "directed": True}


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", ["memory", "packed", "raw on disk", "packed on disk"])
def test_packed_and_on_disk(kind, kept, tmp_path):
    both = random_pair(2, 400, 6000, KINDS[kind])
    graph = simple(both).packed() if "packed" in kept else simple(both)
    graph = on_disk(graph, tmp_path / "g") if "disk" in kept else graph
    assert estimated(graph) == list(nx.core_number(both.theirs).values())


def h_index(values):
    """The largest h for which h of the values are at least h."""
    ordered = sorted(values, reverse=True)
    return sum(value >= place for place, value in enumerate(ordered, 1))


def test_an_estimate_is_between_the_h_index_and_itself_and_falls_if_that_is_lower():
    rng = np.random.default_rng(4)
    for _ in range(300):
        values, old = rng.integers(0, 100, rng.integers(0, 120)), int(rng.integers(0, 120))
        lesser = (old, *(old - max(old >> part, 1) for part in (5, 3, 1)))
        new = bound(old, *(int(np.count_nonzero(values >= each)) for each in lesser))
        right = min(old, h_index(values))
        assert right <= new <= old
        assert (new == old) == (right == old)


def test_a_hub_of_many_leaves_falls_in_few_iterations():
    star = gp.from_edges(np.zeros(500, np.int64), np.arange(1, 501), directed=False)
    result = gp.run(Cores(0), star, debug=True)
    assert set(result.values.tolist()) == {1}
    assert len(result.stats.iterations) < 10


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize("kind", KINDS)
def test_a_simulated_gpu_finds_the_same(kind):
    both = random_pair(2, 40, 120, KINDS[kind])
    result = gp.algorithms.core_number(simple(both), device="gpu")
    assert dict(result) == nx.core_number(both.theirs)
    assert result.stats.device == "NumPy"


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same(kind, device):
    graph = simple(random_pair(2, 400, 6000, KINDS[kind]))
    wanted = gp.algorithms.core_number(graph, device="cpu").values
    assert gp.algorithms.core_number(graph, device=device).values.tolist() == wanted.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_finds_the_same_in_a_large_graph(kind, tmp_path):
    rng = np.random.default_rng(3)
    ends = (rng.power(0.4, (2, 1_000_000)) * 100_000).astype(np.int64)
    graph = gp.from_edges(*ends, directed=KINDS[kind], drop_parallel=True)
    wanted = gp.algorithms.core_number(graph, device="cpu").values
    for each in graph, graph.packed(), with_memory(on_disk(graph, tmp_path / "g"), 64 << 20):
        found = gp.algorithms.core_number(each, device="gpu")
        assert (found.values == wanted).all()
        assert found.stats.device != "cpu"


def test_parallel_edges_are_refused_by_their_ends(tmp_path):
    graph = gp.from_edges([5, 6, 6, 7], [6, 7, 7, 5])
    assert dict(gp.algorithms.core_number(graph)) == {5: 2, 6: 2, 7: 2}
    with pytest.raises(GraphError, match=r"core_number.*parallel edges, and 6 -> 7 has some.*drop_parallel=True"):
        gp.algorithms.core_number(on_disk(graph, tmp_path / "g"))


def test_self_loops():
    assert self_loops(gp.from_edges([0, 1, 1], [0, 2, 1], directed=False)).tolist() == [1, 1, 0]
