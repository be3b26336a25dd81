"""Edges in host memory, read from there by a device simulated with NumPy."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.arrays import PACKED, RAW
from garaph_py.codec.format import RECORD
from garaph_py.executor.gpu import chain, placement
from garaph_py.executor.gpu.launch import COMPONENT_NAMES
from garaph_py.executor.gpu.mapped import MappedEdges
from garaph_py.executor.modes import COMPONENTS, COPIED, PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.pages.layout import Page
from tests.support import twins
from tests.support.numpy_deltas import Weighed
from tests.support.numpy_gpu import Eager, FakePinned, Quiet, held_after, memory_for
from tests.support.numpy_trees import Labels
from tests.support.real_gpu import bytes_of_sums

from ...support.runs import run_with, ways_of

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster")

EDGES = twins.skewed(4, 9000, 60000)
LEAST = 0.03
"""A share of the edges that is less than a raw page."""


@pytest.fixture(params=[RAW, PACKED])
def graph(request):
    made = gp.from_edges(EDGES.sources, EDGES.targets, vertices=range(EDGES.n), directed=False)
    return made if request.param == RAW else made.packed()


@pytest.fixture
def run(device_for, monkeypatch, graph):
    """A function that runs a program with GPU memory for a `share` of the edges; it returns the driver and the result.

    The other edges are mapped if the driver `maps` them.
    """

    def run(program, share, maps=True, **options):
        driver = device_for(program, graph)
        monkeypatch.setattr(FakePinned, "driver", driver if maps else None)
        finds = isinstance(program, Labels)
        memory = memory_for(program, graph, share, components=finds, gather="segmented" if finds else "auto")
        memory += bytes_of_sums(program, graph) if program.sum is gp.add else 0
        found = run_with(program, graph, **{"device": "gpu", "gpu_memory": memory, "page_edges": 3000} | options)
        np.testing.assert_array_equal(found.values, expected(program, graph))
        assert held_after(driver, graph) == 0
        return driver, found.stats.iterations

    return run


def expected(program, graph):
    return run_with(program, graph, device="cpu", mode=PULL, sync=True).values


@pytest.mark.spread
@pytest.mark.parametrize("share", [LEAST, 0.5])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_search_copies_only_what_stays(run, graph, share, device):
    driver, rows = run(Eager(0), share, device=device, sync=True, iterations=100)
    assert {PULL, PUSH} <= {row.mode for row in rows}
    assert {row.device for row in rows} == {"gpu"}
    assert ways_of(rows) >= {ZERO_COPY}
    # Pushes also read lists in place, at most those that they follow.
    read = 4 * sum(row.edges for row in rows if row.mode == PUSH)
    assert (share > LEAST) <= sum(row.to_device for row in rows) <= share * 4 * graph.m + read
    form = "_packed" if graph.encoding == PACKED else ""
    assert {name for name, _ in driver.launched} >= {"gather_until_done" + form, "push_queue" + form}


@pytest.mark.parametrize("longest", [0, EDGES.n])
def test_long_lists_are_not_for_few_threads(monkeypatch, run, longest):
    """The first superstep pushes along few lists. If they are longer on the average, `push_few` does not do it."""
    monkeypatch.setattr(chain, "LONG_FAR_LISTS", longest)
    driver, _ = run(Eager(int(EDGES.out_degrees.argmax())), 0.5)
    pushes = [name for name, _ in driver.launched if name.startswith("push")]
    assert pushes[0].startswith("push_few") == bool(longest)
    assert pushes[-1].startswith("push_few")


@pytest.mark.full
@pytest.mark.parametrize("share", [LEAST, 0.5])
def test_components_copy_only_what_stays(run, graph, share):
    driver, rows = run(Labels(), share)
    assert [row.mode for row in rows] == [COMPONENTS]
    assert ZERO_COPY in ways_of(rows)
    assert rows[0].to_device <= share * 4 * graph.m
    assert {name for name, _ in driver.launched} >= set(COMPONENT_NAMES) - {"link_received"}  # for several GPUs


def test_a_traced_search_is_the_same(run, tmp_path):
    _, rows = run(Eager(0), 0.5, sync=True, trace=tmp_path / "trace.json")
    assert ZERO_COPY in ways_of(rows)


@pytest.mark.spread
@pytest.mark.parametrize("program", [Weighed(k=3), Quiet(0)], ids=["deltas", "relaxation"])
@pytest.mark.parametrize("share", [LEAST, 0.5])
def test_pulls_read_a_small_graph_in_place(monkeypatch, run, graph, program, share):
    """It needs no room for pages that are copied."""
    monkeypatch.setattr(placement, "FEW_BYTES", graph._arrays.in_edges.edge_bytes)
    _, rows = run(program, share)
    assert ZERO_COPY in ways_of(row for row in rows if row.mode == PULL)


@pytest.mark.spread
@pytest.mark.parametrize("program", [Weighed(k=3), Quiet(0)], ids=["deltas", "relaxation"])
def test_pulls_copy_a_larger_graph(monkeypatch, run, graph, program):
    monkeypatch.setattr(placement, "FEW_BYTES", graph._arrays.in_edges.edge_bytes - 1)
    _, rows = run(program, 0.2)
    assert ways_of(row for row in rows if row.mode == PULL) <= {COPIED, RESIDENT}


PAPERS = {"engine": "garaph", "gather": "segmented"}


@pytest.mark.spread
@pytest.mark.parametrize("options", [{"maps": False}, PAPERS])
def test_otherwise_edges_are_copied(run, graph, options):
    if graph.encoding == PACKED and options is PAPERS:
        pytest.skip("the paper's edges are raw")
    _, rows = run(Eager(0), 0.5, sync=True, **options)
    assert ZERO_COPY not in ways_of(rows)
    assert sum(row.to_device for row in rows) >= graph._arrays.in_edges.edge_bytes


@pytest.mark.full
@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("iterations", [None, 100])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_pulls_of_all_edges_copy_them_but_pushes_do_not(run, graph, share, iterations, device):
    driver, rows = run(Quiet(0), share, iterations=iterations, device=device)
    found = {(group.mode, group.transfer) for row in rows for group in row.groups if group.device == "gpu"}
    assert found >= {(PULL, COPIED), (PUSH, ZERO_COPY)}
    assert (PUSH, COPIED) not in found
    kernels = {name for name, _ in driver.launched}
    form = "_packed" if graph.encoding == PACKED else ""
    assert kernels >= {"apply_vertices", ("push_queue" if iterations else "push_few") + form}


def test_edges_are_mapped_once(device_for, graph, monkeypatch):
    mapped = []
    of = MappedEdges.of
    monkeypatch.setattr(MappedEdges, "of", lambda *given: mapped.append(given) or of(*given))
    driver = device_for(Eager(0), graph)
    monkeypatch.setattr(FakePinned, "driver", driver)
    memory = memory_for(Eager(0), graph, LEAST, gather="auto")
    for _ in range(2):
        run_with(Eager(0), graph, device="gpu", gpu_memory=memory, page_edges=3000, sync=True)
    assert len(mapped) == 1


class Pins(FakePinned):
    def __init__(self, address):
        self.address = address

    def map(self, array):
        return self.address


@pytest.mark.parametrize("address", [None, 4096 + 4])
def test_edges_that_cannot_be_mapped(graph, address):
    """The system refuses, or the array begins where the GPU cannot read four sources at a time."""
    assert MappedEdges.of(graph._arrays.in_edges, False, Pins(address)) is None


def test_a_page_begins_at_the_first_edge_of_a_run(graph):
    edges = graph._arrays.in_edges
    found = MappedEdges.of(edges, False, Pins(4096)).places(Page(1, 64, 128, 3080, 4000))
    if graph.encoding == RAW:
        assert found == [4096 + 3072 * 4]
    else:
        words = int(edges.neighbour_array.records["first_word"][3])
        assert found == [4096 + 3 * RECORD.itemsize, 4096 + 4 * words]
