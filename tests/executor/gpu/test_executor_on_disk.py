"""On a real GPU: graphs whose edges stay on disk, with and without the CPU, raw and packed, partly resident."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.storage import directory as store

from ...support.policies import Turns
from ...support.runs import run_with

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", params=["raw", "packed"])
def stored(request, tmp_path_factory):
    """A graph, and the same with room for a quarter of its edges."""
    graph = gp.rmat(16, 16, directed=False, weights=(1, 255))
    path = tmp_path_factory.mktemp("gpu") / "graph"
    store.save(graph, path, encoding=request.param, block_bytes=1 << 16)
    opened = gp.open(path, memory=2 * graph._arrays.in_edges.offsets.nbytes)
    return graph, opened._replace(memory=graph.nbytes // 2 + 60 * graph.n)


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("engine", ["auto", "garaph", "garaph:keep=yes"])
@pytest.mark.parametrize("program", [gp.apps.SSSP(3), gp.apps.ConnectedComponents(), gp.apps.BFS(3)], ids=repr)
@pytest.mark.parametrize("memory", ["8MiB", None])
def test_answers_are_those_of_memory(stored, device, engine, program, memory):
    graph, opened = stored
    expected = gp.run(program, graph, device="cpu").values
    encoding = opened.encoding
    if engine != "auto" and encoding == "packed":
        pytest.skip("the paper's edges are raw")
    opened.release()  # else nothing is read
    result = run_with(program, opened, device=device, engine=engine, gpu_memory=memory)
    assert result.stats.note is None or "short" in result.stats.note
    if isinstance(program, gp.apps.BFS):
        np.testing.assert_array_equal(result.values["level"], expected["level"])
    else:
        np.testing.assert_array_equal(result.values, expected)
    assert sum(step.from_disk for step in result.stats.iterations) > 0


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_pagerank(stored, device):
    graph, opened = stored
    program = gp.apps.PageRank(stop="never", weighted=False)
    expected = gp.run(program, graph, device="cpu", iterations=10).values
    opened.release()  # else nothing is read
    result = run_with(program, opened, device=device, iterations=10, gpu_memory="10MiB", mode="pull")
    np.testing.assert_allclose(result.values, expected, rtol=1e-9)


@pytest.mark.parametrize("memory", ["8MiB", None])
def test_a_turn_of_the_cpu(stored, memory):
    """It takes memory back that pinned pages had."""
    graph, opened = stored
    program = gp.apps.PageRank(stop="never", weighted=False)
    expected = gp.run(program, graph, device="cpu", iterations=6).values
    opened.release()  # else nothing is read
    result = run_with(program, opened, device="hybrid", iterations=6, gpu_memory=memory, engine=Turns(), sync=True)
    assert [row.device for row in result.stats.iterations] == ["gpu", "gpu", "cpu", "gpu", "gpu", "gpu"]
    np.testing.assert_allclose(result.values, expected, rtol=1e-9)
