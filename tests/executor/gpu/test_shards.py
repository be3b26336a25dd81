"""Shards and work items, beside slow twins: they cover every edge once, and their copies fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.executor.gpu import shards as module
from garaph_py.executor.gpu.ranks import Ranks
from garaph_py.executor.gpu.replication import custom, fixed
from garaph_py.executor.gpu.shards import ITEM_EDGES, divided, kept_division, shards, work_items
from garaph_py.executor.gpu.task import Layouts
from garaph_py.pages.layout import Page
from tests.support.degrees import DEGREES, offsets_of

ITEM = Layouts(np.dtype([("identity", np.float32)], align=True), np.dtype(np.int64)).item


RULES = st.sampled_from([custom(), fixed(1), fixed(8), fixed(32), custom(True), fixed(1, True), fixed(8, True)])


def slow_shards(offsets, page, copies, rule):
    """First vertex, end and factor of each shard, by trying every end."""
    found, start = [], page.first_vertex

    def fitting(end):
        counted = sum(rule.all_vertices or offsets[u] < offsets[u + 1] for u in range(start, end))
        factor = rule.of((offsets[end] - offsets[start]) / max(counted, 1))
        return factor if counted * factor <= copies else None

    while start < page.last_vertex:
        end = start + 1
        while end < page.last_vertex and fitting(end + 1) is not None:
            end += 1
        found.append((start, end, fitting(end)))
        start = end
    return found


@given(DEGREES, RULES, st.integers(32, 400), st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_shards_are_extended_while_their_copies_fit(degrees, rule, copies, part):
    offsets, (first, last) = offsets_of(degrees), sorted(int(len(degrees) * x) for x in part)
    page = Page(0, first, last, int(offsets[first]), int(offsets[last]))
    firsts, factors = shards(offsets, page, copies, rule)
    assert list(zip(firsts[:-1], firsts[1:], factors, strict=True)) == slow_shards(offsets, page, copies, rule)
    assert firsts[-1] == last


@pytest.mark.parametrize(("degrees", "bounds"), [
    ([1] * 40, [0, 8, 16, 24, 32, 40]), ([0, 1] * 20, [0, 17, 33, 40]), ([1, 0] * 20, [0, 16, 32, 40]),
])  # fmt: skip
def test_each_vertex_with_in_edges_takes_room(degrees, bounds):
    """Shared memory holds eight sums."""
    firsts, _ = shards(offsets_of(degrees), Page(0, 0, 40, 0, sum(degrees)), 8, fixed(1))
    assert firsts.tolist() == bounds


def test_a_shard_has_no_more_vertices_than_16_bits_count():
    offsets = np.zeros(200_001, np.int64)
    firsts, factors = shards(offsets, Page(0, 0, 200_000, 0, 0), 1000, custom())
    assert firsts.tolist() == [0, 65536, 131072, 196608, 200_000]
    assert factors.tolist() == [1] * 4


VERTICES = 20_000
"""Of the shard below, half of which have no in-edges."""
POINTS = [(k + half, counts_all) for k in range(6) for half in (-0.5, 0.5) for counts_all in (True, False)]
POINTS.remove((-0.5, False))  # a vertex that counts has an edge or more


@pytest.mark.parametrize(("exponent", "all_vertices"), POINTS)
def test_a_shards_factor_changes_at_half_powers_of_its_mean_degree(exponent, all_vertices):
    """The mean is over the vertices that count, and a little less or more than 2^(k - 1/2) or 2^(k + 1/2)."""
    middle = 2**exponent * (VERTICES if all_vertices else VERTICES // 2)
    for share, power in (0.999, exponent - 0.5), (1.001, exponent + 0.5):
        degrees = np.zeros(VERTICES, np.int64)
        degrees[::2] = np.diff(np.linspace(0, share * middle, VERTICES // 2 + 1).astype(np.int64))
        assert degrees[::2].all()
        offsets = offsets_of(degrees)
        page = Page(0, 0, VERTICES, 0, int(offsets[-1]))
        firsts, factors = shards(offsets, page, 1 << 30, custom(all_vertices))
        assert firsts.tolist() == [0, VERTICES]
        assert factors.tolist() == [2 ** min(max(power, 0), 5)]


def test_vertices_without_in_edges_take_room_if_all_count():
    """In shared memory for eight sums, a shard has eight vertices, or the seven with in-edges and all others."""
    degrees = [1, 0] * 7
    page, offsets = Page(0, 0, 14, 0, 7), offsets_of(degrees)
    assert shards(offsets, page, 8, fixed(1, all_vertices=True))[0].tolist() == [0, 8, 14]
    assert shards(offsets, page, 8, fixed(1))[0].tolist() == [0, 14]


def assert_items(ranks, firsts, factors, most):
    items, split = work_items(ranks, firsts, factors, ITEM, most)
    at, tickets = 0, 0
    for first, last, factor in zip(firsts[:-1], firsts[1:], factors, strict=True):
        pieces = items[at : at + items["pieces"][at]]
        at += len(pieces)
        assert len(pieces) == max(-(-(ranks.offsets[last] - ranks.offsets[first]) // most), 1)
        cuts = [*pieces["first_edge"], ranks.offsets[last]]
        assert cuts[0] == ranks.offsets[first]
        assert (pieces["last_edge"] == cuts[1:]).all()
        assert (np.diff(cuts) <= most).all()
        for name, value in (("first_vertex", first), ("last_vertex", last), ("replication", factor)):
            assert (pieces[name] == value).all()
        assert (pieces["pieces"] == len(pieces)).all()
        assert (pieces["first_rank"] == ranks.before(first)).all()
        assert (pieces["ranks"] == ranks.before(last) - ranks.before(first)).all()
        if len(pieces) > 1:
            assert (pieces["ticket"] == tickets).all()
            tickets += 1
    assert at == len(items)
    assert split == tickets


@given(DEGREES, RULES, st.integers(32, 400))
def test_work_items_cover_every_edge_once(degrees, rule, copies):
    ranks = Ranks.of(offsets_of(degrees))
    whole = Page(0, 0, len(degrees), 0, sum(degrees))
    assert_items(ranks, *shards(ranks.offsets, whole, copies, rule), 64)


@given(DEGREES, RULES, st.integers(32, 400))
def test_a_shard_that_is_not_divided_is_one_work_item(degrees, rule, copies):
    ranks = Ranks.of(offsets_of(degrees))
    cuts = shards(ranks.offsets, Page(0, 0, len(degrees), 0, sum(degrees)), copies, rule)
    items, split = work_items(ranks, *cuts, ITEM, max(sum(degrees), 1))
    assert (len(items), split) == (len(cuts[1]), 0)
    assert (items["pieces"] == 1).all()


def test_work_items_of_more_edges_than_32_bits_count():
    ranks = Ranks.of(np.arange(65, dtype=np.int64) << 27)
    assert_items(ranks, *shards(ranks.offsets, Page(0, 0, 64, 0, 1 << 33), 100, custom()), 1 << 26)


DEGREES_OF_TWO_PAGES = [3, 0, 50, 1, 2, 70, 0, 4]
FIRST, BOTH = Page(0, 0, 4, 0, 54), Page(0, 0, 8, 0, 130)
GIVEN = {"page": BOTH, "copies": 64, "replication": custom(), "most": ITEM_EDGES}


def same(division, other):
    return (
        division.items.tobytes() == other.items.tobytes()
        and division.split == other.split
        and all(np.array_equal(one, two) for one, two in zip(division.shapes, other.shapes, strict=True))
    )


def test_a_page_is_divided_once(monkeypatch):
    ranks = Ranks.of(offsets_of(DEGREES_OF_TWO_PAGES))
    first = kept_division(ranks, dtype=ITEM, **GIVEN)
    assert same(first, divided(ranks, dtype=ITEM, **GIVEN))
    monkeypatch.setattr(module, "shards", lambda *_: pytest.fail("divided again"))
    assert kept_division(ranks, dtype=ITEM, **GIVEN) is first


@pytest.mark.parametrize("other", [
    {"page": FIRST}, {"copies": 40}, {"replication": fixed(8)}, {"replication": custom(True)}, {"most": 20},
], ids=str)  # fmt: skip
def test_what_is_kept_of_one_division_is_not_taken_for_another(other):
    ranks = Ranks.of(offsets_of(DEGREES_OF_TWO_PAGES))
    first = kept_division(ranks, dtype=ITEM, **GIVEN)
    found, right = (function(ranks, dtype=ITEM, **(GIVEN | other)) for function in (kept_division, divided))
    assert same(found, right)
    assert not same(found, first)
