"""16-bit offsets of destinations: they are right, come with each page, and give the answers that bits give."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.dispatch.policy import GaraphPolicy
from garaph_py.errors import ParameterError
from garaph_py.executor.gpu import shards as cutting
from garaph_py.executor.gpu.edges import ArraysOnDevice, RawOnDevice, host_arrays, page_bytes
from garaph_py.executor.gpu.offset_pages import OffsetPages, write_offsets
from garaph_py.executor.gpu.ranks import Ranks
from garaph_py.executor.gpu.replication import custom, fixed
from garaph_py.executor.gpu.shards import shards
from garaph_py.executor.gpu.transfer import byte_count, copies
from garaph_py.pages.layout import layout
from tests.support import twins
from tests.support.degrees import DEGREES, offsets_of
from tests.support.numpy_gpu import GRAPH, Hops, Lengths, Quiet, held_after, memory_for

from ...support.runs import run_with

WEIGHTED = twins.skewed(3, 9000, 60000, "int32")


def slow_offsets(offsets, firsts):
    """For each edge of each vertex: how many vertices with in-edges are before it in its shard."""
    found = []
    for first, last in pairwise(firsts):
        before = 0
        for v in range(first, last):
            degree = int(offsets[v + 1] - offsets[v])
            found += [before] * degree
            before += degree > 0
    return found


RULES = st.sampled_from([custom(), fixed(1), fixed(8), custom(True)])


@given(DEGREES, RULES, st.integers(32, 400), st.integers(1, 5000))
def test_an_offset_counts_destinations_from_the_shards_first(degrees, rule, copies, page_edges):
    offsets = offsets_of(degrees)
    into, wanted = np.full(sum(degrees), 0xFFFF, np.uint16), []
    for page in layout(offsets, page_edges, 64):
        firsts, _ = shards(offsets, page, copies, rule)
        write_offsets(offsets, firsts, into)
        wanted += slow_offsets(offsets, firsts)
    np.testing.assert_array_equal(into, wanted)


def test_an_offset_has_16_bits_also_in_the_largest_shard():
    offsets = np.arange(200_001, dtype=np.int64)
    page = layout(offsets)[0]
    firsts, _ = shards(offsets, page, 1 << 30, fixed(1))
    into = np.zeros(200_000, np.uint16)
    write_offsets(offsets, firsts, into)
    np.testing.assert_array_equal(into, np.arange(200_000) % cutting.MAX_SHARD_VERTICES)


@pytest.mark.parametrize(("reads", "width"), [(False, 6), (True, 10)])
def test_an_edge_of_a_page_has_six_bytes_and_those_of_its_value(graph_of, reads, width):
    graph = graph_of(WEIGHTED)
    arrays = ArraysOnDevice(RawOnDevice(4), RawOnDevice(4) if reads else None, RawOnDevice(2))
    assert arrays.width == width
    in_edges = graph._arrays.in_edges  # which have values, whether the program reads them or not
    pages = layout(in_edges.offsets, 3000, 64)
    offsets = np.arange(graph.m, dtype=np.uint16)
    source = OffsetPages(in_edges, pages, offsets, reads)
    for page in pages[:3]:
        edges, addresses = source.edges(page), [1000 * (k + 1) for k in range(2 + reads)]
        made = copies(host_arrays(edges), addresses)
        assert byte_count(made) == width * page.edges <= page_bytes(page, arrays)
        np.testing.assert_array_equal(made[-1][0].view(np.uint16), offsets[page.first_edge : page.last_edge])
        args = {}
        arrays.write_args(args, page, addresses)
        assert args.pop("shard_offsets") == addresses[-1]
        assert list(args.values()) == addresses[:-1]


@pytest.mark.spread
@pytest.mark.usefixtures("cut_small_graphs", "gpu_keeps_up")
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [None, 0.4])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("offsets", [True, False])
@pytest.mark.parametrize("program", [Quiet, Hops, Lengths])
def test_runs_with_offsets_give_the_same(device_for, graph_of, device, program, offsets, keep, share, sync):
    given = WEIGHTED if program is Lengths else GRAPH
    graph, search = graph_of(given), program(int(given.out_degrees.argmax()))
    width = 8 if program is Lengths else 4
    driver = device_for(search, graph)
    expected = run_with(search, graph, device="cpu", sync=True)
    memory = None if share is None else memory_for(search, graph, share) + 40_000
    engine = GaraphPolicy(offsets=offsets, keep=keep)
    for _ in range(2):  # a second run finds sources, but no offsets
        result = run_with(
            search, graph, device=device, engine=engine, sync=sync, gpu_memory=memory, page_edges=3000, mode="pull"
        )
        assert result.stats.note is None or "memory is short" in result.stats.note
        np.testing.assert_array_equal(result.values, expected.values)
        rows = result.stats.iterations
        if device == "gpu" and not keep:
            assert {row.to_device for row in rows} == {(width + 2 * offsets) * graph.m}
        assert "gather_replicated" in dict(driver.launched)
    assert held_after(driver, graph) == 0


@pytest.mark.parametrize(("how", "said"), [
    ({"encoding": "packed"}, "packed edges have none"), ({"gather": "segmented"}, "not for 'segmented'"),
    ({"deterministic": True}, "not deterministic"), ({"replication": "calibrated"}, "other shards"),
])  # fmt: skip
def test_runs_that_could_not_use_them_are_refused(graph_of, how, said):
    graph = graph_of(GRAPH)
    with pytest.raises(ParameterError, match=f"engine='garaph:offsets=True' asks for offsets: .*{said}"):
        run_with(gp.apps.PageRank(), graph, device="gpu", engine="garaph:offsets=True", **how)
    run_with(gp.apps.PageRank(), graph, device="cpu", engine="garaph:offsets=yes", iterations=1, **how)


def test_ranks_count_destinations():
    """`write_offsets` counts as the shard's accumulators are numbered."""
    offsets = offsets_of([0, 3, 0, 2, 5, 0, 0, 1])
    ranks, into = Ranks.of(offsets), np.zeros(11, np.uint16)
    write_offsets(offsets, np.array([0, 4, 8]), into)
    owners = np.repeat(np.arange(8), np.diff(offsets))
    np.testing.assert_array_equal(into, ranks.before(owners) - ranks.before(np.where(owners < 4, 0, 4)))
