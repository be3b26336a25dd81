"""`Graph.to_device` and `on_device`: the next run copies no edges, and nothing half-made is left."""

import random
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.errors import DeviceError, DeviceMemoryError, ParameterError
from garaph_py.executor.gpu import compiler
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.device_graph import DeviceGraph
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.gpu.streams import Streams
from garaph_py.program import bind
from garaph_py.runtime import on_device as module
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.late_gpu import LateDriver
from tests.support.numpy_gpu import GRAPH, HUB, FakeDriver, FakeFunction, Hops, failing_once, held_after

from ..support.runs import run_with


class OneOfTwo(FakeFunction):
    """A kernel that does nothing unless it is of the program that the driver was made for."""

    def prepare(self, kinds):
        self.is_known = kinds == [f"{self.driver.layouts.task.itemsize}s"]

    def prepared_async_call(self, *how, **more):
        if self.is_known:
            super().prepared_async_call(*how, **more)


class TwoPrograms(FakeDriver):
    """A driver for runs of `Hops` over graphs that another program has put there."""

    def module_from_buffer(self, code):
        return type("Module", (), {"get_function": lambda _, name: OneOfTwo(self, name)})()


@pytest.fixture
def graph(graph_of):
    return graph_of(GRAPH)


@pytest.fixture
def driver(device_for, graph):
    return device_for(Hops(HUB), graph, TwoPrograms)


def hops(graph, source=HUB, **how):
    return run_with(Hops(source), graph, device="gpu", sync=True, gather="segmented", **how)


def copied(result):
    """Bytes of edges that a run copied to the GPU."""
    return sum(row.to_device for row in result.stats.iterations)


@pytest.mark.parametrize("program", [None, Hops(HUB)], ids=["any", "given"])
def test_the_next_run_copies_no_edges(driver, graph, program):
    expected = run_with(Hops(HUB), graph, device="cpu", sync=True).values
    assert graph.to_device(program) is graph
    kept = driver.held
    assert kept >= 4 * graph.m + 8 * graph.n
    first = hops(graph)
    assert copied(first) == 0
    np.testing.assert_array_equal(first.values, expected)
    assert 4 * graph.m + 8 * graph.n <= first.stats.found_bytes <= first.stats.device_bytes <= kept
    out_edges = 4 * graph.m * (program is None)  # the program does not push, but others may
    assert first.stats.device_bytes - first.stats.found_bytes == out_edges
    assert held_after(driver, graph) == 0


def test_edge_values_are_copied_if_there_are_some(device_for, graph_of):
    given = twins.skewed(3, 9000, 60000, "int32")
    graph = graph_of(given)
    device_for(Hops(HUB), graph, TwoPrograms)
    graph.to_device()
    with_values = DeviceGraph.of(graph._arrays, devices.find()).memory.used
    assert copied(hops(graph)) == 0
    graph.release()
    graph.to_device(Hops(HUB))  # which reads none, and does not push
    more = with_values - DeviceGraph.of(graph._arrays, devices.find()).memory.used
    values, out_edges, destinations = 4 * -(-graph.m // RUN) * RUN, 8 * graph.m, 4 * np.count_nonzero(graph.in_degrees)
    assert more == values + out_edges + destinations


def test_statistics_tell_what_stayed_and_what_was_found(driver, graph):
    first, second = hops(graph), hops(graph)
    assert copied(first) == 4 * graph.m
    assert first.stats.found_bytes == 0
    assert second.stats.found_bytes == second.stats.device_bytes == first.stats.device_bytes > 4 * graph.m
    assert str(first.stats).endswith(" of the graph in the GPU's memory")
    assert str(second.stats).endswith(" found there")
    alone = run_with(Hops(HUB), graph, device="cpu")
    assert (alone.stats.device_bytes, alone.stats.found_bytes) == (0, 0)
    assert "GPU" not in str(alone.stats)


def test_the_listener_hears_how_much_is_copied(driver, graph):
    heard = []
    graph.to_device(on_event=heard.append)
    steps = [event for event in heard if event.name == "copying to the GPU"]
    assert [(step.done, step.total) for step in steps] == [(0, graph.m), (graph.m, graph.m)]
    assert all(isinstance(event, events.Step) for event in heard)
    heard.clear()
    graph.to_device(on_event=heard.append)
    assert not [event for event in heard if event.name == "copying to the GPU"]


def test_a_with_block_frees_the_memory(driver, graph):
    with gp.on_device(graph) as found:
        assert found is graph
        assert driver.held > 0
        assert copied(hops(found)) == 0
    assert driver.held == 0
    with pytest.raises(ZeroDivisionError), gp.on_device(graph):
        raise ZeroDivisionError
    assert driver.held == 0
    assert copied(hops(graph)) == 4 * graph.m  # it can be used again


def test_interrupted_it_leaves_nothing(driver, graph):
    def interrupted(event):
        if event.name == "copying to the GPU":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.to_device(on_event=interrupted)
    assert driver.held == 0
    with pytest.raises(KeyboardInterrupt), gp.on_device(graph, on_event=interrupted):
        pytest.fail("the block began")
    assert driver.held == 0
    expected = run_with(Hops(HUB), graph, device="cpu", sync=True).values
    np.testing.assert_array_equal(hops(graph).values, expected)


def test_ctrl_c_waits_until_it_is_safe(driver, graph):
    """A signal ends it between two pages, not in the middle of an allocation."""
    seen, allocate = [], driver.mem_alloc

    def allocate_interrupted(nbytes):
        if not seen:
            signal.raise_signal(signal.SIGINT)
        seen.append(nbytes)
        return allocate(nbytes)

    driver.mem_alloc = allocate_interrupted
    with pytest.raises(KeyboardInterrupt):
        graph.to_device()
    assert len(seen) > 3
    assert driver.held == 0


@pytest.mark.parametrize("seed", range(5))
def test_it_waits_for_copies_that_are_late(device_for, graph_of, seed):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph, lambda layouts: LateDriver(layouts, random.Random(seed)))
    pages, fill = [], Streams.fill

    def looks(self, source, listener):
        fill(self, source, listener)
        pages.append(bytes(driver.bytes[self.buffers.staying[0].addresses[0] :][: 4 * graph.m]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Streams, "fill", looks)
        graph.to_device(Hops(HUB))
    assert pages == [graph._arrays.in_edges.neighbours.tobytes()]
    assert copied(hops(graph)) == 0


@pytest.mark.parametrize("call", ["memcpy_htod_async", "mem_alloc", "memset_d8"])
def test_a_failure_leaves_nothing(driver, graph, call):
    expected = run_with(Hops(HUB), graph, device="cpu", sync=True).values
    left = failing_once(driver, call)
    for number in range(1, 12, 2):
        left[0], driver.next = number, 256
        with suppress(DeviceError):
            graph.to_device()
            left[0] = 0
        assert driver.held == 0 or left[0] == 0
        left[0] = 0
        np.testing.assert_array_equal(hops(graph).values, expected)
        assert held_after(driver, graph) == 0


def test_too_little_memory_is_said(driver, graph):
    with pytest.raises(DeviceMemoryError, match="allow more with gpu_memory"):
        graph.to_device(gpu_memory="100KiB")
    assert driver.held == 0
    with pytest.raises(DeviceMemoryError), gp.on_device(graph, gpu_memory="100KiB"):
        pytest.fail("the block began")
    assert driver.held == 0


def test_what_does_not_fit_is_left_to_runs(driver, graph_of):
    graph = graph_of(twins.skewed(4, 9000, 400_000))
    memory = 1_500_000
    graph.to_device(Hops(HUB), gpu_memory=memory)
    assert 0 < driver.held <= memory
    first = hops(graph, gpu_memory=memory)
    again = hops(graph, gpu_memory=memory)
    assert first.stats.found_bytes == again.stats.found_bytes > 0
    assert copied(first) == copied(again) > 0


def test_edges_on_disk_are_read_ahead(device_for, graph_of, tmp_path):
    whole = graph_of(GRAPH)
    gp.save(whole, tmp_path / "graph", block_bytes=1 << 12)
    graph = gp.open(tmp_path / "graph", memory=whole.nbytes)
    graph = graph._replace(memory=9 << 19)  # half a MiB more than is reserved for small objects
    assert graph.on_disk
    driver = device_for(Hops(HUB), graph, TwoPrograms)
    heard = []
    graph.to_device(Hops(HUB), on_event=heard.append)
    steps = [event.done for event in heard if event.name == "copying to the GPU"]
    assert len(steps) > 3
    assert steps == sorted({*steps})
    first = hops(graph)
    np.testing.assert_array_equal(first.values, run_with(Hops(HUB), whole, device="cpu", sync=True).values)
    assert copied(first) == sum(row.from_disk for row in first.stats.iterations) == 0
    assert held_after(driver, graph) == 0


def test_ten_graphs_where_three_fit(device_for, graph_of):
    graphs = [graph_of(twins.regular(k, 2000, 6)) for k in range(10)]
    driver = device_for(Hops(7), graphs[0], TwoPrograms)
    hops(graphs[0].to_device(), 7)
    kept = driver.held
    memory = 4 * kept - 1
    for graph in graphs:
        graph.to_device(gpu_memory=memory)
    assert driver.held <= memory
    found = [hops(graph, 7, gpu_memory=memory).stats.found_bytes > 0 for graph in (graphs[9], graphs[8], graphs[0])]
    assert found == [True, True, False]


def test_two_threads_at_once(driver, graph, monkeypatch):
    """The second waits for the first one, and finds the graph there."""
    counted, fill = [], Streams.fill

    def slow(self, source, listener):
        counted.append([buffer.copied_bytes for buffer in self.buffers.staying])
        if len(counted) == 1:
            time.sleep(0.2)
        fill(self, source, listener)

    monkeypatch.setattr(Streams, "fill", slow)
    threads = [threading.Thread(target=graph.to_device) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(each) for each in counted] == [4 * graph.m, 0, 0]
    assert copied(hops(graph)) == 0


def test_beside_a_run_that_has_the_graph_there_it_does_nothing(driver, graph):
    graph.to_device()
    used = DeviceGraph.take(graph._arrays, devices.find())
    before = driver.held
    graph.to_device()
    assert driver.held == before
    used.give_back(True)
    assert copied(hops(graph)) == 0


def test_freed_beside_a_run_that_has_the_graph_there(driver, graph):
    used = []
    with gp.on_device(graph):
        used.append(DeviceGraph.take(graph._arrays, devices.find()))
    assert driver.held > 0  # the run goes on
    used.pop().give_back(True)
    assert driver.held == 0


def test_without_a_gpu_the_error_says_what_to_do(graph, monkeypatch):
    def missing(number=0):
        raise devices.NoDriverError(f"no NVIDIA driver; install one, {devices.FALLBACK}")

    monkeypatch.setattr(devices, "find", missing)
    with pytest.raises(DeviceError, match="device='cpu'"):
        graph.to_device()
    with pytest.raises(DeviceError, match="device='cpu'"), gp.on_device(graph):
        pytest.fail("the block began")


def test_wrong_arguments_are_explained(graph):
    with pytest.raises(ParameterError, match=r"Graph.to_device has no argument memory"):
        graph.to_device(memory="6GiB")
    with pytest.raises(ParameterError, match=r"on_device has no argument gpu_memry; did you mean gpu_memory\?"):
        gp.on_device(graph, gpu_memry="6GiB")
    with pytest.raises(ParameterError, match="to_device takes an instance of a VertexProgram, not '6GiB'"):
        graph.to_device("6GiB")
    with pytest.raises(ParameterError, match="to_device takes a Graph, not str"), gp.on_device("graph"):
        pytest.fail("the block began")
    with pytest.raises(ParameterError, match="gpu_memory"):
        graph.to_device(gpu_memory="much")
    with pytest.raises(ParameterError, match="on_event=3"):
        graph.to_device(on_event=3)


@pytest.mark.full
@pytest.mark.cuda
@pytest.mark.parametrize("kind", mostly_full([None, "int32", "float64"], "int32"))
def test_its_own_program_compiles_and_reads_edge_values(graph_of, kind):
    bound = bind(module.WholeGraph(), graph_of(twins.skewed(3, 90, 600, kind)))
    assert bound.reads_edge_values == (kind is not None)
    assert compiler.cubin(bound, "sm_90")
