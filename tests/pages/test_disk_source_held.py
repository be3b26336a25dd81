"""Frames still hold the last pages of a pass: the next one begins with these, and does not read them again."""

import numpy as np
import pytest

from garaph_py.errors import DamagedGraphError
from garaph_py.pages.disk_layout import BUFFERS
from garaph_py.pages.layout import cut
from garaph_py.pages.part_source import PartSource
from tests.support.stored_graphs import flipped

ROOM = 200_000


def held(source):
    """The numbers of the pages that frames hold, in the order in which these have become free."""
    return [source.number_at(frame.holds.first_vertex) for frame in source._free if frame.holds is not None]


def small(source):
    """A source with many pages, of which some stay."""
    return source(ROOM, page_edges=3000)


def one_pass(source, pages=None):
    """The pages of a pass, in their order; what it reads; and what tells the edges of each page from others'."""
    before, found = source.bytes_read, {}
    pages = source.held_first(source.pages) if pages is None else pages
    source.prefetch(pages)
    for page in pages:
        sources = source.edges(page).sources
        shape = sources.data if sources.codec == "raw" else sources.records[["base", "widths"]]
        found[page] = shape.copy()
        source.release(page)
    return pages, source.bytes_read - before, found


def test_a_pass_begins_with_what_the_last_one_ended_with(source):
    one = small(source)
    first, every, expected = one_pass(one)
    assert first == list(one.pages)
    read = [page for page in one.pages if not one.stays[page.number]]
    for _ in range(3):
        pages, nbytes, found = one_pass(one)
        assert [page for page in pages if not one.stays[page.number]][:BUFFERS] == read[-BUFFERS:]
        assert sorted(pages, key=lambda page: page.number) == first
        for page, edges in expected.items():
            np.testing.assert_array_equal(found[page], edges)
        once = sum(page.edges for page in read[:-BUFFERS]) / sum(page.edges for page in first)
        assert nbytes < (once + 0.1) * every
        read = [page for page in pages if not one.stays[page.number]]
    assert one_pass(one, first)[1] > nbytes  # in ascending order, frames are overwritten before their turn


def test_what_was_not_read_whole_is_read(source):
    one = small(source)
    one_pass(one)
    one.prefetch(one.pages, lambda page: np.array([[page.first_edge, page.first_edge + 1]]))
    for page in one.pages:
        one.edges(page)
        one.release(page)
    expected = one_pass(small(source))[2]
    for page, edges in one_pass(one)[2].items():
        np.testing.assert_array_equal(edges, expected[page])


def test_few_lists_leave_what_the_frames_hold(source):
    one = small(source)
    one_pass(one)
    before = held(one)
    few = [page for page in one.pages if not one.stays[page.number] and page.number not in before][:1]
    one.prefetch(few, lambda page: np.array([[page.first_edge, page.first_edge + 1]]))
    one.edges(few[0])
    one.release(few[0])
    assert len(held(one)) == BUFFERS - 1
    one.prefetch(few, lambda page: np.array([[page.first_edge, page.first_edge + 1]]))
    one.edges(few[0])
    one.release(few[0])
    assert len(held(one)) == BUFFERS - 1  # it was read to the frame that held none


def test_a_page_that_fails_its_check_is_not_held(source, saved):
    """It is read again, and found damaged again, or read right once the disk does."""
    one = small(source)
    expected = one_pass(small(source))[2]
    one_pass(one)
    page = next(page for page in one.pages if not one.stays[page.number] and page.number not in held(one))
    array = one._arrays[0]
    block = array.span(page.first_edge, page.last_edge)[0]
    entry = array.reader.index[block]
    data = array.reader.paths[entry["disk"]]
    with flipped(data, int(entry["offset"])):
        for _ in range(2):
            with pytest.raises(DamagedGraphError, match=rf"{data.name}: block {block}, at byte .*checksum"):
                one_pass(one)
            assert page.number not in held(one)
    for each, edges in one_pass(one)[2].items():
        np.testing.assert_array_equal(edges, expected[each])


def test_a_part_of_a_page_is_found_in_the_whole(source, saved):
    """A GPU that still has the other part of the page does not ask for it."""
    one, offsets = small(source), saved[0]._arrays.in_edges.offsets
    halves = [cut(offsets, page, page.edges // 2) for page in one.pages]
    parts = PartSource(one, [part for both in halves for part in both if part is not None])
    one_pass(parts)
    before = held(one)
    assert len(before) == BUFFERS
    order = parts.held_first(parts.pages)
    assert list(dict.fromkeys(one.number_at(page.first_vertex) for page in order))[:BUFFERS] == before
    ends = [last for _, last in halves if one.number_at(last.first_vertex) in before]
    assert one_pass(parts, ends)[1] == 0
    assert held(one) == before
    assert one_pass(parts, [page for page in order if one.number_at(page.first_vertex) in before])[1] == 0


def test_two_threads_begin_with_what_one_has_left(source):
    one = small(source)
    one_pass(one)
    before = held(one)
    with one.shared() as other:
        assert sorted(held(one) + held(other)) == sorted(before)
        found = one.held_first(one.pages)
        assert [page.number for page in found if not one.stays[page.number]][: BUFFERS // 2] == held(one)
        assert one_pass(other, [one.pages[number] for number in held(other)])[1] == 0
