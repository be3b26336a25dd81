"""What of a spec is measured, and what is recorded of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import garaph_py as gp
from garaph_py import experiment
from garaph_py.experiment.budget import VERTEX_BYTES
from garaph_py.experiment.graphs import named
from garaph_py.experiment.kinds import Combination, Prepared, measure_run
from garaph_py.experiment.spec import RESULTS
from garaph_py.experiment.tables import read_rows
from tests.support.command import garaph
from tests.support.numpy_gpu import Lengths

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


def test_a_share_of_the_graph_and_its_volume_on_a_simulated_gpu(device_with_lists: Any, tmp_path: Path) -> None:
    graph, program = gp.rmat(10, 8, weights=(1, 9)), Lengths(0)
    device_with_lists(program, graph)
    given = {"engine": "hytgraph:partition_bytes=2048,transfers=copied", "gpu_memory": "1/2", "sync": True}
    combination = Combination(0, {}, given, named("rmat:10:8", tmp_path), program)
    row, parts = measure_run(combination, Prepared(graph), tmp_path)
    edge_bytes = 8 * graph.m  # a target and a weight
    assert row["gpu_memory_used"] == edge_bytes // 2 + VERTEX_BYTES * graph.n
    assert row["transfer_over_edges"] == row["to_device"] / edge_bytes > 0
    assert sum(part["pages_copied"] for part in parts) > 0
