"""Cores this process may use, and teams of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from garaph_py.errors import ParameterError
from garaph_py.threads import Team, available_cores, split


def test_available_cores_obeys_affinity() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});" \
           "from garaph_py.threads import available_cores; print(available_cores())"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
    assert 1 <= available_cores() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_results_come_in_order_and_the_caller_takes_part(size: int) -> None:
    with Team(size) as team:
        names = team.run(lambda number: (number, threading.current_thread().name), [(k,) for k in range(size)])
    assert [number for number, _ in names] == list(range(size))
    assert names[0][1] == threading.current_thread().name


def test_a_failure_is_raised_after_everybody_has_finished() -> None:
    finished = []

    def work(number: int) -> None:
        if number == 1:
            raise ValueError("one")
        threading.Event().wait(0.05)
        finished.append(number)

    with Team(3) as team, pytest.raises(ValueError, match="one"):
        team.run(work, [(0,), (1,), (2,)])
    assert sorted(finished) == [0, 2]


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2", 5000])
def test_a_useless_size_is_refused(size: object) -> None:
    with pytest.raises(ParameterError, match="threads="):
        Team(size)  # type: ignore[arg-type]


def test_split_is_even() -> None:
    assert split(10, 3) == [0, 3, 6, 10]
    assert split(0, 2) == [0, 0, 0]
