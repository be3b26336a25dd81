"""The in-edges of other parts: all but those of one part, once each."""

import numpy as np
import pytest

from garaph_py.executor.gpu import other_in_edges
from garaph_py.executor.gpu.edges import page_bytes, raw_layout
from garaph_py.executor.gpu.other_in_edges import OtherInEdges
from garaph_py.executor.gpu.parts import Part
from tests.support import twins


@pytest.mark.parametrize("bounds", [(0, 0), (0, 1280), (1280, 6400), (6400, 9000), (0, 9000), (9000, 9000)])
def test_pages_have_all_other_edges(graph_of, monkeypatch, bounds):
    monkeypatch.setattr(other_in_edges, "PAGE_EDGES", 3000)
    edges = graph_of(twins.skewed(3, 9000, 60000, "int32"))._arrays.in_edges
    others = OtherInEdges(Part(*bounds), edges)
    found = [np.arange(page.first_edge, page.last_edge) for page in others.pages]
    own = edges.offsets[list(bounds)]
    expected = np.delete(np.arange(edges.offsets[-1]), slice(*own))
    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *found]), expected)
    assert others.nbytes == max((page_bytes(page, raw_layout(4)) for page in others.pages), default=0)
