"""Pushes in directed graphs, on a device simulated with NumPy: the answers of the CPU, from lists that stay there."""

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy
from garaph_py.errors import DeviceError
from garaph_py.executor.gpu import choice, device_graph, header, staging
from garaph_py.executor.gpu.memory_plan import can_push
from garaph_py.executor.gpu.placement import Placer
from garaph_py.executor.modes import PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from tests.support import numpy_push, twins
from tests.support.cases import mostly_full
from tests.support.numpy_gpu import (
    KERNELS,
    FakePinned,
    Lengths,
    Quiet,
    Trails,
    failing_once,
    held_after,
    memory_for,
    when_iterations_begin,
)  # fmt: skip

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster")

PROGRAMS = {"hops": Quiet(0), "lengths": Lengths(0)}
PATH = 200
"""Vertices of the path that leads to most graphs: one launch does many supersteps."""


def after_path(edges):
    """The graph of these edges, at the end of a path from vertex 0; parallel edges have lengths of their own."""
    sources = np.append(np.arange(PATH), edges.sources.astype(np.int64) + PATH)
    targets = np.append(np.arange(1, PATH + 1), edges.targets.astype(np.int64) + PATH)
    lengths = np.random.default_rng(1).integers(1, 50, len(sources)).astype(np.int32)
    return gp.from_edges(sources, targets, lengths, vertices=range(PATH + edges.n))


def star(out):
    """Edges from vertex 0 to all others, or to it from them."""
    ends = np.zeros(3000, np.int64), np.arange(1, 3001)
    return twins.Edges(3001, *(ends if out else ends[::-1]))


GRAPHS = {
    "skewed": lambda: after_path(twins.skewed(4, 9000, 40000)),
    "sparse": lambda: after_path(twins.skewed(5, 9000, 10000)),
    "star out": lambda: after_path(star(True)),
    "star in": lambda: gp.from_edges(star(False).sources, star(False).targets, np.ones(3000, np.int32)),
    "no edges": lambda: gp.from_edges([], [], np.empty(0, np.int32), vertices=range(100)),
    "one edge": lambda: gp.from_edges([0], [1], np.full(1, 7, np.int32), vertices=range(3)),
}


def modes_of(result):
    return {row.mode for row in result.stats.iterations}


def pushes_of(result):
    """How the edges of pushes reached the GPU."""
    return {group.transfer for row in result.stats.iterations for group in row.groups if row.mode == PUSH}


def launches(driver, kernel):
    return [name for name, _ in driver.launched].count(kernel)


def expected(program, graph):
    return run_with(program, graph, device="cpu", mode=PULL, sync=True)


@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", mostly_full(GRAPHS, "skewed", "star in"))
def test_the_answer_is_the_cpus(device_for, name, program, device, sync):
    graph, program = GRAPHS[name](), PROGRAMS[program]
    driver, right = device_for(program, graph), expected(program, graph)
    for iterations in None, 10_000, None:  # with a limit, a launch does one superstep
        found = run_with(program, graph, device=device, sync=sync, page_edges=3000, iterations=iterations)
        assert found.stats.device == "NumPy"
        rows = found.stats.iterations
        np.testing.assert_array_equal(found.values, right.values)
        assert {row.device for row in rows} == {"gpu"}
        assert pushes_of(found) == {RESIDENT}
        assert [row.edges for row in rows if row.mode == PUSH] == [
            round(row.f * graph.m) for row in rows if row.mode == PUSH and graph.m
        ] or not graph.m
        if sync:
            assert [(row.active, row.f) for row in rows] == [(row.active, row.f) for row in right.stats.iterations]
    assert held_after(driver, graph) == 0


def test_one_launch_does_several_supersteps(device_for):
    graph, program = GRAPHS["skewed"](), PROGRAMS["lengths"]
    driver = device_for(program, graph)
    found = run_with(program, graph, device="gpu", sync=True)
    rows = found.stats.iterations
    assert 0 < launches(driver, "push_few") < len(rows) / 10
    assert [row.number for row in rows] == list(range(len(rows)))
    assert all(row.ended == pytest.approx(following.started, abs=0.1) for row, following in pairwise(rows))


@pytest.mark.full
@pytest.mark.parametrize("bounds", [{"FEW_LISTS": 0}, {"PIECE": 8, "FEW_LISTS": 0}, {"MOST_SUPERSTEPS": 2}])
def test_lists_in_pieces(device_for, monkeypatch, bounds):
    graph, program = GRAPHS["skewed"](), PROGRAMS["lengths"]
    right, driver = expected(program, graph), device_for(program, graph)
    for name, least in bounds.items():
        monkeypatch.setattr(header, name, least)
    found = run_with(program, graph, device="gpu", sync=True)
    assert ("push_queue" in {name for name, _ in driver.launched}) == ("FEW_LISTS" in bounds)
    np.testing.assert_array_equal(found.values, right.values)


# What is copied, and what stays.


@pytest.mark.slow
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_later_runs_copy_no_edges(device_for, monkeypatch, device):
    graph, copies = GRAPHS["skewed"](), []
    monkeypatch.setattr(staging, "LEAST_BYTES", 1 << 10)  # by way of pinned buffers
    driver = device_for(PROGRAMS["lengths"], graph)
    sums = [
        sum(row.to_device for row in run_with(PROGRAMS[name], graph, device=device).stats.iterations)
        for name in ("hops", "lengths", "hops", "lengths")
    ]
    assert sums == [4 * graph.m, 4 * graph.m, 0, 0]  # targets; then values, which the device orders by source
    assert launches(driver, "reverse_values") > 0
    driver.launched.clear()
    held, to = driver.held, driver.memcpy_htod
    driver.memcpy_htod = lambda place, array, stream=None: (copies.append(array.nbytes), to(place, array))
    run_with(PROGRAMS["lengths"], graph, device=device)
    assert launches(driver, "reverse_values") == 0
    assert max(copies, default=0) <= 8 * graph.n
    assert driver.held == held
    assert held_after(driver, graph) == 0


def test_the_host_needs_no_values_of_out_edges(device_for):
    graph = GRAPHS["skewed"]()
    device_for(PROGRAMS["lengths"], graph)
    run_with(PROGRAMS["lengths"], graph, device="gpu")
    assert graph._arrays.bytes_to_reverse > 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"mode": PULL}, {"engine": "garaph:keep=yes", "gather": "segmented"}])
def test_a_run_that_only_pulls_has_no_out_edges(device_for, options):
    graph, program = GRAPHS["skewed"](), PROGRAMS["hops"]
    device_for(program, graph)
    found = run_with(program, graph, device="gpu", **options)
    assert PUSH not in modes_of(found)
    assert sum(row.to_device for row in found.stats.iterations) == 4 * graph.m
    assert found.stats.device_bytes < 4 * graph.m + 40 * graph.n


def test_out_edges_that_no_push_has_read_are_not_kept(device_for):
    graph, program = GRAPHS["skewed"](), PROGRAMS["hops"]
    driver = device_for(program, graph)
    run_with(program, graph, device="gpu", iterations=0)
    assert launches(driver, "push_queue") == 0
    found = run_with(program, graph, device="gpu")
    assert found.stats.found_bytes == found.stats.device_bytes - 4 * graph.m
    np.testing.assert_array_equal(found.values, expected(program, graph).values)


def test_the_graph_is_put_there_for_a_program(device_for):
    graph, program = GRAPHS["skewed"](), PROGRAMS["lengths"]
    driver = device_for(program, graph)
    graph.to_device(program)
    found = run_with(program, graph, device="gpu")
    assert sum(row.to_device for row in found.stats.iterations) == 0
    assert PUSH in modes_of(found)
    np.testing.assert_array_equal(found.values, expected(program, graph).values)
    assert held_after(driver, graph) == 0


# Little memory.


def room_for(program, graph, share):
    """GPU memory for the vertices and a share of the in-edges; a share beyond 1 is room for out-edges."""
    each = 4 + (type(program) is Lengths) * 4
    return memory_for(program, graph, 1) + int((share - 1) * each * graph.m)


@pytest.mark.full
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("share", "maps"), [(2.6, False), (1.2, False), (0.5, False), (1.2, True), (0.5, True)])
def test_little_memory(device_for, monkeypatch, device, program, share, maps):
    """Without room for them beside all in-edges, out-edges take their place if the GPU works alone, stay in host
    memory, or the GPU pulls."""
    graph, program = GRAPHS["skewed"](), PROGRAMS[program]
    driver = device_for(program, graph)
    instead = 1 < share < 2 and device == "gpu"
    even_f = policy.even_f
    less = "even_f", lambda seen: even_f(seen) / (1 if instead else 4)
    for place, name, few in (policy, *less), (policy, "DEVICE_FEW_EDGES", 1000), (header, "FEW_EDGES", 0.1):
        monkeypatch.setattr(place, name, few)  # so that some iterations pull if both directions are there
    monkeypatch.setattr(FakePinned, "driver", driver if maps else None)
    memory = room_for(program, graph, share)
    if maps:
        with ThreadPool(1) as pool:
            graph._arrays.valued_out_edges(pool)
    driver.refuses = memory
    for iterations in None, 1000:
        found = run_with(program, graph, device=device, gpu_memory=memory, page_edges=3000, iterations=iterations)
        np.testing.assert_array_equal(found.values, expected(program, graph).values)
        on_gpu = {(group.mode, group.transfer) for row in found.stats.iterations for group in row.groups
                  if group.device == "gpu"}  # fmt: skip
        way = RESIDENT if instead or share > 2 else ZERO_COPY if maps else None
        assert {transfer for mode, transfer in on_gpu if mode == PUSH} == ({way} if way else set())
        assert (PULL in {mode for mode, _ in on_gpu}) != instead
        assert driver.held <= memory
    assert held_after(driver, graph) == 0


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_out_edges_take_the_place_of_in_edges(device_for, program):
    """Where there is room for one direction, a relaxation that needs no in-edges afterwards only pushes."""
    graph, program = GRAPHS["skewed"](), PROGRAMS[program]
    driver, right = device_for(program, graph), expected(program, graph)
    driver.refuses = memory = room_for(program, graph, 1.9)
    copied = []
    for iterations in None, 10_000, None:
        found = run_with(program, graph, device="gpu", gpu_memory=memory, page_edges=3000, iterations=iterations)
        np.testing.assert_array_equal(found.values, right.values)
        assert modes_of(found) == {PUSH}
        assert pushes_of(found) == {RESIDENT}
        copied.append(sum(row.to_device for row in found.stats.iterations))
        assert driver.held <= memory
    assert copied[0] >= 4 * graph.m
    assert copied[1:] == [0, 0]
    assert held_after(driver, graph) == 0


class InTurns(gp.Policy):
    """Pulls, and pushes, in turns."""

    def start(self):
        return PULL

    def decide(self, seen):
        return gp.Decision(seen.own, "in turns", seen.device)

    def observe(self, own, seen, decision, done):
        return PUSH if own == PULL else PULL


@pytest.mark.full
@pytest.mark.parametrize("given", [{"device": "hybrid"}, {"mode": PULL}, {"engine": InTurns()}])
def test_in_edges_stay_where_pulls_need_them(device_for, monkeypatch, given):
    """The CPU takes pages of a hybrid run; a run may be asked to pull; and policies of users pull when they like to."""
    graph, program = GRAPHS["skewed"](), PROGRAMS["hops"]
    driver = device_for(program, graph)
    monkeypatch.setattr(FakePinned, "driver", driver)
    memory = room_for(program, graph, 1.9)
    for _ in range(2):
        found = run_with(program, graph, **{"device": "gpu", "gpu_memory": memory, "page_edges": 3000} | given)
        np.testing.assert_array_equal(found.values, expected(program, graph).values)
        assert RESIDENT not in pushes_of(found)
    assert sum(row.to_device for row in found.stats.iterations if row.mode == PULL) == 0


def test_values_are_not_made_to_be_mapped(device_for, monkeypatch):
    """To order them takes longer than many pulls."""
    graph, program = GRAPHS["skewed"](), PROGRAMS["lengths"]
    driver = device_for(program, graph)
    monkeypatch.setattr(FakePinned, "driver", driver)
    found = run_with(program, graph, device="gpu", gpu_memory=room_for(program, graph, 0.5), page_edges=3000)
    assert PUSH not in modes_of(found)
    assert graph._arrays.bytes_to_reverse > 0


@pytest.mark.full
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", GRAPHS)
def test_packed_lists(device_for, name, program, device):
    graph, program = GRAPHS[name]().packed(), PROGRAMS[program]
    driver, right = device_for(program, graph), expected(program, graph)
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)
    for iterations in None, 10_000, None:
        found = run_with(program, graph, device=device, page_edges=3000, iterations=iterations)
        np.testing.assert_array_equal(found.values, right.values)
        assert pushes_of(found) == {RESIDENT}
    assert all(kernel.endswith("_packed") for kernel in kernels_of(driver)) or not graph.m
    assert held_after(driver, graph) == 0


def test_values_are_not_made_to_be_packed(device_for):
    graph, program = GRAPHS["skewed"]().packed(), PROGRAMS["lengths"]
    device_for(program, graph)
    assert not can_push(bind(program, graph), graph)
    assert can_push(bind(PROGRAMS["hops"], graph), graph)
    assert PUSH not in modes_of(run_with(program, graph, device="gpu", page_edges=3000))
    assert graph._arrays.bytes_to_reverse > 0


@pytest.mark.full
def test_packed_lists_in_host_memory(device_for, monkeypatch):
    """All in-edges are on the GPU, and there is no room for the out-edges."""
    graph, program = GRAPHS["skewed"]().packed(), PROGRAMS["hops"]
    driver = device_for(program, graph)
    monkeypatch.setattr(FakePinned, "driver", driver)
    memory = memory_for(program, graph, 1.3)
    found = run_with(program, graph, device="gpu", gpu_memory=memory, page_edges=3000)
    np.testing.assert_array_equal(found.values, expected(program, graph).values)
    assert pushes_of(found) == {ZERO_COPY}
    rows = [row for row in found.stats.iterations if row.mode == PUSH]
    assert 0 < sum(row.to_device for row in rows) <= 3 * sum(row.edges for row in rows)
    assert driver.held <= memory


def kernels_of(driver):
    found = {name for name, _ in driver.launched if name.startswith("push")}
    driver.launched.clear()
    return found


@pytest.fixture
def both_packed(monkeypatch):
    """A function that packs a graph's in-edges and out-edges, as runs with less memory would; the GPU packs none."""
    monkeypatch.setattr(choice, "STAGING_BYTES", 0)

    def pack(graph, valued):
        with ThreadPool(1) as pool:
            graph._arrays.packed_in_edges(pool)
            graph._arrays.packed_out_edges(valued, pool)

    return pack


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_packed_edges_have_room_where_raw_ones_have_not(device_for, both_packed, monkeypatch, program):
    graph, name, program = GRAPHS["skewed"](), program, PROGRAMS[program]
    driver = device_for(program, graph)
    memory = room_for(program, graph, 1.2)
    monkeypatch.setattr(FakePinned, "driver", driver)
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)
    both_packed(graph, name == "lengths")
    monkeypatch.setattr(Placer, "_instead_of_in_edges", lambda *_: None)  # as for programs that find parents
    driver.refuses = memory
    for _ in range(2):
        found = run_with(program, graph, device="gpu", gpu_memory=memory, page_edges=3000)
        np.testing.assert_array_equal(found.values, expected(program, graph).values)
        assert pushes_of(found) == {RESIDENT}
        assert all(kernel.endswith("_packed") for kernel in kernels_of(driver))
    assert sum(row.to_device for row in found.stats.iterations) == 0
    assert held_after(driver, graph) == 0


@pytest.mark.slow
def test_edges_are_packed_after_some_runs(device_for, monkeypatch):
    """At first, pushes read raw lists in host memory; the in-edges stay raw, because there is room for them."""
    graph, program, measured = GRAPHS["skewed"](), Trails(0), []
    driver = device_for(program, graph)
    memory = room_for(program, graph, 1.9)
    monkeypatch.setattr(FakePinned, "driver", driver)
    monkeypatch.setattr(choice, "FAR_RUNS", 2)

    def measure(kept, arrays, *_):
        measured.append(True)
        return replace(arrays).packed_in_edges(ThreadPool(1)).neighbour_array.records, 1.0

    monkeypatch.setattr(device_graph.DeviceGraph, "measure", measure)
    ways, forms = [], []
    for _ in range(4):
        found = run_with(program, graph, device="gpu", gpu_memory=memory, page_edges=3000)
        np.testing.assert_array_equal(found.values, expected(program, graph).values)
        ways.append(pushes_of(found))
        forms.append({kernel.endswith("_packed") for kernel in kernels_of(driver)})
    assert ways == [{ZERO_COPY}] * 2 + [{RESIDENT}] * 2
    assert forms == [{False}] * 2 + [{True}] * 2
    assert len(measured) == 1
    assert not graph._arrays.has_packed_in_edges
    assert held_after(driver, graph) == 0


@pytest.mark.slow
def test_another_graph_gives_way_to_out_edges(device_for):
    graphs, program = [GRAPHS["skewed"]() for _ in range(2)], PROGRAMS["hops"]
    driver = device_for(program, graphs[0])
    memory = room_for(program, graphs[0], 2.6)
    for graph in (*graphs, *graphs):
        found = run_with(program, graph, device="gpu", gpu_memory=memory)
        assert pushes_of(found) == {RESIDENT}
        np.testing.assert_array_equal(found.values, expected(program, graph).values)
        assert driver.held <= memory


# Failures.


@pytest.mark.full
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("call", ["memcpy_htod_async", "memcpy_htod", "mem_alloc", "array"])
def test_after_a_failure_nothing_wrong_is_found(device_for, call, device):
    graph, program = GRAPHS["sparse"](), PROGRAMS["lengths"]
    driver, right = device_for(program, graph), expected(program, graph)
    left = failing_once(driver, call)
    for number in range(1, 30, 4):
        left[0], driver.next = number, 256
        with suppress(DeviceError):
            np.testing.assert_array_equal(run_with(program, graph, device=device).values, right.values)
        left[0] = 0
        found = run_with(program, graph, device=device)
        assert found.stats.device == "NumPy"
        np.testing.assert_array_equal(found.values, right.values)
        assert held_after(driver, graph) == 0


def test_a_device_that_fails_while_it_orders_values_costs_no_answer(device_for, monkeypatch):
    graph, program = GRAPHS["sparse"](), PROGRAMS["lengths"]
    driver, right = device_for(program, graph), expected(program, graph)

    def fails(*_):
        raise driver.Error("unspecified launch failure")

    with monkeypatch.context() as patch:
        patch.setitem(KERNELS, "reverse_values", fails)
        found = run_with(program, graph, device="hybrid")
    assert found.stats.device == "cpu"
    np.testing.assert_array_equal(found.values, right.values)
    again = run_with(program, graph, device="gpu")
    assert again.stats.device == "NumPy"
    np.testing.assert_array_equal(again.values, right.values)


def test_released_while_a_run_pushes(device_for, monkeypatch):
    graph, program = GRAPHS["sparse"](), PROGRAMS["lengths"]
    driver, right = device_for(program, graph), expected(program, graph)
    when_iterations_begin(monkeypatch, graph.release)
    np.testing.assert_array_equal(run_with(program, graph, device="gpu").values, right.values)
    assert driver.held == 0


def test_the_twin_of_the_kernel_that_orders_values(device_for):
    """What it writes is what the CPU makes, parallel edges included."""
    graph, program = GRAPHS["skewed"](), PROGRAMS["lengths"]
    device_for(program, graph)
    made = []
    reverse = numpy_push.reverse_values

    def noted(driver, context, page):
        reverse(driver, context, page)
        made[:] = [driver.array(context["target_values"], np.int32, graph.m).copy()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KERNELS, "reverse_values", noted)
        run_with(program, graph, device="gpu", page_edges=3000)
    with ThreadPool(1) as pool:
        np.testing.assert_array_equal(made[0], graph._arrays.valued_out_edges(pool).values)
