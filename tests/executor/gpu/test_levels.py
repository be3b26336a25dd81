"""Searches from many sources on a device simulated with NumPy: their levels are noted there, or on the host."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import apps
from garaph_py.apps.many_bfs import ManyBFS
from garaph_py.executor.gpu.levels import PLANES, DeviceLevels
from garaph_py.executor.gpu.memory import DeviceMemory
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.numpy_gpu import failing_once, held_after

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

N = 3000
SOURCES = [int(v) for v in np.random.default_rng(5).choice(N, 64, replace=False)]


def searching(program, graph):
    """`ManyBFS` instead of the program: how the simulated device gets the layouts of its parameters."""
    return bind(ManyBFS(-1, -1), graph)


def many(graph, count=64, device="gpu", **how):
    return gp.run_many(apps.BFS, graph, SOURCES[:count], device=device, options=gp.Options(**how))


@pytest.fixture
def graph(graph_of):
    return graph_of(twins.skewed(3, N, 6 * N), weighted=False, directed=False)


def path(count):
    """A path, of which the searches need more than 127 supersteps; every other vertex is alone."""
    ends = np.sort(np.array([*SOURCES, *range(count)]))
    return gp.from_edges(ends[:-1], ends[1:], directed=False)


WAYS = {
    "resident": {},
    "pulls": {"mode": "pull"},
    "streamed": {"engine": "garaph", "page_edges": 3000, "gather": "segmented"},
    "packed": {"encoding": "packed"},
    "hybrid": {"device": "hybrid", "page_edges": 3000},
}


@pytest.mark.spread
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [3, 64])
def test_levels_are_the_cpus(device_for, graph, way, count, monkeypatch):
    device_for(None, graph, bind=searching)
    noted = []
    note = DeviceLevels.after
    monkeypatch.setattr(DeviceLevels, "after", lambda *told: noted.append(1) or note(*told))
    expected = many(graph, count, "cpu").values
    found = many(graph, count, **WAYS[way])
    assert found[SOURCES[0]].stats.note is None
    assert found.values.dtype == np.int8
    np.testing.assert_array_equal(found.values, expected)
    assert bool(noted) == (way != "hybrid")


@pytest.mark.full
def test_levels_above_127(device_for):
    made = path(700)
    device_for(None, made, bind=searching)
    found, expected = (many(made, device=device).values for device in ("gpu", "cpu"))
    assert expected.max() > 256
    assert found.dtype == expected.dtype == np.int32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_the_cpu_begins_again_without_room_for_levels_above_127(device_for, monkeypatch):
    """The device's memory for them is not planned: few searches go so far, and it is 56 bytes a vertex."""
    made, allocate = path(700), DeviceMemory.allocate
    device_for(None, made, bind=searching)

    def refused_later(self, name, nbytes, clear=True):
        if name == PLANES.format(7):
            self.budget = self.used
        return allocate(self, name, nbytes, clear)

    monkeypatch.setattr(DeviceMemory, "allocate", refused_later)
    found = many(made)
    assert "planes 7 needs" in found[SOURCES[0]].stats.note
    assert "the CPU begins again" in found[SOURCES[0]].stats.note
    np.testing.assert_array_equal(found.values, many(made, device="cpu").values)


def test_the_host_notes_where_the_device_has_no_room(device_for, graph, monkeypatch):
    driver = device_for(None, graph, bind=searching)
    monkeypatch.setattr(DeviceLevels, "begin", lambda levels, sources: False)
    found = many(graph)
    assert found[SOURCES[0]].stats.device == "NumPy"
    np.testing.assert_array_equal(found.values, many(graph, device="cpu").values)
    assert held_after(driver, graph) == 0


@pytest.mark.parametrize("left", mostly_full(range(3, 40, 4), "3", "27"))
def test_the_cpu_begins_again_if_the_device_fails(device_for, graph, left):
    driver = device_for(None, graph, bind=searching)
    failing_once(driver, "memcpy_dtoh")[0] = left
    found = many(graph)
    np.testing.assert_array_equal(found.values, many(graph, device="cpu").values)
