"""The page queue: who may take which page, what is stolen, and two threads that take pages at the same time."""

import sys
import threading
from collections import deque
from types import SimpleNamespace

import pytest

from garaph_py.pages.layout import Page
from garaph_py.pages.queue import PageQueue, device_order, in_order, take_buffered


def pages_of(*sizes):
    """Adjacent pages with so many edges, one vertex an edge."""
    pages, first = [], 0
    for number, size in enumerate(sizes):
        pages.append(Page(number, first, first + size, first, first + size))
        first += size
    return pages


def halves(page, edges):
    """A `Split` at any edge."""
    at = page.last_edge - edges
    parts = (
        Page(page.number, page.first_edge, at, page.first_edge, at),
        Page(page.number, at, page.last_edge, at, page.last_edge),
    )
    return parts if at > page.first_edge else (None, page)


def test_buffered_pages_come_before_resident_ones():
    pages = pages_of(10, 10, 10, 10)
    queue = PageQueue.of(pages, {pages[2]: "buffer"}, {pages[1]: "place"})
    assert queue.pop_on_device() == (pages[2], "buffer")
    assert queue.pop_on_device() == (pages[1], "place")
    assert queue.pop_on_device() is None
    assert queue.streamed_pages() == [pages[0], pages[3]]


def test_a_page_that_is_copied_counts_until_it_has_arrived():
    pages = pages_of(10, 20, 30)
    queue = PageQueue.of(pages, {}, {pages[2]: None})
    assert queue.edges == 30
    assert queue.peek_streamed() == queue.pop_streamed() == pages[0]
    assert queue.edges == 30
    queue.arrived(pages[0])
    assert queue.edges == 20
    assert queue.pop_streamed() == pages[1]
    assert queue.pop_streamed() is queue.peek_streamed() is None
    assert not queue.is_empty
    queue.clear()
    assert queue.is_empty


def test_nobody_steals_the_device_s_own_pages():
    """Neither streamed nor resident ones; parts of the page before them may be stolen."""
    pages = pages_of(10, 10, 10, 10, 10)
    queue = PageQueue.of(pages, {}, {pages[0]: None, pages[1]: None}, own=frozenset({1, 3}))
    assert [queue.steal(None) for _ in range(4)] == [pages[4], pages[2], pages[0], None]
    assert (queue.pop_streamed(), queue.pop_on_device()) == (pages[3], (pages[1], None))
    queue = PageQueue.of(pages, {}, {}, halves, frozenset({4}))
    first, second = halves(pages[3], 5)
    assert queue.steal(10) == second
    assert queue.streamed_pages() == [*pages[:3], first, pages[4]]
    queue = PageQueue.of(pages, {}, {}, None, frozenset({3}))
    assert queue.steal(1000) == pages[4]  # pages 2 and 4 do not adjoin
    assert PageQueue.of(pages, {}, {}, halves, frozenset(range(5))).steal(1000) is None


def test_a_page_that_another_device_takes():
    """It is the last that may be stolen and fits; if the host has taken it or a part of it, it is gone."""
    pages = pages_of(10, 30, 20, 10)
    queue = PageQueue.of(pages, {}, {}, halves, own=frozenset({3}))
    assert queue.waiting == 70
    assert queue.last(lambda page: True) == pages[2]
    assert queue.last(lambda page: page.edges > 20) == pages[1]
    assert queue.last(lambda page: page.edges > 30) is None
    assert queue.remove(pages[1])
    assert not queue.remove(pages[1])
    assert queue.steal(10) == halves(pages[2], 5)[1]
    assert not queue.remove(pages[2])
    assert not queue.remove(pages[3])
    assert queue.streamed_pages() == [pages[0], halves(pages[2], 5)[0], pages[3]]
    queue.pop_streamed()
    assert queue.waiting == 25


def test_stealing_whole_pages_ends_with_the_resident_ones():
    pages = pages_of(10, 10, 10)
    queue = PageQueue.of(pages, {pages[0]: None}, {pages[1]: None})
    assert [queue.steal(None) for _ in range(3)] == [pages[2], pages[1], None]


@pytest.mark.parametrize(("most", "split", "first", "last"), [
    (20, halves, 90, 100), (60, halves, 70, 100), (160, halves, 20, 100), (1, halves, None, None),
    (60, None, 70, 100), (60, lambda page, edges: (None, page), 70, 100), (9, None, None, None), (120, None, 40, 100),
])  # fmt: skip
def test_about_half_as_many_edges_are_stolen_from_the_back(most, split, first, last):
    queue = PageQueue.of(pages_of(40, 30, 30), {}, {}, split)
    stolen = queue.steal(most)
    if first is None:
        assert stolen is None
    else:
        assert (stolen.first_edge, stolen.last_edge) == (stolen.first_vertex, stolen.last_vertex) == (first, last)
        assert queue.edges == first


def test_only_adjacent_pages_are_stolen_together():
    first, second, third = pages_of(10, 10, 10)
    queue = PageQueue.of([second, first, third], {}, {})
    assert queue.steal(100) == third


def test_the_largest_page_comes_first_unless_pages_are_shared():
    pages = pages_of(10, 30, 20)
    assert device_order(pages, False) == [pages[1], pages[2], pages[0]]
    assert device_order(reversed(pages), True) == pages


@pytest.mark.parametrize("shared", [False, True])
def test_a_policy_decides_on_the_order(shared):
    first, second, third = pages_of(10, 30, 20)
    assert device_order([first, second, third], shared, (2, 0, 1)) == [third, first, second]
    assert in_order([second, third], (2, 0, 1)) == [third, second]


def test_two_threads_take_every_resident_page_once():
    """Two threads take pages at the same time until none is left."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            pages = [Page(k, k, k + 1, k, k + 1) for k in range(200)]
            waiting, stolen, begin = PageQueue.of(pages, {}, dict.fromkeys(pages)), [], threading.Barrier(2)

            def steal(waiting=waiting, stolen=stolen, begin=begin):
                begin.wait()
                stolen += iter(lambda: waiting.steal(None), None)

            thread = threading.Thread(target=steal)
            thread.start()
            begin.wait()
            taken = [page for page, _ in iter(waiting.pop_on_device, None)]
            thread.join()
            assert sorted(page.number for page in taken + stolen) == list(range(200))
    finally:
        sys.setswitchinterval(interval)


def test_buffers_that_hold_a_wanted_page_are_taken():
    first, second, third = pages_of(10, 10, 10)
    buffers = [SimpleNamespace(page=page) for page in (second, None, third, second, first)]
    free = deque(buffers)
    assert take_buffered(free, {first, second}) == {second: buffers[0], first: buffers[4]}
    assert list(free) == [buffers[1], buffers[2], buffers[3]]
