"""A policy says for each page whether it is copied to the GPU or read in host memory; the GPU is NumPy."""

import mmap

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import PolicyError
from garaph_py.executor.gpu.edges import ArraysOnDevice
from garaph_py.executor.gpu.mapped import STEP, MappedEdges
from garaph_py.executor.modes import COPIED, CPU, GPU, NOTIFY_PULL, PULL, RESIDENT, ZERO_COPY
from garaph_py.pages.layout import Page
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.numpy_gpu import Eager, FakePinned, PlainBlend, Quiet, held_after, memory_for

from ...support.policies import ByPage, edges_by_way
from ...support.runs import run_with, ways_of

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

EDGES = twins.skewed(4, 9000, 60000)
ITERATIONS = 4


def graph_of(directed, encoding="raw"):
    made = gp.from_edges(EDGES.sources, EDGES.targets, vertices=range(EDGES.n), directed=directed)
    return made if encoding == "raw" else made.packed()


@pytest.fixture
def run(device_for, monkeypatch):
    """A function that runs a program with GPU memory for a share of the edges, which can be mapped if it `maps`.

    If the graph is on disk, one `alike` is in memory.
    """

    def run(program, graph, policy, share=0.4, maps=True, alike=None, **options):
        driver = device_for(program, graph)
        monkeypatch.setattr(FakePinned, "driver", driver if maps else None)
        memory = memory_for(program, alike or graph, share, gather="auto")
        given = {"device": "gpu", "gpu_memory": memory, "page_edges": 3000, "sync": True, "iterations": ITERATIONS}
        try:
            return run_with(program, graph, engine=policy, **given | options)
        finally:
            assert held_after(driver, graph) == 0

    return run


def answer(program, graph):
    return run_with(program, graph, device="cpu", mode=PULL, sync=True, iterations=ITERATIONS).values


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("program", "encoding"), [
    (PlainBlend(), "raw"), (Quiet(0), "raw"), (Quiet(0), "packed"), (Eager(0), "raw"), (Eager(0), "packed"),
])  # fmt: skip
def test_each_page_comes_as_decided(run, program, directed, encoding):
    graph, policy = graph_of(directed, encoding), ByPage()
    found = run(program, graph, policy)
    np.testing.assert_array_equal(found.values, answer(program, graph))
    rows = found.stats.iterations
    assert len(rows) == len(policy.told) == ITERATIONS
    for row, told in zip(rows[1:], policy.told[1:], strict=True):  # the first also copies the pages that stay
        assert edges_by_way(row) == told
        assert {way for _, _, way in told} == {RESIDENT, COPIED, ZERO_COPY}
        copied = 4 * told[PULL, GPU, COPIED]
        assert row.to_device == copied if encoding == "raw" else 0 < row.to_device < copied


@pytest.mark.parametrize("two_threads", [False, True])
@pytest.mark.parametrize("sync", [True, False])
def test_both_processors_do_their_pages(run, sync, two_threads):
    """The CPU takes no page that is the GPU's, though it has nothing else to do."""
    graph, policy = graph_of(True), ByPage(cpu=4)
    policy.two_threads = two_threads
    found = run(PlainBlend(), graph, policy, device="hybrid", sync=sync)
    if sync:
        np.testing.assert_array_equal(found.values, answer(PlainBlend(), graph))
    for row, told in zip(found.stats.iterations[1:], policy.told[1:], strict=True):
        assert edges_by_way(row) == told
        assert {(who, way) for _, who, way in told} == {
            (CPU, None), (GPU, RESIDENT), (GPU, COPIED), (GPU, ZERO_COPY),
        }  # fmt: skip
        assert row.to_device == 4 * told[PULL, GPU, COPIED]


def test_pages_without_a_decision_are_shared(run):
    """Only every fourth page is decided on, and read in host memory by the GPU."""
    graph, policy = graph_of(True), ByPage(only=4)
    found = run(PlainBlend(), graph, policy, share=0.1, device="hybrid")
    np.testing.assert_array_equal(found.values, answer(PlainBlend(), graph))
    for row, told in zip(found.stats.iterations, policy.told, strict=True):
        assert edges_by_way(row)[PULL, GPU, ZERO_COPY] == told[PULL, GPU, ZERO_COPY] > 0
        assert row.edges == graph.m


def test_notified_pages_come_as_decided(run):
    graph, policy = graph_of(False), ByPage(mode=NOTIFY_PULL)
    found = run(Quiet(0), graph, policy, iterations=9)
    np.testing.assert_array_equal(found.values, run_with(Quiet(0), graph, device="cpu", sync=True, iterations=9).values)
    rows = found.stats.iterations
    assert {row.mode for row in rows} == {NOTIFY_PULL}
    assert any(row.pages_skipped for row in rows)
    assert ways_of(rows) == {RESIDENT, COPIED, ZERO_COPY}
    for row, told in zip(rows, policy.told, strict=True):
        assert edges_by_way(row)[PULL, GPU, ZERO_COPY] <= told[NOTIFY_PULL, GPU, ZERO_COPY]


class Insists(ByPage):
    """Asks for this way for a page that is not resident, or for one that is."""

    def __init__(self, way, resident=False):
        super().__init__()
        self.way, self.resident = way, resident

    def pages(self, seen):
        is_one = [(ways == (RESIDENT,)) == self.resident for ways in seen.transfers]
        return {is_one.index(True): gp.PageDecision(PULL, GPU, self.way)}


@pytest.mark.parametrize(("policy", "options", "said"), [
    (Insists("by post"), {}, "transfer='by post' for page [0-9]+; choose from copied, zero-copy;"),
    (Insists(RESIDENT), {}, "transfer='resident' for page [0-9]+; choose from copied, zero-copy;"),
    (Insists(COPIED, resident=True), {}, "transfer='copied' for page 0; choose from resident: it stays in the GPU's"),
    (Insists(ZERO_COPY), {"maps": False}, "transfer='zero-copy' for page 1; choose from copied: the system has"),
])  # fmt: skip
def test_what_is_not_possible_is_refused(run, policy, options, said):
    with pytest.raises(PolicyError, match=f"policy 'Insists.*', iteration 0: pages: {said}"):
        run(PlainBlend(), graph_of(True), policy, **options)


class Undeclared(Insists):
    chooses_transfers = False


@pytest.mark.parametrize(("program", "way"), [(PlainBlend(), COPIED), (Eager(0), ZERO_COPY)])
def test_a_class_that_does_not_choose_gets_one_way(run, program, way):
    """A search reads all that is not resident in host memory then, and has no buffers for copies."""
    graph = graph_of(False)
    run(program, graph, Undeclared(way))
    other = {COPIED: ZERO_COPY, ZERO_COPY: COPIED}[way]
    with pytest.raises(PolicyError, match=f"choose from {way}: the policy's class must have chooses_transfers = True"):
        run(program, graph, Undeclared(other))


def test_offsets_come_with_copies(run):
    policy = Insists(ZERO_COPY)
    policy.gather, policy.offsets = "replicated", True
    with pytest.raises(PolicyError, match="choose from copied: the offsets of its destinations are copied with its"):
        run(PlainBlend(), graph_of(True), policy)


def test_edges_on_disk_are_copied(run, tmp_path):
    graph = graph_of(True)
    store.save(graph, tmp_path / "graph", block_bytes=1 << 14)
    opened = gp.open(tmp_path / "graph", memory=2 * graph._arrays.in_edges.offsets.nbytes)
    opened = opened._replace(memory=1 << 23)
    with pytest.raises(PolicyError, match="choose from copied: its edges come from disk"):
        run(PlainBlend(), opened, Insists(ZERO_COPY), alike=graph)


@pytest.mark.parametrize("into_page", [0, 16])
@pytest.mark.parametrize("edges", [1024, 1020, 1019, 1000, 900, 100])
def test_warps_read_no_further_than_pinned_memory(edges, into_page):
    """The last page of an array that begins in the middle of a page of memory."""
    graph = gp.from_edges(np.zeros(edges, np.int64), np.arange(edges) % 50, vertices=range(50))
    layout = ArraysOnDevice.of(graph._arrays.in_edges, False)
    found = MappedEdges(layout, [mmap.PAGESIZE + into_page]).holds(Page(0, 0, 50, 0, edges), edges)
    pinned = range(-((into_page + 4 * edges) // -mmap.PAGESIZE) * mmap.PAGESIZE)
    assert found == (into_page + 4 * -(edges // -STEP) * STEP - 1 in pinned)
    assert MappedEdges(layout, [mmap.PAGESIZE + into_page]).holds(Page(0, 0, 25, 0, 100), 1024)


def test_a_page_at_the_end_of_pinned_memory_is_copied(run, monkeypatch):
    monkeypatch.setattr(MappedEdges, "holds", lambda self, page, edges: page.last_edge < edges)
    graph, policy = graph_of(True), ByPage()
    run(PlainBlend(), graph, policy)
    assert policy.transfers[-1] == (COPIED,)
    assert policy.transfers[-2] == (COPIED, ZERO_COPY)
