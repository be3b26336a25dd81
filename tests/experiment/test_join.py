"""Results of several machines in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from garaph_py import experiment
from garaph_py.errors import FormatError, ParameterError
from tests.support.command import garaph

SPEC = """
repeats = 1
warmups = 0
[sweep]
program = "PageRank"
graph = "rmat:6:4"
iterations = [1, 2]
[[plots]]
x = "iterations"
y = "seconds"
by = "machine"
"""


@pytest.fixture
def measured(spec_of: Any, machine: dict[str, Any], tmp_path: Path) -> list[Path]:
    """Three folders, of two kinds of machines."""
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, name in zip(folders, ("Old", "New", "New"), strict=True):
        machine["cpu"] = {"name": name, "cores": 2}
        experiment.run(spec_of(SPEC), folder)
    return folders


@pytest.mark.slow
def test_joined_machines_are_told_apart(spec_of: Any, measured: list[Path], tmp_path: Path) -> None:
    spec, out = spec_of(SPEC), tmp_path / "out"
    rows = experiment.join(spec, measured, out)
    names = ["Old, 2 cores, GPU: none", *(f"New, 2 cores, GPU: none ({folder})" for folder in measured[1:])]
    assert [row["machine"] for row in rows] == [name for name in names for _ in range(2)]
    for table in ("results", "iterations"):
        joined, *parts = (pq.read_table(folder / f"{table}.parquet") for folder in (out, *measured))
        assert len(joined) == sum(map(len, parts)) > 0
        assert joined.column_names == parts[0].column_names
    assert list(json.loads((out / "machines.json").read_text())) == names
    assert (out / "spec.toml").read_text() == SPEC
    found = list(experiment.summary(spec, rows))
    assert [(one["settings"]["machine"], one["settings"]["iterations"]) for one in found] == [
        (row["machine"], row["iterations"]) for row in sorted(rows, key=lambda row: row["combination"])
    ]
    with pytest.raises(ParameterError, match="is joined of several machines; resume this machine's, and join"):
        experiment.run(spec, out, resume=True)


def test_what_cannot_be_joined(spec_of: Any, measured: list[Path], tmp_path: Path) -> None:
    spec, (first, second, _) = spec_of(SPEC), measured
    for folders in ([], [first], [first, first], [first, tmp_path / "c" / ".." / "a"]):
        with pytest.raises(ParameterError, match="two folders or more, each once"):
            experiment.join(spec, folders, tmp_path / "out")
    with pytest.raises(ParameterError, match="has no experiment; name a folder that `garaph experiment` has written"):
        experiment.join(spec, [first, tmp_path / "d"], tmp_path / "out")
    with pytest.raises(ParameterError, match="b: is there already"):
        experiment.join(spec, [first, second], second)
    (second / "machine.json").unlink()
    with pytest.raises(FormatError, match=r"machine\.json: is missing; restore the file"):
        experiment.join(spec, [first, second], tmp_path / "out")
    with pytest.raises(ParameterError, match="was made from another spec"):
        experiment.join(spec_of(SPEC.replace("[1, 2]", "[1, 3]")), [first, second], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_joins(
    measured: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, out, joining = tmp_path / "spec.toml", tmp_path / "both", ("--join", measured[0], "--join", measured[1])
    assert garaph(monkeypatch, "experiment", spec, *joining, "--out", out) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"{out}: 4 measurements"
    assert lines[0].startswith("iterations=1 machine=Old, 2 cores, GPU: none: ")
    assert garaph(monkeypatch, "experiment", spec, *joining, "--resume") == 1
    assert "--join measures nothing; leave --resume out" in capsys.readouterr().err
    assert garaph(monkeypatch, "calibrate", out, "--out", tmp_path / "machine.toml") == 1
    assert "are of 2 machines; calibrate with the folder of one" in capsys.readouterr().err
