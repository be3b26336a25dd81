"""The host arrays of pages, which are made once if edges are in memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.gpu.transfer import HostPages
from garaph_py.pages.layout import Page
from garaph_py.pages.memory_source import MemoryPageSource
from tests.support import twins


@pytest.mark.parametrize("is_in_memory", [True, False])
def test_the_arrays_of_a_page_are_made_once_if_they_stay(graph_of, is_in_memory):
    source = MemoryPageSource(graph_of(twins.skewed(3, 900, 9000, "int32"))._arrays.in_edges, 2000)
    asked, pages = [], HostPages()
    counted = SimpleNamespace(
        is_in_memory=is_in_memory, edges=lambda page: asked.append(page.number) or source.edges(page)
    )
    for _ in range(3):
        for page in source.pages:
            (sources, place), (values, _) = pages.arrays(page, counted)
            edges = source.edges(page)
            np.testing.assert_array_equal(sources.view(np.uint32), edges.sources.data)
            np.testing.assert_array_equal(values.view(np.int32), edges.values.data)
            assert place == page.first_edge % 1024 * 4
    assert len(asked) == len(source.pages) * (1 if is_in_memory else 3)


def test_a_part_of_a_page_has_its_own(graph_of):
    source, pages = MemoryPageSource(graph_of(twins.skewed(3, 900, 9000))._arrays.in_edges, 2000), HostPages()
    whole = source.pages[1]
    part = Page(whole.number, whole.first_vertex, whole.last_vertex, whole.first_edge, whole.first_edge + 10)
    sizes = [pages.arrays(page, source)[0][0].nbytes for page in (whole, part, part, whole)]
    assert sizes == [4 * whole.edges, 40, 40, 4 * whole.edges]
