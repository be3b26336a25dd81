"""The measured speeds of the hardware, with which a run of the paper's engine begins."""

from types import SimpleNamespace

import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Speeds
from garaph_py.executor.gpu import device
from garaph_py.program import bind
from garaph_py.runtime import speeds
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.plan import plan
from tests.support import twins


@pytest.fixture
def measurements(monkeypatch):
    """A GPU, and the list of what is measured."""
    asked = []
    monkeypatch.setattr(device, "find", lambda: SimpleNamespace(name="GPU"))
    monkeypatch.setattr(speeds, "_known", {})
    monkeypatch.setattr(speeds, "gather_rate", lambda pool, count: asked.append((pool.size, count)) or 3e8)
    monkeypatch.setattr(speeds, "measure", lambda gpu, most: SimpleNamespace(copy=3.6e12, to_device=5e10))
    return asked


def test_the_cpu_gathers_and_the_gpu_reads_a_sector_and_a_source(measurements):
    assert speeds.measured(2) == Speeds(cpu=3e8, gpu=1e11, link=5e10)
    assert measurements == [(2, speeds.GATHERS)]


def test_each_number_of_threads_is_measured_once(measurements):
    assert speeds.measured(1) is speeds.measured(1)
    speeds.measured(2)
    assert [threads for threads, _ in measurements] == [1, 2]


def test_without_a_gpu_nothing_is_measured(measurements, no_gpu):
    assert speeds.measured(2) is None
    assert measurements == []


@pytest.mark.parametrize(("given", "asked"), [
    ({"engine": "garaph", "device": "hybrid"}, [6]),
    ({"engine": "garaph", "device": "hybrid", "threads": 3}, [3]),
    ({"engine": "garaph:hardware=no", "device": "hybrid"}, []),
    ({"engine": "garaph", "device": "gpu"}, []), ({"engine": "garaph", "device": "cpu"}, []),
    ({"engine": "auto", "device": "hybrid"}, []),
])  # fmt: skip
def test_the_plan_asks_for_them_where_the_engine_begins_with_them(graph_of, given, asked):
    graph, threads = graph_of(twins.skewed(3, 100, 400)), []
    found = Speeds(1.0, 2.0, 3.0)
    machine = Machine(8, lambda: True, speeds=lambda count: threads.append(count) or found)
    made = plan(bind(gp.apps.BFS(0), graph), graph, RunOptions(**given), machine)
    assert threads == asked
    assert made.schedule.speeds == (found if asked else None)


@pytest.mark.gpu
@pytest.mark.alone_on_gpu
def test_real_hardware():
    found = speeds.speeds_of(device.find(), 2)
    assert 1e6 < found.cpu < 1e10 < found.gpu < 1e13
    assert 1e9 < found.link < 1e12
