"""Pages of a GPU that are parts of the pages that are read from disk."""

import numpy as np
import pytest

from garaph_py.codec.arrays import RAW
from garaph_py.codec.format import LISTS, RUN, decode
from garaph_py.pages.layout import layout
from garaph_py.pages.part_source import PartSource

SMALL = 700


@pytest.fixture
def small(saved):
    """Pages of at most `SMALL` edges."""
    graph, _, _ = saved
    return layout(graph._arrays.in_edges.offsets, SMALL, 64)


def assert_edges(found, saved, page):
    """The edges are the page's."""
    edges, run = saved[0]._arrays.in_edges, slice(page.first_edge - found.first_edge, page.last_edge - found.first_edge)
    if found.sources.codec == RAW:
        own = found.sources.data[run]
    else:
        starts = np.zeros(len(edges.neighbours) + 1, bool)
        starts[edges.offsets] = True
        own = decode(found.sources, starts[found.first_edge :], LISTS)[run]
    np.testing.assert_array_equal(own, edges.neighbours[page.first_edge : page.last_edge])


def assert_nothing_else(found, whole, page):
    """What a GPU copies of a part fits the room that it has for it."""
    frame, first = whole._given[whole.number_at(page.first_vertex)], page.first_edge // RUN * RUN
    for array, buffer in zip([found.sources], frame.buffers, strict=False):
        assert array.buffers[-1].nbytes <= buffer.blocks.room(first, page.last_edge)


@pytest.mark.slow
def test_a_pass_over_the_parts_reads_what_a_pass_over_the_pages_reads(saved, source, small):
    whole, parts = source(100_000), source(100_000, parts=small)
    assert len(parts.pages) < len(small) / 2
    made = PartSource(parts, small)
    for _ in range(3):
        costs = []
        for each in (whole, made):
            before = each.bytes_read
            each.prefetch(each.pages)
            for page in each.pages:
                found = each.edges(page)
                if each is made:
                    assert_edges(found, saved, page)
                    assert_nothing_else(found, parts, page)
                each.release(page)
            costs.append(each.bytes_read - before)
        assert costs[1] <= 1.01 * costs[0]


@pytest.mark.slow
def test_some_parts_in_any_number_at_a_time(saved, source, small):
    """Those before and after the wanted parts of a page are not read, and the page stays until its last part."""
    made, rng = PartSource(source(100_000, parts=small), small), np.random.default_rng(1)
    for _ in range(20):
        first, last = np.sort(rng.integers(0, len(small) + 1, 2))
        chosen, held = small[first:last], []
        made.prefetch(chosen)
        for page in chosen:
            assert_edges(made.edges(page), saved, page)
            held.append(page)
            while len(held) >= rng.integers(1, made.max_in_flight + 1):
                made.release(held.pop(0))
        for page in held:
            made.release(page)
    for page in small[1], small[-1], small[1]:
        made.prefetch_also(page)
        assert_edges(made.edges(page), saved, page)
        made.release(page)


def test_what_the_gpu_has_takes_no_room(source, small):
    """The more of the first pages are in the GPU's memory, the less is read of the rest."""
    costs = []
    for elsewhere in (0, len(small) // 4, len(small) // 2):
        made = PartSource(source(100_000, parts=small, elsewhere=elsewhere), small)
        for _ in range(2):
            before = made.bytes_read
            made.prefetch(small[elsewhere:])
            for page in small[elsewhere:]:
                made.edges(page)
                made.release(page)
        costs.append(made.bytes_read - before)
    assert costs == sorted(costs, reverse=True)
    assert costs[2] < 0.7 * costs[0]
