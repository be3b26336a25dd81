"""The GPU's memory: how much a run gets, and the message if that is too little."""

from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.gpu.memory_plan import (
    DeviceMemoryPlan,
    can_push_rows,
    refused,
    reserve,
    shortage,
    wanted_bytes,
)
from garaph_py.executor.gpu.ranks import Ranks
from garaph_py.executor.gpu.replication import fixed
from garaph_py.executor.gpu.residency import Residency
from garaph_py.executor.gpu.shards import shards
from garaph_py.executor.gpu.task import Layouts
from garaph_py.pages.layout import Page
from garaph_py.program import bind
from garaph_py.program.columns import joined
from garaph_py.storage import directory
from tests.support import twins
from tests.support.numpy_gpu import Quiet
from tests.support.stored_graphs import opened


@pytest.mark.parametrize(
    ("asked", "deterministic", "free", "wanted", "had"),
    [
        (None, False, 1000, 900, 900),
        (300, False, 1000, 300, 300),
        (950, False, 1000, 950, 900),
        (None, True, 1000, 1600, 900),  # of a device with 2000 bytes, whatever is free
        (None, True, 2000, 1600, 1600),
        (300, True, 2000, 300, 300),
    ],
)
def test_what_a_run_wants_and_gets(asked, deterministic, free, wanted, had):
    assert wanted_bytes(asked, deterministic, free, 2000) == (wanted, had)


def test_what_is_left_for_edges():
    plan = DeviceMemoryPlan(1000, {"values": 300, "sums": 200}, 100)
    assert (plan.fixed, plan.left) == (600, 400)
    with pytest.raises(DeviceMemoryError, match=r"for the vertices alone, and may use .*; allow more with gpu_memory"):
        _ = DeviceMemoryPlan(599, plan.arrays, 100).left


def test_there_is_room_for_the_items_of_shards_in_which_all_vertices_count(graph_of):
    n, copies = 200_000, 1024
    graph = graph_of(twins.Edges(n, np.zeros(n // 100, np.int64), np.arange(0, n, 100)))
    bound, ranks = bind(Quiet(0), graph), Ranks.of(graph._arrays.in_edges.offsets)
    layouts = Layouts(np.dtype([("identity", bound.accumulator)], align=True), np.dtype(np.int64))
    launcher = SimpleNamespace(layouts=layouts, share=copies * bound.accumulator.itemsize)
    cuts, _ = shards(ranks.offsets, Page(0, 0, n, 0, graph.m), copies, fixed(32, all_vertices=True))
    needed = (len(cuts) - 1) * layouts.item.itemsize
    without, few, all_count = (reserve(bound, graph, ranks, launcher, k) for k in (None, ranks.count, n))
    assert few - without < needed <= all_count - without


class Uneven(gp.apps.SSSP):
    """Reports that are no arrays of columns, so that a GPU has no kernels for its rows."""

    reports = {"one": np.int32, "length": np.float64, "two": np.int32}  # noqa: RUF012

    def result(self, value):
        return 1, float(value), 2


@pytest.mark.parametrize(
    ("program", "directed", "packed", "pushes"),
    [
        (gp.apps.SSSP, False, False, True),
        (gp.apps.SSSP, True, False, True),
        (gp.apps.SSSP, False, True, True),
        (gp.apps.SSSP, True, True, False),  # the GPU cannot order packed values by source
        (Uneven, False, False, False),
        (lambda source: gp.apps.PageRank(personalization={source: 1}), True, False, False),
    ],
)
def test_which_rows_may_be_pushed(graph_of, program, directed, packed, pushes):
    graph = graph_of(twins.skewed(3, 100, 900, "int32"), directed=directed)
    graph = graph.packed() if packed else graph
    assert can_push_rows(joined([bind(program(source), graph) for source in (0, 5)]), graph) == pushes


def test_rows_are_not_pushed_from_disk(tmp_path):
    directory.save(gp.rmat(10, 16, directed=False), tmp_path / "graph")
    graph = opened(tmp_path / "graph", 1 << 20)
    assert not can_push_rows(joined([bind(gp.apps.SSSP(source), graph) for source in graph.ids.take([0, 5])]), graph)


def test_messages_about_gpu_memory():
    assert str(refused("values", 2000, 700, 1000)).startswith("values needs 2,000 bytes of GPU memory, but only 300 of")
    pages = [Page(0, 0, 1, 0, 9000), Page(1, 1, 2, 9000, 14000), Page(2, 2, 3, 14000, 15000)]
    assert shortage(Residency(pages, 1, 2, 0, 0)) is None
    assert "pages of 5,000 edges at most, on 2 streams" in shortage(Residency(pages, 1, 2, 0, 0, is_short=True))
