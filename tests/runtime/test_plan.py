"""Decisions of a run before it begins: a table of options, machines and graphs, and what each is run as."""

from dataclasses import replace

import pytest

import garaph_py as gp
from garaph_py.executor.memory import tile_bytes, vertex_bytes
from garaph_py.native.threads import LONG_SPINS, SPINS, ThreadPool
from garaph_py.program import bind
from garaph_py.program.columns import joined
from garaph_py.runtime import plan as plan_
from garaph_py.runtime import tiling
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.plan import Chosen, executor_of, plan, reckon, without_cpu
from garaph_py.runtime.reckoning import FRONTIER, Call, OnDevice, Rates
from garaph_py.runtime.several import Gpus
from tests.support import twins
from tests.support.calls import known as known_calls
from tests.support.stored_graphs import opened
from tests.support.verdicts import verdict


def planned(program, graph, **given):
    return plan(bind(program, graph), graph, RunOptions(**given), Machine(8, lambda: False))


@pytest.mark.parametrize(
    ("wins", "has_gpu", "options", "executor"),
    [
        (False, True, {}, "cpu"),
        (False, True, {"device": "gpu"}, "gpu"),
        (False, False, {"device": "hybrid"}, "hybrid"),  # opening it will say that there is none
        (True, True, {"device": "cpu"}, "cpu"),
        (True, True, {}, "gpu"),
        (True, True, {"mode": "pull"}, "gpu"),
        (True, True, {"engine": "garaph"}, "hybrid"),
        (True, False, {}, "gpu"),  # a run that notes why it takes the CPU
        (True, True, {"deterministic": True}, "gpu"),
        (True, True, {"mode": "notify-pull"}, "gpu"),
        (True, True, {"mode": "push"}, "cpu"),
        (True, True, {"mode": "pull-tiled"}, "cpu"),
    ],
    ids=str,
)
def test_the_executor_that_begins_a_run(monkeypatch, graph, wins, has_gpu, options, executor):
    monkeypatch.setattr(plan_, "reckon", lambda *_: verdict(wins))
    bound = bind(gp.apps.PageRank(), graph)
    assert executor_of(bound, graph, RunOptions(**options), Machine(8, lambda: has_gpu))[0] == executor


@pytest.mark.parametrize(
    ("program", "options", "room", "executor"),
    [
        (gp.apps.BFS(0), {}, 10_000, "gpu"),
        (gp.apps.BFS(0), {}, 1_000, "gpu"),  # it reads the other lists in the host's memory
        (gp.apps.BFS(0), {}, None, "gpu"),
        (gp.apps.BFS(0), {"mode": "pull"}, 10_000, "gpu"),
        (gp.apps.BFS(0), {"iterations": 3}, 10_000, "hybrid"),  # each superstep is a launch
        (gp.apps.PageRank(), {}, 10_000, "gpu"),
        (gp.apps.PageRank(), {"engine": "garaph"}, 10_000, "hybrid"),
        (gp.apps.PenalizedHittingProbability(0), {}, 10_000, "hybrid"),  # the CPU notifies
        (gp.apps.DeltaPageRank(weighted=False), {}, 10_000, "gpu"),
        (gp.apps.DeltaPageRank(weighted=False), {"engine": "garaph"}, 10_000, "hybrid"),  # it never pushes deltas
    ],
    ids=str,
)
def test_a_gpu_that_pushes_gets_no_help(monkeypatch, graph, program, options, room, executor):
    bound, options = bind(program, graph), RunOptions(**options)
    call = Call(FRONTIER, graph.n, graph.m, out_edge_bytes=4)
    monkeypatch.setattr(plan_, "reckon", lambda *_: replace(verdict(True), call=call))
    machine = Machine(8, lambda: True, on_device=lambda *_: OnDevice(room=room))
    assert executor_of(bound, graph, options, machine)[0] == executor


@pytest.mark.parametrize(("gpus", "executor"), [((0,), "gpu"), ((0, 1), "hybrid")])
def test_one_gpu_that_pushes_rows_gets_no_help(monkeypatch, graph, gpus, executor):
    whole = joined([bind(gp.apps.SSSP(source), graph) for source in (0, 1)])
    monkeypatch.setattr(plan_, "reckon", lambda *_: verdict(True))
    monkeypatch.setattr(plan_, "gpus_of", lambda *_: (gpus, None))
    machine = Machine(8, lambda: True, on_device=lambda *_: OnDevice(room=10_000))
    assert executor_of(whole, graph, RunOptions(), machine)[0] == executor
    assert without_cpu(whole, graph, gpus).pushes_rows == (len(gpus) == 1)


@pytest.mark.parametrize(
    ("times", "options", "executor"),
    [
        ({}, {}, "hybrid"),
        ({"gpu": 0.1}, {}, "hybrid"),  # nobody knows yet what help would do
        ({"gpu": 0.1, "hybrid": 0.2}, {}, "gpu"),
        ({"gpu": 0.2, "hybrid": 0.1}, {}, "hybrid"),
        ({"gpu": 0.1, "hybrid": 0.2}, {"device": "hybrid"}, "hybrid"),
    ],
    ids=str,
)
def test_a_gpu_that_was_faster_without_help_gets_none(monkeypatch, graph, times, options, executor):
    past = known_calls(9, **times)
    call = Call(FRONTIER, graph.n, graph.m, past=past)
    monkeypatch.setattr(plan_, "reckon", lambda *_: replace(verdict(True), call=call))
    machine = Machine(8, lambda: True, past=lambda *_: past)
    bound = bind(gp.apps.PenalizedHittingProbability(0), graph)
    assert plan(bound, graph, RunOptions(**options), machine).executor == executor


@pytest.mark.parametrize("device", ["auto", "hybrid"])
def test_the_facts_are_looked_up_once(monkeypatch, graph, device):
    asked = []

    def telling(name, fact):
        return lambda *_: asked.append(name) or fact

    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)
    there = OnDevice(True, True, nbytes=1 << 20, room=1 << 30)
    past = telling("past", known_calls(9, cpu=9.0, gpu=1.0))
    machine = Machine(8, lambda: True, past=past, on_device=telling("there", there), gpus=lambda: Gpus(2, 1))
    chosen = plan(bind(gp.apps.PageRank(), graph), graph, RunOptions(device=device), machine)
    assert (chosen.executor, chosen.gpus, asked) == ("gpu", (0, 1), ["past", "there"])


def test_several_gpus_are_reckoned_with_once_one_is_found(graph, monkeypatch):
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)
    past = known_calls(9, cpu=0.2, gpu=0.3, two=0.1)
    machine = Machine(8, lambda: True, past=lambda *_: past, on_device=lambda *_: READY, gpus=lambda: Gpus(2, 1))

    def found(machine=machine, **options):
        planned = plan(bind(gp.apps.PageRank(), graph), graph, RunOptions(**options), machine)
        return planned.executor, planned.gpus

    assert found() == ("gpu", (0, 1))
    assert found(gpus=1) == ("cpu", ())
    new = replace(machine, on_device=lambda *_: replace(READY, has_context=False))
    assert found(new) == ("cpu", ())


@pytest.mark.parametrize("has_driver", [False, True])
def test_gpus_that_were_asked_for_are_not_left_out_in_silence(graph, has_driver):
    machine, bound = Machine(8, lambda: False, lambda: has_driver), bind(gp.apps.PageRank(), graph)
    found = plan(bound, graph, RunOptions(gpus=2), machine)
    assert (found.executor, found.why) == ("cpu", None if has_driver else f"gpus=2: {plan_.NO_DRIVER}")
    assert plan(bound, graph, RunOptions(), machine).why is None


@pytest.mark.parametrize(
    "options", [{"device": "cpu"}, {"mode": "push"}, {"device": "gpu"}, {"device": "hybrid"}, {}], ids=str
)
def test_the_gpu_is_looked_for_only_if_that_decides_something(graph, options):
    def asked(*_):
        pytest.fail("nobody needs to know")

    machine, bound = Machine(8, *[asked] * 5), bind(gp.apps.PageRank(), graph)
    chosen = executor_of(bound, graph, RunOptions(**options), machine)
    assert chosen == Chosen(options.get("device", "cpu"))


@pytest.fixture
def reckoned(graph, monkeypatch):
    """A function that reckons with the small graph as with a large one."""
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)

    def reckoned(machine, **options):
        return reckon(bind(gp.apps.PageRank(), graph), graph, RunOptions(**options), machine)

    return reckoned


READY = OnDevice(True, True, 1 << 40)
SLOW = Rates(cpu_all=1.0)
"""A CPU that gathers one edge in a second."""


def test_nothing_is_reckoned_without_a_driver(reckoned):
    assert reckoned(Machine(8, lambda: False, lambda: False)) is None


def test_what_is_known_decides(reckoned):
    known = Machine(8, lambda: True, rates=lambda: SLOW, on_device=lambda *_: READY)
    assert reckoned(known).on_gpu
    assert not reckoned(Machine(8, lambda: True, on_device=lambda *_: READY)).on_gpu
    assert not reckoned(replace(known, past=lambda *_: known_calls(5, cpu=1e-4))).on_gpu
    assert reckoned(known, iterations=7, threads=3).call.threads == 3
    assert reckoned(known, iterations=7).call.limit == 7


@pytest.mark.parametrize(
    ("program", "options", "is_reckoned"),
    [
        (gp.apps.BFS(0), {}, False),
        (gp.apps.SSSP(0), {}, False),
        (gp.apps.BFS(0), {"sync": True}, True),
        (gp.apps.PageRank(weighted=False), {}, True),
        (gp.apps.ConnectedComponents(), {}, True),
    ],
    ids=str,
)
def test_a_search_over_edges_on_disk_goes_to_the_cpu(monkeypatch, tmp_path, program, options, is_reckoned):
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 0)
    gp.save(gp.rmat(8, directed=False, weights=(1, 9)), tmp_path / "g")
    graph = opened(tmp_path / "g", 1 << 20)
    bound, machine = bind(program, graph), Machine(8, lambda: True)
    assert (reckon(bound, graph, RunOptions(**options), machine) is not None) == is_reckoned
    assert reckon(bound, gp.open(tmp_path / "g"), RunOptions(**options), machine) is not None


def test_a_search_over_edges_on_disk_takes_a_gpu_that_has_room_for_all(monkeypatch, tmp_path):
    """If the graph is undirected, so that pushes find all lists there, and the search takes longer than to look."""
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 0)
    for directed in False, True:
        gp.save(gp.rmat(8, directed=directed), tmp_path / f"{directed}")
    slow, quick = Rates(disk_raw=1e3), Rates(disk_raw=1e9)
    for directed, room, rates, is_on_gpu in (
        (False, 1 << 20, slow, True), (False, 1 << 10, slow, False), (True, 1 << 20, slow, False),
        (False, 1 << 20, quick, False),
    ):  # fmt: skip
        graph = opened(tmp_path / f"{directed}", 1 << 10)
        machine = Machine(8, lambda: True, lambda: True, lambda rates=rates: rates,
                          on_device=lambda *_, room=room: OnDevice(True, True, room=room))  # fmt: skip
        chosen = executor_of(bind(gp.apps.BFS(0), graph), graph, RunOptions(), machine)
        assert chosen.executor == ("gpu" if is_on_gpu else "cpu"), (directed, room)


def test_a_gpu_that_waits_for_the_disk_gets_no_help(monkeypatch, tmp_path):
    gp.save(gp.rmat(8, directed=False), tmp_path / "g")
    monkeypatch.setattr(plan_, "reckon", lambda *_: verdict(True))
    for graph, why in (
        (opened(tmp_path / "g", 1 << 20), "the disk is the limit"),
        (gp.open(tmp_path / "g"), "the CPU's help would save less"),
    ):
        bound = bind(gp.apps.PageRank(weighted=False), graph)
        chosen = executor_of(bound, graph, RunOptions(), Machine(8, lambda: True))
        assert chosen.executor == "gpu"
        assert chosen.why_alone.startswith(why)


def test_a_deterministic_run_is_not_chosen_by_times(reckoned):
    """What other runs have left or measured must not decide which device answers."""
    facts = {
        "rates": lambda: SLOW,
        "past": lambda *_: known_calls(9, 9.0, 1e-3, lost=99.0),
        "on_device": lambda *_: READY,
    }
    machines = Machine(8, lambda: True), Machine(8, lambda: True, **facts)
    one, other = (reckoned(machine, deterministic=True) for machine in machines)
    assert one == other


def test_a_hybrid_run_that_brings_the_graph_to_the_gpu_does_not_order_edge_values(graph_of):
    """They take longer than one run saves by pushing."""
    graph = graph_of(twins.skewed(3, 90, 900, "int32"))

    def pushes(program, nbytes=0, **options):
        machine = Machine(8, lambda: True, on_device=lambda *_: OnDevice(nbytes=nbytes))
        return plan(bind(program, graph), graph, RunOptions(**{"device": "hybrid"} | options), machine).pushes

    assert not pushes(gp.apps.SSSP(0))
    assert pushes(gp.apps.SSSP(0), nbytes=1)
    assert pushes(gp.apps.SSSP(0), device="cpu")
    assert pushes(gp.apps.BFS(0))  # reads no edge values
    with ThreadPool(2) as pool:
        graph._arrays.valued_out_edges(pool)
    assert pushes(gp.apps.SSSP(0))


def test_ordering_edge_values_is_part_of_a_call_on_the_cpu(graph_of, monkeypatch):
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)
    graph, machine = graph_of(twins.skewed(3, 90, 900, "int32")), Machine(8, lambda: True)

    def reverses(program, **options):
        return reckon(bind(program, graph), graph, RunOptions(**options), machine).call.reverses

    assert reverses(gp.apps.SSSP(0))
    assert not reverses(gp.apps.SSSP(0), mode="pull")
    assert not reverses(gp.apps.SSSP(0), deterministic=True)  # other runs may have made them
    assert not reverses(gp.apps.BFS(0))


@pytest.mark.parametrize(
    ("program", "options", "pushes"),
    [
        (gp.apps.SSSP(0), {}, True),
        (gp.apps.SSSP(0), {"mode": "pull"}, False),
        (gp.apps.SSSP(0), {"engine": "garaph"}, False),
        (gp.apps.PageRank(), {}, False),
        (gp.apps.DeltaPageRank(), {}, True),
        (gp.apps.DeltaPageRank(), {"deterministic": True}, False),
        (gp.apps.DeltaPageRank(), {"sync": False}, True),
        (gp.apps.DeltaPageRank(), {"sync": False, "iterations": 3}, False),
        (gp.apps.DeltaPageRank(), {"mode": "pull"}, False),
        (gp.apps.DeltaPageRank(), {"device": "hybrid"}, False),
    ],
    ids=str,
)
def test_runs_whose_gpu_may_push(graph, program, options, pushes):
    assert planned(program, graph, **({"device": "gpu"} | options)).gpu.pushes == pushes


@pytest.mark.parametrize(
    ("options", "threads", "spins", "packing"),
    [
        ({}, None, SPINS, None),
        ({"threads": 3}, 3, SPINS, 3),
        ({"device": "gpu"}, None, SPINS, None),
        ({"device": "hybrid"}, 6, LONG_SPINS, None),
        ({"device": "hybrid", "threads": 8}, 8, LONG_SPINS, 8),
    ],
    ids=str,
)
def test_threads(graph, options, threads, spins, packing):
    made = planned(gp.apps.PageRank(), graph, **options)
    assert (made.threads, made.spins, made.gpu.threads) == (threads, spins, packing)
    assert made.needs_gpu == ("device" in options)


@pytest.mark.parametrize(
    ("program", "options", "synchronous"),
    [
        (gp.apps.SSSP(0), {}, False),  # ends in the same values either way
        (gp.apps.SSSP(0), {"sync": True}, True),
        (gp.apps.SSSP(0), {"iterations": 5}, True),
        (gp.apps.SSSP(0), {"deterministic": True}, True),
        (gp.apps.SSSP(0), {"engine": "garaph"}, True),
        (gp.apps.SSSP(0), {"mode": "pull-tiled"}, True),
        (gp.apps.PageRank(), {}, True),
        (gp.apps.PageRank(), {"sync": False}, False),
    ],
    ids=str,
)
def test_whether_a_run_is_synchronous(graph, program, options, synchronous):
    assert planned(program, graph, **options).synchronous == synchronous


@pytest.mark.parametrize(
    ("program", "options", "pushes"),
    [
        (gp.apps.SSSP(0), {}, True),
        (gp.apps.SSSP(0), {"mode": "push"}, True),
        (gp.apps.SSSP(0), {"mode": "pull"}, False),
        (gp.apps.SSSP(0), {"engine": "garaph"}, False),
        (gp.apps.PageRank(), {}, False),  # no relaxation
    ],
    ids=str,
)
def test_when_the_cpu_may_push(graph, program, options, pushes):
    made = planned(program, graph, **options)
    assert made.pushes == made.memory.cpu.pushes == pushes


def test_push_is_off_without_values_of_out_edges(graph):
    """The values of a directed graph's out-edges do not fit in the memory that the graph may take."""
    tight = graph._replace(memory=graph.nbytes + graph.ids.nbytes)
    assert not planned(gp.apps.SSSP(0), tight).pushes
    assert planned(gp.apps.BFS(0), tight).pushes  # reads no values


@pytest.mark.parametrize(
    ("encoding", "options", "gather"),
    [
        ("raw", {}, "auto"),
        ("raw", {"gather": "segmented"}, "segmented"),
        ("raw", {"deterministic": True}, "segmented"),
        ("raw", {"engine": "garaph"}, "replicated"),
        ("packed", {}, "packed"),
        ("packed", {"deterministic": True}, "packed"),
        ("packed", {"engine": "garaph"}, "packed"),
    ],
    ids=str,
)
def test_how_the_gpu_gathers(graph, encoding, options, gather):
    graph = graph if encoding == "raw" else graph.packed(1)
    assert planned(gp.apps.PageRank(), graph, **options).gpu.gather == gather


@pytest.mark.parametrize(("engine", "keeps"), [("auto", True), ("garaph", False), ("garaph:keep=yes", True)])
def test_whether_edges_stay_on_the_gpu(reckoned, graph, engine, keeps):
    assert planned(gp.apps.PageRank(), graph, engine=engine).gpu.keep == keeps
    known = replace(READY, room=1 << 40)
    there = reckoned(Machine(8, lambda: True, rates=lambda: SLOW, on_device=lambda *_: known), engine=engine).there
    assert there == (known if keeps else OnDevice(True, True, 0, 0))


@pytest.mark.parametrize(("engine", "every"), [
    ("auto", False), ("garaph", True), ("garaph:every_edge=no", False),
])  # fmt: skip
def test_whether_gathers_go_over_every_edge(graph, engine, every):
    assert planned(gp.apps.BFS(0), graph, engine=engine).gpu.every_edge == every


@pytest.mark.parametrize(("engine", "counted"), [
    ("auto", False), ("garaph", True), ("garaph:all_vertices=no", False),
])  # fmt: skip
def test_whether_all_vertices_of_a_shard_count(graph, engine, counted):
    assert planned(gp.apps.PageRank(), graph, engine=engine).gpu.all_vertices == counted


@pytest.mark.parametrize(("engine", "two"), [
    ("auto", False), ("garaph", False), ("garaph:two_threads=yes", True),
])  # fmt: skip
def test_how_many_threads_drive_the_gpu(graph, engine, two):
    assert planned(gp.apps.PageRank(), graph, engine=engine).gpu.two_threads == two


@pytest.mark.parametrize(("engine", "divides"), [
    ("auto", True), ("garaph", False), ("garaph:work_items=yes", True),
])  # fmt: skip
def test_whether_shards_are_divided(graph, engine, divides):
    assert planned(gp.apps.PageRank(), graph, engine=engine).gpu.work_items == divides


def test_gpu_settings_follow_the_options(graph):
    given = {"gpu_memory": "6GiB", "streams": 2, "replication": "8", "page_edges": 1000, "gpu_order": "hub"}
    made = planned(gp.apps.PageRank(), graph, iterations=7, **given).gpu
    assert (made.memory, made.streams, made.replication, made.page_edges) == (6 << 30, 2, 8, 1000)
    assert (made.iterations, made.deterministic, made.order) == (7, False, "hub")


def test_the_schedule(graph):
    schedule = planned(gp.apps.PageRank(), graph, iterations=3, mode="pull", engine="garaph").schedule
    assert (schedule.policy.name, schedule.iterations, schedule.mode, schedule.k) == ("garaph", 3, "pull", 1.0)
    assert schedule.buckets
    assert not schedule.tiles
    assert planned(gp.apps.PageRank(), graph).schedule.mode is None


def test_memory_depends_on_the_executor(graph):
    bound = bind(gp.apps.PageRank(), graph)
    memory = planned(gp.apps.PageRank(), graph).memory
    assert memory.cpu.vertices == vertex_bytes(bound, graph, arrays=2)
    assert memory.gpu.vertices == vertex_bytes(bound, graph, arrays=1)
    assert memory.both.vertices == vertex_bytes(bound, graph, arrays=2)
    assert memory.cpu.tiles == 0


@pytest.mark.parametrize(
    ("program", "nbytes"),
    [(gp.apps.SSSP(0), 12), (gp.apps.BFS(0), 8), (gp.apps.DeltaPageRank(weighted=False), 8)],
    ids=str,
)
def test_buffers_for_lists_on_disk_take_memory(graph, tmp_path, program, nbytes):
    """Two buffers with room for 1,024 edges; a program that adds pushes on a GPU that works alone."""
    gp.save(graph, tmp_path / "graph")
    stored = opened(tmp_path / "graph", 1 << 20)
    for device, name in ("gpu", "gpu"), ("hybrid", "both"):
        pushing, pulling = (
            getattr(planned(program, stored, device=device, mode=mode).memory, name) for mode in ("auto", "pull")
        )
        pushes = device == "gpu" or program.sum is not gp.add
        assert pushing.vertices - pulling.vertices == 2 * 1024 * nbytes * pushes
        assert pushing.pushes == pushes
    in_memory = planned(program, graph, device="gpu").memory.gpu
    assert in_memory.vertices == vertex_bytes(bind(program, graph), graph, arrays=1)


def test_tiles_of_edges_on_disk_take_memory(graph, tmp_path):
    gp.save(graph, tmp_path / "g")
    stored = opened(tmp_path / "g", 1 << 20)
    program = gp.apps.PageRank(weighted=False)
    assert planned(program, stored, mode="pull-tiled").memory.cpu.tiles == tile_bytes(bind(program, stored), stored)
    assert planned(program, stored, mode="pull-tiled").is_tiled
    assert not planned(program, stored).schedule.buckets
    assert planned(gp.apps.SSSP(0), stored, mode="push").schedule.buckets


@pytest.mark.parametrize(
    ("program", "given", "memory", "makes"),
    [
        (gp.apps.PageRank(weighted=False), {}, 1 << 30, True),
        (gp.apps.PageRank(weighted=False), {"iterations": 5}, 1 << 30, True),
        (gp.apps.PageRank(weighted=False), {"iterations": 4}, 1 << 30, False),
        (gp.apps.PageRank(weighted=False), {"deterministic": True}, 1 << 30, False),
        (gp.apps.PageRank(weighted=False), {"threads": 64}, 1 << 30, False),  # one thread would have most work
        (gp.apps.PageRank(weighted=False), {"sync": False}, 1 << 30, False),
        (gp.apps.PageRank(weighted=False), {}, 1 << 20, False),
        (gp.apps.PageRank(), {}, 1 << 30, False),  # edge values have to be ordered by source first
        (gp.apps.DeltaPageRank(weighted=False), {}, 1 << 30, False),  # later iterations visit few edges
    ],
    ids=str,
)
def test_long_runs_over_many_edges_make_tiles_unasked(graph_of, monkeypatch, program, given, memory, makes):
    graph = graph_of(twins.skewed(71, 70_000, 150_000, "int32"))
    bound, machine = bind(program, graph), Machine(2, lambda: False, lambda: False, memory=lambda: memory)

    def tiles(**more):
        return plan(bound, graph, RunOptions(**given, **more), machine).schedule.tiles

    assert not tiles()
    monkeypatch.setattr(tiling, "LEAST_TILED_EDGES", 1 << 17)
    assert not tiles()  # sources are nearby
    monkeypatch.setattr(tiling, "has_nearby_sources", lambda arrays: False)
    assert tiles() == makes
    assert not tiles(device="gpu")
