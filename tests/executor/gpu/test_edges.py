"""The layout of pages in device memory: regions hold what their pages need, whatever the pages are."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu.edges import ArraysOnDevice, raw_layout
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.pages.layout import Page, layout


def with_isolated_vertices_at_the_end(encoding):
    """A graph of 2 * RUN edges, so that a last page without edges begins after the last run."""
    rng = np.random.default_rng(1)
    targets = np.sort(rng.integers(0, 100, 2 * RUN))
    graph = gp.from_edges(rng.integers(0, 500, 2 * RUN), targets, np.ones(2 * RUN, np.int32), vertices=np.arange(500))
    return graph.packed() if encoding == "packed" else graph


@pytest.mark.parametrize("reads_values", [True, False])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_every_page_lies_within_its_region(encoding, reads_values):
    edges = with_isolated_vertices_at_the_end(encoding)._arrays.in_edges
    arrays, known = ArraysOnDevice.of(edges, reads_values), {}
    for page_edges in (100, 700, 4 * RUN):
        pages = layout(edges.offsets, page_edges, 64)
        for count in range(1, len(pages) + 1):
            regions = arrays.regions(pages[:count])
            for k, region in enumerate(regions):
                for page, begin in zip(pages, region.begins, strict=False):
                    assert 0 <= begin <= begin + arrays.sizes(page)[k] <= region.nbytes
                    assert known.setdefault((region.name, page.first_edge), begin) == begin
    empty = [page for page in layout(edges.offsets, 100, 64) if page.first_edge == 2 * RUN]
    assert empty, "no page without edges after the last run"


def test_a_region_says_which_edges_it_holds():
    """Also where those of others would begin in the same run, or end in it."""
    arrays, held = raw_layout(), set()
    for first, last in (0, 5000), (100, 5000), (101, 5000), (101, 5001):
        half = (first + last) // 2
        pages = [Page(1, 0, 64, first, half), Page(2, 64, 128, half, last)]
        (region,) = arrays.regions(pages)
        assert region.begins[0] == 0
        assert region.nbytes == 4 * RUN * (-(-last // RUN) - first // RUN)
        held.add(region.what)
    assert len(held) == 4


def test_no_resident_pages_need_no_memory():
    assert ArraysOnDevice.of(gp.rmat(6, 4)._arrays.in_edges, False).regions([]) == []
