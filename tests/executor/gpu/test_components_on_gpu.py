"""Connected components on a GPU: raw and packed, resident, streamed and from disk; with and without the CPU."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import components
from garaph_py.executor.modes import COMPONENTS
from garaph_py.storage import directory as store
from tests.support.components import GRAPHS, lengthen, modes_of, programs, undirected
from tests.support.real_gpu import memory_for

from ...support.runs import run_with

pytestmark = pytest.mark.gpu


@programs
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_answers_are_the_cpus(name, program, encoding):
    graph = undirected(GRAPHS[name])
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    found = run_with(program, graph, device="gpu", encoding=encoding, page_edges=4000)
    assert found.stats.note is None
    assert modes_of(found) == [COMPONENTS]
    assert found.values.tobytes() == expected.values.tobytes()


@programs
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_pages_may_be_streamed(program, device, encoding, share):
    graph = gp.rmat(16, 8, directed=False)
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    graph = graph.packed() if encoding == "packed" else graph
    memory = memory_for(program, graph, share, components=True)
    found = run_with(program, graph, device=device, gpu_memory=memory, page_edges=20000)
    assert found.stats.note is None or "short" in found.stats.note
    assert found.stats.device != "cpu"
    assert modes_of(found) == [COMPONENTS]
    assert found.values.tobytes() == expected.values.tobytes()


@programs
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_edges_on_disk(tmp_path, program, device, encoding):
    graph = gp.rmat(16, 8, directed=False)
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=1 << 16)
    opened = gp.open(tmp_path / "g", memory=2 * graph._arrays.in_edges.offsets.nbytes)
    opened = opened._replace(memory=graph.nbytes // 2 + 120 * graph.n)
    found = run_with(program, opened, device=device, gpu_memory="6MiB")
    assert modes_of(found) == [COMPONENTS]
    assert found.values.tobytes() == expected.values.tobytes()


@programs
@pytest.mark.parametrize("name", GRAPHS)
def test_sums_come_from_roots_where_parents_are_none(name, program, monkeypatch):
    """A thread of `sum_trees` that shortens a path late leaves such parents."""
    graph = undirected(GRAPHS[name])
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    on_vertices = components.Components.on_vertices

    def late(self, kernel):
        if kernel == "spread_sums":
            driver, place = self.launches.driver, self.launches.arrays.address("parents")
            parents = np.empty(graph.n, np.uint32)
            driver.Context.synchronize()
            driver.memcpy_dtoh(parents.view(np.uint8), place)
            lengthen(parents)
            driver.memcpy_htod(place, parents.view(np.uint8))
        on_vertices(self, kernel)

    monkeypatch.setattr(components.Components, "on_vertices", late)
    found = run_with(program, graph, device="gpu")
    assert modes_of(found) == [COMPONENTS]
    assert found.values.tobytes() == expected.values.tobytes()


def test_a_run_after_another_program_finds_the_graph_there():
    graph = gp.rmat(16, 8, directed=False)
    program = gp.apps.ConnectedComponents()
    expected = gp.run(program, graph, device="cpu").values
    for _ in range(3):
        gp.run(gp.apps.BFS(0), graph, device="gpu")
        np.testing.assert_array_equal(gp.run(program, graph, device="gpu").values, expected)
