"""A run in parts goes on from a checkpoint, in as many parts or on one machine, and gives the same bits."""

import asyncio
import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.checkpoint.policy import parse_every
from garaph_py.checkpoint.saver import Saver
from garaph_py.cluster import client as client_module
from garaph_py.cluster import worker as worker_module
from garaph_py.cluster.checkpoints import Checkpoints, saying_how_to_resume, signals_held
from garaph_py.cluster.heard import Heard
from garaph_py.cluster.partition import partition
from garaph_py.cluster.run import conduct, sendable
from garaph_py.cluster.source import sent
from garaph_py.errors import ClusterError, ParameterError
from garaph_py.output.record import Record
from garaph_py.program import bind
from garaph_py.program.part import by_numbers
from garaph_py.runtime.options import RunOptions
from garaph_py.system import interrupts
from tests.support.part_workers import Workers

RANKS = gp.apps.PageRank()


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(12, 16, seed=5)


@pytest.fixture(scope="module")
def ranks(graph):
    return gp.run(RANKS, graph, options=gp.Options(sync=True)).values


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The client hears of every superstep soon, and waits for no new worker for long."""
    monkeypatch.setattr(client_module, "ALIVE_SECONDS", 0.01)
    monkeypatch.setattr(client_module, "WAIT_SECONDS", 0.1)
    monkeypatch.setattr(worker_module, "NEWS_SECONDS", 0.005)


class Slow(Workers):
    """Workers whose letters take a moment; after a checkpoint of so many iterations, all die, and some may come.

    Letters are held up once the client takes copies, until an event, if there is one.
    """

    def __init__(self, count, dies=None, comes=0, until=None):
        async def after(address, what):
            await asyncio.sleep(0.01 if what == "letter" else 0)
            while until is not None and what == "letter" and "take" in self.asked and not until.is_set():
                await asyncio.sleep(0.01)
            if self.dies is not None and self.kept >= self.dies:
                self.dies = None
                self.hostings.clear()
                for _ in range(comes):
                    self.add()

        super().__init__(count, after=after)
        self.kept, self.dies = 0, dies

    def hear(self, event):
        if isinstance(event, events.Checkpoint):
            self.kept = event.iterations


def run(directory, workers, graph, program=RANKS, resume=True, iterations=None):
    """The reported values, the iterations, and how many were done before."""
    options = RunOptions(iterations=iterations)
    prepared = {"program": tuple(sent(by_numbers(program, graph))), "options": sendable(options)}
    bound, heard = bind(program, graph), Heard(lambda iteration: None, Record(None, None))
    with Saver(directory, parse_every(1), resume, workers.hear) as saver, saying_how_to_resume(saver):
        checkpoints = Checkpoints.open(saver, bound, graph, iterations)
        values, conductor, _ = asyncio.run(conduct(workers, bound, graph, prepared, heard, checkpoints))
        return values, heard.history.records(), conductor.before


def interrupted(directory, graph, program=RANKS):
    """Leave a checkpoint of a run on one machine."""

    def stop(event):
        if isinstance(event, events.Iteration) and event.number == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        gp.run(program, graph, checkpoint=directory, on_event=stop, options=gp.Options(checkpoint_every=1))


def test_a_run_whose_workers_have_gone_resumes_anywhere(graph, ranks, tmp_path):
    folder = tmp_path / "checkpoints"
    with pytest.raises(ClusterError, match="all workers have gone") as error:
        run(folder, Slow(3, dies=2), graph, resume=False)
    (note,) = error.value.__notes__
    assert f"{folder} has a checkpoint after " in note
    assert f"resume=True (garaph resume {folder}) goes on from there" in note
    shutil.copytree(folder, tmp_path / "copy")
    values, iterations, before = run(folder, Slow(2), graph)
    np.testing.assert_array_equal(values, ranks)
    assert before >= 2
    assert iterations[0].number == before
    again, iterations, _ = run(folder, Slow(1), graph)  # from the end
    np.testing.assert_array_equal(again, ranks)
    assert not iterations
    with gp.run(RANKS, graph, checkpoint=tmp_path / "copy", resume=True) as alone:
        assert alone.stats.resumed == before
        np.testing.assert_array_equal(alone.values, ranks)


def test_new_workers_go_on_from_the_checkpoint(graph, ranks, tmp_path):
    workers = Slow(2, dies=2, comes=2)
    values, iterations, _ = run(tmp_path, workers, graph, resume=False)
    np.testing.assert_array_equal(values, ranks)
    assert [row.number for row in iterations] == list(range(len(iterations)))
    assert workers.dies is None
    assert "numbers" in workers.asked  # which only a checkpoint needs


@pytest.mark.full
@pytest.mark.parametrize("program", [RANKS, pytest.param(gp.apps.SSSP(source=5), marks=pytest.mark.slow)])
def test_a_cluster_goes_on_from_one_machine(graph, program, tmp_path):
    """Shortest paths run asynchronously there; their answer does not depend on it."""
    interrupted(tmp_path, graph, program)
    values, _, before = run(tmp_path, Slow(2), graph, program)
    assert before == 2
    np.testing.assert_array_equal(values, gp.run(program, graph, options=gp.Options(sync=True)).values)


def test_a_run_over_a_partition_resumes_on_other_workers(graph, ranks, tmp_path):
    gp.save(graph, tmp_path / "graph")
    partition(tmp_path / "graph", tmp_path / "parts", 3)
    folder, divided = tmp_path / "checkpoints", gp.open(tmp_path / "parts")
    with pytest.raises(ClusterError, match="all workers have gone"):
        run(folder, Slow(3, dies=2), divided, resume=False)
    values, _, before = run(folder, Slow(2), gp.open(tmp_path / "parts"))
    np.testing.assert_array_equal(values, ranks)
    assert before >= 2


def listen(checkpoints, thread, listened):
    """Listen, and tell when the checkpoints have heard of a signal."""
    while thread.is_alive():
        is_signalled = interrupts.pending()
        checkpoints.listen()
        if is_signalled:
            listened.set()
        time.sleep(0.001)


def test_an_interrupt_waits_for_a_checkpoint(graph, ranks, tmp_path, free_copies):
    """The run is in another thread, as with Dask. It does not end before this one is interrupted."""
    listened, ended = threading.Event(), threading.Event()
    workers, heard = Slow(2, until=ended), []

    def interrupt(event):
        if isinstance(event, events.Iteration) and event.number == 2:
            os.kill(os.getpid(), signal.SIGINT)
            assert listened.wait(30)

    prepared = {"program": tuple(sent(by_numbers(RANKS, graph))), "options": {}}
    with Saver(tmp_path, parse_every("1h"), False, heard.append) as saver, signals_held():
        checkpoints = Checkpoints.open(saver, bind(RANKS, graph), graph, None)
        hears = Heard(interrupt, Record(None, None))
        work = conduct(workers, bind(RANKS, graph), graph, prepared, hears, checkpoints)
        thread = threading.Thread(target=asyncio.run, args=(work,))
        thread.start()
        with pytest.raises(KeyboardInterrupt) as ending:
            listen(checkpoints, thread, listened)
        ended.set()
        thread.join()
    (kept, *_) = heard
    assert ending.value.__notes__ == [f"interrupted after {kept.iterations} iterations; {tmp_path} has a checkpoint"]
    np.testing.assert_array_equal(run(tmp_path, Slow(3), graph)[0], ranks)


def test_what_is_of_another_run_is_refused(graph, tmp_path):
    interrupted(tmp_path, graph)
    with pytest.raises(ParameterError, match="add --resume"):
        run(tmp_path, Slow(1), graph, resume=False)
    with pytest.raises(ParameterError, match="of another run"):
        run(tmp_path, Slow(1), graph, gp.apps.PageRank(damping=0.5))
    with pytest.raises(ParameterError, match="allow more"):
        run(tmp_path, Slow(1), graph, iterations=1)
