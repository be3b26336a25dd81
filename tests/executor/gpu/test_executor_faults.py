"""A real GPU error, in a process of its own because it destroys the context; and other users of the GPU."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import garaph_py as gp

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

FAILING = """
import numpy as np, garaph_py as gp
from garaph_py.executor.gpu.page_tasks import PageTasks
from garaph_py.executor.gpu.pulls_ahead import PullsAhead
from garaph_py.runtime import runner
graph = gp.rmat(14, seed=1)
calls, together = [], []
original, several = PageTasks.of, PullsAhead._run

def broken(self, page, buffer=None):
    task = original(self, page, buffer)
    calls.append(page)
    if len(together) > 2 if SYNC else len(calls) > 5:
        task["context"]["sums"] = 64  # no memory there
    return task

def counted(self, *how):
    together.append(how)  # a synchronous run launches eight pulls at a time
    return several(self, *how)

PageTasks.of, PullsAhead._run = broken, counted
runner.INTERVAL, runner.SHARE = 0.0, float("inf")  # a copy of the state after every iteration
program = gp.apps.PageRank(stop="never")
expected = gp.run(program, graph, iterations=25, device="cpu").values
options = gp.Options(sync=SYNC, gather="segmented")
result = gp.run(program, graph, iterations=25, device="gpu", options=options)
assert result.stats.device == "cpu" and "failed after" in result.stats.note, result.stats
devices = [row.device for row in result.stats.iterations]
assert devices == ["gpu"] * devices.count("gpu") + ["cpu"] * devices.count("cpu") and devices.count("gpu") > 2, devices
assert len(devices) == 25
if SYNC:
    np.testing.assert_allclose(result.values, expected, rtol=1e-10)
try:
    gp.run(program, graph, iterations=1, device="gpu")
except gp.errors.DeviceError as error:
    assert "earlier in this process" in str(error)
else:
    raise AssertionError("the broken device was used again")
assert gp.run(program, graph, iterations=9, device="auto").stats.device == "cpu"
"""


@pytest.mark.alone_on_gpu
@pytest.mark.parametrize("sync", [True, False])
def test_a_failing_device_costs_no_answer(sync):
    script = textwrap.dedent(FAILING).replace("SYNC", str(sync))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_other_libraries_share_the_context():
    cupy = pytest.importorskip("cupy")
    before = cupy.arange(1000)
    result = gp.run(gp.apps.BFS(0), gp.rmat(12, seed=1), device="gpu")
    assert result.stats.device != "cpu"
    assert int((before + cupy.asarray(result.column("level")).max()).sum()) > 0
    again = gp.run(gp.apps.BFS(0), gp.rmat(12, seed=1), device="gpu")
    np.testing.assert_array_equal(result.values, again.values)


def test_two_threads_run_at_once():
    from concurrent.futures import ThreadPoolExecutor

    graph = gp.rmat(14, seed=2)
    expected = gp.run(gp.apps.BFS(0), graph, device="cpu").values
    with ThreadPoolExecutor(4) as pool:
        runs = list(
            pool.map(lambda _: run_with(gp.apps.BFS(0), graph, device="gpu", page_edges=20000).values, range(8))
        )
    for values in runs:
        np.testing.assert_array_equal(values, expected)
