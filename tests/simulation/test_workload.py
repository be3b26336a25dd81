"""Simulated graphs and their pages: those of the runtime, also for graphs that are too large to be held."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.program.narrow import narrowed
from garaph_py.simulation import Activity, Workload
from garaph_py.simulation.workload import (
    Layout,
    activities_of,
    bind_for_types,
    device_bytes,
    even_offsets,
    scaled,
    workload_of,
)
from tests.support.simulated import EVERYBODY, LABELS, SUMS, workload


def test_pages_are_those_of_the_runtime():
    graph = gp.rmat(12, 16)
    work = workload_of(
        bind_for_types(gp.apps.PageRank(dtype=np.float32), False),
        graph,
        [EVERYBODY],
        synchronous=True,
        layout=Layout(page_edges=4000),
    )
    pages = work.residency(graph.m * 2).pages
    assert [page.first_edge for page in pages] == [
        int(graph._arrays.in_edges.offsets[page.first_vertex]) for page in pages
    ]
    assert pages[-1].last_edge == graph.m


@given(st.integers(1, 1 << 34), st.integers(0, 1 << 40))
def test_graphs_that_nobody_holds_have_all_their_edges(n, m):
    offsets = even_offsets(n, m)
    assert offsets[0] == 0
    assert offsets[-1] == m
    assert (np.diff(offsets) >= 0).all()
    work = Workload(SUMS, n, m, offsets, (), 4.0, 8.0, page_edges=max(m // 7, 1))
    pages = work.pages()
    assert pages[0].first_vertex == 0
    assert pages[-1].last_vertex == n
    assert all(a.last_vertex == b.first_vertex for a, b in pairwise(pages))


def test_nobody_changes_the_offsets_that_all_share():
    with pytest.raises(ValueError, match="read-only"):
        even_offsets(8, 64)[0] = 1


def test_pages_never_fit_exactly():
    """As with real graphs, a small page is left after equal ones."""
    n, m = 1 << 22, 1 << 26
    sizes = [page.edges for page in Workload(SUMS, n, m, even_offsets(n, m), (), 4.0, 8.0).residency(m).pages]
    assert len(set(sizes[:-1])) <= 2
    assert sizes[-1] < sizes[0] / 50


def test_gathered_edges_are_as_recorded_between_what_is_known():
    known = [Activity(1, 0, 0), Activity(10, 100, 800), Activity(5, 50)]
    work = workload(LABELS, known)
    assert work.gathered(known[2]) == 400
    assert work.gathered(known[1]) == 800
    assert workload(LABELS, [Activity(5, 50)]).gathered(Activity(5, 50)) == 50  # the paper's 2 f


def test_shares_go_with_the_graph():
    assert scaled([Activity(10, 100, 30), Activity(0, 0)], 2, 3) == [Activity(20, 300, 90), Activity(0, 0)]
    assert scaled([Activity(1, 3)], 0.1, 0.5) == [Activity(1, 2)]
    assert scaled([Activity(1, 3, waited=5)], 2, 3) == [Activity(2, 9, waited=10)]


def test_what_waited_is_as_recorded():
    row = {"mode": "push", "f": 0.5, "active": 3, "edges": 4}
    assert [one.waited for one in activities_of([row, row | {"waited": 7}], 8)] == [0, 7]  # earlier versions: none


def test_device_bytes_are_those_of_the_arrays():
    bound = bind_for_types(gp.apps.PageRank(dtype=np.float32), False)
    each = device_bytes(bound, 1 << 20, 1 << 24, True, True)
    assert 27 < each < 29  # offsets both ways, two values, a sum, one reported, 16 bits of starts, other bits


def test_device_bytes_of_values_that_may_be_stored_in_32_bits():
    wide = bind_for_types(gp.apps.SSSP(source=0), True)
    narrow = narrowed(wide)
    assert (wide.value.itemsize, narrow.value.itemsize) == (8, 4)
    both = [device_bytes(bound, 1 << 20, 1 << 24, False, True) for bound in (wide, narrow)]
    assert both[0] == both[1]


@pytest.mark.parametrize(("edges", "value_bytes", "on_disks", "pinned"), [
    (1 << 23, 0, False, True), ((1 << 23) - 1, 0, False, False), ((1 << 23) - 1, 8, False, False),
    (1 << 23, 2, False, False), (1 << 24, 2, False, True), (1, 0, True, True),
])  # fmt: skip
def test_arrays_of_32_mib_are_pinned(edges, value_bytes, on_disks, pinned):
    """The least of the arrays counts: those of 4 bytes an edge, and of the edges' values."""
    work = workload(replace(SUMS, edge_value_bytes=value_bytes), n=256, m=edges, on_disks=on_disks)
    assert work.is_pinned == pinned


def test_device_bytes_of_a_search_over_a_directed_graph():
    """It may push, so that the GPU has more than for a program that only pulls."""
    search = bind_for_types(gp.apps.SSSP(source=0), True)
    ranks = bind_for_types(gp.apps.PageRank(dtype=np.float32), False)
    assert device_bytes(search, 1 << 20, 1 << 24, True, True) > device_bytes(ranks, 1 << 20, 1 << 24, True, True)
