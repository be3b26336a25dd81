"""Push in delta form on a device simulated with NumPy: the answers of the CPU, and what a GPU has to have for it."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.gpu import header
from garaph_py.executor.modes import PULL, PUSH
from tests.support import twins
from tests.support.numpy_deltas import Peeled, Weighed
from tests.support.numpy_gpu import FakePinned, fail_in_iteration, held_after, memory_for
from tests.support.real_gpu import bytes_of_sums

from ...support.runs import run_with, ways_of

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

PATH = 60
"""Vertices of a path beside the other edges, which are taken away one by one."""
EDGES = twins.skewed(4, 9000, 24000, "int32")


def graph_of(directed):
    sources, targets = np.arange(PATH), np.arange(1, PATH + 1)  # it ends in the other edges
    more = EDGES.sources.astype(np.int64) + PATH, EDGES.targets.astype(np.int64) + PATH
    weights = np.append(np.ones(PATH, np.int32), EDGES.weights)
    return gp.from_edges(
        np.append(sources, more[0]), np.append(targets, more[1]), weights, vertices=range(PATH + EDGES.n),
        directed=directed,
    )  # fmt: skip


@pytest.fixture(
    scope="module", params=[True, pytest.param(False, marks=pytest.mark.full)], ids=["directed", "undirected"]
)
def graph(request):
    return graph_of(request.param)


def program_of(kind, graph):
    """In an undirected graph, every vertex of the path has two neighbours."""
    return kind(k=1 if graph.directed else 2)


def modes(run):
    return [row.mode for row in run.stats.iterations]


def launches(driver, kernel):
    return [name for name, _ in driver.launched].count(kernel)


@pytest.mark.spread
@pytest.mark.parametrize("kind", [Peeled, Weighed])
@pytest.mark.parametrize("piece", [header.PIECE, 8])
def test_the_answer_is_the_cpus(device_for, graph, monkeypatch, kind, piece):
    program = program_of(kind, graph)
    expected = run_with(program, graph, device="cpu", mode=PULL)
    monkeypatch.setattr(header, "PIECE", piece)
    monkeypatch.setattr("garaph_py.executor.gpu.memory_plan.PIECE", piece)
    driver = device_for(program, graph)
    for _ in range(2):  # the second run finds all pages in one piece
        found = run_with(program, graph, device="gpu", page_edges=3000)
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()
        rows = found.stats.iterations
        assert [(row.active, row.f) for row in rows] == [(row.active, row.f) for row in expected.stats.iterations]
        assert modes(found)[0] == PULL
        assert [row.mode == PUSH for row in rows[1:]] == [row.f <= 1 / EXPECTED.push_edge for row in rows[1:]]
        pushes = [row for row in rows if row.mode == PUSH]
        assert [row.edges for row in pushes] == [round(row.f * graph.m) for row in pushes]
        assert ways_of(pushes) == {"resident"}
    assert held_after(driver, graph) == 0


def test_packed_lists(device_for):
    graph = graph_of(directed=False).packed()
    program = Peeled(k=2)
    driver = device_for(program, graph)
    found = run_with(program, graph, device="gpu", page_edges=3000)
    kernels = {name for name, _ in driver.launched}
    assert {"push_deltas_packed", "push_few_deltas_packed"} & kernels
    assert not {"push_deltas", "push_few_deltas"} & kernels
    np.testing.assert_array_equal(found.values, run_with(program, graph, device="cpu", mode=PULL).values)


@pytest.mark.spread
@pytest.mark.parametrize("lists", [header.FEW_LISTS, 0])
def test_a_launch_does_several_supersteps(device_for, graph, monkeypatch, lists):
    """They are those that the host decides on one by one; with 0 lists for a thread, each has its own kernels."""
    monkeypatch.setattr(header, "FEW_LISTS", lists)
    program = program_of(Peeled, graph)
    driver = device_for(program, graph)
    for _ in range(2):  # the second run finds all pages in one piece
        driver.launched.clear()
        found = run_with(program, graph, device="gpu")
    counts = {name: launches(driver, name) for name in ("choose", "push_deltas", "push_few_deltas", "apply_notified")}
    single = run_with(program, graph, device="gpu", iterations=1000)
    np.testing.assert_array_equal(found.values, single.values)
    rows, alone = (
        [(row.mode, row.active, row.f, row.edges, ways_of([row])) for row in run.stats.iterations]
        for run in (found, single)
    )
    assert rows == alone
    pushes = modes(found).count(PUSH)
    assert pushes > PATH / 3
    if lists:
        assert counts == {"choose": header.CHAIN_LENGTH, "push_deltas": 0, "push_few_deltas": 1, "apply_notified": 0}
    else:
        assert counts["push_few_deltas"] == 0
        assert counts["push_deltas"] == counts["apply_notified"] == pushes
        assert counts["choose"] == -(-pushes // header.CHAIN_LENGTH) * header.CHAIN_LENGTH


def test_a_graph_without_edges(device_for):
    graph = gp.from_edges([], [], vertices=range(5))
    device_for(Peeled(), graph)
    assert run_with(Peeled(), graph, device="gpu").values.tolist() == [0] * 5


def without(graph, **options):
    """The modes of a run that has the right answer, and the names of the kernels."""
    program = program_of(Weighed, graph)
    found = run_with(program, graph, device="gpu", **options)
    expected = run_with(program, graph, device="cpu", mode=PULL, iterations=options.get("iterations"))
    np.testing.assert_array_equal(found.values, expected.values)
    return set(modes(found))


def test_a_device_without_all_edges_pulls(device_for, graph):
    device_for(program_of(Weighed, graph), graph)
    memory = memory_for(program_of(Weighed, graph), graph, 0.5)
    assert PUSH not in without(graph, gpu_memory=memory, page_edges=3000)


@pytest.mark.spread
@pytest.mark.parametrize("part", [0.5, 1.0])
def test_it_pushes_along_lists_that_it_can_read_in_host_memory(device_for, graph, monkeypatch, part):
    """With room for the sums, but not for all in-edges, or for the out-edges beside them."""
    program = program_of(Peeled, graph)
    monkeypatch.setattr(FakePinned, "driver", device_for(program, graph))
    memory = memory_for(program, graph, part) + bytes_of_sums(program, graph) + 12 * graph.n
    expected = run_with(program, graph, device="cpu", mode=PULL)
    for _ in range(2):
        found = run_with(program, graph, device="gpu", gpu_memory=memory, page_edges=3000)
        np.testing.assert_array_equal(found.values, expected.values)
        pushes = [row for row in found.stats.iterations if row.mode == PUSH]
        assert ways_of(pushes) == {"resident" if part == 1 and not graph.directed else "zero-copy"}


def test_sums_need_room_beside_the_edges(device_for, graph):
    """`memory_for` counts neither the sums nor the out-edges."""
    device_for(program_of(Weighed, graph), graph)
    program = program_of(Weighed, graph)
    least = memory_for(program, graph, 1.0)
    assert PUSH not in without(graph, gpu_memory=least + 4 * graph.n)
    assert PUSH in without(graph, gpu_memory=least + bytes_of_sums(program, graph) + 9 * graph.m)


@pytest.mark.spread
@pytest.mark.parametrize(
    "options",
    [{"engine": "garaph", "gather": "segmented"}, {"mode": PULL}, {"sync": False, "iterations": 3}],
    ids=str,
)
def test_runs_that_do_not_push(device_for, graph, options):
    driver = device_for(program_of(Weighed, graph), graph)
    if "sync" in options:
        run_with(program_of(Weighed, graph), graph, device="gpu", **options)
    else:
        assert without(graph, **options) == {PULL}
    assert launches(driver, "push_deltas") == 0


def test_a_hybrid_run_does_not_push(device_for, graph):
    driver = device_for(program_of(Weighed, graph), graph)
    found = run_with(program_of(Weighed, graph), graph, device="hybrid")
    expected = run_with(program_of(Weighed, graph), graph, device="cpu", mode=PULL)
    np.testing.assert_array_equal(found.values, expected.values)
    assert launches(driver, "push_deltas") == 0
    assert PUSH not in modes(found)


@pytest.mark.spread
@pytest.mark.parametrize("left", [1, 4, 9, 20])
def test_a_failing_device_costs_no_answer(device_for, graph, monkeypatch, left):
    """It fails while it pushes, or shortly after; the CPU goes on, or begins anew, with a pull."""
    program = program_of(Weighed, graph)
    expected = run_with(program, graph, device="cpu", mode=PULL)
    driver = device_for(program, graph)
    fail_in_iteration(monkeypatch, driver, 2, left)
    found = run_with(program, graph, device="gpu")
    assert found.stats.device == "cpu"
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.spread
@pytest.mark.parametrize("kind", [Peeled, Weighed])
@pytest.mark.parametrize("share", [0.3, 2])
def test_asynchronous_runs_pull_in_place_and_then_push(device_for, monkeypatch, graph, kind, share):
    """A pull that makes sums comes between: what pulls in place sum up are values of several ages."""
    program = program_of(kind, graph)
    driver = device_for(program, graph)
    monkeypatch.setattr(FakePinned, "driver", driver)
    memory = memory_for(program, graph, share) + bytes_of_sums(program, graph)
    options = {"device": "gpu", "page_edges": 3000, "gpu_memory": memory}
    expected = run_with(program, graph, **options)
    found = run_with(program, graph, sync=False, **options)
    np.testing.assert_array_equal(found.values, expected.values)
    kinds = [(row.mode, "makes the sums" in row.why) for row in found.stats.iterations]
    assert kinds[0] == (PULL, False)
    assert (PUSH in modes(found)) == (PUSH in modes(expected))
    if PUSH in modes(found):
        assert kinds[kinds.index((PUSH, False)) - 1] == (PULL, True)
        assert len(kinds) < len(modes(expected)) + 2
    assert held_after(driver, graph) == 0
