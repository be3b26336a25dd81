"""Reads of a few edges of a graph on disk."""

import numpy as np

from garaph_py.codec.format import GROUP, LISTS, RUN, Packed, decode
from tests.support.stored_graphs import alone


def read_pages(source, pages, wanted):
    """The edges of pages of which some are wanted, a copy each, and how many bytes were read for them."""
    before = source.bytes_read
    source.prefetch(pages, wanted)
    found = []
    for page in pages:
        edges = source.edges(page)
        found.append((edges.first_edge, np.array(edges.sources.data) if edges.sources.codec == "raw" else None))
        source.release(page)
    return found, source.bytes_read - before


def resident_in_the_middle(source, count):
    """A source of which `count` pages in the middle stay, and have been read."""
    pages = source(300_000, page_edges=30_000)
    first = len(pages.pages) // 2
    stay = pages.pages[first : first + count]
    pages.stays = [page in stay for page in pages.pages]
    pages._arrays[0].keep_parts(True)
    ranges = np.array([[stay[0].first_edge, stay[0].first_edge + 1]])
    assert stay[0] in pages.pages_for(ranges)
    read_pages(pages, stay, None)
    return pages, stay


def found_in(edges, graph, places):
    """The neighbours at these places of the graph's edges."""
    elements = np.arange(edges.first_edge, edges.first_edge + len(edges.sources))
    found = np.array(decode(edges.sources, np.isin(elements, graph._arrays.in_edges.offsets), LISTS))
    return found[np.array(places) - edges.first_edge]


def decoded(edges, offsets, element):
    """One of the packed `edges` of a page."""
    run = element // RUN
    own = edges.sources.runs(run - edges.first_edge // RUN, run - edges.first_edge // RUN + 1)
    place = int(own.records["first_word"][0])
    words = edges.sources.words[place : place + int(own.records["widths"].sum()) + GROUP]
    begins = np.isin(np.arange(run * RUN, (run + 1) * RUN), offsets)
    return decode(Packed(own.records, words, own.length, own.dtype), begins, LISTS)[element % RUN]


def read(source, offsets, elements):
    """The wanted elements of all pages, and how many bytes were read for them."""
    before, found = source.bytes_read, {}
    source.prefetch(source.pages, alone(*elements))
    for page in source.pages:
        edges = source.edges(page)
        found |= {e: decoded(edges, offsets, e) for e in elements if page.first_edge <= e < page.last_edge}
        source.release(page)
    return found, source.bytes_read - before


def check_that_runs_are_read_alone(graph, pages):
    """Read a few edges of `graph`, drawn at random, thirty times."""
    into = graph._arrays.in_edges
    rng = np.random.default_rng(2)
    for _ in range(30):
        elements = np.unique(rng.integers(0, graph.m, rng.integers(1, 40))).tolist()
        found, _ = read(pages, into.offsets, elements)
        assert found == {e: int(into.neighbours[e]) for e in elements}
