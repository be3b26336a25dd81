"""Which pages are resident on a GPU: as many as fit its memory; and the message if none does."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.gpu import residency
from garaph_py.executor.gpu.edges import page_bytes, raw_layout
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.gpu.residency import VERTICES, plan, plan_to_copy
from garaph_py.pages.layout import layout
from tests.support.degrees import DEGREES, offsets_of


@pytest.fixture(scope="module", autouse=True)
def small():
    """Small graphs are cut into pages as large ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residency, "PAGE_EDGES", 1 << 14)
        patch.setattr(residency, "LEAST_PAGE_EDGES", 1 << 11)
        yield


ARRAYS = st.sampled_from([raw_layout(), raw_layout(4), raw_layout(8)])


STREAMS = st.integers(1, 6)


LIMITS = st.one_of(st.none(), st.integers(1, 20000))


def assert_covered(pages, offsets):
    """Each vertex and edge in one page, cut where a word of a bitmap ends."""
    bounds = [page.first_vertex for page in pages] + [len(offsets) - 1]
    assert [page.number for page in pages] == list(range(len(pages)))
    assert bounds[0] == 0
    for page, end in zip(pages, bounds[1:], strict=True):
        assert page.first_vertex < page.last_vertex == end
        assert page.first_vertex % VERTICES == 0
        assert (page.first_edge, page.last_edge) == (offsets[page.first_vertex], offsets[page.last_vertex])


def resident_bytes(found, arrays):
    return sum(page_bytes(page, arrays) for page in found.pages[: found.resident])


@given(DEGREES, ARRAYS, st.integers(0, 10000), st.floats(0, 1.2), STREAMS, LIMITS)
def test_a_plan_keeps_within_its_budget(degrees, arrays, others, share, streams, page_edges):
    offsets = offsets_of(degrees)
    budget = others + int(share * sum(degrees) * arrays.width)
    try:
        found = plan(offsets, arrays, others, budget, streams, page_edges)
    except DeviceMemoryError:
        largest = max(page.edges for page in layout(offsets, 1 << 11, VERTICES))
        assert budget < others + (max(largest, 1 << 11) + 2 * RUN) * arrays.width
        return
    sizes = [page_bytes(page, arrays) for page in found.pages]
    assert_covered(found.pages, offsets)
    assert found.used <= budget
    assert 1 <= found.streams <= streams
    assert found.used == others + sum(sizes[: found.resident]) + found.streams * found.buffer_bytes
    if found.resident < len(sizes):
        assert found.buffer_bytes >= max(sizes[found.resident :])
        assert found.used + sizes[found.resident] > budget  # what could have stayed, stays
        limit = page_edges or 1 << 14
        assert all(page.edges <= limit or page.last_vertex - page.first_vertex <= VERTICES for page in found.pages)
    else:
        assert found.buffer_bytes == 0


@given(DEGREES, ARRAYS, st.integers(0, 10000), STREAMS, LIMITS)
def test_what_fits_stays(degrees, arrays, others, streams, page_edges):
    offsets = offsets_of(degrees)
    roomy = plan(offsets, arrays, others, 1 << 40, streams, page_edges)
    assert roomy.resident == len(roomy.pages)
    assert (roomy.streams, roomy.buffer_bytes) == (streams, 0)


@given(DEGREES, ARRAYS, st.integers(1, 1 << 11))
def test_more_memory_never_keeps_less_of_the_same_pages(degrees, arrays, page_edges):
    offsets, kept = offsets_of(degrees), []
    full = plan(offsets, arrays, 0, 1 << 40, 1, page_edges)
    for budget in np.linspace(max(map(page_bytes, full.pages, itertools.repeat(arrays)), default=0), full.used, 20):
        found = plan(offsets, arrays, 0, int(budget) + 1, 1, page_edges)
        kept.append(resident_bytes(found, arrays))
    assert kept == sorted(kept)
    assert kept[-1] == full.used


@pytest.mark.parametrize(("streams", "pages"), [
    (2, [64_000]), (3, [42_240, 21_760]), (4, [32_000, 32_000]), (5, [25_600, 25_600, 12_800]),
])  # fmt: skip
def test_a_page_has_at_most_a_stream_s_part_of_the_memory(streams, pages):
    """One Nth of it for N streams (section 2.1), also where all pages stay. 64 vertices have 640 edges."""
    offsets = np.arange(6401, dtype=np.int64) * 10
    found = plan(offsets, raw_layout(), 100_000, 4 * 128_000, streams, 10**6)
    assert [page.edges for page in found.pages] == pages
    assert found.resident == len(pages)


@given(DEGREES, ARRAYS, st.integers(0, 10000), st.floats(0.1, 5), STREAMS, LIMITS)
def test_pages_that_are_copied_in_every_iteration(degrees, arrays, others, share, streams, page_edges):
    """As large as fits one Nth of the memory for edges (section 2.1)."""
    offsets = offsets_of(degrees)
    left = int(share * sum(degrees) * arrays.width)
    try:
        found = plan_to_copy(offsets, arrays, others, others + left, streams, page_edges)
    except DeviceMemoryError:
        largest = max(page.edges for page in layout(offsets, 1 << 11, VERTICES))
        assert left < (max(largest, 1 << 11) + 2 * RUN) * arrays.width
        return
    sizes = [page_bytes(page, arrays) for page in found.pages]
    assert_covered(found.pages, offsets)
    assert not found.keeps
    assert found.resident == (0 if sum(degrees) else len(sizes))
    assert found.buffer_bytes == max(sizes, default=0)
    assert found.used == others + found.streams * found.buffer_bytes <= others + left
    assert 1 <= found.streams <= streams
    limit = page_edges or sum(degrees)
    assert all(page.edges <= limit or page.vertices <= VERTICES for page in found.pages)


@pytest.mark.parametrize("streams", [1, 2, 4, 8])
def test_pages_that_are_copied_are_as_large_as_fits(streams):
    """The memory holds all edges; but for what buffers take more, each page is one Nth of them."""
    offsets = np.arange(1 << 20, dtype=np.int64) * 10
    room = int(4.1 * offsets[-1])
    found = plan_to_copy(offsets, raw_layout(), 1 << 20, (1 << 20) + room, streams)
    assert len(found.pages) == streams
    assert (found.resident, found.streams, found.is_short) == (0, streams, False)
    assert plan_to_copy(offsets, raw_layout(), 0, room, streams, 10_000).pages[0].edges == 9600


def test_memory_is_saved_by_fewer_streams_then_by_smaller_pages():
    offsets = np.arange(10001, dtype=np.int64) * 100
    least = 4 * 7 * RUN  # 64 vertices have 6400 edges, which touch seven runs
    budgets = 1_000_000, 7 * least, 5 * least, 4 * least, 2 * least, least
    found = [plan(offsets, raw_layout(), 0, budget, 4) for budget in budgets]
    assert [one.streams for one in found] == [4, 2, 2, 2, 2, 1]
    assert [one.is_short for one in found] == [False, True, True, True, True, True]
    large = found[0].buffer_bytes
    assert 2 * least < large < 2.5 * least
    assert [one.buffer_bytes for one in found[:3]] == [large] * 3
    assert least < found[3].buffer_bytes < large
    assert [one.buffer_bytes for one in found[4:]] == [least] * 2


def test_small_pages_that_stay_are_one():
    """Each page takes its thread as long, however small it is. Streamed ones keep the size of a stream's buffer."""
    offsets, least = np.arange(10001, dtype=np.int64) * 100, 4 * 7 * RUN
    found = plan(offsets, raw_layout(), 0, 20 * least, 4)
    assert_covered(found.pages, offsets)
    assert found.resident == 1 < len(found.pages)
    assert page_bytes(found.pages[0], raw_layout()) > 3 * found.buffer_bytes
    assert all(page_bytes(page, raw_layout()) <= found.buffer_bytes for page in found.pages[1:])
    assert found.used + page_bytes(found.pages[1], raw_layout()) > 20 * least  # what could have stayed, stays


def test_pages_that_stay_are_joined_up_to_a_size(monkeypatch):
    offsets, least = np.arange(10001, dtype=np.int64) * 100, 4 * 7 * RUN
    most = 4 * least
    monkeypatch.setattr(residency, "SMALL_PAGE_BYTES", most)
    found = plan(offsets, raw_layout(), 0, 20 * least, 1)
    sizes = [page_bytes(page, raw_layout()) for page in found.pages[: found.resident]]
    assert found.resident > 2
    assert all(most - found.buffer_bytes < size <= most for size in sizes[:-1])


@pytest.mark.parametrize(("streams", "page_edges"), [(0, None), (4, 2000)], ids=["read in place", "on disk"])
def test_pages_that_are_chosen_or_read_one_by_one_are_not_joined(streams, page_edges):
    offsets = np.arange(10001, dtype=np.int64) * 100
    found = plan(offsets, raw_layout(), 0, 1_000_000, streams, page_edges)
    assert found.resident > 2
    assert max(page.edges for page in found.pages) == found.pages[0].edges


def test_a_little_less_memory_than_two_buffers_take_makes_pages_a_little_smaller():
    """Not half as large: each page takes its thread as long."""
    offsets = np.arange(100_001, dtype=np.int64) * 10
    large = plan(offsets, raw_layout(), 0, 1 << 19, 4)
    found = plan(offsets, raw_layout(), 0, 2 * large.buffer_bytes - 1, 4)
    assert (large.streams, found.streams) == (4, 2)
    assert len(large.pages) < len(found.pages) < 1.3 * len(large.pages)


def test_pages_that_are_all_copied_keep_the_streams():
    """Their number is the user's, or the paper's; only what no smaller page can save takes one away."""
    offsets = np.arange(10_001, dtype=np.int64) * 100
    least = 4 * 7 * RUN
    assert [plan_to_copy(offsets, raw_layout(), 0, k * least, 4).streams for k in (8, 4, 3, 1)] == [4, 4, 3, 1]


def test_no_page_fits():
    """The message has all the numbers that a user needs to choose a budget."""
    offsets = np.arange(1001, dtype=np.int64) << 20
    with pytest.raises(
        DeviceMemoryError, match=r"3\.0 MiB .* vertices and 256\.0 MiB .* page.* 200\.0 MiB; .*gpu_memory"
    ):
        plan(offsets, raw_layout(), 3 << 20, 200 << 20, 4)
    with pytest.raises(DeviceMemoryError, match="CPU"):
        plan(np.zeros(100, np.int64), raw_layout(), 1000, 999, 1)


def test_pages_of_more_edges_than_32_bits_count():
    offsets = np.arange(4097, dtype=np.int64) << 22
    found = plan(offsets, raw_layout(8), 1 << 20, 16 << 30, 4)
    assert_covered(found.pages, offsets)
    assert found.pages[-1].last_edge == 1 << 34
    assert 0 < resident_bytes(found, raw_layout(8)) < found.used <= 16 << 30
    assert all(page_bytes(page, raw_layout(8)) == page.edges * 12 for page in found.pages)
