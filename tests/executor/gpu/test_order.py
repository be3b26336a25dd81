"""When a GPU numbers vertices in hub order: for which programs and graphs, and after how many gathered edges."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.executor.gpu import order
from garaph_py.executor.gpu.order import Ordering, cost, is_skewed
from garaph_py.executor.gpu.reorder import may_order, refusal
from garaph_py.executor.gpu.settings import Settings
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from tests.support import twins
from tests.support.numpy_gpu import GRAPH, HUB, Hops, PlainBlend

from ...support.runs import run_with


def allowed(program, graph, **settings):
    return may_order(bind(program, graph), graph, Settings(**{"order": "auto", **settings}))


def test_programs_that_see_no_numbers_and_update_all_vertices(graph_of):
    graph = graph_of(GRAPH)
    for program in (PlainBlend(), gp.apps.PageRank()):
        assert allowed(program, graph)
        assert allowed(program, graph, gather="segmented", order="hub")
    for program in (Hops(HUB), gp.apps.BFS(0), gp.apps.DeltaPageRank(), gp.apps.NeuralNetwork(0.5)):
        assert not allowed(program, graph, order="hub")


@pytest.mark.parametrize(
    "settings",
    [{"order": "given"}, {"deterministic": True}, {"gather": "replicated"}, {"gather": "packed"}],
    ids=str,
)
def test_settings_that_rule_it_out(graph_of, settings):
    assert not allowed(PlainBlend(), graph_of(GRAPH), **settings)


def test_graphs_that_rule_it_out(graph_of, tmp_path):
    graph = graph_of(GRAPH)
    assert not allowed(PlainBlend(), graph.packed())
    assert not allowed(PlainBlend(), graph_of(twins.Edges(5, np.zeros(0, int), np.zeros(0, int))))
    gp.save(graph, tmp_path / "graph")
    bounded = gp.open(tmp_path / "graph", memory="1GiB")
    assert "bounded" in refusal(bind(PlainBlend(), bounded), bounded, "raw", "auto")


@pytest.mark.parametrize(
    ("program", "how", "says"),
    [
        (Hops(HUB), {}, "Hops asks for id or src_id"),
        (gp.apps.DeltaPageRank(), {}, "DeltaPageRank has no aggregate"),
        (gp.apps.PageRank(), {"encoding": "packed"}, "for raw edges, and these are packed"),
        (gp.apps.PageRank(), {"gather": "replicated"}, "not for 'replicated'"),
        (gp.apps.PageRank(), {"engine": "garaph"}, "not for 'replicated'"),
        (gp.apps.PageRank(), {"deterministic": True}, "deterministic=True needs gpu_order='given'"),
    ],
    ids=str,
)
def test_hub_is_refused_where_it_cannot_be(graph_of, program, how, says):
    with pytest.raises(ParameterError, match=says):
        run_with(program, graph_of(GRAPH), gpu_order="hub", **how)


def test_skewed_degrees():
    with ThreadPool(2) as pool:
        rmat, regular = gp.rmat(12, seed=1), twins.regular(1, 3000, 6)
        assert is_skewed(rmat._arrays.out_edges.offsets, pool)
        assert not is_skewed(np.append(0, np.cumsum(regular.out_degrees)), pool)
        assert not is_skewed(np.arange(1001) * 8, pool)
        assert not is_skewed(np.zeros(10, np.int64), pool)


def test_it_pays_once_the_iterations_have_cost_as_much(monkeypatch):
    graph = gp.rmat(12, seed=1)
    arrays, bound, known = graph._arrays, bind(PlainBlend(), graph), Ordering()
    assert cost(arrays, 4) == 2 * graph.m + 2000 * graph.n
    known.gathered = cost(arrays, 1)
    assert not known.pays(bound, arrays, 1)  # few values
    monkeypatch.setattr(order, "LEAST_BYTES", 8 * graph.n)
    assert known.pays(bound, arrays, 1)
    known.gathered -= 1
    assert not known.pays(bound, arrays, 1)


def test_it_does_not_pay_where_degrees_are_alike(graph_of, monkeypatch):
    monkeypatch.setattr(order, "LEAST_BYTES", 0)
    graph, known = graph_of(twins.regular(1, 3000, 6)), Ordering()
    known.gathered = cost(graph._arrays, 1)
    assert not known.pays(bind(PlainBlend(), graph), graph._arrays, 1)


def test_the_numbering_is_made_once(graph_of):
    arrays, known = graph_of(GRAPH)._arrays, Ordering()
    hub = known.numbering(arrays, 2)
    assert known.numbering(arrays, 1) is hub
    np.testing.assert_array_equal(np.diff(hub.ranks.offsets)[hub.positions], np.diff(arrays.in_edges.offsets))
    np.testing.assert_array_equal(np.diff(hub.out_offsets(2))[hub.positions], GRAPH.out_degrees)
