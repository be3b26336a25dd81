"""Parts with GPUs give one machine's answers: fake GPUs here, and a real one where there is one."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.cluster import part_executor
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.local import connect, exchange, run_of, run_parts
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DeviceError
from garaph_py.graph.part import part_of
from garaph_py.pages.layout import layout
from garaph_py.pages.memory_source import MemoryPageSource
from garaph_py.program import oriented
from garaph_py.program.part import by_numbers
from garaph_py.runtime.options import RunOptions
from tests.support.cases import mostly_full
from tests.support.cpu_gpu import CpuGpu
from tests.support.local_cluster import CASES, rmat
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Lengths, Quiet
from tests.support.parts_executor import on_parts
from tests.support.programs import Sees

PARTS = (1, 2, 3)


class CpuGpuOfPart(CpuGpu):
    """A fake GPU that runs every program, on the own vertices of a part, rounded to whole words as a GPU does."""

    def __init__(self, bound, graph, device, settings, host, listener):
        super().__init__(bound, graph, 3000)
        part, offsets = settings.part, graph._arrays.in_edges.offsets
        pages = layout(offsets[: part.last + 1], 3000, first=part.first, multiple=64)
        self.source = MemoryPageSource(graph._arrays.in_edges, pages=pages)

    def close(self):
        pass


@pytest.fixture
def shared(monkeypatch):
    """Hybrid runs share every iteration with a fake GPU that runs every program."""
    monkeypatch.setattr(part_executor, "GpuExecutor", CpuGpuOfPart)
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: None)
    monkeypatch.setattr("garaph_py.runtime.speeds.measured", lambda threads: None)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)


def ran(program, graph, parts, device, make=lambda part: part, **options):
    """The values, and the devices that did the supersteps."""
    found, devices, step = [], set(), part_executor.PartExecutor.step

    def noting(self, state, decision):
        result = step(self, state, decision)
        devices.add(result.device)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_executor.PartExecutor, "step", noting)
        found, _ = run_parts(program, graph, parts, RunOptions(device=device, threads=2, **options), make)
    return found, devices


PROGRAMS = CASES | {"Sees": (Sees(root=5, salt=2), {}, 4)}
names = pytest.mark.parametrize("name", mostly_full(PROGRAMS, "BFS", "PageRank", "Mixed", "Sees"))


def check(name, device, make=lambda part: part):
    """Parts have the answer of one machine's CPU; return the devices that did their supersteps."""
    program, of_graph, iterations = PROGRAMS[name]
    graph, used = oriented(program, rmat(**of_graph)), set()
    alone = gp.run(program, graph, device="cpu", iterations=iterations, options=gp.Options(sync=True)).values
    for parts in PARTS:
        values, devices = ran(program, graph, parts, device, make, iterations=iterations)
        used |= devices
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values, alone, rtol=1e-9)
        else:
            np.testing.assert_array_equal(values, alone)
    return used


@pytest.mark.slow
@names
def test_host_and_gpu_share_a_part(shared, name):
    assert "both" in check(name, "hybrid")


@pytest.mark.spread
@pytest.mark.parametrize("kind", [Hops, Quiet, pytest.param(Lengths, marks=pytest.mark.full)])
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_gpu_has_a_part(device_for, graph_of, gpu_is_faster, kind, parts, device):
    program, graph = kind(HUB), graph_of(GRAPH, weighted=kind is Lengths)
    expected = gp.run(program, graph, device="cpu", options=gp.Options(sync=True)).values
    driver = on_parts(device_for, program, graph, parts)
    values, devices = ran(program, graph, parts, device)
    np.testing.assert_array_equal(values, expected)
    assert "gpu" in devices
    assert "initialize" in {name for name, _ in driver.launched}


@pytest.mark.spread
@pytest.mark.parametrize("device", ["cpu", "gpu", "hybrid"])
@pytest.mark.parametrize("kind", [Hops, Quiet])
def test_every_superstep_is_that_of_one_machine(device_for, graph_of, gpu_is_faster, kind, device):
    """As of any executor: after each superstep, values, frontier, counts and total are those of the undivided graph."""
    program, graph = kind(HUB), graph_of(GRAPH, weighted=False)
    numbered, cuts = by_numbers(program, graph), cut(graph, 3)
    on_parts(device_for, program, graph, 3)
    whole = [run_of(numbered, part_of(graph, cut(graph, 1), 0), RunOptions(device="cpu", threads=1, mode="pull"))]
    asked = RunOptions(device=device, threads=1, mode="pull")
    runs = [run_of(numbered, part_of(graph, cuts, part), asked) for part in range(3)]
    connect(runs)
    one, some = (each[0].total([run.open() for run in each]) for each in (whole, runs))
    for _ in range(5):
        assert (one.active, one.active_edges, one.total) == (some.active, some.active_edges, some.total)
        one, some = (each[0].total([run.step(totals) for run in each]) for each, totals in ((whole, one), (runs, some)))
        exchange(runs)
        for name in "values", "active":
            own = [run.own(run.save())[name] for run in runs]
            np.testing.assert_array_equal(np.concatenate(own), whole[0].own(whole[0].save())[name])
    for run in whole + runs:
        run.close()


@pytest.mark.parametrize("call", ["ready", "refresh"])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_the_cpu_goes_on_when_the_gpu_fails(device_for, graph_of, gpu_is_faster, device, call, caplog):
    program, graph = Quiet(HUB), graph_of(GRAPH, weighted=False)
    expected = gp.run(program, graph, device="cpu", options=gp.Options(sync=True)).values
    on_parts(device_for, program, graph, 2)
    act, left = getattr(part_executor.GpuExecutor, call), [3]

    def fails(self, state, *more):
        left[0] -= 1
        if left[0] == 0:
            raise DeviceError("the GPU is lost")
        act(self, state, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_executor.GpuExecutor, call, fails)
        values, devices = ran(program, graph, 2, device)
    np.testing.assert_array_equal(values, expected)
    assert devices >= {"cpu", "gpu"}
    assert "the CPU goes on" in caplog.text


@pytest.mark.usefixtures("no_gpu")
def test_a_part_that_needs_a_gpu_says_that_there_is_none():
    with pytest.raises(DeviceError, match="no GPU here"):
        ran(gp.apps.BFS(5), rmat(), 2, "gpu")


@pytest.mark.gpu
@names
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_a_real_gpu_has_a_part(name, device, encoding):
    packs = encoding == "packed"
    check(name, device, lambda part: part.on(part.graph.packed()) if packs else part)
