"""What every source of pages promises (`garaph_py.pages.source.PageSource`): edges raw or packed, in memory or on disk.

A new place or encoding is one more line in `PLACES`.
"""

import gc
import threading
import weakref

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.arrays import RAW
from garaph_py.codec.format import LISTS, NUMBERS, decode
from garaph_py.pages.layout import layout
from garaph_py.pages.memory import MemoryNeeds
from garaph_py.pages.provider import SourceFactory
from garaph_py.storage import directory as store
from garaph_py.system.threads import start
from tests.support.cases import mostly_full
from tests.support.stored_graphs import opened

PLACES = {
    "raw in memory": ("memory", "raw"),
    "packed in memory": ("memory", "packed"),
    "raw on disk": ("disk", "raw"),
    "packed on disk": ("disk", "packed"),
}
PAGE_EDGES = 3000
ROOM = 150_000
"""Bytes for edges that stay on disk, for each thread that reads: some pages stay in memory, not all."""

places = pytest.mark.parametrize("place", mostly_full(PLACES, "raw in memory", "packed on disk"))


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(12, 8, directed=True, weights=(1, 255))


@pytest.fixture
def factory(graph, tmp_path):
    """A function that makes the sources of the graph in one of `PLACES`."""
    made = []

    def make(place):
        where, encoding = PLACES[place]
        there = graph.packed() if encoding == "packed" else graph
        if where == "disk":
            store.save(graph, tmp_path / "graph", encoding=encoding, block_bytes=8192)
            there = opened(tmp_path / "graph", ROOM)
        made.append(SourceFactory(there, True))
        made[-1].divide(MemoryNeeds(there.nbytes + 18 * there.n))
        return made[-1]

    yield make
    for one in made:
        one.__exit__()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-disk")]


def numbers_of(part, kind, page, edges, graph):
    """The elements of a page in its array of sources or values."""
    run = slice(page.first_edge - edges.first_edge, page.last_edge - edges.first_edge)
    if part.codec == RAW:
        return np.array(part.data[run], np.int64)
    starts = np.zeros(graph.m + 1, bool)
    starts[graph._arrays.in_edges.offsets] = True
    return np.array(decode(part, starts[edges.first_edge :], kind)[run], np.int64)


def assert_edges(source, page, graph, values=True):
    """The page has the graph's edges, and is the expected one."""
    edges, run = source.edges(page), slice(page.first_edge, page.last_edge)
    np.testing.assert_array_equal(
        numbers_of(edges.sources, LISTS, page, edges, graph), graph._arrays.in_edges.neighbours[run].astype(np.int64)
    )
    if values:
        np.testing.assert_array_equal(
            numbers_of(edges.values, NUMBERS, page, edges, graph), graph._arrays.in_edges.values[run].astype(np.int64)
        )


def assert_pass(source, graph):
    """All pages in order have the graph's edges."""
    source.prefetch(source.pages)
    for page in source.pages:
        assert_edges(source, page, graph)
        source.release(page)


@places
def test_pages_cover_every_vertex_and_edge_once(factory, graph, place):
    pages = factory(place).into(PAGE_EDGES).pages
    assert len(pages) > 4
    assert [page.number for page in pages] == list(range(len(pages)))
    assert [page.first_vertex for page in pages] + [graph.n] == [0] + [page.last_vertex for page in pages]
    for page in pages:
        ends = graph._arrays.in_edges.offsets[[page.first_vertex, page.last_vertex]]
        assert (page.first_edge, page.last_edge) == tuple(ends)


@places
def test_pages_have_the_edges_of_the_graph_again_and_again(factory, graph, place):
    source = factory(place).into(PAGE_EDGES)
    for _ in range(3):
        assert_pass(source, graph)


@pytest.mark.full
@places
def test_pages_may_be_added_while_others_are_read(factory, graph, place):
    """Whatever their order, the same one again and neighbours that share a block included."""
    source, random = factory(place).into(PAGE_EDGES), np.random.default_rng(3)
    for _ in range(20):
        first = random.choice(len(source.pages), 3, replace=False).tolist()
        source.prefetch(source.pages[number] for number in first)
        waiting = list(first)
        for _ in range(25):
            if not waiting:
                break
            number = waiting.pop(0)
            assert_edges(source, source.pages[number], graph)
            source.release(source.pages[number])
            for other in random.choice([number - 1, number + 1, number, 0], random.integers(3), replace=False).tolist():
                if 0 <= other < len(source.pages) and other not in waiting:
                    source.prefetch_also(source.pages[other])
                    waiting.append(other)


@places
def test_a_pass_need_not_take_all_pages(factory, graph, place):
    source = factory(place).into(PAGE_EDGES)
    for pages in (source.pages[1::2], source.pages[:1], [], source.pages[::-1]):
        source.prefetch(pages)
        for page in pages:
            assert_edges(source, page, graph)
            source.release(page)


@places
def test_so_many_pages_may_be_given_out_at_once(factory, graph, place):
    source = factory(place).into(PAGE_EDGES)
    most = min(source.max_in_flight, len(source.pages))
    source.prefetch(source.pages)
    given = [source.edges(page) for page in source.pages[:most]]
    for page, edges in zip(source.pages, given, strict=False):
        found = numbers_of(edges.sources, LISTS, page, edges, graph)
        np.testing.assert_array_equal(found, graph._arrays.in_edges.neighbours[page.first_edge : page.last_edge])
        source.release(page)


@places
def test_pages_of_another_layout_are_parts(factory, graph, place):
    source = factory(place).into(PAGE_EDGES)
    for other in layout(graph._arrays.in_edges.offsets, 1700):
        parts = source.parts(other)
        assert (parts[0].first_vertex, parts[-1].last_vertex) == (other.first_vertex, other.last_vertex)
        assert sum(part.edges for part in parts) == other.edges
        source.prefetch(parts)
        for part in parts:
            assert_edges(source, part, graph)
            source.release(part)


@places
def test_few_edges_may_be_wanted(factory, graph, place):
    """The requested edges are right; the rest of the page may hold anything."""
    source = factory(place).into(PAGE_EDGES)
    source.prefetch(source.pages, lambda page: np.array([[page.first_edge, min(page.first_edge + 5, page.last_edge)]]))
    for page in source.pages:
        edges = source.edges(page)
        last = min(page.first_edge + 5, page.last_edge)
        found = numbers_of(edges.sources, LISTS, page, edges, graph)[: last - page.first_edge]
        np.testing.assert_array_equal(found, graph._arrays.in_edges.neighbours[page.first_edge : last])
        source.release(page)


@places
def test_bytes_are_read_from_disks_alone(factory, graph, place):
    source = factory(place).into(PAGE_EDGES)
    read = [source.bytes_read]
    for _ in range(2):
        assert_pass(source, graph)
        read.append(source.bytes_read)
    assert read[0] == 0
    if PLACES[place][0] == "memory":
        assert read == [0, 0, 0]
    else:
        assert 0 < read[1] <= read[2] <= 2 * read[1]


@pytest.mark.full
@places
def test_two_threads_read_side_by_side(factory, graph, place):
    own, failed = factory(place).into(PAGE_EDGES), []
    assert own.can_be_shared
    with own.shared() as other:

        def work():
            try:
                for _ in range(2):
                    assert_pass(other, graph)
            except BaseException as error:
                failed.append(error)

        thread = start("garaph-test", work)
        for _ in range(2):
            assert_pass(own, graph)
        thread.join()
    assert_pass(own, graph)
    assert not failed


def test_a_factory_that_nobody_closes_keeps_no_graph():
    """A GPU holds the part of a packed copy until the copy is gone, which must not wait for the garbage collector."""
    graph = gp.from_edges([0], [1])
    factory = SourceFactory(graph, False)
    arrays = weakref.ref(graph._arrays)
    gc.disable()
    try:
        del factory, graph
        assert arrays() is None
    finally:
        gc.enable()
