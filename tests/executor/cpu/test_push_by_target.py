"""Push to ranges of targets: the answers, and the frontiers, of a push along lists; only where lists are long."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.cpu import push
from tests.support import twins
from tests.support.cases import EXACT, assert_exact, mostly_kept
from tests.support.components import Flood

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")


def kernels_of(made):
    return {name for name, _ in made}


@pytest.fixture
def always(monkeypatch):
    """Also where lists are short."""
    monkeypatch.setattr(push, "LEAST_EDGES", 0)


@pytest.mark.usefixtures("always")
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("threads", [2, 7])
@pytest.mark.parametrize("case", mostly_kept(EXACT))
def test_push_gives_the_same_answers(case, threads, sync, made, graph_of):
    edges = twins.skewed(41, 9000, 30000, case.weights)
    graph = graph_of(edges, directed=not case.symmetric)
    edges = edges.both_ways() if case.symmetric else edges
    run = run_with(case.program(edges), graph, mode="push", sync=sync, threads=threads)
    assert_exact(run, case.twin(edges))
    assert "push_by_target" in kernels_of(made)


@pytest.mark.parametrize("columns", [1, 3])
def test_frontiers_are_the_same(monkeypatch, columns, graph_of):
    edges = twins.skewed(5, 9000, 60000, "int32")
    graph, sources = graph_of(edges, directed=False), [1, 2, 5000]
    found = []
    for least in 0, 1 << 40:
        monkeypatch.setattr(push, "LEAST_EDGES", least)
        if columns == 1:
            run = run_with(gp.apps.SSSP(1), graph, mode="push", sync=True, threads=3)
            found.append((run.values.tobytes(), [(i.active, i.f, i.edges) for i in run.stats.iterations]))
        else:
            table = gp.run_many(gp.apps.SSSP, graph, sources, device="cpu", threads=3, options=gp.Options(mode="push"))
            found.append([table[source].values.tobytes() for source in sources])
    assert found[0] == found[1]


@pytest.mark.parametrize(("n", "enough"), [(190, 0), (40_000, push.LEAST_EDGES)])
def test_few_long_lists_are_divided_by_targets(made, graph_of, n, enough):
    """A hub with edges to all vertices; a small graph has fewer words of 64 vertices than ranges."""
    edges = replace(twins.skewed(6, n, 2000), sources=np.full(n, 7), targets=np.arange(n), n=n, weights=None)
    graph = graph_of(edges, weighted=False)
    for least in enough, n:
        made.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(push, "LEAST_EDGES", least)
            run = run_with(Flood(), graph, mode="push", sync=True, threads=2)
        assert ("push_by_target" in kernels_of(made)) == (least < n)
        assert (run.values[64:] == 1 << 7).all()


@pytest.mark.usefixtures("always")
def test_packed_lists_are_divided_by_edges(made, graph_of):
    edges = twins.skewed(8, 9000, 30000)
    run_with(gp.apps.BFS(0), graph_of(edges, weighted=False).packed(), mode="push", threads=2)
    assert "push_by_target" not in kernels_of(made)
    assert "push" in kernels_of(made)
