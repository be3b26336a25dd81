"""Iterations that are repeated in one step: the answers, the records and the end of a run are those of single ones."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import NumberError
from garaph_py.executor import repeat
from garaph_py.executor.cpu.pull_few import PullFew
from garaph_py.executor.cpu.runs import MIN_RUN_EDGES
from garaph_py.storage import directory as store

from ..support.growth import Growth, Wild
from ..support.runs import rows_of, run_with
from ..support.stored_graphs import opened

GRAPH = gp.rmat(12, 12, seed=3)
"""Its 49,152 edges are several partitions."""


@pytest.fixture(params=["pull", "pull-tiled", "auto"])
def mode(request):
    return request.param


@pytest.mark.spread
@pytest.mark.parametrize("packed", [False, True], ids=["raw", "packed"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("iterations", [2, 7, None], ids=str)
def test_iterations_are_those_of_single_ones(steps, mode, iterations, threads, packed):
    program = gp.apps.PageRank(stop="never" if iterations else "sum")
    graph, how = GRAPH.packed() if packed else GRAPH, {"device": "cpu", "threads": threads, "mode": mode}
    single = run_with(program, graph, **how, iterations=iterations, check="finite")
    assert not steps
    found = run_with(program, graph, **how, iterations=iterations)
    np.testing.assert_array_equal(found.values, single.values)
    assert rows_of(found) == rows_of(single)
    assert found.stats.converged == single.stats.converged
    count = len(found.stats.iterations)
    assert sum(done for _, done in steps) == count
    assert len(steps) < count
    assert all(row.seconds > 0 for row in found.stats.iterations)


@pytest.mark.parametrize("end", [1, 2, 9])
def test_a_run_ends_where_the_program_has_converged(steps, mode, end):
    found = run_with(Growth(end * GRAPH.n), GRAPH, device="cpu", mode=mode)
    assert len(found.stats.iterations) == end
    assert found.stats.converged
    assert (found.values == end).all()
    assert [done for _, done in steps] == [end]


def test_a_step_does_not_take_long(steps, monkeypatch):
    """If a step ends after each iteration, a listener hears of each when it is done."""
    monkeypatch.setattr(repeat, "LONGEST", 0)
    heard = []
    found = run_with(Growth(), GRAPH, device="cpu", iterations=5, on_event=heard.append)
    assert [event for event in heard if isinstance(event, gp.events.Iteration)] == list(found.stats.iterations)
    assert steps == [("pull", 1)] * 5


def test_converged_is_asked_once_for_each_iteration(mode):
    seen = []

    class Asked(Growth):
        def converged(self, total, n):
            seen.append(total)
            return len(seen) == 5  # it would not be true again

    found = run_with(Asked(), GRAPH, device="cpu", iterations=9, mode=mode)
    assert seen == [k * GRAPH.n for k in range(1, 6)]
    assert found.stats.converged
    assert len(found.stats.iterations) == 5


def test_a_total_that_is_not_finite_ends_the_run_where_it_occurs(mode):
    """Also if the numbers after it are finite."""
    with pytest.raises(NumberError, match="the total is inf after iteration 2"):
        run_with(Wild(), GRAPH, device="cpu", iterations=20, mode=mode)


def test_a_step_ends_when_no_vertex_is_active(steps, mode):
    class Still(Growth):
        def activate(self, new, old):
            return new < 4

    found = run_with(Still(), GRAPH, device="cpu", mode=mode)
    assert [row.active for row in found.stats.iterations] == [GRAPH.n] * 4
    assert [done for _, done in steps] == [4]


def test_the_total_passes_from_one_iteration_to_the_next(mode):
    class Sum(Growth):
        def apply(self, old, total):
            return old + 1 + total

    found = run_with(Sum(), GRAPH, device="cpu", iterations=4, mode=mode)
    value, n = 0.0, GRAPH.n
    for _ in range(4):
        value += 1 + n * value
    np.testing.assert_allclose(found.values, value)


@pytest.mark.parametrize("options", [
    {"trace": "t.json"}, {"report": "r.html"}, {"checkpoint": "kept"}, {"check": "finite"}, {"sync": False},
    {"engine": "garaph"}, {"engine": "garaph", "mode": "pull"}, {"page_edges": GRAPH.m // 3}, {"mode": "notify-pull"},
], ids=str)  # fmt: skip
def test_where_single_iterations_are_wanted(steps, tmp_path, options):
    files = {"trace", "report", "checkpoint"}
    given = {key: tmp_path / value if key in files else value for key, value in options.items()}
    found = run_with(gp.apps.PageRank(stop="never"), GRAPH, device="cpu", iterations=5, **given)
    assert len(found.stats.iterations) == 5
    assert not steps


def test_edges_on_disk_are_read_in_each_iteration(steps, tmp_path):
    store.save(GRAPH, tmp_path / "graph")
    graph = opened(tmp_path / "graph", room=1 << 24)
    run_with(gp.apps.PageRank(stop="never"), graph, device="cpu", iterations=3)
    assert not steps


@pytest.mark.parametrize("mode", ["auto", "pull", "pull-tiled"])
def test_vertices_without_edges(mode):
    graph = gp.from_edges([], [], vertices=np.arange(70))
    found = run_with(Growth(), graph, device="cpu", iterations=5, mode=mode)
    assert (found.values == 5).all()
    single = run_with(Growth(), graph, device="cpu", iterations=5, mode=mode, check="finite")
    assert rows_of(found) == rows_of(single)
    assert [row.f for row in found.stats.iterations] == [1.0] * 5


def test_one_thread_of_garaph_does_each_iteration_by_itself(steps, monkeypatch):
    """Its only partition is the whole graph, however large."""
    calls = []
    monkeypatch.setattr(PullFew, "__call__", lambda *how: calls.append(how))
    run_with(gp.apps.PageRank(stop="never"), GRAPH, device="cpu", iterations=3, threads=1, engine="garaph", mode="pull")
    assert not calls
    assert not steps


def test_an_interrupt_ends_the_step(steps, mode):
    class Stopped(Growth):
        def converged(self, total, n):
            if total == 3 * n:
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        run_with(Stopped(), GRAPH, device="cpu", iterations=50, mode=mode)
    assert not steps  # it was the first one
    assert (run_with(Growth(), GRAPH, device="cpu", iterations=5, mode=mode).values == 5).all()


def test_the_smallest_graph_of_several_partitions(steps):
    ring = np.arange(2 * MIN_RUN_EDGES)
    graph = gp.from_edges(ring, np.roll(ring, 1))
    assert (run_with(Growth(), graph, device="cpu", iterations=5).values == 5).all()
    assert steps == [("pull", 5)]
