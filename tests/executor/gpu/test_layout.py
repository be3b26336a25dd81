"""What the GPU's kernels are told of a graph, beside slow twins: ranks, pages and what stays, replication, shards."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.gpu import residency
from garaph_py.executor.gpu import shards as cutting
from garaph_py.executor.gpu.edges import page_bytes, raw_layout
from garaph_py.executor.gpu.ranks import MANY_RUNS, RUN, WARP, Ranks
from garaph_py.executor.gpu.replication import DEGREE_BOUNDS, FACTORS, CostModel, custom, fixed
from garaph_py.executor.gpu.residency import VERTICES, plan
from garaph_py.executor.gpu.shards import shards, work_items
from garaph_py.executor.gpu.task import Layouts
from garaph_py.pages.layout import Page, layout

ITEM = Layouts(np.dtype([("identity", np.float32)], align=True), np.dtype(np.int64)).item
DEGREES = st.lists(st.one_of(st.integers(0, 4), st.integers(0, 3000)), max_size=300)


def offsets_of(degrees):
    return np.cumsum([0, *degrees], dtype=np.int64)


@given(DEGREES)
def test_ranks_beside_a_loop(degrees):
    offsets = offsets_of(degrees)
    ranks = Ranks.of(offsets)
    with_edges = [v for v, degree in enumerate(degrees) if degree]
    assert ranks.before.tolist() == [sum(u < v for u in with_edges) for v in range(len(degrees) + 1)]
    assert ranks.destinations.tolist() == with_edges
    assert ranks.by_word.tolist() == [sum(u < w for u in with_edges) for w in range(0, len(degrees), WARP)]
    begins = [int(offsets[v]) for v in with_edges]
    runs = range(0, max(sum(degrees), 1), RUN)
    assert ranks.by_run.tolist() == [sum(edge < first for edge in begins) for first in runs]
    assert {array.dtype for array in (ranks.before, ranks.by_run, ranks.by_word, ranks.destinations)} == {
        np.dtype(np.uint32)
    }


def test_ranks_of_more_edges_than_32_bits_count():
    offsets = np.arange(65, dtype=np.int64) << 27
    ranks = Ranks.of(offsets)
    assert ranks.by_run[[0, 1, (1 << 17) - 1, 1 << 17, (1 << 23) - 1]].tolist() == [0, 1, 1, 1, 64]


def test_hubs_are_those_that_go_on_through_many_runs():
    rng = np.random.default_rng(1)
    degrees = rng.choice([0, 3, 5000, 32768, 32769, 33793, 40000, 100000], 300)
    offsets = np.append(0, np.cumsum(degrees))
    runs = (offsets[1:] - 1) // RUN - offsets[:-1] // RUN
    np.testing.assert_array_equal(Ranks.of(offsets).hubs, np.flatnonzero((degrees > 0) & (runs > MANY_RUNS)))


@pytest.fixture(scope="module", autouse=True)
def small():
    """Pages and work items of small graphs are cut as those of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residency, "PAGE_EDGES", 1 << 14)
        patch.setattr(residency, "LEAST_PAGE_EDGES", 1 << 11)
        patch.setattr(cutting, "ITEM_EDGES", 64)
        yield


ARRAYS = st.sampled_from([raw_layout(), raw_layout(4), raw_layout(8)])
STREAMS = st.integers(1, 6)
LIMITS = st.one_of(st.none(), st.integers(1, 20000))


def assert_covered(pages, offsets):
    """Each vertex and edge in one page, cut where a word of a bitmap ends."""
    bounds = [page.first_vertex for page in pages] + [len(offsets) - 1]
    assert [page.number for page in pages] == list(range(len(pages)))
    assert bounds[0] == 0
    for page, end in zip(pages, bounds[1:], strict=True):
        assert page.first_vertex < page.last_vertex == end
        assert page.first_vertex % VERTICES == 0
        assert (page.first_edge, page.last_edge) == (offsets[page.first_vertex], offsets[page.last_vertex])


def resident_bytes(found, arrays):
    return sum(page_bytes(page, arrays) for page in found.pages[: found.resident])


@given(DEGREES, ARRAYS, st.integers(0, 10000), st.floats(0, 1.2), STREAMS, LIMITS)
def test_a_plan_keeps_within_its_budget(degrees, arrays, others, share, streams, page_edges):
    offsets = offsets_of(degrees)
    budget = others + int(share * sum(degrees) * arrays.width)
    try:
        found = plan(offsets, arrays, others, budget, streams, page_edges)
    except DeviceMemoryError:
        largest = max(page.edges for page in layout(offsets, 1 << 11, VERTICES))
        assert budget < others + (max(largest, 1 << 11) + 2 * RUN) * arrays.width
        return
    sizes = [page_bytes(page, arrays) for page in found.pages]
    assert_covered(found.pages, offsets)
    assert found.used <= budget
    assert 1 <= found.streams <= streams
    assert found.used == others + sum(sizes[: found.resident]) + found.streams * found.buffer_bytes
    if found.resident < len(sizes):
        assert found.buffer_bytes == max(sizes)
        assert found.used + sizes[found.resident] > budget  # what could have stayed, stays
        limit = page_edges or 1 << 14
        assert all(page.edges <= limit or page.last_vertex - page.first_vertex <= VERTICES for page in found.pages)
    else:
        assert found.buffer_bytes == 0


@given(DEGREES, ARRAYS, st.integers(0, 10000), STREAMS, LIMITS)
def test_what_fits_stays(degrees, arrays, others, streams, page_edges):
    offsets = offsets_of(degrees)
    roomy = plan(offsets, arrays, others, 1 << 40, streams, page_edges)
    assert roomy.resident == len(roomy.pages)
    assert (roomy.streams, roomy.buffer_bytes) == (streams, 0)


@given(DEGREES, ARRAYS, st.integers(1, 1 << 11))
def test_more_memory_never_keeps_less_of_the_same_pages(degrees, arrays, page_edges):
    offsets, kept = offsets_of(degrees), []
    full = plan(offsets, arrays, 0, 1 << 40, 1, page_edges)
    for budget in np.linspace(max(map(page_bytes, full.pages, itertools.repeat(arrays)), default=0), full.used, 20):
        found = plan(offsets, arrays, 0, int(budget) + 1, 1, page_edges)
        kept.append(resident_bytes(found, arrays))
    assert kept == sorted(kept)
    assert kept[-1] == full.used


def test_memory_is_saved_by_smaller_pages_then_by_fewer_streams():
    offsets = np.arange(10001, dtype=np.int64) * 100
    least = 4 * 7 * RUN  # 64 vertices have 6400 edges, which touch seven runs
    found = [
        plan(offsets, raw_layout(), 0, budget, 4) for budget in (1_000_000, 4 * least, 3 * least, 2 * least, least)
    ]
    assert [one.streams for one in found] == [4, 4, 3, 2, 1]
    assert [one.is_short for one in found] == [False, True, True, True, True]
    assert found[0].buffer_bytes > least
    assert [one.buffer_bytes for one in found[1:]] == [least] * 4


def test_no_page_fits():
    """The message has everything one needs to choose a budget."""
    offsets = np.arange(1001, dtype=np.int64) << 20
    with pytest.raises(
        DeviceMemoryError, match=r"3\.0 MiB .* vertices and 256\.0 MiB .* page.* 200\.0 MiB; .*gpu_memory"
    ):
        plan(offsets, raw_layout(), 3 << 20, 200 << 20, 4)
    with pytest.raises(DeviceMemoryError, match="CPU"):
        plan(np.zeros(100, np.int64), raw_layout(), 1000, 999, 1)


def test_pages_of_more_edges_than_32_bits_count():
    offsets = np.arange(4097, dtype=np.int64) << 22
    found = plan(offsets, raw_layout(8), 1 << 20, 16 << 30, 4)
    assert_covered(found.pages, offsets)
    assert found.pages[-1].last_edge == 1 << 34
    assert 0 < resident_bytes(found, raw_layout(8)) < found.used <= 16 << 30
    assert all(page_bytes(page, raw_layout(8)) == page.edges * 12 for page in found.pages)


@given(st.integers(1, 10**9), st.integers(0, 10**11))
def test_equation_2(vertices, edges):
    exponent = math.ceil(math.log2(edges / vertices) - 0.5) if edges else 0
    assert custom().of(edges / vertices) == 2 ** min(max(exponent, 0), 5)


@given(st.floats(0, 1e9), st.sampled_from(FACTORS))
def test_a_fixed_factor(degree, factor):
    assert fixed(factor).of(degree) == factor


@given(st.floats(1, 1e6), st.floats(0, 32), st.sampled_from(FACTORS), st.floats(0.1, 10), st.floats(0.1, 10))
def test_equation_1_is_a_cost_model(v, degree, r, t_l, t_a):
    """As long as not more edges of a destination meet than a warp has threads."""
    e = v * degree
    expected = r * v * t_l + e * t_l + e**2 / (v * r) * t_a + v * t_a * np.log2(r)
    found = CostModel.terms(v, e, degree, r) @ np.array([0, t_l, t_l, t_a, t_a, 0])
    assert found == pytest.approx(expected, rel=1e-9)


COEFFICIENTS = st.lists(st.floats(0.1, 10), min_size=6, max_size=6)


def cycles(k, v, e, d, r):
    """The model of a work item: equation 1 with a coefficient a term."""
    return k[0] + k[1] * r * v + k[2] * e + k[3] * e * min(d, 32) / r + k[4] * v * math.log2(r) + k[5] * v


@given(COEFFICIENTS, st.integers(32, 20000), st.sampled_from([64, 1 << 15]))
def test_calibrated_replication_is_the_cheapest_by_the_model(k, copies, item_edges):
    rule = CostModel(np.array(k)).replication(copies, item_edges)
    for degree in [1.0, *np.sqrt(DEGREE_BOUNDS[1:] * DEGREE_BOUNDS[:-1])]:
        cost = {}
        for factor in FACTORS:
            v = max(copies // factor, 1)
            e = v * degree
            pieces = max(math.ceil(e / item_edges), 1)
            cost[factor] = cycles(k, v, e / pieces, degree, factor) * pieces / e
        assert cost[rule.of(degree)] == pytest.approx(min(cost.values()), rel=1e-9)


@given(COEFFICIENTS, st.integers(0, 99))
def test_the_model_is_found_from_what_items_took(k, seed):
    rng = np.random.default_rng(seed)
    v, d = rng.integers(1, 5000, 200).astype(float), 2 ** rng.uniform(0, 12, 200)
    r = rng.choice(FACTORS, 200).astype(float)
    e = v * d
    took = np.array([cycles(k, *item) for item in zip(v, e, d, r, strict=True)])
    model = CostModel.fit(v, e, d, r, took)
    assert (model.coefficients >= 0).all()
    np.testing.assert_allclose(CostModel.terms(v, e, d, r) @ model.coefficients, took, rtol=1e-6)
    assert (CostModel.fit(v, e, d, r, rng.uniform(1, 1e6, 200)).coefficients >= 0).all()


RULES = st.sampled_from([custom(), fixed(1), fixed(8), fixed(32)])


def slow_shards(offsets, page, copies, rule):
    """First vertex, end and factor of each shard, by trying every end."""
    found, start = [], page.first_vertex

    def fitting(end):
        destinations = sum(offsets[u] < offsets[u + 1] for u in range(start, end))
        factor = rule.of((offsets[end] - offsets[start]) / max(destinations, 1))
        return factor if destinations * factor <= copies else None

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


def test_a_shard_has_no_more_vertices_than_16_bits_count():
    offsets = np.zeros(200_001, np.int64)
    firsts, factors = shards(offsets, Page(0, 0, 200_000, 0, 0), 1000, custom())
    assert firsts.tolist() == [0, 65536, 131072, 196608, 200_000]
    assert factors.tolist() == [1] * 4


def assert_items(ranks, firsts, factors, most):
    items, split = work_items(ranks, firsts, factors, ITEM)
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
        assert (pieces["first_rank"] == ranks.before[first]).all()
        assert (pieces["ranks"] == ranks.before[last] - ranks.before[first]).all()
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


def test_work_items_of_more_edges_than_32_bits_count(monkeypatch):
    monkeypatch.setattr(cutting, "ITEM_EDGES", 1 << 26)
    ranks = Ranks.of(np.arange(65, dtype=np.int64) << 27)
    assert_items(ranks, *shards(ranks.offsets, Page(0, 0, 64, 0, 1 << 33), 100, custom()), 1 << 26)


def test_kernels_have_the_same_run():
    """The length of a run is written in Python and in CUDA."""
    from garaph_py.executor.gpu import compiler

    assert re.search(r"constexpr int RUN = (\d+);", (compiler.folder() / "words.cuh").read_text())[1] == str(RUN)
