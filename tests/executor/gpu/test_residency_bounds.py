"""How large pages are, how many are resident, and how many streams there are: by the bounds of the code."""

import numpy as np
import pytest

from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.gpu.edges import ArraysOnDevice, RawOnDevice, raw_layout
from garaph_py.executor.gpu.parts import Part
from garaph_py.executor.gpu.residency import pages_if_resident, plan, plan_to_copy

MIB, GIB = 1 << 20, 1 << 30
ENOUGH = 1 << 40


def blocks(*edges):
    """Offsets of a graph whose 64 vertices of each block have so many in-edges."""
    degrees = np.repeat(np.array(edges) // 64, 64)
    return np.concatenate([[0], np.cumsum(degrees)])


def raw_layout_of(width):
    """The layout of edges of `width` bytes."""
    return ArraysOnDevice(RawOnDevice(width))


def many(edges, block=1 << 16):
    return blocks(*[block] * (edges // block))


@pytest.mark.parametrize(("edges", "programs", "pages"), [
    (1 << 29, False, 16), (1 << 27, False, 8), (1 << 29, True, 2), (1 << 24, True, 1),
])  # fmt: skip
def test_pages_that_all_stay(edges, programs, pages):
    """A large graph has 16, or 2 if every iteration updates all vertices; none has fewer than 2 ** 24 edges."""
    assert (pages_if_resident(False), pages_if_resident(True)) == (16, 2)
    for streams in (0, 1):
        found = plan(many(edges), raw_layout(), 0, ENOUGH, streams, resident_pages=pages_if_resident(programs))
        assert {page.edges for page in found.pages} == {edges // pages}
        assert (found.resident, found.buffer_bytes, found.is_short) == (pages, 0, False)
    if not programs:
        assert len(plan(many(edges), raw_layout(), 0, ENOUGH, 0).pages) == pages


@pytest.mark.parametrize("first", [0, 1 << 16, 1 << 18])
def test_pages_of_a_part_depend_on_its_own_edges(first):
    """Each vertex has 2 ** 10; the others are no part of it."""
    part = Part(first, first + (1 << 18))
    found = plan(many(1 << 29), raw_layout(), 0, ENOUGH, 2, resident_pages=4, part=part)
    assert [page.edges for page in found.pages] == [1 << 26] * 4


def test_what_fits_exactly_stays():
    offsets = many(1 << 20)
    fixed = 1000 + 4 * MIB
    exact = plan(offsets, raw_layout(), fixed, fixed + 4 * MIB, 4, 1 << 16)
    assert (len(exact.pages), exact.resident, exact.buffer_bytes, exact.used) == (16, 16, 0, fixed + 4 * MIB)
    assert not exact.is_short
    assert plan(offsets, raw_layout(), fixed, fixed + 4 * MIB - 1, 4, 1 << 16).resident == 11  # four are buffers


@pytest.mark.parametrize(("edges", "left", "streams", "page_edges", "resident", "resident_edges"), [
    (1 << 29, 1024 * MIB, 4, 1 << 23, 28, 1 << 23),  # the buffers take an eighth
    (1 << 28, 128 * MIB, 4, 1 << 22, 4, 1 << 22),  # more, lest pages be small
    (1 << 26, 192 * MIB, 8, 1 << 21, 8, 1 << 22),  # four pages for each stream; resident ones are joined to 16 MiB
    (1 << 30, 2048 * MIB, 2, 1 << 24, 30, 1 << 24),  # none is larger than 2 ** 24
])  # fmt: skip
def test_pages_that_are_streamed(edges, left, streams, page_edges, resident, resident_edges):
    fixed = left + 5000
    found = plan(many(edges), raw_layout(), fixed, fixed + left, streams)
    assert {page.edges for page in found.here} == {resident_edges}
    assert {page.edges for page in found.elsewhere} == {page_edges}
    assert (found.resident, found.streams, found.buffer_bytes) == (resident, streams, 4 * page_edges)
    assert (found.used, found.is_short) == (fixed + left, False)


def test_pages_of_a_small_graph_are_not_smaller_than_65536_edges():
    found = plan(many(1 << 18, 1024), raw_layout(), 0, 768 << 10, 2)
    assert {page.edges for page in found.pages} == {1 << 16}
    assert (found.resident, found.streams, found.is_short) == (1, 2, False)


def test_pages_are_as_small_as_two_buffers_need():
    found = plan(many(1 << 28), raw_layout(), 16 * MIB, 32 * MIB, 4)
    assert {page.edges for page in found.pages} == {1 << 21}
    assert (found.resident, found.streams, found.buffer_bytes, found.is_short) == (0, 2, 8 * MIB, True)


@pytest.mark.parametrize("part", [None, Part(0, 1 << 17)], ids=str)
def test_there_are_fewer_streams_before_pages_are_smaller(part):
    """Each page has to be worth the time of the thread that copies it, which copies those of all GPUs."""
    short = {96: (4, 1 << 22, 2), 56: (2, 1 << 22, 1), 40: (2, 1 << 22, 0), 24: (2, 3 << 20, 0), 16: (2, 1 << 21, 0)}
    for left, expected in short.items():
        found = plan(many(1 << 28), raw_layout(), GIB, GIB + left * MIB, 4, part=part)
        assert (found.streams, max(page.edges for page in found.pages), found.resident) == expected


@pytest.mark.parametrize("width", [2, 4, 8])
def test_streamed_pages_are_so_large_that_copies_take_longer_than_their_launches(width):
    found = plan(many(1 << 28), raw_layout_of(width), 0, 128 * MIB, 4)
    assert {page.edges * width for page in found.pages} == {16 * MIB}


@pytest.mark.slow
def test_streams_are_given_up_once_pages_are_small():
    found = plan(many(1 << 28), raw_layout(), 0, 512 << 10, 4)
    assert {page.edges for page in found.pages} == {1 << 16}
    assert (found.resident, found.streams, found.used, found.is_short) == (0, 2, 512 << 10, True)


def test_pages_of_65536_edges_are_not_halved():
    """It would not help: the 64 vertices of the first page have twice as many edges."""
    found = plan(blocks(1 << 17, *[1 << 15] * 8), raw_layout(), 0, 768 << 10, 2)
    assert [page.edges for page in found.pages] == [1 << 17] + [1 << 16] * 4
    assert (found.resident, found.streams, found.is_short) == (0, 1, True)


def test_a_small_page_is_not_cut_further():
    """All edges are one page of 128 KiB, which is smaller than what pages are halved to."""
    with pytest.raises(DeviceMemoryError, match=r"128\.0 KiB for a page"):
        plan(many(1 << 15, 1024), raw_layout(), GIB, GIB + (100 << 10), 2, 1 << 20)


def test_pages_are_half_as_small_where_no_other_fits():
    """For one of 65536 edges, 56 KiB are missing."""
    found = plan(many(1 << 20, 1 << 14), raw_layout(), GIB, GIB + (200 << 10), 4)
    assert {page.edges for page in found.pages} == {1 << 15}
    assert (found.resident, found.streams, found.buffer_bytes, found.is_short) == (0, 1, 128 << 10, True)


def test_pages_are_never_larger_than_asked():
    with pytest.raises(DeviceMemoryError, match=r"and 4\.0 KiB for a page"):
        plan(many(1 << 16, 1024), raw_layout(), GIB, GIB + 1000, 2, 1024)


def test_small_pages_are_not_halved_where_the_largest_stays():
    """No page has 65536 edges, and the vertices of the largest one are not cut: fewer streams help, halves do not."""
    offsets = blocks(*[28672, 28672, 61440] * 2)
    found = plan(offsets, raw_layout(), GIB, GIB + 400_000, 2, 80_000)
    assert [page.edges for page in found.pages] == [57344, 61440] * 2
    assert (found.resident, found.streams, found.is_short) == (0, 1, True)


def test_pages_are_halved_rather_than_streams_given_up():
    found = plan(many(1 << 20), raw_layout(), GIB, GIB + MIB, 2, 1 << 18)
    assert {page.edges for page in found.pages} == {1 << 17}
    assert (found.streams, found.buffer_bytes, found.is_short) == (2, 512 << 10, True)


def test_only_the_first_pages_are_resident():
    """The second page does not fit; the third would, but what is resident is one piece."""
    found = plan(blocks(1 << 16, 1 << 18, 1 << 16, 1 << 16), raw_layout(), 0, (1 << 20) + (1 << 19), 1, 1 << 16)
    assert [page.edges for page in found.pages] == [1 << 16, 1 << 18, 1 << 16, 1 << 16]
    assert (found.resident, found.buffer_bytes, found.used) == (1, 1 << 20, (1 << 20) + (1 << 18))


def test_without_streams_the_others_have_no_buffer():
    found = plan(many(1 << 28), raw_layout(), 0, 512 * MIB, 0)
    assert (len(found.pages), found.resident, found.streams, found.buffer_bytes) == (16, 8, 0, 0)


def test_no_room_for_the_vertices():
    with pytest.raises(DeviceMemoryError, match="for the vertices alone"):
        plan(many(1 << 20), raw_layout(), 1000, 999, 1)
    with pytest.raises(DeviceMemoryError, match="for the vertices alone"):
        plan_to_copy(many(1 << 20), raw_layout(), 1000, 999, 1)
    for way in (plan, plan_to_copy):
        with pytest.raises(DeviceMemoryError, match="for a page"):
            way(many(1 << 20), raw_layout(), 1000, 1000, 1)
