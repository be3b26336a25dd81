"""On a real GPU: pushes along lists on disk, which the host reads."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor import edge_list
from garaph_py.executor.modes import COMPACTED, PULL, PUSH
from garaph_py.storage import directory as store

from ...support.runs import run_with, ways_of

pytestmark = pytest.mark.gpu

CASES = [(True, "raw"), (True, "packed"), (False, "raw"), (False, "packed")]


@pytest.fixture(scope="module", params=CASES, ids=str)
def stored(request, tmp_path_factory):
    """A graph, and the same with room for a quarter of its edges."""
    directed, encoding = request.param
    graph = gp.rmat(16, 16, directed=directed, weights=(1, 255), seed=3)
    path = tmp_path_factory.mktemp("gpu") / "graph"
    store.save(graph, path, encoding=encoding, block_bytes=1 << 16)
    opened = gp.open(path, memory=2 * graph._arrays.in_edges.offsets.nbytes)
    return graph, opened._replace(memory=graph.nbytes // 2 + 80 * graph.n)


def pushes_of(result):
    return [row for row in result.stats.iterations if row.mode == PUSH]


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("name", ["SSSP", "SSWP", "BFS", "ConnectedComponents"])
def test_answers_are_those_of_memory(stored, monkeypatch, name, device, sync):
    graph, opened = stored
    if name == "ConnectedComponents" and graph.directed:
        pytest.skip("it gathers over both directions, which are made in memory")
    source = graph.ids[int(graph.out_degrees.argmax())]
    program = gp.apps.ConnectedComponents() if name == "ConnectedComponents" else getattr(gp.apps, name)(source)
    expected = run_with(program, graph, device="cpu", sync=True).values
    monkeypatch.setattr(edge_list, "MOST_EDGES", 1 << 12)  # lists of hubs are cut
    opened.release()  # else nothing is read
    found = run_with(program, opened, device=device, sync=sync, gpu_memory="10MiB")
    assert found.stats.note is None or "short" in found.stats.note
    if name == "BFS":
        np.testing.assert_array_equal(found.values["level"], expected["level"])
    else:
        np.testing.assert_array_equal(found.values, expected)
    if device == "gpu" and name != "ConnectedComponents":  # the GPU may have all edges when few are active there
        assert COMPACTED in ways_of(pushes_of(found))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_deltas(stored, dtype):
    graph, opened = stored
    program = gp.apps.DeltaPageRank(dtype=dtype, weighted=False)
    expected = run_with(program, graph, device="cpu", mode=PULL).values
    opened.release()
    found = run_with(program, opened, device="gpu", gpu_memory="10MiB")
    np.testing.assert_allclose(found.values, expected, rtol=1e-3)
    if graph.directed or opened.encoding == "raw":  # else the GPU may have all edges
        assert COMPACTED in ways_of(pushes_of(found))
