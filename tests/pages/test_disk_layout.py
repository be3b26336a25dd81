"""How edges on disk are cut into pages, and which of these stay in memory."""

from functools import partial

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.blocks import UNIT
from garaph_py.codec.format import RUN
from garaph_py.pages import disk_layout
from garaph_py.pages.disk_layout import BUFFERS, LARGE, MOST_PAGE_BYTES, lay_out, mixed, page_edges_within
from garaph_py.pages.layout import layout
from garaph_py.pages.memory import arrays_on_disk
from garaph_py.storage import directory as store
from garaph_py.storage import reader
from tests.support.stored_graphs import opened

BLOCK = 1 << 13


@pytest.fixture
def edges(tmp_path, monkeypatch):
    """The in-edges on disk of a graph of 1 MiB, in blocks of 8 KiB; pages are as small in proportion."""
    monkeypatch.setattr(disk_layout, "LEAST_PAGE_BYTES", BLOCK)
    store.save(gp.rmat(13, 32), tmp_path / "graph", block_bytes=BLOCK, encoding="raw")
    return opened(tmp_path / "graph", 300_000)._arrays.in_edges


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_resident_pages_and_frames_take_nearly_all_of_the_room(edges, share):
    arrays = arrays_on_disk(edges)
    room = int(share * arrays[0].stored_bytes)
    found = lay_out(arrays, edges.offsets, room)
    kept = sum(sum(sizes) for sizes, stays in zip(found.room_of, found.stays, strict=True) if stays)
    frames = sum(map(sum, found.frames))
    assert len(found.frames) == BUFFERS
    assert 0.85 * room <= kept + frames <= room
    assert [page.first_edge for page in found.pages[1:]] == [page.last_edge for page in found.pages[:-1]]
    assert found.pages[-1].last_vertex == len(edges.offsets) - 1
    streamed = [sizes for sizes, stays in zip(found.room_of, found.stays, strict=True) if not stays]
    assert all(size <= frame for sizes in streamed for size, frame in zip(sizes, found.frames[0], strict=True))


def test_a_page_takes_a_small_part_of_the_room(edges):
    arrays = arrays_on_disk(edges)
    within = partial(page_edges_within, arrays, edges.offsets)
    assert within(40 * BLOCK) == 4 * BLOCK // 4
    assert within(4 * BLOCK) == BLOCK // 4
    assert within(BLOCK) == BLOCK // 4 // BUFFERS
    assert within(1) == 1
    assert within(1 << 40) == MOST_PAGE_BYTES // 4


@pytest.mark.parametrize("lent", [0.02, 0.2, 0.9])
def test_lent_memory_holds_more_pages(edges, lent):
    """When it is given back, the pages are those without it."""
    arrays = arrays_on_disk(edges)
    room = arrays[0].stored_bytes // 4
    alone, found = (lay_out(arrays, edges.offsets, room, lent=int(k * arrays[0].stored_bytes)) for k in (0, lent))
    assert found.later == alone
    kept, more = (
        {(page.first_edge, page.last_edge): sum(sizes) for page, sizes, stays in rows if stays}
        for rows in (zip(each.pages, each.room_of, each.stays, strict=True) for each in (alone, found))
    )
    assert kept.items() <= more.items()
    taken = sum(more.values()) - sum(kept.values())
    assert taken <= lent * arrays[0].stored_bytes
    assert taken >= min(0.8 * lent * arrays[0].stored_bytes, 0.65 * arrays[0].stored_bytes) - max(
        map(sum, found.frames)
    )
    assert [page.first_edge for page in found.pages[1:]] == [page.last_edge for page in found.pages[:-1]]
    assert [page.number for page in found.pages] == list(range(len(found.pages)))
    assert found.frames == alone.frames
    streamed = [sum(sizes) for sizes, stays in zip(found.room_of, found.stays, strict=True) if not stays]
    assert max(streamed, default=0) <= sum(found.frames[0])


@pytest.mark.parametrize("share", [0.01, 0.25, 0.6, 1.0])
def test_large_pages_are_spread_evenly(share):
    pages, stays = mixed(layout(np.arange(0, 100_001, 4), 100), share)
    assert all(page.edges <= 100 * (LARGE if stay else 1) for page, stay in zip(pages, stays, strict=True))
    kept = 0
    for page, stay in zip(pages, stays, strict=True):
        kept += page.edges * stay
        assert share * page.last_edge - 100 * LARGE <= kept <= share * page.last_edge + 100 * LARGE


def test_a_vertex_with_many_edges_has_a_page_of_its_own():
    offsets = np.array([0, 3, 1000, 1003])
    pages, _ = mixed(layout(offsets, 10), 0.5)
    assert [(page.first_vertex, page.last_vertex) for page in pages] == [(0, 1), (1, 2), (2, 3)]


def test_pages_have_room_whether_or_not_they_borrow_a_block(tmp_path, monkeypatch):
    """Without the first block, the others are read in other groups, which may begin and end inside sectors."""
    monkeypatch.setattr(reader, "MERGED_BYTES", 1 << 14)
    graph = gp.rmat(11, 32)
    values = np.random.default_rng(1).integers(0, 1 << 20, graph.m)
    sources, targets = np.random.default_rng(2).integers(0, 1 << 11, (2, graph.m))
    store.save(gp.from_edges(sources, targets, values), tmp_path / "graph", block_bytes=UNIT, encoding="packed")
    array = opened(tmp_path / "graph", 300_000)._arrays.in_edges.value_array
    for first in range(0, len(array), 7 * RUN):
        for last in range(first + RUN, len(array), 11 * RUN):
            span = array.span(first, last)
            assert max(array.plan(span).nbytes, array.plan(span, True).nbytes) <= array.room(first, last)
