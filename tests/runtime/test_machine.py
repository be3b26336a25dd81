"""The facts about this machine: what is done already of preparing a call on the GPU."""

from dataclasses import replace

import pytest

import garaph_py as gp
from garaph_py.executor.gpu import device, peers
from garaph_py.executor.gpu.compiler import cubin_key
from garaph_py.executor.gpu.device_graph import DeviceGraph, Kind, Needs, kind_of_run
from garaph_py.executor.gpu.run_arrays import RunArrays
from garaph_py.native import cache
from garaph_py.native.threads import available_cores
from garaph_py.program import bind
from garaph_py.runtime import learned
from garaph_py.runtime.learned import Learned
from garaph_py.runtime.machine import Machine, on_device
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.reckoning import OnDevice
from tests.support.numpy_gpu import GRAPH, HUB, MEMORY, Hops, memory_for


class Other(Hops):
    """Another program, which needs the same."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def call(folder, graph_of, device_for, monkeypatch):
    """A program, its graph, and the program bound to it, in a process that has found a GPU."""
    graph, program = graph_of(GRAPH), Hops(HUB)
    device_for(program, graph)
    monkeypatch.setattr(device, "_found", {0: device.find()})
    return program, graph, bind(program, graph)


@pytest.mark.usefixtures("folder")
def test_before_a_gpu_is_found_only_the_cache_is_known(graph_of, monkeypatch):
    graph, options = graph_of(GRAPH), RunOptions(gpu_memory="1GiB")
    bound = bind(Hops(HUB), graph)
    assert on_device(bound, graph, options) == OnDevice(room=1 << 30)
    cache.store(cubin_key(bound, "sm_90"), b"code")
    assert not on_device(bound, graph, options).is_compiled  # no run has told which GPU there is
    monkeypatch.setattr(learned, "known", lambda: Learned(architecture="sm_90"))
    assert on_device(bound, graph, options) == OnDevice(is_compiled=True, room=1 << 30)
    assert not on_device(bind(gp.apps.BFS(0), graph), graph, options).is_compiled


def test_what_a_graph_has_on_the_gpu(call, monkeypatch):
    program, graph, bound = call
    assert on_device(bound, graph, RunOptions()) == OnDevice(has_context=True, room=int(0.9 * MEMORY))
    gp.run(program, graph, device="gpu")
    there = on_device(bound, graph, RunOptions())
    assert there.nbytes > 4 * graph.m
    assert there.edge_bytes == 4
    assert there.needed == there.nbytes
    kept = DeviceGraph.of(graph._arrays, device.find())
    kept.needs[Kind("another", True)] = kept.needs[Kind("another", False, 2)] = Needs(8.0, {})
    assert on_device(bound, graph, RunOptions()) == there
    assert on_device(bind(Other(HUB), graph), graph, RunOptions()) == replace(there, needed=None)
    del kept.needs[next(iter(kept.needs))]
    assert on_device(bound, graph, RunOptions()) == replace(there, nbytes=0, needed=None, edge_bytes=None)
    graph.release()
    assert on_device(bound, graph, RunOptions()).nbytes == 0
    monkeypatch.setattr(device, "_broken", {0: "lost"})
    assert not on_device(bound, graph, RunOptions()).has_context


@pytest.mark.usefixtures("folder")
def test_a_run_on_several_gpus_leaves_to_one_what_it_needs(graph_of, devices_for, monkeypatch):
    """Each finds all that it needs as long as there is room for both."""
    graph, program = graph_of(GRAPH), Hops(HUB)
    devices_for(program, graph, 2)
    monkeypatch.setattr(device, "_found", {number: device.find(number) for number in range(2)})
    monkeypatch.setattr("garaph_py.runtime.carry_out.LEAST_GPU_EDGES", 1)
    bound, options = bind(program, graph), RunOptions()
    for gpus in 2, 1, 2, 1:
        gp.run(program, graph, device="gpu", gpus=gpus)
        there = on_device(bound, graph, options)
        assert there.nbytes == there.needed > 0
    took = (
        learned.History.of(graph._arrays)
        .past(learned.kind(bound, options, available_cores()), learned.placed(options))
        .took
    )
    assert all(took["gpu", gpus].beyond is not None for gpus in (1, 2))
    kept = [DeviceGraph.of(graph._arrays, device.find(number)) for number in range(2)]
    alone, part = kept[0].needs[kind_of_run(bound, 1, None)].nbytes, kept[1].needs[kind_of_run(bound, 2, None)].nbytes
    assert 0 < part < alone
    kept[1].clear()
    assert on_device(bound, graph, options).needed == alone
    kept[0].retain({})
    assert on_device(bound, graph, options).nbytes == 0


def test_a_call_with_more_memory_needs_more_than_the_last_one_had(call):
    program, graph, bound = call
    little = int(1.1 * memory_for(program, graph, 0.5))
    gp.run(program, graph, device="gpu", options=gp.Options(gpu_memory=little))
    there = on_device(bound, graph, RunOptions(gpu_memory=little))
    assert there.nbytes == there.needed < 4 * graph.m
    assert on_device(bound, graph, RunOptions()).needed is None


def test_a_run_that_does_not_end_is_no_example(call):
    program, graph, bound = call
    gp.run(program, graph, device="gpu")
    before, while_it_runs = on_device(bound, graph, RunOptions()), []

    def interrupted(*_):
        while_it_runs.append(on_device(bound, graph, RunOptions()))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RunArrays, "allocate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gp.run(program, graph, device="gpu")
    assert while_it_runs == [before]
    assert on_device(bound, graph, RunOptions()).needed in (None, before.needed)


def test_each_plan_looks_for_gpus_anew_and_once(monkeypatch):
    there = [2]
    monkeypatch.setattr(device, "count", lambda: there[0])
    monkeypatch.setattr(peers, "can_reach", lambda one, other: True)
    first = Machine.here()
    assert first.gpus().count == 2
    there[0] = 3
    assert first.gpus().count == 2
    assert Machine.here().gpus().count == 3


@pytest.mark.usefixtures("folder")
def test_each_plan_reads_what_has_been_learned():
    machine = Machine.here()
    for _ in range(2):
        learned.teach({"call": 0.01}, None)
    assert machine.rates().call == Machine.here().rates().call == pytest.approx(0.01)
