"""How fast GPUs are, relative to each other."""

import math
from types import SimpleNamespace

import pytest

from garaph_py.executor.gpu import speeds

SLOW, FAST = SimpleNamespace(number=0, multiprocessors=66), SimpleNamespace(number=1, multiprocessors=132)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(speeds, "_measured", {})


def test_by_multiprocessors_before_a_run():
    assert speeds.of([SLOW, FAST]) == [1, 2]
    assert speeds.of([SLOW, SLOW]) == [1, 1]


def test_as_measured_in_steps():
    speeds.learn([SLOW, FAST], [10**9, 3 * 10**9], [0.01, 0.0102])
    assert speeds.of([SLOW, FAST]) == [1, 3]
    speeds.learn([SLOW, FAST], [10**9, 10**9], [0.0107, 0.01])  # about the same: parts stay as they are
    assert speeds.of([SLOW, FAST]) == [1, 1]


@pytest.mark.parametrize(
    ("edges", "seconds"),
    [([10, 10], [1e-4, 9e-4]), ([10, 0], [0.1, 0.2]), ([10, 10], [0.1, math.inf]), ([], [math.inf, math.inf])],
)
def test_what_says_nothing(edges, seconds):
    speeds.learn([SLOW, FAST], edges, seconds)
    assert speeds.of([SLOW, FAST]) == [1, 2]
