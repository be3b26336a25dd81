"""Searches over packed edges on a device simulated with NumPy: pushes from lists, and gathers that end early."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import LISTS, PADDING, RUN, decode
from garaph_py.executor.gpu.offsets import begins_of
from garaph_py.executor.modes import PULL, PUSH
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.numpy_gpu import Eager, FakeDriver, Quiet, held_after
from tests.support.numpy_packed import sources_of

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster")

PATH = 60
"""Vertices of a path beside the other edges."""
EDGES = twins.skewed(4, 9000, 12000)


@pytest.fixture
def graph():
    edges = twins.beside_path(PATH, EDGES)
    return gp.from_edges(edges.sources, edges.targets, vertices=range(edges.n), directed=False)


PROGRAMS = {"path": Quiet(0), "hub": Quiet(PATH + int(EDGES.sources[0]))}


def kernels_of(driver):
    return {name for name, _ in driver.launched}


@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_answer_is_the_cpus(device_for, graph, program, device, sync):
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    given = graph.packed()
    for turn in range(2):  # the second run finds all pages in one piece
        driver.launched.clear()
        found = run_with(program, given, device=device, sync=sync, page_edges=3000)
        assert found.stats.device == "NumPy"
        assert {row.device for row in found.stats.iterations} == {"gpu"}
        np.testing.assert_array_equal(found.values, expected.values)
        kernels = kernels_of(driver)
        assert {"push_queue_packed", "push_few_packed"} & kernels
        assert not {"push_queue", "push_few"} & kernels
        assert ("push_few_packed" in kernels) >= (turn == 1)
        if sync:
            assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]
    assert held_after(driver, given) == 0


@pytest.mark.parametrize(("engine", "kernels"), [
    ("auto", {"gather_until_done_packed"}), ("garaph:every_edge=no", {"gather_until_done_packed"}),
    ("garaph", {"gather_packed"}),
])  # fmt: skip
def test_pulls_end_early_unless_they_go_over_every_edge(device_for, graph, engine, kernels):
    program = Eager(PATH + int(EDGES.sources[0]))
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    how = {"device": "gpu", "mode": PULL, "sync": True, "page_edges": 3000}
    found = run_with(program, graph.packed(), engine=engine, **how)
    assert found.stats.device == "NumPy"
    np.testing.assert_array_equal(found.values, expected.values)
    assert kernels == {name for name in kernels_of(driver) if name.startswith(("gather", "push"))}


@pytest.mark.spread
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_edges_on_disk(device_for, graph, program, encoding, tmp_path):
    """The pages of packed ones have arrays of their own: each has a launch."""
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=1 << 14)
    opened = gp.open(tmp_path / "g", memory=2 * graph._arrays.in_edges.offsets.nbytes)
    opened = opened._replace(memory=1 << 24)
    assert opened._arrays.in_edges.neighbour_array.on_disk
    for _ in range(2):
        found = run_with(program, opened, device="gpu", sync=True, page_edges=3000)
        np.testing.assert_array_equal(found.values, expected.values)
        assert PUSH in {row.mode for row in found.stats.iterations}
    several = kernels_of(driver) & {"push_few", "push_few_packed"}
    assert several == ({"push_few"} if encoding == "raw" else set())


@pytest.mark.parametrize("cut", [(0, 700), (120, 400), (400, 700)])
def test_the_twin_reads_what_the_format_says(device_for, graph, cut):
    """Also of pages that begin or end in the middle of a run."""
    edges = graph.packed()._arrays.in_edges
    offsets, packed = edges.offsets, edges.neighbour_array
    driver = device_for(Quiet(0), graph, FakeDriver)
    driver.context.push()
    first, last = (int(offsets[v]) for v in cut)
    run = first // RUN
    part = packed.runs(run, -(-last // RUN))
    page, context = np.zeros(1, driver.layouts.page)[0], np.zeros(1, driver.layouts.context)[0]
    for name, array in (("records", part.records), ("words", part.words)):
        page[name] = driver.mem_alloc(array.nbytes)
        driver.memcpy_htod(page[name], array.view(np.uint8).reshape(-1))
    begins = begins_of(offsets, 1)
    context["in_begins"], context["n"] = driver.mem_alloc(begins.nbytes), graph.n
    driver.memcpy_htod(context["in_begins"], begins.view(np.uint8))
    page["first_edge"], page["last_edge"], page["base_edge"] = first, last, run * RUN
    page["first_word"] = part.first_word
    starts = np.isin(np.arange(len(packed)), offsets)
    assert len(part.words) >= PADDING
    assert sources_of(driver, context, page).tolist() == decode(packed, starts, LISTS)[first:last]
