"""A small round of each attack in scripts/attacks, which finds nothing; and rounds on planted bugs, which are found."""

import contextlib
import os
from pathlib import Path

import pytest

from garaph_py.checkpoint.saver import Saver
from garaph_py.storage import write
from garaph_py.system import files

pytestmark = pytest.mark.slow

RUN, CONVERT, GENERATE, RESTRIPE, UPGRADE = 6, 4, 2, 5, 10
"""Seeds of the first rounds of some jobs."""
AT_THE_END = 259
"""The seed of a round that kills a run while it writes its outputs."""


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")


def few(name, seed, folder, plant=None):
    """A round of an attack with fewer trials than usual, on a package into which ``plant()`` has put a bug."""
    from attacks import faults, kills, power

    kills.KILLS, kills.INSTANTS, kills.NEW_PROCESSES = 8, 2, 1
    faults.FAULTS = power.STATES = 12
    if plant is not None:
        plant()
    return {"kills": kills, "faults": faults, "power": power}[name].one_round(seed, folder)


def attacked(*arguments):
    """The outcome of `few` in a process of its own."""
    from attacks.children import fresh

    return fresh(few, *arguments)


@pytest.mark.full
@pytest.mark.parametrize(("name", "seed", "counted"), [
    ("kills", RUN, "kills"), ("faults", UPGRADE, "typed errors"),
    pytest.param("kills", RESTRIPE, "kills", marks=pytest.mark.full),
    pytest.param("faults", RUN, "typed errors", marks=pytest.mark.full),
    pytest.param("power", RUN, "things told before", marks=pytest.mark.full),
])  # fmt: skip
def test_an_attack_finds_nothing(tmp_path, name, seed, counted):
    outcome = attacked(name, seed, tmp_path)
    assert outcome.problems == []
    assert outcome.counts[counted] > 3


def remove_checkpoints_early():
    """The checkpoints of a run go before its outputs are written."""
    end = Saver.end

    def end_and_remove(self, state, iterations):
        end(self, state, iterations)
        self._store.remove()

    Saver.end = end_and_remove


class WithoutSync:
    """`os` for a module that forgets to sync."""

    fsync = staticmethod(lambda handle: None)

    def __getattr__(self, name):
        return getattr(os, name)


def forget_to_sync():
    files.os = WithoutSync()


def swallow_errors():
    """A graph's files are written without looking at errors."""

    @contextlib.contextmanager
    def writing(path):
        with contextlib.suppress(OSError):
            yield

    write.writing = writing


@pytest.mark.parametrize(("name", "seed", "plant", "problem"), [
    ("faults", GENERATE, swallow_errors, "what is left cannot be read"),
    pytest.param(
        "kills", AT_THE_END, remove_checkpoints_early, "checkpoint 6 was acknowledged, 0 is the newest",
        marks=pytest.mark.full,
    ),
    pytest.param("power", CONVERT, forget_to_sync, "out.csv is", marks=pytest.mark.full),
])  # fmt: skip
def test_an_attack_finds_a_planted_bug(tmp_path, name, seed, plant, problem):
    outcome = attacked(name, seed, tmp_path, plant)
    assert any(problem in found for found in outcome.problems), outcome
