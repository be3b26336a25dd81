"""The loop: what the record of an iteration says of its pages."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.loop import active_by_page, several
from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.rates import Rates
from garaph_py.events import Iteration, PageGroup
from garaph_py.executor.decision import Ahead, Decision, PageDecision
from garaph_py.executor.modes import PULL, PUSH
from garaph_py.executor.results import Supersteps
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.pages.layout import layout
from tests.support.numpy_gpu import GRAPH, HUB, Hops, memory_for

from ..support.runs import run_with


@pytest.mark.slow
def test_a_record_shows_how_pages_were_processed(graph_of):
    result = run_with(gp.apps.PageRank(), graph_of(GRAPH), device="cpu", iterations=2, page_edges=8000)
    for row in result.stats.iterations:
        assert row.groups == (PageGroup(row.mode, "cpu", None, row.pages, row.edges),)


@pytest.mark.parametrize("helps", [True, False])
def test_a_record_shows_who_processed_which_pages(device_for, graph_of, monkeypatch, helps):
    graph, program = graph_of(GRAPH), Hops(HUB)
    device_for(program, graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", helps)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: waiting)
    memory = memory_for(program, graph, 0.5)
    how = {"gather": "segmented", "page_edges": 3000, "streams": 3, "gpu_memory": memory}
    rows = run_with(program, graph, device="hybrid", **how).stats.iterations
    for row in rows:
        assert sum(group.pages for group in row.groups) == row.pages
        assert sum(group.edges for group in row.groups) == row.edges
        assert all(group.mode == "pull" for group in row.groups)
        assert all((group.device == "gpu") == (group.transfer in ("resident", "copied")) for group in row.groups)
        assert helps or {group.device for group in row.groups} == {"gpu"}
    assert any(group.transfer == "resident" for row in rows for group in row.groups)
    assert any(group.transfer == "copied" for row in rows for group in row.groups)


def test_active_vertices_are_counted_by_page():
    frontier = VertexSet.empty(300)
    frontier.bits[[0, 1, 4]] = 0b1011, 1 << 63, 1
    pages = layout(np.arange(301), 100)
    assert active_by_page(SimpleNamespace(frontier=frontier), pages) == (3, 1, 1)
    assert active_by_page(SimpleNamespace(frontier=frontier), []) == ()


LAST = Iteration(5, PUSH, 0.25, 3, 80, 1, 0, 1.0, "gpu", 640, started=7.0, why="few", groups=(
    PageGroup(PUSH, "gpu", "resident", 1, 80),
))  # fmt: skip
SEEN = Observation(vertices=50, edges=100, active=3, active_edges=25)
DECISION = Decision(PUSH, "few", "gpu", ahead=Ahead(60, True))
PUSHED, PULLED = PageDecision(PUSH, "gpu", "resident"), PageDecision(PULL, "gpu", "resident")


def steps(*rows):
    """Supersteps, each given by its active vertices, their out-edges, its seconds, edges and direction."""
    active, active_edges, seconds, followed, modes = map(np.array, zip(*rows, strict=True))
    return Supersteps(active, active_edges, seconds, followed, modes == PULL, PUSHED, PULLED)


def test_each_superstep_of_a_launch_has_a_record():
    rows = several(
        LAST, SEEN, DECISION, steps((10, 90, 0.25, 25, PUSH), (20, 50, 0.125, 100, PULL), (0, 0, 0.0, 50, PUSH))
    )
    assert [row.number for row in rows] == [5, 6, 7]
    assert [(row.active, row.f, row.edges) for row in rows] == [(3, 0.25, 25), (10, 0.9, 100), (20, 0.5, 50)]
    assert [(row.started, row.seconds) for row in rows] == [(7.0, 0.25), (7.25, 0.125), (7.375, 0.625)]
    assert [row.mode for row in rows] == [PUSH, PULL, PUSH]
    assert [row.groups for row in rows] == [(PageGroup(row.mode, "gpu", "resident", 1, row.edges),) for row in rows]
    few, many = (f"{how} 60 edges lead from active vertices" for how in ("at most", "more than"))
    assert [row.why for row in rows] == ["few", many, few]
    assert {(row.device, row.pages) for row in rows} == {("gpu", 1)}


def test_supersteps_that_repeat_a_decision_have_its_reason():
    pulls = steps((3, 25, 0.25, 100, PULL), (3, 25, 0.0, 100, PULL))
    for ahead in Ahead(0, pulls=True, repeats=True), None:
        assert [row.why for row in several(LAST, SEEN, Decision(PULL, "all", ahead=ahead), pulls)] == ["all", "all"]
    whys = [row.why for row in several(LAST, SEEN, Decision(PULL, "some", ahead=Ahead(0, pulls=True)), pulls)]
    assert whys == ["some", "more than 0 edges lead from active vertices"]


def test_edges_were_copied_and_kernels_compiled_before_the_first_superstep():
    last = Iteration(5, PUSH, 0.25, 3, 80, 1, 0, 1.0, "gpu", 640, started=7.0, compile_seconds=0.5)
    rows = several(last, SEEN, DECISION, steps((10, 40, 0.25, 25, PUSH), (0, 0, 0.0, 40, PUSH)))
    assert [(row.to_device, row.compile_seconds) for row in rows] == [(640, 0.5), (0, 0)]


def test_a_record_says_how_many_vertices_were_looked_at_to_open_a_bucket():
    done = steps((10, 40, 0.25, 25, PUSH), (0, 0, 0.0, 40, PUSH))
    assert [row.waited for row in several(LAST, SEEN, DECISION, done)] == [0, 0]  # it was not counted
    done = replace(done, waited=np.array([7, 0]))
    assert [row.waited for row in several(LAST, SEEN, DECISION, done)] == [7, 0]


def test_a_record_says_if_vertices_had_to_wait():
    rows = several(
        LAST, SEEN, DECISION, steps((10, 40, 0.25, 25, PUSH), (20, 90, 0.125, 30, PUSH), (0, 0, 0.0, 80, PUSH))
    )
    assert [(row.f, row.edges, row.groups[0].edges) for row in rows] == [(0.25, 25, 25), (0.4, 30, 30), (0.9, 80, 80)]
    order = "at most 60 edges lead from active vertices; vertices of the least priority first"
    assert [row.why for row in rows] == ["few", order, order]
    rows = several(LAST, SEEN, DECISION, steps((10, 1000, 0.25, 25, PUSH), (0, 0, 0.0, 1000, PUSH)))
    assert [row.why for row in rows] == ["few", "at most 60 edges lead from active vertices"]  # all have pushed
