"""The checkpoints of a finished run stay until its answer is safe, and hold its end."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.store import Store
from garaph_py.errors import ParameterError

from ..support.runs import run_with

PROGRAM = gp.apps.PageRank(tolerance=1e-4)
HOW = {"device": "cpu", "sync": True}


@pytest.fixture(scope="module")
def graph():
    return gp.rmat(6)


def iterations_in(directory):
    """The iterations done in the newest checkpoint."""
    store = Store(directory, Files())
    try:
        return store.newest().iterations
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("every", [None, 1, "1h"])
@pytest.mark.parametrize(
    ("program", "how"),
    [(PROGRAM, {}), (PROGRAM, {"iterations": 3}), (gp.apps.SSSP(1), {}), (gp.apps.SSSP(1), {"sync": False})],
)
def test_the_last_checkpoint_holds_the_end(graph, directory, every, program, how):
    """After an exception in the ``with`` block, the next run computes nothing and has the same answer."""
    expected = run_with(program, graph, **(HOW | how))
    with (
        pytest.raises(ZeroDivisionError) as caught,
        run_with(program, graph, checkpoint=directory, checkpoint_every=every, **(HOW | how)),
    ):
        1 / 0  # noqa: B018 - raises
    assert caught.value.__notes__ == [
        f"the run itself has ended; {directory} has its last checkpoint: resume from there"
    ]
    assert iterations_in(directory) == len(expected.stats.iterations)
    with run_with(program, graph, checkpoint=directory, resume=True, **(HOW | how)) as again:
        assert not again.stats.iterations
        assert again.stats.resumed == len(expected.stats.iterations)
        assert again.stats.converged == expected.stats.converged
        np.testing.assert_array_equal(again.values, expected.values)
    assert not directory.exists()


def test_outputs_that_fail_leave_it(graph, directory, tmp_path, monkeypatch):
    def full(*_):
        raise ParameterError("No space left on device")

    monkeypatch.setattr("garaph_py.output.record.Record.write", full)
    with pytest.raises(ParameterError, match="No space left") as caught:
        run_with(PROGRAM, graph, checkpoint=directory, report=tmp_path / "report.html", **HOW)
    assert "resume from there" in caught.value.__notes__[0]
    assert iterations_in(directory) > 3


def test_an_end_that_cannot_be_written_is_logged(graph, directory, monkeypatch, caplog):
    def full(self, handle, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Files, "write", full)
    result = run_with(PROGRAM, graph, checkpoint=directory, iterations=3, **HOW)
    assert "no checkpoint after 3 iterations" in caplog.text
    result.close()
    assert not directory.exists()
    with pytest.raises(ZeroDivisionError) as caught, run_with(PROGRAM, graph, checkpoint=directory, **HOW):
        1 / 0  # noqa: B018 - raises
    assert not directory.exists()
    assert not hasattr(caught.value, "__notes__")


def test_an_error_after_a_run_whose_end_was_not_written_names_the_checkpoint_before(graph, directory, monkeypatch):
    save = Store.save

    def first_only(self, iterations, *others):
        if iterations > 1:
            raise OSError(28, "No space left on device")
        return save(self, iterations, *others)

    monkeypatch.setattr(Store, "save", first_only)
    with (
        pytest.raises(ZeroDivisionError) as caught,
        run_with(PROGRAM, graph, checkpoint=directory, checkpoint_every=1, **HOW),
    ):
        1 / 0  # noqa: B018 - raises
    assert caught.value.__notes__ == [f"{directory} has a checkpoint from before the end: resume from there"]
    assert iterations_in(directory) == 1


def test_no_second_checkpoint_of_the_end(graph, directory):
    seen = []
    with run_with(PROGRAM, graph, checkpoint=directory, checkpoint_every=1, iterations=3, on_event=seen.append, **HOW):
        pass
    assert [event.iterations for event in seen if isinstance(event, events.Checkpoint)] == [1, 2, 3]


def test_close_removes_them_once(graph, directory):
    first = run_with(PROGRAM, graph, checkpoint=directory, **HOW)
    with pytest.raises(ParameterError, match="another run uses this directory"):
        Store(directory, Files())
    first.close()
    assert not directory.exists()
    second = run_with(PROGRAM, graph, checkpoint=directory, **HOW)
    first.close()
    assert directory.exists()
    second.close()
    assert not directory.exists()
    run_with(PROGRAM, graph, **HOW).close()  # without checkpoints there is nothing to do


@pytest.mark.slow
def test_the_next_run_there_removes_them(graph, directory):
    for source in (1, 2):
        result = run_with(gp.apps.SSSP(source), graph, checkpoint=directory, resume=True, **HOW)
        assert result.stats.resumed == 0
    result.close()


def test_a_copy_or_a_pickle_of_a_result(graph, directory):
    result = run_with(PROGRAM, graph, checkpoint=directory, **HOW)
    pickle.loads(pickle.dumps(result)).close()
    copy.copy(result).close()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)).values, result.values)
    assert directory.exists()
    assert "checkpoint" not in repr(result)
    result.close()


START = """
import os, sys
import garaph_py as gp
result = gp.run(gp.apps.PageRank(), gp.rmat(4), device="cpu", checkpoint=sys.argv[1])
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("", False),
        ("sys.exit(3)", False),
        ("1 / 0", True),
        ("os._exit(0)", True),
        ("os.kill(os.getpid(), 9)", True),
        ("os.fork() or sys.exit(); os.wait(); assert os.path.exists(sys.argv[1]), 'removed'", False),
    ],
    ids=["normal", "exit", "exception", "_exit", "kill", "fork"],
)
def test_the_end_of_the_process_removes_them(directory, end, left):
    ended = subprocess.run([sys.executable, "-c", START + end, directory], capture_output=True, text=True, check=False)
    assert "removed" not in ended.stderr
    assert directory.exists() == left
