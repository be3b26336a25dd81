"""Rows of columns are pushed on a device simulated with NumPy, if one GPU works alone and has room for the lists."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy
from garaph_py.executor.modes import NOTIFY_PULL, PULL, PUSH
from garaph_py.program import bind
from garaph_py.program.columns import joined, pushing_rows
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.numpy_gpu import (
    FakePinned,
    Lengths,
    Quiet,
    fail_in_iteration,
    held_after,
    memory_for,
)

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

PATH = 60
"""Vertices of a path beside the other edges."""
EDGES = twins.beside_path(PATH, twins.skewed(4, 9000, 30000))
LENGTHS = np.random.default_rng(3).integers(1, 100, len(EDGES.sources), dtype=np.int32)
SOURCES = 0, 7, int(EDGES.sources[PATH])


def graph_with(directed):
    return gp.from_edges(EDGES.sources, EDGES.targets, LENGTHS, vertices=range(EDGES.n), directed=directed)


def rows_of(kind, graph):
    return pushing_rows(joined([bind(kind(source), graph) for source in SOURCES]))


def many(kind, graph, **how):
    device = how.pop("device", "gpu")
    return gp.run_many([kind(source) for source in SOURCES], graph, device=device, options=gp.Options(**how))


@pytest.fixture
def few_edges_pull_too(monkeypatch):
    even_f = policy.even_f
    monkeypatch.setattr(policy, "even_f", lambda seen: even_f(seen) / 2)
    monkeypatch.setattr(policy, "DEVICE_FEW_EDGES", 0)


@pytest.mark.spread
@pytest.mark.usefixtures("few_edges_pull_too")
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", [Quiet, pytest.param(Lengths, marks=pytest.mark.full)])
def test_the_answer_is_the_cpus(device_for, kind, directed, encoding):
    graph = graph_with(directed)
    driver = device_for(kind, graph, bind=rows_of)
    expected = many(kind, graph, device="cpu", mode=PULL)
    for _ in range(2):  # the second run finds all pages in one piece
        found = many(kind, graph, encoding=encoding, page_edges=3000)
        assert found[0].stats.device == "NumPy"
        rows = found[0].stats.iterations
        # packed values of a directed graph are not there in the order of sources
        is_unordered = kind is Lengths and directed and encoding == "packed"
        assert (PUSH in {row.mode for row in rows}) != is_unordered
        assert directed or PULL in {row.mode for row in rows}
        assert [row.active for row in rows] == [row.active for row in expected[0].stats.iterations]
        np.testing.assert_array_equal(found.values, expected.values)
    assert held_after(driver, graph) == 0


def test_a_launch_does_one_superstep(device_for):
    """There is no kernel for several supersteps of rows."""
    graph = graph_with(False)
    driver = device_for(Quiet, graph, bind=rows_of)
    many(Quiet, graph)
    kernels = {name for name, _ in driver.launched}
    assert {"choose", "push_queue", "initialize_rows"} <= kernels
    assert not {"push_few", "initialize", "push_edge_list"} & kernels


@pytest.mark.full
@pytest.mark.usefixtures("few_edges_pull_too")
def test_lists_in_host_memory_are_pushed_from(device_for, monkeypatch):
    graph = graph_with(False)
    driver = device_for(Lengths, graph, bind=rows_of)
    monkeypatch.setattr(FakePinned, "driver", driver)
    expected = many(Lengths, graph, device="cpu", mode=PULL)
    found = many(Lengths, graph, gpu_memory=room_for(graph, 0.5), page_edges=3000)
    ways = {(group.mode, group.transfer) for row in found[0].stats.iterations for group in row.groups}
    assert ways >= {(PUSH, "zero-copy"), (PULL, "copied")}
    assert (PUSH, "copied") not in ways
    assert "push_edge_list" not in {name for name, _ in driver.launched}
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.full
@pytest.mark.parametrize("directed", [False, True])
def test_without_room_for_the_lists_a_gpu_pulls(device_for, directed):
    """The host's memory cannot be mapped here."""
    graph = graph_with(directed)
    device_for(Lengths, graph, bind=rows_of)
    expected = many(Lengths, graph, device="cpu", mode=PULL)
    found = many(Lengths, graph, gpu_memory=room_for(graph, 0.5), page_edges=3000)
    assert found[0].stats.device == "NumPy"
    assert {row.mode for row in found[0].stats.iterations} <= {PULL, NOTIFY_PULL}
    np.testing.assert_array_equal(found.values, expected.values)


def room_for(graph, share):
    """Bytes of the GPU's memory with room for a share of the edges."""
    return memory_for(Lengths, graph, share, bind=rows_of)


@pytest.mark.full
@pytest.mark.usefixtures("gpu_is_faster")
def test_both_processors_pull(device_for):
    graph = graph_with(False)
    device_for(Lengths, graph, bind=rows_of)
    expected = many(Lengths, graph, device="cpu", mode=PULL)
    found = many(Lengths, graph, device="hybrid", page_edges=3000)
    assert PUSH not in {row.mode for row in found[0].stats.iterations}
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.slow
def test_a_gpu_pulls_rows_of_edges_on_disk(device_for, tmp_path):
    store.save(graph_with(False), tmp_path / "graph", block_bytes=1 << 16)
    graph = gp.open(tmp_path / "graph", memory=150_000)._replace(memory=6 << 20)
    assert graph.on_disk
    device_for(Quiet, graph, bind=rows_of)
    expected = many(Quiet, graph, device="cpu", mode=PULL)
    found = many(Quiet, graph)
    assert found[0].stats.device == "NumPy"
    assert PUSH not in {row.mode for row in found[0].stats.iterations}
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.full
@pytest.mark.parametrize("left", [1, 4, 9, 20])
@pytest.mark.parametrize("directed", [False, True])
def test_a_failing_device_costs_no_answer(device_for, monkeypatch, directed, left):
    """It fails a few accesses to its memory after its third iteration has begun."""
    graph = graph_with(directed)
    driver = device_for(Lengths, graph, bind=rows_of)
    expected = many(Lengths, graph, device="cpu", mode=PULL)
    fail_in_iteration(monkeypatch, driver, 3, left)
    found = many(Lengths, graph)
    assert found[0].stats.device == "cpu"
    np.testing.assert_array_equal(found.values, expected.values)
