"""Connected components by union-find: which programs it suits, when a run uses it, and that the answers stay."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import AutoPolicy, GaraphPolicy
from garaph_py.errors import ParameterError
from garaph_py.executor.cpu import components
from garaph_py.executor.memory import MemoryPlan
from garaph_py.executor.modes import COMPONENTS, CPU, GPU, PULL
from garaph_py.graph.build import from_numbered_edges
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.components import GRAPHS, Largest, Smallest, few_programs, lengthen, modes_of, undirected

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")


@pytest.fixture(scope="module", params=GRAPHS)
def graph(request):
    return undirected(GRAPHS[request.param])


@pytest.mark.full
@few_programs
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_answers_are_those_of_supersteps(graph, program, encoding):
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    found = run_with(program, graph, device="cpu", encoding=encoding)
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.stats.converged
    assert modes_of(found) == [COMPONENTS]
    assert PULL in modes_of(expected)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads(threads):
    edges = GRAPHS["sparse"]
    found = gp.run(gp.apps.ConnectedComponents(), undirected(edges), device="cpu", threads=threads, verify=True)
    np.testing.assert_array_equal(found.values, twins.components(edges.both_ways()))


@pytest.mark.spread
@few_programs
def test_sums_come_from_roots_where_parents_are_none(graph, program, monkeypatch):
    """A thread of `sum_trees` that shortens a path late leaves such parents."""
    on_vertices = components.Components._on_vertices

    def late(self, kernel, state, *, parents, **arrays):
        if kernel.name == "spread_sums":
            lengthen(parents)
        on_vertices(self, kernel, state, parents=parents, **arrays)

    expected = run_with(program, graph, device="cpu").values
    monkeypatch.setattr(components.Components, "_on_vertices", late)
    found = run_with(program, graph, device="cpu", threads=1)
    assert found.values.tobytes() == expected.tobytes()


@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("short", [0, 1 << 20])
def test_first_edges_are_hooked_in_short_lists(graph, threads, short, monkeypatch):
    launched, launch = set(), ThreadPool.launch
    monkeypatch.setattr(ThreadPool, "launch", lambda pool, rows: launched.add(rows.kernel.name) or launch(pool, rows))
    monkeypatch.setattr(components, "SHORT", short)
    found = gp.run(gp.apps.ConnectedComponents(), graph, device="cpu", threads=threads, verify=True)
    assert modes_of(found) == [COMPONENTS]
    assert ("hook_first" in launched) == (short > 0)
    assert ("plant" in launched) == (short == 0)


@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("shape", ["path", "tree", "cycles"])
def test_where_most_lists_have_two_edges_each_edge_is_linked_once(shape, threads):
    n, rng = 5000, np.random.default_rng(6)
    child = np.arange(1, n)
    parent = {"path": child - 1, "tree": rng.integers(0, child), "cycles": child - 1 + 50 * (child % 50 == 0)}[shape]
    ids = rng.permutation(n)
    graph = gp.from_edges(ids[parent], ids[child], directed=False)
    found = gp.run(gp.apps.ConnectedComponents(), graph, device="cpu", threads=threads)
    np.testing.assert_array_equal(found.values, twins.components(twins.Edges(n, ids[parent], ids[child]).both_ways()))
    (row,) = found.stats.iterations
    assert (row.mode, row.edges) == (COMPONENTS, n - 1)


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("n", [1, 9, 64])
def test_of_a_small_graph_the_largest_tree_is_not_looked_for(n, few, monkeypatch):
    monkeypatch.setattr(components, "FEW_VERTICES", few)
    monkeypatch.setattr(components, "SHORT", 0)  # else all edges of so short lists are linked at once
    asked = []
    of = components.most_frequent
    monkeypatch.setattr(components, "most_frequent", lambda parents: asked.append(1) or of(parents))
    edges = twins.skewed(3, n, n // 2)
    found = gp.run(gp.apps.ConnectedComponents(), undirected(edges), device="cpu", verify=True)
    np.testing.assert_array_equal(found.values, twins.components(edges.both_ways()))
    assert len(asked) == (few == 0)


@pytest.mark.full
@few_programs
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_edges_on_disk_are_read_once(tmp_path, program, encoding):
    graph = undirected(GRAPHS["dense"])
    expected = run_with(program, graph, device="cpu", sync=True).values
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=1 << 14)
    opened = gp.open(tmp_path / "g", memory=2 * graph._arrays.in_edges.offsets.nbytes)._replace(memory=6 << 20)
    assert opened.on_disk
    found = gp.run(program, opened, device="cpu")
    np.testing.assert_array_equal(found.values, expected)
    (row,) = found.stats.iterations
    assert row.mode == COMPONENTS
    assert row.edges == graph.m
    assert 0 < row.from_disk <= 1.5 * 4 * graph.m + (1 << 16)


@pytest.mark.parametrize(
    "how", [{"sync": True}, {"sync": False}, {"iterations": 9}, {"mode": "push"}, {"engine": "garaph"}], ids=repr
)
def test_supersteps_can_be_asked_for(how):
    found = run_with(gp.apps.ConnectedComponents(), undirected(GRAPHS["dense"]), device="cpu", **how)
    assert COMPONENTS not in modes_of(found)
    assert len(modes_of(found)) > 1


def test_it_can_be_asked_for():
    graph = undirected(GRAPHS["dense"])
    found = run_with(Largest(), graph, device="cpu", mode="components", iterations=3, sync=True)
    assert modes_of(found) == [COMPONENTS]
    np.testing.assert_array_equal(found.values, run_with(Largest(), graph, device="cpu", mode="pull").values)


class Farther(Smallest):
    def gather(self, src):
        return src + 0


class Weighted(Smallest):
    def gather(self, src, edge):
        return src if edge != 0 else 0 * src


class Finished(Smallest):
    def done(self, acc):
        return acc == 0


class Sorted(Smallest):
    monotone = True

    def priority(self, value):
        return value


class Summed(Smallest):
    sum = gp.add


class Floating(Smallest):
    value = np.float64


@pytest.mark.parametrize("kind", [Farther, Weighted, Finished, Sorted, Summed, Floating])
def test_other_programs_are_left_alone(kind):
    graph = undirected(GRAPHS["star"])
    assert not bind(kind(), graph).sums_components
    with pytest.raises(ParameterError, match=rf"mode='components': {kind.__name__} does not sum over connected"):
        run_with(kind(), graph, mode="components")


@pytest.mark.full
def test_directed_graphs_are_left_alone():
    edges = GRAPHS["dense"]
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n)
    assert bind(Smallest(), graph).copies_sources
    assert COMPONENTS not in modes_of(gp.run(Smallest(), graph, device="cpu"))
    with pytest.raises(ParameterError, match="requires an undirected graph"):
        run_with(Smallest(), graph, mode="components")


def test_the_papers_engine_does_not_know_it():
    with pytest.raises(ParameterError, match="mode='components' is not in the paper"):
        gp.Options(engine="garaph", mode="components")


def test_a_run_that_was_interrupted_goes_on_with_it(tmp_path):
    """The values of two supersteps are sums over parts of the components; a union of these is as good."""
    graph = undirected(GRAPHS["path"])
    where = tmp_path / "checkpoint"
    run_with(Largest(), graph, device="cpu", mode="pull", checkpoint=where, checkpoint_every=1, iterations=2)
    expected = run_with(Largest(), graph, device="cpu").values
    found = run_with(Largest(), graph, device="cpu", checkpoint=where, resume=True)
    np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize(("ratio", "device"), [(0.5, CPU), (2.0, GPU)])
def test_the_faster_processor_does_it(ratio, device):
    seen = Observation(100, 1000, 100, 1000, components=True, ratio=ratio, is_relaxation=True)
    decision = AutoPolicy().decide(seen)
    assert (decision.mode, decision.device, decision.alpha) == (COMPONENTS, device, ratio)
    assert GaraphPolicy().decide(seen).mode == PULL


@pytest.mark.parametrize("synchronous", [True, False])
def test_memory_for_parents_is_counted(synchronous):
    graph = undirected(GRAPHS["star"])
    bound = bind(gp.apps.ConnectedComponents(), graph)
    counted, others = (MemoryPlan(bound, graph, synchronous, True, False, components=k) for k in (True, False))
    for name in "cpu", "both":
        assert getattr(counted, name).vertices == getattr(others, name).vertices + 4 * graph.n
    assert counted.gpu == others.gpu
