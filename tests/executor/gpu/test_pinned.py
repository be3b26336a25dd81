"""Host memory that is pinned in place: once, however many GPUs copy from it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.gpu import device_graph, executor, pinned, pinned_pool
from garaph_py.executor.gpu.pinned import PORTABLE, Pinned
from tests.support.numpy_gpu import GRAPH, HUB, Hops, memory_for

from ...support.runs import run_with


class Driver:
    """Notes the arrays that are registered, each as its address and flags, and those that are no longer."""

    CUresult = SimpleNamespace(CUDA_SUCCESS=0)

    def __init__(self):
        self.registered, self.unregistered = [], []

    def cuMemHostRegister(self, place, nbytes, flags):
        self.registered.append((place, flags))
        return (0,)

    def cuMemHostUnregister(self, place):
        self.unregistered.append(place)

    def cuMemHostGetDevicePointer(self, place, flags):
        return 1, None  # the GPUs cannot read it in place


@pytest.fixture
def driver(monkeypatch):
    """The driver that pins arrays of any size."""
    made = Driver()
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=made))
    monkeypatch.setattr(pinned, "_pinned", {})
    monkeypatch.setattr(pinned, "WORTH_PINNING", 1)
    monkeypatch.setattr(pinned, "OWN_PAGES", 1)
    return made


def address(array):
    return array.__array_interface__["data"][0]


def test_an_array_is_unpinned_after_the_last_use(driver):
    array, first, second = np.zeros(100), Pinned(), Pinned()
    for each in first, second:
        each.pin(array)
    assert driver.registered == [(address(array), PORTABLE)]
    first.close()
    assert driver.unregistered == []
    second.unpin(array)
    assert driver.unregistered == [address(array)]


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.usefixtures("all_gpus")
def test_edges_are_pinned_once_for_all_gpus(devices_for, graph_of, driver, monkeypatch, count):
    program, graph = Hops(HUB), graph_of(GRAPH, weighted=False)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.15)
    for module in executor, device_graph, pinned_pool:
        monkeypatch.setattr(module, "Pinned", Pinned)
    result = run_with(
        program, graph, device="gpu", gpus=count, sync=True, gather="segmented", page_edges=500, gpu_memory=memory
    )
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.stats.iterations[-1].to_device > 0  # edges are copied in every iteration
    edges = address(graph._arrays.in_edges.neighbours)
    assert [flags & PORTABLE for place, flags in driver.registered if place == edges] == [PORTABLE]
    graph.release()
    assert driver.unregistered.count(edges) == 1
