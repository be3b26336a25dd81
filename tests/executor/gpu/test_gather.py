"""The specification of the segmented gather: what `kernels/gather_segmented.cu` leaves, and `apply.cu` makes of it.

Edges are numbered by destination, so those of a vertex v are [o(v), o(v + 1)) with o the CSC offsets; x(e) is what e
contributes, (+) the program's sum and 1 its identity. Run k is the edges [1024 k, 1024 (k + 1)). A page is a run of
vertices, and so of edges [a, b), which need not begin or end where runs do. Over each part of a run in a page,

    part = [1024 k, 1024 (k + 1)) and [a, b),

a destination v with edges there has the partial sum S(k, v) = (+) x(e) over the edges of v in the part. It is left

    in sums[rank(v)]   if v begins in this part: o(v) in part,
    in heads[k]        if v began before: o(v) < the first edge of the part. At most one vertex did.

Nothing else is written. As a page begins with a vertex, heads[k] is written by one page at most, though two may share
run k: who began before a page's part of it, began in an earlier run. So the sum of a vertex with edges is

    acc(v) = sums[rank(v)] (+) heads[o(v) // 1024 + 1] (+) ... (+) heads[(o(v + 1) - 1) // 1024],

and 1 for one without, which reads nothing. Either way the parts of a sum stand in ascending order of edges, so that (+)
need not even be commutative: the twin sums tuples, which show their order.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.executor.gpu.ranks import RUN, Ranks
from garaph_py.executor.gpu.residency import VERTICES
from garaph_py.pages.layout import layout

LANES, EACH = 32, 4
STEP = LANES * EACH


class Written:
    """An array on the device: an element may be read only after it was written, and written only once."""

    def __init__(self):
        self.cells = {}

    def __setitem__(self, key, value):
        assert key not in self.cells
        self.cells[key] = value

    def __getitem__(self, key):
        return self.cells[key]


def rank_of_run(offsets, run):
    """The number of destinations that begin before a run."""
    return int(np.count_nonzero(offsets[:-1][np.diff(offsets) > 0] < run * RUN))


def gather(offsets, page, contributions, combine, sums, heads):
    """The specification, run by run: edge by edge from left to right."""
    rank = Ranks.of(offsets).before(np.arange(len(offsets)))
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    for run in range(page.first_edge // RUN, -(-page.last_edge // RUN)):
        begin, end = max(run * RUN, page.first_edge), min((run + 1) * RUN, page.last_edge)
        partial = {}
        for e in range(begin, end):
            v = owner[e]
            partial[v] = combine(partial[v], contributions[e]) if v in partial else contributions[e]
        for v, total in partial.items():
            if offsets[v] >= begin:
                sums[rank[v]] = total
            else:
                heads[run] = total


def gather_as_warps(offsets, page, contributions, combine, identity, sums, heads):
    """The same as the kernel does it: bits instead of destinations, 128 edges at a time, four a lane."""
    ranks = Ranks.of(offsets)
    starts = np.zeros(len(contributions) + 2 * RUN, bool)
    starts[offsets[:-1][np.diff(offsets) > 0]] = True
    first_rank = int(ranks.before(page.first_vertex))
    for run in range(page.first_edge // RUN, -(-page.last_edge // RUN)):
        origin = run * RUN
        begin, end = max(origin, page.first_edge), min(origin + RUN, page.last_edge)
        base_rank = first_rank if origin < page.first_edge else rank_of_run(offsets, run)
        carry, seen = identity, 0

        def close(e, before, total, run=run, begin=begin, base_rank=base_rank):
            if before:
                sums[base_rank + before - 1] = total
            elif e > begin:
                heads[run] = total

        for base in range(origin, origin + RUN, STEP):
            if base + STEP <= begin or base >= end:
                continue
            lanes = []
            for lane in range(LANES):
                edges = range(base + EACH * lane, base + EACH * (lane + 1))
                x = [contributions[e] if begin <= e < end else identity for e in edges]
                mine = [bool(starts[e]) and begin <= e < end for e in edges]
                lanes.append((edges, x, mine, seen + sum(sum(other[2]) for other in lanes)))
            entering = carry  # the sum of the open destination before a lane's first edge
            for edges, x, mine, before in lanes:
                opened, closed = entering, before
                for e, value, starting in zip(edges, x, mine, strict=True):
                    if starting:
                        close(e, closed, opened)
                        closed, opened = closed + 1, value
                    else:
                        opened = combine(opened, value)
                entering = opened
            carry, seen = entering, seen + sum(sum(lane[2]) for lane in lanes)
        close(end, seen, carry)


def acc_of(offsets, v, sums, heads, combine, identity):
    """What `apply_vertices` makes of it."""
    begin, end = int(offsets[v]), int(offsets[v + 1])
    if begin == end:
        return identity
    acc = sums[Ranks.of(offsets).before(v)]
    for run in range(begin // RUN + 1, (end - 1) // RUN + 1):
        acc = combine(acc, heads[run])
    return acc


def assert_sums(degrees, page_edges, multiple, as_warps):
    offsets = np.cumsum([0, *degrees], dtype=np.int64)
    contributions = [(e,) for e in range(int(offsets[-1]))]  # a sum that shows order and number of its parts

    def joined(left, right):
        return left + right

    sums, heads, pages = Written(), Written(), layout(offsets, page_edges, multiple)
    for page in pages:
        if as_warps:
            gather_as_warps(offsets, page, contributions, joined, (), sums, heads)
        else:
            gather(offsets, page, contributions, joined, sums, heads)
    for v in range(len(degrees)):
        assert acc_of(offsets, v, sums, heads, joined, ()) == tuple(range(offsets[v], offsets[v + 1]))
    assert len(sums.cells) == np.count_nonzero(degrees)
    return pages, heads


WAYS = pytest.mark.parametrize("as_warps", [False, True])
DEGREES = st.lists(
    st.one_of(
        st.just(0), st.integers(0, 9), st.sampled_from([1, 3, 4, 127, 128, 1023, 1024, 1025]), st.integers(0, 4000)
    ),
    max_size=12,
)


@WAYS
@given(DEGREES, st.integers(1, 5000))
def test_sums_of_any_graph_in_any_pages(as_warps, degrees, page_edges):
    assert_sums(degrees, page_edges, 1, as_warps)


@pytest.mark.full
@WAYS
@given(st.lists(st.integers(0, 40), min_size=60, max_size=300), st.integers(1, 3000))
def test_sums_of_pages_of_whole_words(as_warps, degrees, page_edges):
    assert_sums(degrees, page_edges, VERTICES, as_warps)


@WAYS
def test_a_page_that_begins_within_a_run(as_warps):
    """The last run of the first page is the first run of the second; only the first page writes its head."""
    pages, heads = assert_sums([1000, 500, 10, 2000], 1500, 1, as_warps)
    assert [page.first_edge for page in pages] == [0, 1500, 1510]
    assert sorted(heads.cells) == [1, 2, 3]
    assert heads[1] == tuple(range(1024, 1500))


@WAYS
def test_a_hub_spans_runs(as_warps):
    """Its first part is in `sums`, each whole run in `heads`, and the rest in the head of the run in which it ends."""
    _, heads = assert_sums([7, 0, 50 * RUN, 0, 3], 1 << 20, 1, as_warps)
    assert sorted(heads.cells) == list(range(1, 51))
    assert {len(heads[run]) for run in range(1, 50)} == {RUN}
    assert len(heads[50]) == 7


@WAYS
@pytest.mark.parametrize("degrees", [[], [0], [0] * 70, [RUN], [RUN, RUN], [RUN - 1, 1, RUN], [0, RUN + 1, 0]])
def test_edges_that_end_where_runs_do(as_warps, degrees):
    assert_sums(degrees, 1 << 20, 1, as_warps)


@given(st.lists(st.integers(0, 300), max_size=40), st.integers(0, 9))
def test_sums_of_numbers(degrees, seed):
    """In exact arithmetic the sums over in-edges are the same however pages are cut."""
    offsets, rng = np.cumsum([0, *degrees], dtype=np.int64), np.random.default_rng(seed)
    numbers = rng.integers(-100, 100, int(offsets[-1])).tolist()
    sums, heads = Written(), Written()
    for page in layout(offsets, 700):
        gather_as_warps(offsets, page, numbers, lambda left, right: left + right, 0, sums, heads)
    found = [acc_of(offsets, v, sums, heads, lambda left, right: left + right, 0) for v in range(len(degrees))]
    assert found == [sum(numbers[offsets[v] : offsets[v + 1]]) for v in range(len(degrees))]
