"""Packed lists in host memory, whose records the GPU has: the answers of the CPU."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy
from garaph_py.dispatch.far_pushes import FarPushes
from garaph_py.executor import edge_list
from garaph_py.executor.modes import COMPACTED, COPIED, PULL, PUSH, ZERO_COPY
from garaph_py.native.threads import ThreadPool
from tests.support import twins
from tests.support.delta_programs import Core, Votes
from tests.support.real_gpu import Allocated, bytes_of_sums, memory_for

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

PROGRAMS = {
    "lengths": (gp.apps.SSSP(source=0), "int32"),
    "real lengths": (gp.apps.SSSP(source=0), "float32"),
    "widths": (gp.apps.SSWP(source=0), "int32"),
    "core": (Core(9), "int32"),
    "votes": (Votes(), "int32"),
}


def graph_of(weights, directed=False):
    edges = twins.skewed(7, 40_000, 600_000, weights)
    return gp.from_edges(edges.sources, edges.targets, edges.weights, vertices=range(edges.n), directed=directed)


def room_for(program, graph, share):
    """Bytes in which a share of the packed edges can stay, beside sums if deltas are pushed to them."""
    sums = bytes_of_sums(program, graph) if program.sum is gp.add else 0
    return memory_for(program, graph, share, gather="packed") + sums


def groups_of(found):
    return {(group.mode, group.transfer) for row in found.stats.iterations for group in row.groups}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("share", [0.15, 0.4, 0.8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_are_the_cpus(monkeypatch, name, share, encoding, directed):
    """Every push may follow any number of edges."""
    monkeypatch.setattr(policy, "even_f", lambda _: 1)
    program, weights = PROGRAMS[name]
    graph = graph_of(weights, directed)
    expected = run_with(program, graph, device="cpu", mode=PULL)
    memory = room_for(program, graph, share)
    graph = graph if encoding == "raw" else graph.packed()
    with ThreadPool(2) as pool:
        graph._arrays.valued_out_edges(pool)
    for iterations in (None, 1000):  # with a limit, one superstep a launch
        for _ in range(2):  # the second run finds the records there
            found = run_with(
                program, graph, device="gpu", gpu_memory=memory, page_edges=20_000, iterations=iterations,
                gather="packed",
            )  # fmt: skip
            for field in expected.values.dtype.names or [None]:
                np.testing.assert_array_equal(found.column(field), expected.column(field))
            assert (PUSH, ZERO_COPY) in groups_of(found)
            assert program.sum is not gp.add or (PULL, COPIED) in groups_of(found)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_edge_lists_that_the_host_writes(monkeypatch, name, encoding, directed):
    """All pushes use them, whatever they cost."""
    monkeypatch.setattr(policy, "even_f", lambda _: 1)
    monkeypatch.setattr(FarPushes, "compacts", lambda far, active, edges: far.lists is not None and edges > 0)
    monkeypatch.setattr(edge_list, "LEAST_EDGES", 1 << 6)
    program, weights = PROGRAMS[name]
    graph = graph_of(weights, directed)
    expected, ways = run_with(program, graph, device="cpu", mode=PULL), set()
    for share in (0.4, 0.45, 0.5, 0.55):  # some leave room for a buffer beside pages
        memory = room_for(program, graph, share)
        given = graph if encoding == "raw" else graph.packed()
        with ThreadPool(2) as pool:
            given._arrays.valued_out_edges(pool)
        found = run_with(program, given, device="gpu", gpu_memory=memory, page_edges=20_000, gather="packed")
        for field in expected.values.dtype.names or [None]:
            np.testing.assert_array_equal(found.column(field), expected.column(field))
        ways |= {transfer for mode, transfer in groups_of(found) if mode == PUSH}
    assert COMPACTED in ways


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_ranks(monkeypatch, encoding):
    monkeypatch.setattr(policy, "even_f", lambda _: 1)
    graph = graph_of("float32")
    program = gp.apps.DeltaPageRank(tolerance=1e-3, dtype=np.dtype("float64"))
    expected = run_with(program, graph, device="cpu", mode=PULL)
    memory = room_for(program, graph, 0.3)
    graph = graph if encoding == "raw" else graph.packed()
    found = run_with(program, graph, device="gpu", gpu_memory=memory, gather="packed", page_edges=20_000)
    assert groups_of(found) >= {(PULL, COPIED), (PUSH, ZERO_COPY)}
    np.testing.assert_allclose(found.column(), expected.column(), rtol=1e-9)


def test_memory_is_given_back(monkeypatch):
    program, allocated = PROGRAMS["lengths"][0], Allocated(monkeypatch)
    graph = graph_of("int32")
    memory = memory_for(program, graph, 0.4, gather="packed")
    for _ in range(3):
        run_with(program, graph, device="gpu", gpu_memory=memory, gather="packed", page_edges=60_000)
        graph.release()
    assert allocated.nbytes == 0
