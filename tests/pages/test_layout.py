"""Pages cover every vertex once and keep to their bound."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import ParameterError
from garaph_py.pages import layout as layout_module
from garaph_py.pages.layout import Page, commit_plan, cut, layout, within


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


def test_a_page_has_at_most_64_million_edges_by_default() -> None:
    offsets = np.cumsum([0, 1 << 25, 1 << 25, 1, 1 << 26])
    assert [page.edges for page in layout(offsets)] == [1 << 26, 1, 1 << 26]


@pytest.mark.parametrize(("limit", "bounds"), [(1000, [0, 96, 192, 288, 300]), (320, [*range(0, 300, 32), 300]),
                                               (9, [*range(0, 300, 32), 300]), (3000, [0, 300])])  # fmt: skip
def test_pages_begin_at_multiples(limit: int, bounds: list[int]) -> None:
    """Each vertex has ten edges."""
    pages = layout(np.arange(301) * 10, limit, 32)
    assert [page.first_vertex for page in pages] + [pages[-1].last_vertex] == bounds


def test_the_last_page_may_be_one_of_many_edges() -> None:
    """Its vertices are as many as a page begins at multiples of."""
    pages = layout(np.arange(321) * 10, 9, 32)
    assert [page.first_vertex for page in pages] + [pages[-1].last_vertex] == list(range(0, 321, 32))


def test_the_words_of_a_page() -> None:
    bounds = [(0, 64), (64, 129), (128, 192), (60, 70), (0, 1)]
    words = [Page(0, first, last, 0, 0).words for first, last in bounds]
    assert words == [slice(0, 1), slice(1, 3), slice(2, 3), slice(0, 2), slice(0, 1)]


@pytest.mark.parametrize(("bounds", "edges", "multiple", "vertex"), [
    ((0, 100), 250, 1, 75), ((0, 100), 251, 1, 75), ((0, 100), 249, 1, 76), ((40, 100), 250, 1, 75),
    ((0, 100), 250, 32, 96), ((0, 100), 400, 32, 64), ((32, 100), 400, 32, 64), ((0, 64), 1, 32, 32),
    ((0, 65), 1, 32, 64), ((0, 100), 0, 1, 99), ((0, 100), 2000, 1, None), ((32, 64), 160, 32, None),
    ((7, 8), 5, 1, None), ((7, 9), 5, 1, 8), ((40, 60), 50, 32, None),
])  # fmt: skip
def test_where_a_page_is_cut(bounds: tuple[int, int], edges: int, multiple: int, vertex: int | None) -> None:
    """Each vertex has ten edges; the last part gets about so many edges, but at least a vertex, or a word of them."""
    first, last = bounds
    rest, taken = cut(np.arange(101) * 10, Page(3, first, last, 10 * first, 10 * last), edges, multiple)
    begin = first if vertex is None else vertex
    assert taken == Page(3, begin, last, 10 * begin, 10 * last)
    assert rest == (None if vertex is None else Page(3, first, vertex, 10 * first, 10 * vertex))


def test_by_default_a_page_is_cut_at_any_vertex() -> None:
    assert cut(np.arange(101) * 10, Page(0, 0, 100, 0, 1000), 250)[1].first_vertex == 75


def test_the_skipped_pages_are_copied_if_they_have_as_many_vertices() -> None:
    few, many = [Page(0, 0, 3, 0, 0)], [Page(1, 3, 6, 0, 0), Page(2, 6, 7, 0, 0)]
    assert commit_plan(processed=many[:1], skipped=few) == (few, True)
    assert commit_plan(processed=few, skipped=many) == (few, False)
    assert commit_plan(processed=many, skipped=few) == (few, True)


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


def test_pages_within_a_range_have_its_vertices_alone():
    offsets = np.array([0, 0, 0, 4, 9, 9])  # only the vertices 2 and 3 have in-edges
    pages = layout(offsets, 4)
    assert within(pages, 0, 5) is pages
    cut = within(pages, 2, 4)
    assert [(page.first_vertex, page.last_vertex, page.first_edge, page.last_edge) for page in cut] == [
        (2, 3, 0, 4),
        (3, 4, 4, 9),
    ]
    assert within(pages, 2, 2) == []
    assert within(pages, 0, 9) is pages
    later = layout(np.arange(9), 3, first=3)
    assert within(later, 0, 9) is later
    assert [page.first_vertex for page in within(later, 4, 9)] == [4, 6]
    assert [page.last_vertex for page in within(layout(np.arange(5), 2), 0, 3)] == [2, 3]


def test_a_part_has_four_pages_of_a_million_edges_or_fewer_pages() -> None:
    """Each vertex has 2^18 edges, and a piece of work ends at each vertex."""
    for vertices, bounds in ((4, [0, 4]), (7, [0, 7]), (8, [0, 4, 8]), (15, [0, 5, 10, 15]), (33, [0, 9, 17, 25, 33])):
        offsets = np.arange(vertices + 1, dtype=np.int64) << 18
        pages = layout_module.part_layout(offsets, np.stack([offsets, np.arange(vertices + 1)], axis=1))
        assert [page.first_vertex for page in pages] + [pages[-1].last_vertex] == bounds
        assert [page.last_edge for page in pages] == [bound << 18 for bound in bounds[1:]]


def test_pages_of_a_part_end_where_a_piece_and_a_list_end(monkeypatch):
    monkeypatch.setattr(layout_module, "LEAST_PART_PAGE", 10)
    offsets = np.array([0, 0, 5, 30, 30, 41, 60])
    pieces = np.array([[0, 0], [5, 2], [20, 3], [30, 4], [41, 5], [60, 6]])
    pages = layout_module.part_layout(offsets, pieces)
    assert [(page.first_vertex, page.last_vertex, page.first_edge, page.last_edge) for page in pages] == [
        (0, 4, 0, 30), (4, 6, 30, 60)
    ]  # fmt: skip
    assert layout_module.part_layout(offsets, pieces[[0, -1]])[0] == layout_module.Page(0, 0, 6, 0, 60)
    empty = layout_module.part_layout(np.zeros(1, np.int64), np.zeros((1, 2), np.int64))
    assert [page.vertices for page in empty] == []
