"""Which pages stay in the GPU's memory where others are read in host memory: those whose lists are begun most."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.executor.gpu import placed, placement
from garaph_py.executor.gpu.page_uses import PageUses, fills, most_used
from garaph_py.executor.gpu.residency import Residency
from garaph_py.executor.modes import COPIED, PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.pages.layout import Page
from tests.support.numpy_gpu import Eager, FakePinned, held_after, memory_for

from ...support import twins
from ...support.runs import run_with, ways_of

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=9)
LARGE = 1 << 20
"""Bytes of each page of `four`."""
USED = 5 * LARGE + 5
"""Bytes in use in all."""


@given(SIZES, st.integers(0, 40))
def test_no_other_consecutive_pages_that_fit_are_used_more(pages, room):
    sizes, uses = zip(*pages, strict=True)
    found = most_used(sizes, uses, room)
    ranges = [range(a, b) for a in range(len(sizes)) for b in range(a, len(sizes) + 1)]
    fitting = [each for each in ranges if sum(sizes[k] for k in each) <= room]
    assert found in fitting
    assert sum(uses[k] for k in found) == max(sum(uses[k] for k in each) for each in fitting)


def test_pages_fill_the_room_if_none_beside_them_fits():
    sizes = [3, 4, 5, 6]
    assert [fills(sizes, range(1, 3), room) for room in (8, 9, 11, 12)] == [False, True, True, False]
    assert fills(sizes, range(4), 99)


def four():
    """Four pages, of which the first two are resident beside three as large arrays of vertices, and their layout."""
    pages = [Page(k, 64 * k, 64 * (k + 1), 1000 * k, 1000 * (k + 1)) for k in range(4)]
    return Residency(pages, 2, 0, 0, USED), SimpleNamespace(sizes=lambda page: [LARGE], width=4.0)


def chosen(uses, lists=(1, 2, 30, 40), are_there=True, room=2 * LARGE):
    found, arrays = four()
    return uses.choose(found, arrays, room, np.array(lists), are_there)


def test_before_anything_is_counted_pages_with_many_lists_stay():
    found = chosen(PageUses(4))
    assert (found.numbers, found.used) == (range(2, 4), USED)
    assert [page.number for page in found.here + found.elsewhere] == [2, 3, 0, 1]


def test_lists_that_are_begun_are_those_that_no_pull_has_reached():
    uses, (found, _) = PageUses(4), four()
    chosen(uses, (100, 90, 80, 70))
    uses.count(found.pages, np.array([99, 0, 0, 70]))
    uses.count(found.pages, np.array([5, 0, 0, 0]))
    assert uses.begun.tolist() == [101, 180, 160, 70]
    uses.count(found.pages[1:2], np.array([8, 7, 0, 0]))  # the others are skipped
    assert uses.begun.tolist() == [101, 270, 160, 70]


def test_others_stay_only_once_they_would_have_saved_their_copies():
    uses, lists = PageUses(4), (32768, 32768, 0, 10)
    assert chosen(uses, lists).numbers == range(2)
    uses.begun[:] = 0, 0, 0, 65536  # with pages 2 and 3 instead, 2 MiB would be copied, and 2 MiB would have been saved
    assert chosen(uses, lists).numbers == range(2)
    uses.begun[3] += 1
    assert chosen(uses, lists).numbers == range(2, 4)


def test_what_is_not_there_any_more_holds_nothing_back():
    uses = PageUses(4)
    assert chosen(uses, (9, 9, 0, 0)).numbers == range(2)
    uses.begun[:] = 0, 0, 1, 1
    assert chosen(uses).numbers == range(2)
    assert chosen(uses, are_there=False).numbers == range(2, 4)


def test_with_more_room_more_pages_stay_at_once():
    uses = PageUses(4)
    assert chosen(uses, (0, 0, 5, 9)).numbers == range(2, 4)
    assert chosen(uses, (1, 1, 5, 9), room=3 * LARGE).numbers == range(1, 4)


def test_the_other_pages_are_before_and_after_the_resident_ones():
    found, _ = four()
    for first, others in ((0, [2, 3]), (1, [0, 3]), (2, [0, 1])):
        assert [page.number for page in replace(found, first=first).elsewhere] == others


@pytest.fixture(params=["raw", "packed"])
def graph(request):
    """Hubs come first, so that the last pages have the most vertices."""
    edges = twins.skewed(4, 9000, 60000)
    degrees = np.bincount(np.concatenate([edges.sources, edges.targets]), minlength=edges.n)
    number = np.argsort(np.argsort(-degrees))
    made = gp.from_edges(number[edges.sources], number[edges.targets], vertices=range(edges.n), directed=False)
    return made if request.param == "raw" else made.packed()


@pytest.mark.slow
@pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster")
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_search_keeps_the_last_pages_and_its_answer_is_the_cpus(device_for, monkeypatch, graph, share):
    driver, made = device_for(Eager(0), graph), list[placed.Placement]()
    monkeypatch.setattr(FakePinned, "driver", driver)
    monkeypatch.setattr("garaph_py.dispatch.policy.DEVICE_FEW_EDGES", 0)  # it pulls, though the graph is small
    memory = memory_for(Eager(0), graph, share, gather="auto")
    place = placement.Placer.place

    def placing(self, *arguments):
        made.append(place(self, *arguments))
        return made[-1]

    monkeypatch.setattr(placement.Placer, "place", placing)
    expected = run_with(Eager(0), graph, device="cpu", mode=PULL, sync=True).values
    for deterministic in (False, False, True) if graph.encoding == "packed" else (False, False):  # else it sums by runs
        if deterministic:
            graph.release()
        how = {"deterministic": deterministic, "sync": True, "page_edges": 3000, "iterations": 100}
        found = run_with(Eager(0), graph, device="gpu", gpu_memory=memory, **how)
        np.testing.assert_array_equal(found.values, expected)
        residency, uses = made[-1].residency, made[-1].uses
        assert 0 < residency.first < len(residency.pages) - 1
        assert residency.numbers == uses.numbers
        assert residency.used <= memory
        assert {row.mode for row in found.stats.iterations} == {PULL, PUSH}
        ways = ways_of(found.stats.iterations)
        assert ways == {RESIDENT, ZERO_COPY} if len(made) == 2 else ways >= {COPIED, ZERO_COPY}  # the second finds them
        assert uses.begun.all()
    assert made[0].uses is made[1].uses is not made[-1].uses or len(made) == 2
    assert held_after(driver, graph) == 0
