"""Pushes of several GPUs on a real one, which has the parts of all of them."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import device, peers, speeds
from tests.support import twins
from tests.support.cases import EXACT

from ...support.runs import run_with

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def three_of_one(monkeypatch):
    """The numbers 0, 1 and 2 are the same GPU, and copies between them are copies within its memory."""
    one = device.find()
    found = [replace(one, number=number) for number in range(3)]
    monkeypatch.setattr(device, "find", lambda number=0: found[number])
    monkeypatch.setattr(device, "count", lambda: len(found))
    monkeypatch.setattr(peers, "can_reach", lambda number, other: False)
    monkeypatch.setattr(speeds, "_measured", {})
    monkeypatch.setattr(
        peers, "copy",
        lambda to, place, of, source, nbytes, stream: of.driver.memcpy_dtod_async(place, source, nbytes, stream),
    )  # fmt: skip


@pytest.fixture(scope="module")
def edges():
    return {weights: twins.skewed(5, 6000, 90000, weights) for weights in (None, "int32", "float32", "float64")}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_programs_have_the_same_bits(graph_of, edges, case, sync, count):
    given = edges[case.weights].both_ways()
    graph, program = graph_of(given, directed=False), case.program(given)
    expected = run_with(program, graph, device="cpu", sync=True)
    for encoding in "raw", "packed":
        result = run_with(program, graph, device="gpu", gpus=count, sync=sync, encoding=encoding)
        assert result.stats.note is None
        assert expected.values.tobytes() == result.values.tobytes()


@pytest.mark.parametrize("count", [2, 3])
def test_a_large_graph(count):
    """Some iterations push, others pull; components are also found by union-find."""
    graph = gp.rmat(20, directed=False, weights=(1, 255))
    source = int(np.argmax(graph.out_degrees))
    for program in gp.apps.BFS(source), gp.apps.SSSP(source), gp.apps.ConnectedComponents():
        expected = gp.run(program, graph, device="cpu")
        for sync in True, None:
            result = run_with(program, graph, device="gpu", gpus=count, sync=sync)
            np.testing.assert_array_equal(result.values, expected.values)
            finds = sync is None and isinstance(program, gp.apps.ConnectedComponents)
            assert {row.mode for row in result.stats.iterations} >= ({"components"} if finds else {"push", "pull"})
    for encoding in "raw", "packed":
        result = run_with(program, graph, device="gpu", gpus=count, mode="components", encoding=encoding)
        np.testing.assert_array_equal(result.values, expected.values)
        assert [row.mode for row in result.stats.iterations] == ["components"]
