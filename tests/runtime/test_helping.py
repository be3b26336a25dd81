"""When a run that takes GPUs lets the CPU help, and what ``device="hybrid"`` is run as."""

from dataclasses import replace

import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import AutoPolicy
from garaph_py.native.threads import SPINS
from garaph_py.program import bind
from garaph_py.runtime import plan as plan_
from garaph_py.runtime.helping import cpu_helps
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.plan import executor_of, plan
from garaph_py.runtime.reckoning import ALL, Call, OnDevice, Rates
from garaph_py.runtime.several import Gpus
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Lengths
from tests.support.stored_graphs import opened

from ..support.runs import run_with

LARGE = Call(ALL, 1 << 24, 1 << 29, value_bytes=4, threads=30)
"""PageRank over R-MAT 24, edge factor 16, symmetric."""
QUARTER = OnDevice(True, True, room=1 << 29)
"""A GPU with room for a quarter of its edges."""


def helps(call=LARGE, there=QUARTER, gpus=1):
    return cpu_helps(call, there, AutoPolicy(), gpus)


def test_the_cpu_helps_where_it_saves_many_copies():
    assert helps()
    assert helps(there=replace(QUARTER, room=0))


def test_the_cpu_does_not_help_where_it_saves_few_copies():
    assert not helps(there=replace(QUARTER, room=80 << 30))  # all edges stay
    assert not helps(there=replace(QUARTER, room=None))
    assert not helps(gpus=2)  # each copies a half
    assert not helps(there=replace(QUARTER, edge_bytes=1.8))  # packed
    assert not helps(replace(LARGE, threads=2))
    assert not helps(replace(LARGE, edges=1 << 26), replace(QUARTER, room=1 << 26))


class Eager(AutoPolicy):
    """The rules of `auto`, in a class of the user's."""


NOT_PUSHING = gp.apps.PenalizedHittingProbability
KINDS = "all", "frontier", "search", "search_both", "union"
SLOW_CPU, SLOW_GPU = (Rates(**{f"{processor}_{kind}": 1e3 for kind in KINDS}) for processor in ("cpu", "gpu"))


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)
    return gp.rmat(8, weights=(1, 9))


def machine(rates=SLOW_CPU, has_gpu=True, count=1):
    known = {"rates": lambda: rates, "gpus": lambda: Gpus(count, count - 1)}
    return Machine(8, lambda: has_gpu, on_device=lambda *_: OnDevice(True, True, room=1 << 30), **known)


@pytest.mark.parametrize(
    ("program", "options", "executor"),
    [
        (gp.apps.PageRank(), {}, "gpu"),
        (gp.apps.PageRank(), {"mode": "pull"}, "gpu"),
        (gp.apps.SSSP(0), {}, "gpu"),
        (gp.apps.SSSP(0), {"iterations": 3}, "hybrid"),  # each superstep is a launch
        (gp.apps.DeltaPageRank(), {}, "gpu"),
        (NOT_PUSHING(0), {}, "hybrid"),
        (gp.apps.PageRank(), {"engine": "garaph"}, "hybrid"),
        (gp.apps.PageRank(), {"engine": Eager()}, "hybrid"),
        (gp.apps.SSSP(0), {"engine": Eager()}, "hybrid"),
        (gp.apps.SSSP(0), {"mode": "notify-pull"}, "hybrid"),
    ],
    ids=str,
)
def test_a_hybrid_run_takes_the_cpu_where_it_may_help(graph, program, options, executor):
    chosen = executor_of(bind(program, graph), graph, RunOptions(device="hybrid", **options), machine())
    assert chosen.executor == executor
    assert chosen.verdict is None
    assert (chosen.why_alone is None) == (executor == "hybrid")


@pytest.mark.parametrize("program", [gp.apps.PageRank(), gp.apps.SSSP(0)], ids=str)
def test_a_hybrid_run_takes_the_cpu_where_it_is_faster(graph, program):
    bound, options = bind(program, graph), RunOptions(device="hybrid")
    assert executor_of(bound, graph, options, machine(SLOW_GPU)).executor == "hybrid"
    assert executor_of(bound, graph, options, machine(SLOW_CPU, has_gpu=False)).executor == "hybrid"


@pytest.mark.parametrize(
    ("options", "executor"), [({}, "cpu"), ({"sync": False}, "hybrid"), ({"mode": "pull"}, "hybrid")], ids=str
)
def test_the_cpu_pushes_deltas_alone_where_it_is_faster(graph, options, executor):
    """In a hybrid run it could not push them, nor could the GPU."""
    bound, slow = bind(gp.apps.DeltaPageRank(), graph), machine(SLOW_GPU)
    hybrid, alone = (plan(bound, graph, RunOptions(device=device, **options), slow) for device in ("hybrid", "cpu"))
    assert hybrid.executor == executor
    if executor == "cpu":
        assert replace(hybrid, why_alone=None, needs_gpu=False) == alone
        assert hybrid.deltas
        assert hybrid.why == "the CPU is faster and pushes deltas, so a GPU would not help"
    else:
        assert not hybrid.deltas
        assert hybrid.why is None


@pytest.fixture
def on_disk(graph, tmp_path):
    gp.save(gp.rmat(8, directed=False), tmp_path / "g")
    return opened(tmp_path / "g", 1 << 20)


@pytest.mark.parametrize("options", [{}, {"iterations": 3}, {"mode": "pull"}, {"sync": True}], ids=str)
@pytest.mark.parametrize(
    "program", [gp.apps.PageRank(weighted=False), gp.apps.BFS(0), gp.apps.ConnectedComponents()], ids=str
)
def test_with_edges_on_disk_the_faster_processor_works_alone(on_disk, program, options):
    bound, asked = bind(program, on_disk), RunOptions(device="hybrid", **options)
    for rates, executor, why in (SLOW_CPU, "gpu", "the disk is the limit"), (SLOW_GPU, "cpu", "both wait for the disk"):
        chosen = executor_of(bound, on_disk, asked, machine(rates))
        assert chosen.executor == executor
        assert why in chosen.why_alone


@pytest.mark.parametrize("rates", [SLOW_CPU, SLOW_GPU], ids=["slow cpu", "slow gpu"])
@pytest.mark.parametrize(
    ("program", "options"),
    [(NOT_PUSHING(0), {}), (gp.apps.BFS(0), {"mode": "notify-pull"}), (gp.apps.BFS(0), {"engine": "garaph"})],
    ids=str,
)
def test_both_use_edges_on_disk_where_neither_does_every_iteration_well(on_disk, program, options, rates):
    asked = RunOptions(device="hybrid", **options)
    assert executor_of(bind(program, on_disk), on_disk, asked, machine(rates)).executor == "hybrid"


def test_a_hybrid_run_refuses_gpus_that_there_are_not_whoever_works(on_disk):
    for rates in SLOW_CPU, SLOW_GPU:
        with pytest.raises(gp.errors.ParameterError, match="the driver sees 1"):
            plan(bind(gp.apps.BFS(0), on_disk), on_disk, RunOptions(device="hybrid", gpus=5), machine(rates))


def test_a_hybrid_run_that_needs_no_gpu_is_one_on_the_cpu(monkeypatch):
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)
    graph = gp.rmat(8)  # as other tests push deltas on
    monkeypatch.setattr(Machine, "here", classmethod(lambda _: machine(SLOW_GPU)))
    program = gp.apps.DeltaPageRank(tolerance=1e-3)
    hybrid, alone = (run_with(program, graph, device=device) for device in ("hybrid", "cpu"))
    assert [row.mode for row in hybrid.stats.iterations] == [row.mode for row in alone.stats.iterations]
    assert {row.device for row in hybrid.stats.iterations} == {"cpu"}
    assert "push" in {row.mode for row in hybrid.stats.iterations}
    assert (hybrid.stats.device, hybrid.stats.note) == ("cpu", None)


def test_a_small_graph_is_not_estimated(graph, monkeypatch):
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", graph.m + 1)
    bound = bind(gp.apps.PageRank(), graph)
    assert executor_of(bound, graph, RunOptions(device="hybrid"), machine()).executor == "hybrid"


def test_gpus_alone_are_planned_as_for_a_run_on_gpus(graph):
    """The same memory, kernels and threads; only how many GPUs there are is the run's choice."""
    bound = bind(gp.apps.SSSP(0), graph)
    alone, hybrid = (plan(bound, graph, RunOptions(device=device), machine(count=2)) for device in ("gpu", "hybrid"))
    chosen = replace(hybrid, why_alone=None, why_gpus=None)
    assert chosen == alone
    assert (hybrid.spins, hybrid.threads, hybrid.gpu.chains) == (SPINS, None, True)
    assert hybrid.needs_gpu
    assert hybrid.why.startswith("the program pushes on a GPU, so the CPU would not help; 1 of 2 GPUs: expected ")
    assert alone.why is None


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("program", "mode", "why"),
    [(Hops(HUB), "pull", "the CPU's help would save"), (Lengths(HUB), "auto", "the program pushes on a GPU")],
    ids=["pull", "push"],
)
def test_gpus_alone_launch_the_kernels_of_a_run_on_gpus(devices_for, graph_of, monkeypatch, program, mode, why, count):
    """A hybrid run that needs no CPU does nothing beside them, and says who worked."""
    monkeypatch.setattr(plan_, "LEAST_GPU_EDGES", 1)
    monkeypatch.setattr(plan_, "cpu_seconds", lambda *_: 1.0)
    monkeypatch.setattr(plan_, "how_many", lambda *told: (count, "as the test says"))
    graph = graph_of(GRAPH, directed=False)
    launched, values = [], []
    for device in "gpu", "hybrid", "hybrid":
        drivers = devices_for(program, graph, count)
        found = run_with(program, graph, device=device, gpus=count, mode=mode)
        launched.append([driver.launched for driver in drivers])
        values.append(found.values.tolist())
    assert launched[0] == launched[1] == launched[2]
    assert values[0] == values[1] == values[2]
    assert {row.device for row in found.stats.iterations} == {"gpu"}
    assert found.stats.why.startswith(why)
