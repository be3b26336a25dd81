"""Small rounds of the attacks on files that are read, which find nothing; and planted bugs, which they find."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from garaph_py.storage import blocks, manifest
from garaph_py.system.memory import release_unused

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from attacks import Outcome, bombs, damage, fuzz, probes, reading, samples

pytestmark = pytest.mark.slow

BRANCHING = """
def weigh(a, b):
    if a:
        return 1 if b else 2
    return 3 if a or b else "a constant"
"""


@pytest.fixture
def kept(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")
    return tmp_path / "kept"


# Fuzzing


@pytest.mark.full
def test_a_round_reads_files(tmp_path):
    outcome, found = fuzz.fuzz(samples.MANIFEST, 1, tmp_path, inputs=300)
    assert outcome.problems == []
    assert outcome.counts["files read"] + outcome.counts["files refused"] == 300
    assert outcome.counts["branches reached anew"] == len(found)


@pytest.mark.parametrize("target", samples.TARGETS)
def test_the_corpus_is_read_or_refused(tmp_path, target):
    plain = samples.samples_of(target)
    for number, (origin, parts) in enumerate(fuzz.corpus(target)):
        folder = tmp_path / str(number)
        folder.mkdir(mode=0o700)
        sample = plain[origin % len(plain)]
        sample.pack(parts, folder)
        outcome, note, _ = reading.attempt(folder / sample.entry, target)
        assert outcome != reading.BAD, note


def careless(path, target):
    manifest.load_json(path.read_bytes(), path)["nothing"]


def greedy(path, target):
    np.ones(2 * reading.ALLOWANCE, np.uint8)
    reading.read_manifest(path, target)


@pytest.mark.full
@pytest.mark.parametrize(("reader", "problem"), [(careless, "KeyError"), (greedy, "times the memory")])
def test_a_planted_bug_is_found_and_its_file_kept(tmp_path, monkeypatch, kept, reader, problem):
    round = fuzz.Reader(samples.MANIFEST, 1, tmp_path)
    monkeypatch.setitem(reading.READERS, samples.MANIFEST, reader)
    release_unused()  # else memory that earlier tests have freed may go in the meantime, and hide what is taken
    report = round.batch(range(8))
    assert any(problem in found for found in report.problems)
    assert any(file.name == manifest.NAME for file in kept.rglob("*"))


@pytest.mark.full
def test_a_reader_that_dies_or_hangs_is_a_problem(tmp_path, monkeypatch, kept):
    outcome, _ = fuzz.fuzz("no such reader", 1, tmp_path, inputs=50)
    assert "the process ended with 1" in outcome.problems[0]
    for name in "PATIENCE", "STARTING":
        monkeypatch.setattr(fuzz, name, 0.01)
        outcome, _ = fuzz.fuzz(samples.MANIFEST, 1, tmp_path, inputs=50)
        assert "hangs" in outcome.problems[0]


def test_probes_tell_which_branches_have_run(tmp_path, monkeypatch):
    (tmp_path / "branching.py").write_text(BRANCHING)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    probes.install("branching")
    import branching

    reached = set()
    for a, b in itertools.product((0, 1), repeat=2):
        probes.SEEN[:] = bytes(len(probes.SEEN))
        branching.weigh(a, b)
        reached.add(bytes(probes.SEEN))
    assert len(reached) == 4
    assert b"a constant" in probes.TOKENS


# Damage


@pytest.mark.full
def test_a_round_of_damage_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(damage, "ROUNDS", 1000)
    outcome = damage.attack(7, tmp_path)
    assert outcome.problems == []
    assert outcome.counts["found"] > 20
    assert outcome.counts["without effect on the answer"] > 0


@pytest.mark.full
def test_damage_that_nothing_checks_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks.BlockReader, "check", lambda *_: None)
    specimen = damage.directory("raw", damage.small_graph(1), damage.small_graph(2), tmp_path)
    every = [what for what, _ in damage.damages(specimen, 0)]
    monkeypatch.setattr(damage, "ROUNDS", len(every))
    outcome = Outcome()
    damage.harm(specimen, every.index("id_bytes.data, byte 3 changed"), tmp_path / "damaged", outcome)
    assert "id_bytes.data, byte 3 changed, from_raw: another answer" in outcome.problems[0]


# Bombs


def test_a_bomb_is_read(tmp_path):
    seed = sorted(bombs.BOMBS).index("text.zst, one line of nulls")
    outcome = bombs.attack(seed, tmp_path)
    assert outcome.problems == []
    assert outcome.counts.total() == 1
