"""Pulls of several GPUs that have all edges: several in one step are like single ones, whatever the timing, whichever
GPU fails and when."""

import random

import numpy as np
import pytest

from garaph_py.executor import repeat
from garaph_py.executor.gpu import pulls_at_once
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from tests.support import twins
from tests.support.late_gpu import arm_when_initialized
from tests.support.numpy_gpu import SummedBlend, held_after
from tests.support.several_gpus import late

from ...support.runs import rows_of, run_with

EDGES = twins.skewed(4, 900, 9000)
SEEN = []
"""The totals that `Counted` was asked about."""
counts = pytest.mark.parametrize("count", [2, 5])


class Counted(SummedBlend):
    """Numbers that change until the run has asked about so many totals."""

    end: int = 1000

    def converged(self, total, n):
        SEEN.append(total)
        return len(SEEN) >= self.end


@pytest.fixture
def graph(graph_of):
    return graph_of(EDGES)


@pytest.fixture(autouse=True)
def steps(monkeypatch):
    """How many iterations each step did that repeated them."""
    SEEN.clear()
    done, works = [], repeat.repeat

    def counted(*how):
        result = works(*how)
        done.append(1 if result.supersteps is None else len(result.supersteps))
        return result

    monkeypatch.setattr(pulls_at_once, "repeat", counted)
    return done


def run(program, graph, count, **how):
    """The run, and the totals that it asked about."""
    SEEN.clear()
    settings = {"device": "gpu", "gpus": count, "gather": "segmented", "sync": True} | how
    return run_with(program, graph, **settings), list(SEEN)


@counts
@pytest.mark.parametrize("pages", [None, 600], ids=["one page", "pages"])
@pytest.mark.parametrize("iterations", [1, 2, 7, None], ids=str)
def test_iterations_are_those_of_single_ones(devices_for, graph, steps, iterations, pages, count):
    program = Counted(end=1000 if iterations else 9)
    drivers = devices_for(program, graph, count)
    expected, wanted = run(program, graph, count, device="cpu", gpus=None, iterations=iterations)
    for is_there in False, True:  # the first iteration of the first run brings the edges to the GPUs
        steps.clear()
        found, totals = run(program, graph, count, iterations=iterations, page_edges=pages)
        np.testing.assert_array_equal(found.values, expected.values)
        assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]
        assert totals == wanted
        assert found.stats.converged == expected.stats.converged
        assert all(row.seconds > 0 and row.edges == graph.m for row in found.stats.iterations)
        length = len(found.stats.iterations)
        assert sum(steps) == (length if is_there else length - 1)
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


def test_a_step_ends_in_time(devices_for, graph, steps, monkeypatch):
    devices_for(Counted(), graph, 2)
    run(Counted(), graph, 2, iterations=1)
    single, _ = run(Counted(), graph, 2, iterations=4, check="finite")
    assert not steps
    monkeypatch.setattr(repeat, "LONGEST", 0)
    found, _ = run(Counted(), graph, 2, iterations=4)
    assert steps == [1] * 4
    np.testing.assert_array_equal(found.values, single.values)
    rows, others = ([row._replace(pages=1, groups=()) for row in rows_of(each)] for each in (found, single))
    assert rows == others


@pytest.mark.parametrize("how", [
    {"check": "finite"}, {"sync": False}, {"mode": "pull"}, {"engine": "garaph"}, {"trace": "t.json"},
    {"checkpoint": "kept"}, {"gather": "replicated"},
], ids=str)  # fmt: skip
def test_where_single_iterations_are_wanted(devices_for, graph, steps, tmp_path, how):
    devices_for(Counted(), graph, 2)
    given = {key: tmp_path / value if key in ("trace", "checkpoint") else value for key, value in how.items()}
    found, _ = run(Counted(), graph, 2, iterations=5, **given)
    assert len(found.stats.iterations) == 5
    assert not steps


@pytest.mark.slow
@counts
def test_answers_do_not_depend_on_timing(devices_for, graph, steps, count):
    rng = random.Random(count)
    expected, _ = run(Counted(), graph, count, device="cpu", gpus=None, iterations=9)
    for _ in range(4):
        devices_for(Counted(), graph, count, late(rng))
        found, _ = run(Counted(), graph, count, iterations=9, page_edges=rng.choice([None, 700]))
        np.testing.assert_array_equal(found.values, expected.values)
        graph.release()
    assert sum(steps) == 4 * 8


@pytest.mark.slow
@counts
def test_the_others_go_on_when_one_fails(devices_for, graph, monkeypatch, count):
    """Iterations that one step has done before count, and `converged` is asked about the total of each once."""
    rng, program, last = random.Random(count), Counted(), 12
    expected, wanted = run(program, graph, count, device="cpu", gpus=None, iterations=last)
    drivers = devices_for(program, graph, count, late(rng))
    with monkeypatch.context() as armed:
        arm_when_initialized(armed, MultiGpuExecutor)
        run(program, graph, count, iterations=last)
        calls, after = [driver.calls for driver in drivers], set()
        for _ in range(12):
            failing = rng.randrange(count)
            graph.release()
            drivers = devices_for(program, graph, count, late(rng, failing, rng.randrange(calls[failing])))
            found, totals = run(program, graph, count, iterations=last)
            np.testing.assert_array_equal(found.values, expected.values)
            assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]
            note = found.stats.note or ""
            assert totals == wanted or "begins again" in note
            if drivers[failing].failed and "failed after" in note:
                after.add(note.split("failed after ")[1].split()[0])
    assert len(after) > 2
