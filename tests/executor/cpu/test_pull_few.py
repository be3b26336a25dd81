"""Several pulls in one call: the answers, the records and the end of a run are those of single ones."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import NumberError, ProgramError
from garaph_py.executor.cpu import pull_few
from garaph_py.executor.cpu.runs import MIN_RUN_EDGES

from ...support.growth import Growth, Wild
from ...support.runs import rows_of, run_with

SMALL = gp.rmat(8, 4, seed=3)
"""Its 1,024 edges and 256 vertices are one partition."""


class Prepared(Growth):
    """`Growth`, with values that are doubled before each iteration."""

    def prepare(self, value):
        return 2 * value


@pytest.fixture
def calls(monkeypatch):
    """How many iterations each call did, and how many it was asked to do."""
    seen, works = [], pull_few.PullFew._run

    def counted(self, edges, state, task, most):
        log, partials = works(self, edges, state, task, most)
        seen.append((len(log), most))
        return log, partials

    monkeypatch.setattr(pull_few.PullFew, "_run", counted)
    return seen


def one_by_one(program, graph, **options):
    """The same run with a look at the values after each iteration."""
    return run_with(program, graph, device="cpu", check="finite", **options)


def test_a_listener_hears_of_all_iterations(calls):
    heard = []
    found = run_with(gp.apps.PageRank(), SMALL, device="cpu", on_event=heard.append)
    assert [event for event in heard if isinstance(event, gp.events.Iteration)] == list(found.stats.iterations)
    assert 0 < len(calls) < len(found.stats.iterations)


@pytest.mark.spread
@pytest.mark.parametrize("packed", [False, True], ids=["raw", "packed"])
@pytest.mark.parametrize("iterations", [2, 7, 32, 33, 75, None], ids=str)
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.full), np.float64])
def test_iterations_are_those_of_single_ones(calls, dtype, iterations, packed):
    program = gp.apps.PageRank(stop="never" if iterations else "sum", dtype=dtype)
    graph = SMALL.packed() if packed else SMALL
    single = one_by_one(program, graph, iterations=iterations)
    assert not calls
    found = run_with(program, graph, device="cpu", iterations=iterations)
    np.testing.assert_array_equal(found.values, single.values)
    assert rows_of(found) == rows_of(single)
    assert found.stats.converged == single.stats.converged
    assert len(calls) < len(found.stats.iterations)


@pytest.mark.parametrize("end", [1, 2, 9, 32, 33, 40])
def test_a_run_ends_where_the_program_has_converged(calls, end):
    """Iterations beyond that are taken back."""
    program = Growth(end * SMALL.n)
    found = run_with(program, SMALL, device="cpu")
    assert len(found.stats.iterations) == end
    assert found.stats.converged
    assert (found.values == end).all()
    first, rest = divmod(end - 1, pull_few.MOST_ITERATIONS)
    again = [] if rest == pull_few.MOST_ITERATIONS - 1 else [(rest + 1, rest + 1)]
    assert calls == [(32, 32)] * (first + 1) + again


def test_converged_is_asked_once_for_each_iteration():
    seen = []

    class Asked(Growth):
        def converged(self, total, n):
            seen.append(total)
            return len(seen) == 5  # it would not be true again

    found = run_with(Asked(), SMALL, device="cpu", iterations=9)
    assert seen == [k * SMALL.n for k in range(1, 6)]
    assert found.stats.converged
    assert len(found.stats.iterations) == 5


def test_what_converged_returns_is_checked():
    class Wrong(Growth):
        def converged(self, total, n):
            return None

    with pytest.raises(ProgramError, match="converged returns None"):
        run_with(Wrong(), SMALL, device="cpu", iterations=9)


def test_a_total_that_is_not_finite_ends_the_run_where_it_occurs():
    """Also if the numbers after it are finite."""
    with pytest.raises(NumberError, match="the total is inf after iteration 2"):
        run_with(Wild(), SMALL, device="cpu", iterations=20)


def test_a_call_ends_when_no_vertex_is_active(calls):
    class Still(Growth):
        def activate(self, new, old):
            return new < 4

    found = run_with(Still(), SMALL, device="cpu")
    assert [row.active for row in found.stats.iterations] == [SMALL.n] * 4
    assert calls == [(4, 32)]


@pytest.mark.parametrize("options", [
    {"trace": "t.json"}, {"report": "r.html"}, {"checkpoint": "kept"}, {"check": "finite"}, {"mode": "pull-tiled"},
    {"sync": False},
], ids=str)  # fmt: skip
def test_where_single_iterations_are_wanted(calls, tmp_path, options):
    files = {"trace", "report", "checkpoint"}
    given = {key: tmp_path / value if key in files else value for key, value in options.items()}
    run_with(gp.apps.PageRank(), SMALL, device="cpu", iterations=5, **given)
    assert not calls


def test_programs_that_do_more_in_an_iteration(calls):
    found = run_with(Prepared(), SMALL, device="cpu", iterations=5)
    assert (found.values == 2**5 - 1).all()
    table = gp.run_many([Growth(end * SMALL.n) for end in (2, 5)], SMALL, device="cpu")
    np.testing.assert_array_equal(table.column(), np.tile([2, 5], (SMALL.n, 1)))
    assert not calls


def test_a_policy_that_sees_each_iteration(calls):
    class Seeing(gp.Policy):
        def decide(self, seen):
            return gp.Decision("pull", "always")

        def observe(self, own, seen, decision, done):
            numbers.append(done.number)
            return own

    numbers = []
    run_with(gp.apps.PageRank(stop="never"), SMALL, device="cpu", iterations=5, engine=Seeing())
    assert numbers == list(range(5))
    assert not calls


def test_a_larger_graph_is_pulled_by_all_threads(calls):
    ring = np.arange(2 * MIN_RUN_EDGES)
    run_with(gp.apps.PageRank(stop="never"), gp.from_edges(ring, np.roll(ring, 1)), device="cpu", iterations=5)
    assert not calls


def test_no_vertices(calls):
    assert len(run_with(gp.apps.PageRank(), gp.from_edges([], []), device="cpu", iterations=5).values) == 0
