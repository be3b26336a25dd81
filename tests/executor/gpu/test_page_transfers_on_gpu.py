"""A policy says for each page whether a GPU copies it or reads it in host memory."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu.pinned import OWN_PAGES
from garaph_py.executor.modes import COPIED, CPU, GPU, PULL, RESIDENT, ZERO_COPY
from tests.support import twins
from tests.support.policies import ByPage, edges_by_way
from tests.support.real_gpu import memory_for

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

EDGES = twins.skewed(7, 40_000, 600_000)
PROGRAMS = [gp.apps.PageRank(stop="never", weighted=False), gp.apps.SSSP(source=0), gp.apps.BFS(source=0)]
ITERATIONS = 6


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    weights = (EDGES.sources.astype(np.int64) + EDGES.targets) % 7 + 1
    return gp.from_edges(EDGES.sources, EDGES.targets, weights=weights, vertices=range(EDGES.n), directed=request.param)


def compare(found, expected):
    """Sums of floats may be in another order, and a vertex may have another parent."""
    for name in {*(expected.values.dtype.names or [None])} - {"parent"}:
        np.testing.assert_allclose(found.column(name), expected.column(name), rtol=1e-9)


def answers(program, graph, policy, gather="auto", **options):
    """The records of a run under a policy, whose answer is the CPU's."""
    memory = memory_for(program, graph, 0.4, gather=gather)
    options = {"sync": True, "iterations": ITERATIONS, "gather": gather} | options
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True, iterations=ITERATIONS)
    found = run_with(program, graph, engine=policy, gpu_memory=memory, **options)
    if options["sync"]:
        compare(found, expected)
    return found.stats.iterations


@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: type(program).__name__)
@pytest.mark.parametrize("two_threads", [False, True])
def test_each_page_comes_as_decided(graph, program, encoding, two_threads):
    graph, policy = graph if encoding == "raw" else graph.packed(), ByPage()
    policy.two_threads = two_threads
    rows = answers(program, graph, policy, device="gpu", page_edges=20_000)
    reads_values = isinstance(program, gp.apps.SSSP)
    for row, told in zip(rows[1:], policy.told[1:], strict=True):
        assert edges_by_way(row) == told
        assert {way for _, _, way in told} == {RESIDENT, COPIED, ZERO_COPY}
        if encoding == "raw" and not reads_values:
            assert row.to_device == 4 * told[PULL, GPU, COPIED]
        assert row.to_device > 0


@pytest.mark.parametrize("sync", [True, False])
def test_both_processors_do_their_pages(graph, sync):
    policy = ByPage(cpu=4)
    rows = answers(PROGRAMS[0], graph, policy, device="hybrid", page_edges=20_000, sync=sync)
    for row, told in zip(rows[1:], policy.told[1:], strict=True):
        assert edges_by_way(row) == told
        assert {CPU, GPU} == {who for _, who, _ in told}


@pytest.mark.parametrize("gather", ["segmented", "replicated", "packed"])
def test_every_gather_reads_pages_in_host_memory(graph, gather):
    policy = ByPage()
    rows = answers(PROGRAMS[0], graph, policy, gather, device="gpu", page_edges=20_000)
    assert all(edges_by_way(row)[PULL, GPU, ZERO_COPY] for row in rows)


@pytest.mark.parametrize("more", [0, 1, 1000, 1020])
def test_arrays_that_are_pinned_where_they_are(more):
    """Warps read beyond the last edge, which is anywhere in a page of memory. Each page is read there once in three
    iterations."""
    m = OWN_PAGES // 4 + (1 << 20) + more
    rng = np.random.default_rng(more)
    graph = gp.from_edges(rng.integers(0, 1 << 18, m), rng.integers(0, 1 << 18, m), vertices=range(1 << 18))
    policy = ByPage()
    policy.keep = False
    expected = gp.run(PROGRAMS[0], graph, device="cpu", iterations=3)
    found = run_with(PROGRAMS[0], graph, device="gpu", engine=policy, page_edges=1 << 20, iterations=3, sync=True)
    compare(found, expected)
    assert graph.m == m
    assert all(edges_by_way(row)[PULL, GPU, ZERO_COPY] for row in found.stats.iterations)
