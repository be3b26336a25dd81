"""Pages cover every vertex once and keep to their bound."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import ParameterError
from garaph_py.pages.layout import commit_plan, cut, layout


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 30))
def test_pages_partition_the_vertices(degrees: list[int], limit: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)]).astype(np.int64)
    pages = layout(offsets, limit)
    assert [page.number for page in pages] == list(range(len(pages)))
    assert [v for page in pages for v in range(page.first_vertex, page.last_vertex)] == list(range(len(degrees)))
    for page in pages:
        assert (page.first_edge, page.last_edge) == (offsets[page.first_vertex], offsets[page.last_vertex])
        assert page.edges <= limit or page.last_vertex == page.first_vertex + 1
    for left, right in pairwise(pages):  # no page could have taken one more vertex
        assert left.edges + degrees[right.first_vertex] > limit


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "8"])
def test_a_useless_bound_is_refused(limit: object) -> None:
    with pytest.raises(ParameterError, match="page_edges"):
        layout(np.zeros(2, np.int64), limit)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.integers(0, 400), st.integers(1, 70), st.data())
def test_a_cut_page_is_two(degrees, edges, multiple, data):
    offsets = np.cumsum([0, *degrees])
    page = data.draw(st.sampled_from(layout(offsets, 500, multiple)))
    rest, taken = cut(offsets, page, edges, multiple)
    assert taken.last_vertex == page.last_vertex
    assert taken.first_vertex % multiple == 0 or taken == page
    assert taken.first_edge == offsets[taken.first_vertex]
    if rest is None:
        assert taken == page
    else:
        assert (rest.first_vertex, rest.last_vertex, rest.last_edge) == (
            page.first_vertex, taken.first_vertex, taken.first_edge
        )  # fmt: skip
        assert rest.first_vertex < rest.last_vertex
        last = taken.last_vertex - 1
        assert taken.edges <= edges or taken.first_vertex == last // multiple * multiple


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=12))
def test_both_arrays_are_right_with_the_fewest_copies(pages: list[tuple[int, bool]]) -> None:
    offsets = np.arange(sum(size for size, _ in pages) + 1)
    bounds = np.cumsum([0] + [size for size, _ in pages])
    made = [layout(offsets[: last + 1], len(offsets))[0] for last in bounds[1:]]
    cuts = [replace(page, first_vertex=int(first)) for page, first in zip(made, bounds, strict=False)]
    processed = [page for page, (_, chosen) in zip(cuts, pages, strict=True) if chosen]
    skipped = [page for page in cuts if page not in processed]
    values, pending = np.zeros(len(offsets) - 1), np.zeros(len(offsets) - 1)
    for page in processed:
        pending[page.first_vertex : page.last_vertex] = 1
    for page in skipped:
        pending[page.first_vertex : page.last_vertex] = 2  # of some iteration before
    expected = np.where(pending == 1, 1, 0)
    copied, swaps = commit_plan(processed, skipped)
    to, source = (pending, values) if swaps else (values, pending)
    for page in copied:
        to[page.first_vertex : page.last_vertex] = source[page.first_vertex : page.last_vertex]
    np.testing.assert_array_equal(to, expected)
    assert sum(page.vertices for page in copied) <= (len(offsets) - 1) / 2
