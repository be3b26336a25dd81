"""kill -9 at random moments: `scripts/crash_checkpoint.py`, a few rounds of it."""

import os
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("GARAPH_KILLS", "20"))


@pytest.mark.full
def test_killed_and_resumed(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "scripts")
    import crash_checkpoint

    problems, resumed = crash_checkpoint.rounds(ROUNDS, seed=3, kills=1)
    assert not problems
    assert max(resumed) > 10
