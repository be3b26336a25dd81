"""Random edges that are drawn anew for each range of vertices: the same graph as in memory, without temporary files."""

import math
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py import events
from garaph_py.graph.build import build as in_memory
from garaph_py.graph.generate import random_rmat, random_uniform
from garaph_py.graph.ids import VertexIds
from garaph_py.io.bulk import adjacency, build, drawn, runs
from garaph_py.io.bulk.array_writer import WRITER_BYTES
from garaph_py.io.bulk.build import ImportOptions, write_external
from garaph_py.io.bulk.drawn import Drawn, bounds_within
from garaph_py.io.bulk.scan import EdgeSource, KnownCounts
from garaph_py.io.formats.format import EdgeList
from garaph_py.native.threads import ThreadPool
from garaph_py.storage import directory as store
from tests.support.graphs import equal

SORT_BYTES = 1 << 20
"""Memory for keys, beside what threads draw edges into."""


@pytest.fixture
def anew(monkeypatch):
    """Drawing again is always faster."""
    monkeypatch.setattr(build, "seconds_to_write", lambda folder, nbytes: math.inf)


def write(edges, out, options, threads=3):
    """Write `edges` with `SORT_BYTES` of memory for sorting; return the names of the steps."""
    steps = []

    def batches(listener):
        with ThreadPool(threads) as pool:
            for columns in edges.batches(pool):
                yield EdgeList(*columns)

    source = EdgeSource(batches, True, known=KnownCounts(edges.n, edges.count, edges.dtype), drawn=edges)
    beside = 8 * (edges.n + 1) + build.READER_BYTES + (1 + (edges.dtype is not None)) * WRITER_BYTES
    memory = beside + SORT_BYTES + drawing_bytes(edges, threads)
    write_external(source, out, options, memory, threads=threads, on_event=steps.append, min_sort_bytes=0)
    return {step.name for step in steps if isinstance(step, events.Step)}


def drawing_bytes(edges, threads):
    """What the threads take to draw edges into columns."""
    with ThreadPool(threads) as pool:
        return -Drawn(edges, adjacency.EdgeKeys(edges.n), 0, pool, events.ignore).memory


@pytest.mark.slow
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, (1, 1 << 30)])
@pytest.mark.parametrize("make", [random_rmat, random_uniform])
def test_the_graph_is_that_of_all_edges_in_memory(tmp_path, anew, monkeypatch, make, weights, directed):
    monkeypatch.setattr(runs, "SpillFile", None)
    monkeypatch.setattr(drawn, "EDGES_AT_ONCE", 5000)
    edges = make(12, 30, weights=weights)
    steps = write(edges, tmp_path / "graph", ImportOptions(directed=directed, encoding="raw"))
    ranges = len([step for step in steps if step.startswith("drawing edges (")])
    assert edges.count * (2 - directed) / (SORT_BYTES // (16 if weights is None else 24)) <= ranges + 1
    assert f"drawing edges (1 of {ranges})" in steps
    with ThreadPool(2) as pool:
        whole = edges.graph(directed, pool.size, events.ignore)
    assert equal(store.open(tmp_path / "graph"), whole)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("order", ["degree", "hub"])
def test_vertices_get_the_numbers_of_an_order(tmp_path, anew, monkeypatch, order, directed):
    monkeypatch.setattr(runs, "SpillFile", None)
    edges = random_rmat(12, 40, weights=(1, 1 << 30))
    steps = write(edges, tmp_path / "graph", ImportOptions(directed=directed, order=order, encoding="raw"))
    assert "drawing edges (2 of" in str(steps)
    with ThreadPool(2) as pool:
        columns = edges.columns(0, edges.count, pool)
    assert equal(store.open(tmp_path / "graph"), in_memory(columns, VertexIds(edges.n), directed=directed, order=order))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"drop_parallel": True}, {"drop_self_loops": True}])
@pytest.mark.parametrize("directed", [True, False])
def test_dropped_edges_are_those_that_a_temporary_file_drops(tmp_path, monkeypatch, directed, options):
    edges, how = random_rmat(9, 300, weights=(1, 9)), ImportOptions(directed=directed, encoding="raw", **options)
    monkeypatch.setattr(build, "seconds_to_write", lambda folder, nbytes: 0.0)
    spilled = write(edges, tmp_path / "spilled", how)
    monkeypatch.setattr(build, "seconds_to_write", lambda folder, nbytes: math.inf)
    assert "drawing edges (1 of" in str(write(edges, tmp_path / "drawn", how))
    assert "drawing" not in str(spilled)
    assert equal(*(store.open(tmp_path / name) for name in ("spilled", "drawn")))


@pytest.mark.parametrize(("scale", "factor"), [(0, 3), (1, 0), (4, 0)])
def test_few_vertices_and_no_edges(tmp_path, anew, scale, factor):
    edges = random_rmat(scale, factor)
    write(edges, tmp_path / "graph", ImportOptions(directed=False, encoding="raw"))
    assert equal(store.open(tmp_path / "graph"), edges.graph(False, 1, events.ignore))


def test_vertices_whose_edges_exceed_the_memory_are_sorted_in_a_temporary_file(tmp_path, anew):
    edges = random_rmat(10, 100, a=1.0, b=0.0, c=0.0)  # a single vertex has all
    steps = write(edges, tmp_path / "graph", ImportOptions(directed=False, encoding="raw"))
    assert "counting edges" in steps
    assert "drawing" not in str(steps)
    assert store.open(tmp_path / "graph").m == edges.count


@pytest.mark.parametrize(
    ("draw", "writing", "again"),
    [(1.0, 3.0, False), (1.0, 30.0, True), (0.01, 3.0, True), (0.01, 0.0, False)],
)
def test_edges_are_drawn_again_if_that_takes_less_time_than_to_write_keys(tmp_path, monkeypatch, draw, writing, again):
    """Four ranges, and a draw to count: five draws."""
    edges = random_rmat(12, 25)
    monkeypatch.setattr(build, "seconds_to_write", lambda folder, nbytes: writing * (nbytes == 2 * edges.count * 2))
    monkeypatch.setattr(Drawn, "seconds", lambda self: draw)
    steps = write(edges, tmp_path / "graph", ImportOptions(directed=False, encoding="raw"))
    assert ("drawing edges (4 of 4)" in steps) == again
    assert ("distributing edges" in steps) != again


@pytest.mark.slow
def test_edges_are_drawn_again_if_the_disk_has_no_room_for_keys(tmp_path, monkeypatch):
    edges = random_rmat(12, 200)
    data = 8 * (edges.n + 1) + 4 * 2 * edges.count
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=data))
    monkeypatch.setattr(build, "forgets", lambda folder: False)
    monkeypatch.setattr(Drawn, "seconds", lambda self: math.inf)
    assert "drawing edges (1 of" in str(write(edges, tmp_path / "graph", ImportOptions(directed=False, encoding="raw")))


def test_the_time_to_draw_is_measured():
    with ThreadPool(2) as pool:
        some = Drawn(random_rmat(10, 100), adjacency.EdgeKeys(1 << 10, True), 1 << 24, pool, events.ignore)
        more = Drawn(random_rmat(20, 100), adjacency.EdgeKeys(1 << 20, True), 1 << 24, pool, events.ignore)
        none = Drawn(random_rmat(3, 0), adjacency.EdgeKeys(1 << 3, True), 1 << 24, pool, events.ignore)
        assert 0 < some.seconds() < more.seconds()
        assert none.seconds() == 0


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 200))
def test_ranges_are_as_few_as_the_memory_allows(counts, most):
    counts = np.array(counts)
    bounds = bounds_within(counts, most)
    assert bounds[0] == 0
    assert bounds[-1] == len(counts)
    assert (np.diff(bounds) > 0).all()
    held = np.add.reduceat(counts, bounds[:-1])
    assert ((held <= most) | (np.diff(bounds) == 1)).all()
    assert (held[:-1] + counts[bounds[1:-1]] > most).all()
