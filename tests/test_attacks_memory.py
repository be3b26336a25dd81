"""`scripts/attacks/memory.py`: a small round of each kind, and a process that takes too much, which it must notice."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from attacks import memory

pytestmark = pytest.mark.slow

SCALE = 10
JOB = memory.importing("edges.npy", "raw")


@pytest.mark.full
def test_a_command_keeps_its_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "TRIES", 1)
    outcome = memory.in_group(JOB, SCALE, random.Random(1), tmp_path)
    if any(what.startswith("skipped") for what in outcome.counts):
        pytest.skip("no control group can be made here")
    assert outcome.problems == []
    assert outcome.counts["in a group, import: answers"] > 0


@pytest.mark.full
def test_a_command_with_few_addresses_answers_or_says_why_not(monkeypatch, tmp_path, two_cores):
    monkeypatch.setattr(memory, "TRIES", 2)
    outcome = memory.with_few_addresses(JOB, SCALE, random.Random(1), tmp_path)
    assert outcome.problems == []
    assert outcome.counts["with few addresses, import: answers"] > 0
    assert outcome.counts["with few addresses, import: typed errors"] > 0


@pytest.mark.parametrize(("taken", "killed"), [(1 << 20, 0), (1 << 28, 1)])
def test_a_process_that_takes_too_much_is_noticed(taken, killed):
    with memory.group(1 << 26) as place:
        if place is None:
            pytest.skip("no control group can be made here")
        command = [*memory.WITHIN, str(place), sys.executable, "-c", f"bytearray(b'1') * {taken}"]
        assert (subprocess.run(command).returncode != 0) == bool(killed)
        assert memory.kills(place) == killed
    assert not place.exists()
