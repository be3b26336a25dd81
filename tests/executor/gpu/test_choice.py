"""The choice between raw and packed edges on the GPU, and the options for packed edges."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceMemoryError, ParameterError
from garaph_py.executor.gpu import choice
from garaph_py.executor.gpu.edges import raw_layout
from garaph_py.executor.gpu.packing import STAGING_BYTES
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from garaph_py.runtime.gpu_settings import gather_of
from garaph_py.runtime.options import RunOptions
from tests.support import twins

from ...support.runs import run_with


@pytest.fixture
def graph(graph_of):
    return graph_of(twins.skewed(3, 3000, 60_000, "int32"))


def records_of(graph):
    with ThreadPool(2) as pool:
        return replace(graph._arrays).packed_in_edges(pool).neighbour_array.records


def chosen(graph, gather="auto", left=1 << 30, iterations=None, seconds=1.0, measured=None, value_bytes=4):
    def measure():
        if measured is not None:
            measured.append(True)
        return records_of(graph), seconds

    return choice.choose(graph._arrays, value_bytes, gather, left, measure, iterations, 2)


def test_what_fits_stays_raw(graph):
    measured = []
    found = chosen(graph, measured=measured)
    assert found.arrays == raw_layout(4)
    assert not found.packs
    assert not measured


@pytest.mark.parametrize("gather", ["segmented", "replicated"])
def test_raw_gathers_stay_raw(graph, gather):
    assert chosen(graph, gather, left=1000).arrays == raw_layout(4)


def test_on_request_it_packs_on_the_device_if_packed_edges_fit(graph):
    found = chosen(graph, "packed", left=STAGING_BYTES + 8 * graph.m)
    assert found.packs
    assert found.edges is graph._arrays.in_edges
    assert found.arrays.values.width == 4
    assert not graph._arrays.has_packed_in_edges


def test_if_packed_edges_do_not_fit_the_cpu_packs_once(graph):
    found = chosen(graph, "packed", left=1000)
    assert not found.packs
    assert found.arrays.encoding == "packed"
    assert found.arrays.values.codec == "packed"
    assert found.edges is chosen(graph, "packed", left=1000).edges


@pytest.mark.parametrize(("iterations", "seconds", "packs"), [
    (2, 1e9, False), (3, 1e9, True), (None, 1e9, True), (None, 1e-9, False), (1000, 1e-3, True), (4, 1e-9, False),
])  # fmt: skip
def test_auto_packs_what_does_not_fit_if_it_pays(graph, iterations, seconds, packs):
    found = chosen(graph, left=1000, iterations=iterations, seconds=seconds)
    assert (found.arrays.encoding == "packed") == packs


def test_auto_leaves_the_host_its_memory(graph, monkeypatch):
    monkeypatch.setattr(choice, "HOST_SHARE", 0)
    assert chosen(graph, left=1000, seconds=1e9).arrays == raw_layout(4)


@pytest.mark.parametrize(("gather", "packs"), [("auto", False), ("packed", True)])
def test_no_memory_to_measure_in(graph, gather, packs):
    def measure():
        raise DeviceMemoryError("no")

    found = choice.choose(graph._arrays, 0, gather, 100, measure, None, 2)
    assert (found.arrays.encoding == "packed") == packs


def test_a_packed_graph_comes_as_it_is(graph):
    packed = graph.packed()
    assert chosen(packed, "packed", left=10).edges is packed._arrays.in_edges


def settings(program, graph, encoding, **how):
    return gather_of(bind(program, graph), encoding, RunOptions(**how))


@pytest.mark.parametrize("how", [{}, {"deterministic": True}, {"engine": "garaph"}])
def test_auto_takes_packed_edges_packed(graph, how):
    assert settings(gp.apps.PageRank(), graph, "packed", **how) == "packed"


@pytest.mark.parametrize(("how", "gather"), [
    ({}, "auto"), ({"deterministic": True}, "segmented"), ({"engine": "garaph"}, "replicated"),
])  # fmt: skip
def test_auto_over_raw_edges(graph, how, gather):
    assert settings(gp.apps.PageRank(), graph, "raw", **how) == gather


@pytest.mark.parametrize("gather", ["segmented", "replicated"])
def test_gathers_for_raw_edges_say_so(graph, gather):
    with pytest.raises(ParameterError, match="--encoding raw"):
        run_with(gp.apps.PageRank(), graph.packed(), device="cpu", gather=gather)
    result = run_with(gp.apps.PageRank(), graph.packed(), device="cpu", gather=gather, encoding="raw", iterations=2)
    assert result.stats.encoding == "raw"
    assert np.isfinite(result.values).all()


def lists_bytes(graph, left, runs=choice.FAR_RUNS, value_bytes=0, iterations=None, gather="auto"):
    def measure():
        return records_of(graph), 1.0

    def within(room):
        return choice.choose(graph._arrays, value_bytes, gather, room, measure, iterations, 2)

    return choice.packed_lists_bytes(graph._arrays, value_bytes, left, runs, measure, within, 2)


@pytest.fixture
def directed():
    edges = twins.skewed(3, 3000, 60_000, "int32")
    return gp.from_edges(edges.sources, edges.targets, edges.weights, vertices=range(edges.n))


def test_packed_out_edges_take_room_if_raw_ones_do_not_fit(directed, monkeypatch):
    monkeypatch.setattr(choice, "STAGING_BYTES", 0)
    raw = 4 * directed.m
    for left, runs in (raw - 1, 99), (2 * raw, 99), (2 * raw - 1, choice.FAR_RUNS - 1):
        assert lists_bytes(directed, left, runs) == 0
        assert not directed._arrays.has_packed_out_edges(False)
    found = lists_bytes(directed, raw)
    with ThreadPool(1) as pool:
        assert found == directed._arrays.packed_out_edges(False, pool).neighbour_array.nbytes
    assert lists_bytes(directed, raw, runs=0) == found  # those that are there
    assert lists_bytes(directed, raw + found, runs=0) == found  # also beside raw in-edges
    monkeypatch.setattr(choice, "STAGING_BYTES", raw)
    assert lists_bytes(directed, raw) == 0


@pytest.mark.parametrize("how", [{"iterations": 2}, {"gather": "segmented"}], ids=str)
def test_out_edges_are_not_packed_if_in_edges_stay_raw_and_do_not_fit_beside_them(directed, monkeypatch, how):
    monkeypatch.setattr(choice, "STAGING_BYTES", 0)
    raw = 4 * directed.m
    assert lists_bytes(directed, raw, **how) == 0
    assert not directed._arrays.has_packed_out_edges(False)
    assert lists_bytes(directed, 2 * raw - 1, **how) > 0  # raw ones fit
    assert lists_bytes(directed, raw, **how) == 0  # nor are those used that are there


def test_packed_out_edges_need_values_and_memory(directed, monkeypatch):
    monkeypatch.setattr(choice, "STAGING_BYTES", 0)
    left = 15 * directed.m
    assert lists_bytes(directed, left, value_bytes=4) == 0
    with ThreadPool(1) as pool:
        directed._arrays.valued_out_edges(pool)
    monkeypatch.setattr(choice, "HOST_SHARE", 0)
    assert lists_bytes(directed, left, value_bytes=4) == 0
    monkeypatch.undo()
    monkeypatch.setattr(choice, "STAGING_BYTES", 0)
    assert 0 < lists_bytes(directed, left, value_bytes=4) < left / 2
