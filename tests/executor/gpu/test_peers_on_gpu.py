"""Two real GPUs that do not reach each other's memory: what they send goes by way of the host."""

import subprocess
import sys

import pytest

from garaph_py.executor.gpu import device

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(device.count() < 2, reason="needs two GPUs")]

APART = """
import numpy as np
import garaph_py as gp
from garaph_py.executor.gpu import peers

peers.can_reach = lambda number, other: False
copied, copy = [], peers.copy
peers.copy = lambda to, place, of, source, nbytes, stream: (
    copied.append(nbytes), copy(to, place, of, source, nbytes, stream))
graph = gp.rmat(18, 16, directed=False, weights=(1, 255))
for program, given in (
    (gp.apps.SSSP(0), {}),
    (gp.apps.BFS(0), {}),
    (gp.apps.ConnectedComponents(), {}),
    (gp.apps.SSSP(0), {"gpu_memory": 24 << 20}),
):
    expected = gp.run(program, graph, device="cpu")
    found = gp.run(program, graph, device="gpu", gpus=2, options=gp.Options(**given))
    answers = [each.values["level"] if each.values.dtype.names else each.values for each in (expected, found)]
    np.testing.assert_array_equal(*answers)
    assert found.stats.device.startswith("2 x "), found.stats.note
    assert copied, program
    copied.clear()
"""
"""In a process of its own, because a GPU that may reach another one's memory may do so until the process ends."""


def test_answers_are_right_without_a_link():
    done = subprocess.run([sys.executable, "-c", APART], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
