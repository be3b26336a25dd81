"""`scripts/attacks/page_logs.py`: a small round, and logs that are believed too much, which it must find."""

import sys
from pathlib import Path

import pytest

from garaph_py.checkpoint import page_log

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from attacks import Outcome, page_logs

pytestmark = pytest.mark.slow


def gone_on(folder, words="", step=1):
    """What comes of every `step`-th damage to a log that has the `words` in its name."""
    outcome, logs = Outcome(), page_logs.Logs(folder)
    chosen = [(what, make) for what, make in logs.all_damages() if words in what]
    for what, make in chosen[::step]:
        logs.go_on(what, make, folder / "damaged", outcome)
    assert outcome.counts["damages to a page log"] == len(chosen[::step]) > 0
    return outcome


@pytest.mark.full
def test_a_small_round_finds_nothing(tmp_path):
    assert gone_on(tmp_path, step=10).problems == []
    (tmp_path / "round").mkdir()
    outcome = page_logs.attack(41, tmp_path / "round")
    assert outcome.problems == []
    assert outcome.counts["damages to a checkpoint with a page log"] > 50


@pytest.mark.full
def test_records_that_are_believed_unchecked_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(page_log.LoggedPage, "checksum", lambda page, base: 0)
    assert any("another answer" in problem for problem in gone_on(tmp_path, "of zeros").problems)


@pytest.mark.full
def test_a_log_of_another_checkpoint_that_is_believed_is_found(tmp_path, monkeypatch):
    header, checksum = page_log.header_of, page_log.LoggedPage.checksum
    monkeypatch.setattr(page_log, "header_of", lambda base, size: header(0, size))
    monkeypatch.setattr(page_log.LoggedPage, "checksum", lambda page, base: checksum(page, 0))
    problems = gone_on(tmp_path, "another graph").problems
    assert any("another answer" in problem for problem in problems)


@pytest.mark.full
def test_a_failure_without_a_type_is_found(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("no error of errors.py")

    outcome, logs = Outcome(), page_logs.Logs(tmp_path)
    monkeypatch.setattr(page_log, "page_at", broken)
    logs.go_on("nothing", lambda folder: None, tmp_path / "damaged", outcome)
    assert len(outcome.problems) == 3
    assert all("no error of errors.py" in problem for problem in outcome.problems)
