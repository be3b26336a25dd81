"""Pulls that one step repeats are like single ones, on one GPU and on several, of edges that stay on the GPUs and of
edges that are streamed, whatever the timing, whichever GPU fails and when."""

import random

import numpy as np
import pytest

from garaph_py.executor import repeat
from garaph_py.executor.gpu import pulls_ahead, speeds
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.runtime import runner
from tests.support import twins
from tests.support.late_gpu import arm_when_initialized
from tests.support.numpy_gpu import held_after, memory_for
from tests.support.repeating import SEEN, Counted
from tests.support.several_gpus import late

from ..support.runs import rows_of, run_with, ways_of

EDGES = twins.skewed(4, 900, 9000)
counts = pytest.mark.parametrize("count", [1, 2, 5])
PAGE_EDGES = 160


@pytest.fixture
def graph(graph_of):
    return graph_of(EDGES)


def run(program, graph, count, **how):
    """The run, and the totals that it asked about."""
    SEEN.clear()
    settings = {"device": "gpu", "gpus": count, "gather": "segmented", "sync": True} | how
    return run_with(program, graph, **settings), list(SEEN)


@pytest.fixture
def one_by_one(monkeypatch):
    """No GPU launches pulls together, as if the graph were large."""
    monkeypatch.setattr(pulls_ahead, "MOST_EDGES", 0)


@pytest.fixture
def same_parts(monkeypatch):
    """Runs divide the graph alike: they learn no speeds, which are those of a busy host."""
    monkeypatch.setattr(speeds, "learn", lambda *_: None)


@pytest.fixture
def room(graph, devices_for):
    """A function: the GPU's memory for so many pages beside those of two streams; None if all edges are to stay."""

    def of(pages):
        devices_for(Counted(), graph, 1)
        return None if pages is None else memory_for(Counted(), graph, 0) + 8 * (2 + pages) * (PAGE_EDGES + 2 * RUN)

    return of


@counts
@pytest.mark.usefixtures("one_by_one", "same_parts")
@pytest.mark.parametrize("pages", [0, 3, None], ids=["streamed", "some stay", "resident"])
@pytest.mark.parametrize("iterations", [1, 2, 7, None], ids=str)
def test_iterations_are_those_of_single_ones(devices_for, graph, room, steps, iterations, pages, count):
    program = Counted(end=1000 if iterations else 9)
    how = {"iterations": iterations, "gpu_memory": room(pages), "page_edges": PAGE_EDGES, "streams": 2}
    drivers = devices_for(program, graph, count)
    wanted = run(program, graph, count, device="cpu", gpus=None, iterations=iterations)[1]
    steps.clear()
    for _ in range(2):  # the first of them brings edges to the GPUs
        single, _ = run(program, graph, count, **how, check="finite")
        assert not steps
    for _ in range(2):
        steps.clear()
        found, totals = run(program, graph, count, **how)
        np.testing.assert_array_equal(found.values, single.values)
        assert rows_of(found) == rows_of(single)
        assert totals == wanted
        assert found.stats.converged == single.stats.converged
        assert all(row.seconds > 0 for row in found.stats.iterations)
        assert sum(count for _, count in steps) == len(found.stats.iterations)
    if (pages, count) in ((3, 1), (0, 2)):  # the parts of more GPUs have no more pages than they have room for
        assert all(row.to_device for row in found.stats.iterations)
        assert all(ways_of([row]) == {"resident", "copied"} for row in found.stats.iterations[1:])
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


def test_a_step_ends_in_time(devices_for, graph, steps, monkeypatch):
    devices_for(Counted(), graph, 2)
    single, _ = run(Counted(), graph, 2, iterations=4, check="finite")
    monkeypatch.setattr(repeat, "LONGEST", 0)
    found, _ = run(Counted(), graph, 2, iterations=4)
    assert steps == [("pull", 1)] * 4
    np.testing.assert_array_equal(found.values, single.values)


def test_pulls_of_a_small_graph_are_launched_together_instead(devices_for, graph, steps):
    (driver,) = devices_for(Counted(), graph, 1)
    run(Counted(), graph, 1, iterations=1)
    steps.clear()
    run(Counted(), graph, 1, iterations=9)
    assert "end_pull" in {name for name, _ in driver.launched}
    assert sum(count for _, count in steps) == 1  # the last one, which is by itself


@pytest.mark.parametrize("how", [
    {"check": "finite"}, {"sync": False}, {"mode": "pull"}, {"engine": "garaph"}, {"trace": "t.json"},
    {"checkpoint": "kept"},
], ids=str)  # fmt: skip
def test_where_single_iterations_are_wanted(devices_for, graph, steps, tmp_path, how):
    devices_for(Counted(), graph, 2)
    given = {key: tmp_path / value if key in ("trace", "checkpoint") else value for key, value in how.items()}
    found, _ = run(Counted(), graph, 2, iterations=5, **given)
    assert len(found.stats.iterations) == 5
    assert not steps


@pytest.mark.slow
@counts
@pytest.mark.usefixtures("one_by_one")
def test_answers_do_not_depend_on_timing(devices_for, graph, room, steps, count):
    rng = random.Random(count)
    expected, _ = run(Counted(), graph, count, device="cpu", gpus=None, iterations=9)
    steps.clear()
    for _ in range(4):
        memory = room(rng.choice([0, 3, None]))
        devices_for(Counted(), graph, count, late(rng))
        found, _ = run(Counted(), graph, count, iterations=9, page_edges=PAGE_EDGES, streams=2, gpu_memory=memory)
        np.testing.assert_array_equal(found.values, expected.values)
        graph.release()
    assert sum(count for _, count in steps) >= 4


def run_with_failure(devices_for, graph, count, expected, failing=0, fails_at=None, **how):
    """The drivers and the note of a run on late GPUs, one of which may fail at a call; it has the answer and the
    iterations that are `expected`."""
    graph.release()
    drivers = devices_for(Counted(), graph, count, late(random.Random(f"{failing} {fails_at}"), failing, fails_at))
    with pytest.MonkeyPatch.context() as armed:
        arm_when_initialized(armed, GpuExecutor if count == 1 else MultiGpuExecutor)
        found, _ = run(Counted(), graph, count, iterations=12, **how)
    np.testing.assert_array_equal(found.values, expected.values)
    assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]
    return drivers, found.stats.note or ""


@pytest.mark.slow
@counts
@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("interval", [0, 100], ids=["copies", "no copies"])
def test_others_go_on_when_one_fails(devices_for, graph, room, monkeypatch, count, interval):
    """Or the CPU: from a copy, from the beginning or, if the first pull of a step fails, from the values before it."""
    monkeypatch.setattr(runner, "INTERVAL", interval)
    rng, program, notes = random.Random(count), Counted(), []
    expected, _ = run(program, graph, count, device="cpu", gpus=None, iterations=12)
    for memory in room(None), room(0):
        for longest in 0.2, 0.0:
            monkeypatch.setattr(repeat, "LONGEST", longest)
            how = {"gpu_memory": memory, "page_edges": PAGE_EDGES, "streams": 2}
            drivers, _ = run_with_failure(devices_for, graph, count, expected, **how)
            for _ in range(5):
                k = rng.randrange(count)
                at = rng.randrange(drivers[k].calls)
                notes.append(run_with_failure(devices_for, graph, count, expected, k, at, **how)[1])
    assert sum("failed after" in note for note in notes) > 10
    assert any("begins again" in note for note in notes)
    assert count == 1 or any("goes on" in note for note in notes)


@pytest.mark.parametrize("number", [1, 2, 5, 12])
def test_a_gpu_fails_when_others_have_made_new_values_the_current_ones(devices_for, graph, monkeypatch, number):
    expected, _ = run(Counted(), graph, 2, device="cpu", gpus=None, iterations=12)
    swaps, commit = [], GpuExecutor.commit_pages

    def failing(gpu, *how):
        swaps.append(gpu.device.number)
        if gpu.device.number == 1 and swaps.count(1) == number:
            gpu.device.driver.failed = True
        return commit(gpu, *how)

    monkeypatch.setattr(GpuExecutor, "commit_pages", failing)
    run_with_failure(devices_for, graph, 2, expected)
    assert swaps.count(1) >= number


def test_the_total_is_that_before_the_step_if_a_later_pull_fails(devices_for, graph, monkeypatch):
    """The host may still have the values before the step, as of a state that another GPU has left."""
    expected, _ = run(Counted(), graph, 3, device="cpu", gpus=None, iterations=12)
    begun, pull = [], MultiGpuExecutor._pull

    def failing(gpus, *how):
        begun.append(len(gpus.gpus))
        if begun in ([3], [3, 2, 2, 2, 2]):  # the first of three GPUs, and one of two in the fourth pull of a step
            driver = gpus.gpus[-1].device.driver
            driver.failed = True
        return pull(gpus, *how)

    monkeypatch.setattr(MultiGpuExecutor, "_pull", failing)
    run_with_failure(devices_for, graph, 3, expected)
    assert begun[:5] == [3, 2, 2, 2, 2]


def test_the_first_pull_of_a_small_graph_is_by_itself(devices_for, graph, steps):
    """It brings the edges to the GPU, so that the next ones can be launched together."""
    (driver,) = devices_for(Counted(), graph, 1)
    run(Counted(), graph, 1, iterations=9)
    assert not steps
    assert "end_pull" in {name for name, _ in driver.launched}
