"""A GPU that fails during a run does not change the answer; options for a GPU are checked before the run."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceError, DeviceMemoryError, ParameterError, ProgramError
from garaph_py.events import Span
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.gpu.device_graph import KeptBytes
from garaph_py.executor.gpu.residency import Residency
from garaph_py.executor.modes import NOTIFY_PULL, PULL
from garaph_py.executor.protocol import Capabilities
from garaph_py.executor.step import StepByParts
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.layout import layout
from garaph_py.pages.memory_source import MemoryPageSource
from garaph_py.runtime import runner
from tests.support import twins

from ..support.runs import run_with
from ..support.verdicts import auto_takes


@pytest.fixture(scope="module")
def edges():
    return twins.skewed(7, 3000, 40000, "float64")


class FailingGpu(StepByParts):
    """A fake GPU that works on the CPU and fails in `process` of iteration `at`, or when it is asked for "values".

    As on a GPU, the host's values are then those of the last iteration that was committed; what is pending or activated
    is anybody's guess.
    """

    name, modes = "gpu", (PULL, NOTIFY_PULL)
    at: object = 0
    is_short = False
    kept_bytes = KeptBytes()
    placing: dict = {}  # noqa: RUF012 - never written

    def __init__(self, bound, graph, found, settings, host, listener):
        self._pool, self._count, self._page_edges = ThreadPool(2), 0, settings.page_edges
        self._cpu = CpuExecutor(bound, graph, self._pool, listener, every_edge=True)
        pages = layout(graph._arrays.in_edges.offsets, 5000)
        self.residency = Residency(pages, 0, 2, 0, 0, self.is_short)
        self.source = MemoryPageSource(graph._arrays.in_edges, pages=pages)
        self.begin, self.commit = self._cpu.begin, self._cpu.commit
        self.capabilities = Capabilities("gpu", self.modes)
        self.spans, self.streams = None, SimpleNamespace(heartbeats=[])

    def open(self, plan, sources, state=None):
        sources.divide(plan.memory.gpu)
        return self.initialize(plan.synchronous, sources)

    def initialize(self, synchronous, sources):
        if self.at == "start":
            raise DeviceMemoryError("the fake GPU is full; use another")
        return self._cpu.initialize(synchronous)

    def process(self, pages, source, state, mode):
        self._count += 1
        if self.spans is not None:
            self.spans.append(Span("stream 0", "gather and apply", *2 * (time.perf_counter_ns(),), {"page": 0}))
        if self._count <= (self.at if isinstance(self.at, int) else 1 << 30):
            return self._cpu.process(pages, source, state, mode)
        before = state.values.copy()
        self._cpu.process(list(pages)[1:], source, state, mode)
        state.values[:] = before
        raise DeviceError("the fake GPU is gone; look for it")

    def report(self, state):
        if self.at == "values":
            raise DeviceError("the fake GPU is gone; look for it")
        return self._cpu.report(state)

    def close(self):
        self._pool.close()


@pytest.fixture
def failing_at(monkeypatch):
    """A function that says when the GPU fails."""
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: SimpleNamespace(name="Fake GPU"))
    return lambda at: monkeypatch.setattr(runner, "GpuExecutor", type("Failing", (FailingGpu,), {"at": at}))


PROGRAMS = {
    "BFS": lambda e: gp.apps.BFS(int(e.out_degrees.argmax())),
    "SSSP": lambda e: gp.apps.SSSP(int(e.out_degrees.argmax())),
    "PageRank": lambda e: gp.apps.PageRank(tolerance=1e-4),
    "DeltaPageRank": lambda e: gp.apps.DeltaPageRank(),
}


@pytest.mark.slow
@pytest.mark.parametrize("at", [0, 1, 3, "values"])
@pytest.mark.parametrize(
    ("name", "sync", "how"),
    [
        *((name, True, {"device": "gpu"}) for name in PROGRAMS),
        *((name, True, {"device": "auto", "deterministic": True}) for name in PROGRAMS),
        ("BFS", False, {"device": "gpu"}),
        ("SSSP", False, {"device": "gpu"}),
    ],
)
def test_the_cpu_continues_after_a_gpu_failure(failing_at, monkeypatch, caplog, graph_of, edges, name, sync, how, at):
    graph, program = graph_of(edges), PROGRAMS[name](edges)
    if name == "DeltaPageRank":
        how = how | {"deterministic": True}  # other runs push, which adds floats in no fixed order
    expected = run_with(program, graph, sync=True, page_edges=5000, **(how | {"device": "cpu"}))
    failing_at(at)
    auto_takes(monkeypatch)
    result = run_with(program, graph, sync=sync, page_edges=5000, **how)
    assert result.values.tobytes() == expected.values.tobytes()
    assert result.stats.converged
    rows = result.stats.iterations
    if sync:
        assert len(rows) == len(expected.stats.iterations)
    assert [row.number for row in rows] == list(range(len(rows)))
    done = len(rows) if at == "values" else at
    assert [row.device for row in rows] == ["gpu"] * done + ["cpu"] * (len(rows) - done)
    assert result.stats.device == "cpu"
    assert [record.getMessage() for record in caplog.records] == [result.stats.note]
    assert result.stats.note.startswith(
        f"Fake GPU failed after {done} iterations, the CPU goes on: the fake GPU is gone"
    )


def test_lack_of_memory_is_reported_once(monkeypatch, caplog, graph_of, edges):
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: SimpleNamespace(name="Fake GPU"))
    monkeypatch.setattr(runner, "GpuExecutor", type("Short", (FailingGpu,), {"at": 99, "is_short": True}))
    result = gp.run(gp.apps.PageRank(), graph_of(edges), device="gpu")
    assert result.stats.device == "Fake GPU"
    assert "2 streams; allow more with gpu_memory" in result.stats.note
    assert [record.getMessage() for record in caplog.records] == [result.stats.note]


def test_a_trace_shows_both(failing_at, tmp_path, graph_of, edges):
    failing_at(2)
    run_with(
        gp.apps.PageRank(), graph_of(edges), device="gpu", iterations=5, trace=tmp_path / "t", report=tmp_path / "r"
    )
    events = json.loads((tmp_path / "t").read_text())["traceEvents"]
    assert [event["args"]["device"] for event in events if "device" in event["args"]] == ["gpu"] * 2 + ["cpu"] * 3
    tracks = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert tracks[:2] == ["iterations", "cpu 0"]
    assert [track for track in tracks if track != "compiler"][-1] == "stream 0"
    assert len([event for event in events if event["name"] == "gather and apply"]) == 3
    assert "Fake GPU failed after 2 iterations" in (tmp_path / "r").read_text()


def test_a_limit_on_iterations_counts_both(failing_at, graph_of, edges):
    failing_at(2)
    result = gp.run(gp.apps.PageRank(stop="never", weighted=False), graph_of(edges), device="gpu", iterations=5)
    assert [row.device for row in result.stats.iterations] == ["gpu"] * 2 + ["cpu"] * 3
    np.testing.assert_allclose(result.values, twins.pagerank(edges, 5), rtol=1e-12)


def test_a_gpu_that_is_full_at_the_start(failing_at, monkeypatch, graph_of, edges):
    failing_at("start")
    with pytest.raises(DeviceMemoryError, match="full"):
        gp.run(gp.apps.BFS(0), graph_of(edges), device="gpu")
    auto_takes(monkeypatch)
    assert gp.run(gp.apps.BFS(0), graph_of(edges)).stats.note == "no GPU used: the fake GPU is full; use another"


def test_a_program_that_no_gpu_compiles(failing_at, monkeypatch, graph_of, edges):
    failing_at(0)

    def refuse(*_):
        raise ProgramError("BFS.gather cannot be compiled for a GPU: it is strange; use device='cpu'")

    monkeypatch.setattr(runner, "GpuExecutor", refuse)
    with pytest.raises(ProgramError, match="strange"):
        gp.run(gp.apps.BFS(0), graph_of(edges), device="gpu")
    auto_takes(monkeypatch)
    assert gp.run(gp.apps.BFS(0), graph_of(edges)).stats.note.startswith("no GPU used: BFS.gather")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "tpu"}, "device='tpu': choose from auto, cpu, gpu"),
        ({"gather": "x"}, "gather='x': choose from auto, replicated, segmented"),
        ({"gpu_memory": "lots"}, "gpu_memory='lots': give a size such as 6GiB"),
        ({"gpu_memory": 0}, "gpu_memory=0: "),
        ({"gpu_memory": True}, "gpu_memory=True: "),
        ({"streams": 0}, "streams=0: give a whole number from 1 to 64"),
        ({"streams": 65}, "streams=65: "),
        ({"streams": "4"}, "streams='4': "),
        ({"streams": True}, "streams=True: "),
        ({"replication": 3}, "replication=3: choose from custom, calibrated, 1, 2, 4, 8, 16, 32"),
        ({"replication": "most"}, "replication='most': "),
        ({"replication": "²"}, "replication='²': "),
        ({"replication": 1.0}, "replication=1.0: "),
        ({"replication": True}, "replication=True: "),
        ({"gpu_order": "degree"}, "gpu_order='degree': choose from auto, given, hub"),
        ({"deterministic": True, "gather": "replicated"}, "deterministic=True needs gather='segmented'"),
        ({"deterministic": True, "sync": False}, "deterministic=True needs a synchronous run"),
        ({"device": "gpu", "mode": "push"}, "mode='push' is for the CPU only"),
    ],
)
def test_parameters(settings, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        run_with(gp.apps.BFS(0), gp.from_edges([0], [1]), **settings)
