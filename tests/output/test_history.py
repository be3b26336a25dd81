"""The records of iterations, some of which are made when somebody looks."""

import pickle

import numpy as np

from garaph_py.events import Iteration
from garaph_py.output.history import History, Unmade


def row(number):
    return Iteration(number, "push", number / 100, 10 * number, 5, 1, 0, 0.1)


def history(calls):
    """Iterations 0 to 4; records 1 and 2 are not made yet, and `calls` gets what is made."""

    def make():
        calls.append([1, 2])
        return [row(1), row(2)]

    found = History([row(0)])
    found.add(Unmade(2, {"active": np.array([10, 20]), "f": np.array([0.01, 0.02])}.get, make))
    found.add(row(3))
    found.add(row(4))
    return found


def test_records_are_made_once_when_asked_for():
    calls = []
    found = history(calls)
    assert len(found) == 5
    assert found.column("active").tolist() == [0, 10, 20, 30, 40]
    assert found.column("f").tolist() == [0, 0.01, 0.02, 0.03, 0.04]
    assert not calls
    assert found.records() == [row(k) for k in range(5)]
    assert found.records() is found.records()
    assert len(calls) == 1
    assert (len(found), found.column("active").tolist()) == (5, [0, 10, 20, 30, 40])


def test_the_last_iterations_can_be_forgotten():
    found = history([])
    found.keep(2)
    found.add(row(2))
    assert found.records() == [row(k) for k in range(3)]


def test_histories_with_the_same_records_are_equal():
    found, other = history([]), History([row(k) for k in range(5)])
    assert found == other
    assert repr(found) == repr([row(k) for k in range(5)])
    assert pickle.loads(pickle.dumps(other)) == other
    assert other != History()
    assert other != other.records()


def test_nothing_was_done():
    found = History()
    assert (len(found), found.records(), found.column("f").tolist()) == (0, [], [])
