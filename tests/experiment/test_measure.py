"""What of a spec is measured, and what is recorded of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from garaph_py import experiment
from garaph_py.experiment.spec import RESULTS
from garaph_py.experiment.tables import read_rows
from tests.support.command import garaph

SWEEP = """
repeats = 1
warmups = 0
[sweep]
program = "PageRank"
graph = ["rmat:6:4", "uniform:6:4"]
"""


def test_graphs_are_left_out_and_measured_later(
    tmp_path: Path, no_machine: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(SWEEP)
    assert garaph(monkeypatch, "experiment", "tiny.toml", "--without", "rmat:6:5") == 1
    assert "without 'rmat:6:5': the spec has no such graph; choose from rmat:6:4, uniform" in capsys.readouterr().err
    assert not (tmp_path / "tiny").exists()
    assert garaph(monkeypatch, "experiment", "tiny.toml", "--without", "rmat:6:4") == 0
    assert {row["graph"] for row in read_rows(tmp_path / "tiny" / f"{RESULTS}.parquet")} == {"uniform:6:4"}
    assert garaph(monkeypatch, "experiment", "tiny.toml", "--resume", "-q") == 0
    assert len(read_rows(tmp_path / "tiny" / f"{RESULTS}.parquet")) == 2
    assert garaph(monkeypatch, "experiment", ".", "--without", "rmat:6:4") == 1
    assert "--without leaves out graphs of one spec" in capsys.readouterr().err


def test_bytes_over_the_link_are_compared_with_those_of_the_edges(
    spec_of: Any, no_machine: None, tmp_path: Path
) -> None:
    (row, *_) = experiment.run(spec_of(SWEEP), tmp_path / "out")
    assert (row["to_device"], row["transfer_over_edges"], row["gpu_memory_used"]) == (0, 0.0, None)
