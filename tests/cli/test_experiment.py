"""``garaph experiment``: over a folder of specs, and with measurements that fail."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from garaph_py.experiment import measure
from tests.support.command import Shell

SPEC = "repeats = 1\nwarmups = 0\n[sweep]\nprogram = 'PageRank'\ngraph = 'rmat:5:2'\niterations = 1\n"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A shell in a folder with two specs in ``specs``, on a machine that is described at once."""
    machine = {"cpu": {"name": "X", "cores": 2}, "gpus": [], "versions": {}}
    monkeypatch.setattr(measure, "describe", lambda folder, on_event, known: machine)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "one.toml").write_text(SPEC)
    (tmp_path / "specs" / "two.toml").write_text(SPEC.replace("= 1\n[", "= 1\n[").replace("5:2", "5:3"))
    return Shell(monkeypatch, capsys)


def test_each_spec_of_a_folder_has_its_own(shell: Shell, tmp_path: Path) -> None:
    status, out, _ = shell("experiment", "specs", "--out", "measured", "-q")
    assert (status, [line for line in out.splitlines() if "measurement" in line]) == (
        0, ["measured/one: 1 measurement", "measured/two: 1 measurement"],
    )  # fmt: skip
    assert {path.name for path in (tmp_path / "measured").iterdir()} == {"one", "two"}
    assert shell("experiment", "specs", "--out", "measured")[2].startswith("error: measured/")
    status, out, _ = shell("experiment", "specs", "-q", "--json")
    assert [one["folder"] for one in json.loads(out)["experiments"]] == ["one", "two"]


def test_a_folder_measures_the_machine_once(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, describe = [], measure.describe
    monkeypatch.setattr(measure, "describe", lambda *arguments: given.append(arguments) or describe(*arguments))
    assert shell("experiment", "specs", "-q")[0] == 0
    assert [folder.name for folder, *_ in given] == ["one", "two"]
    assert given[0][2] is given[1][2] is not None


def test_a_folder_is_resumed_spec_by_spec(shell: Shell, tmp_path: Path) -> None:
    assert shell("experiment", "specs/one.toml", "--out", "measured/one")[0] == 0
    status, out, _ = shell("experiment", "specs", "--out", "measured", "--resume", "-q")
    assert status == 0
    assert "measured/one: 1 measurement, 0 of them new" in out
    assert "measured/two: 1 measurement\n" in out


def test_nothing_runs_if_a_spec_is_wrong(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "specs" / "two.toml").write_text(SPEC + "devise = 'cpu'")
    status, _, err = shell("experiment", "specs")
    assert (status, err.count("\n")) == (1, 1)
    assert err.startswith("error: specs/two.toml: sweep: there is no 'devise'")
    (tmp_path / "empty").mkdir()
    assert "empty: has no spec, NAME.toml; name a spec" in shell("experiment", "empty")[2]
    assert {path.name for path in tmp_path.iterdir()} == {"specs", "empty"}


NOBODY = "program = {name = 'BFS', source = 999}"


def test_it_fails_if_all_measurements_fail(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "specs" / "one.toml").write_text(SPEC.replace("program = 'PageRank'", NOBODY))
    status, out, err = shell("experiment", "specs/one.toml", "-q")
    assert (status, err.count("\n")) == (1, 1)
    assert err.startswith("error: all measurements failed: the first in one: ")
    assert "999" in err
    assert err.endswith("; then continue with --resume, or in another folder if the spec changes\n")
    assert out.endswith("\none: 1 measurement, 1 of them failed\n")
    assert {"results.parquet", "spec.toml"} <= {path.name for path in (tmp_path / "one").iterdir()}
    assert shell("experiment", "specs/one.toml", "--resume", "-q")[0] == 1
    status, out, _ = shell("experiment", "specs/one.toml", "--out", "again", "-q", "--json")
    assert (status, json.loads(out)["failed"]) == (1, 1)
    assert shell("experiment", "specs/one.toml", "--join", "one", "--out", "joined")[0] == 1


def test_resuming_makes_the_measurements_again_if_all_failed(shell: Shell, tmp_path: Path) -> None:
    spec = SPEC.replace("rmat:5:2", "edges.tsv").replace("repeats = 1", "repeats = 2")
    (tmp_path / "specs" / "one.toml").write_text(spec)
    (tmp_path / "specs" / "edges.tsv").write_text("1 2\n3\n")
    status, _, err = shell("experiment", "specs/one.toml", "-q")
    assert (status, "edges.tsv, line 2" in err) == (1, True)
    (tmp_path / "specs" / "edges.tsv").write_text("1 2\n")
    status, out, _ = shell("experiment", "specs/one.toml", "--resume", "-q", "--json")
    assert (status, json.loads(out)["failed"], json.loads(out)["measurements"]) == (0, 0, 2)
    rows = pq.read_table(tmp_path / "one" / "results.parquet").to_pylist()
    assert [row["measurement"] for row in rows] == [0, 1]
    assert "2 measurements, 0 of them new" in shell("experiment", "specs/one.toml", "--resume", "-q")[1]


def test_it_succeeds_if_some_measurements_do_and_says_why_the_others_failed(shell: Shell, tmp_path: Path) -> None:
    spec = SPEC.replace("program = 'PageRank'", "program = ['PageRank', {name = 'BFS', source = 999}]")
    (tmp_path / "specs" / "one.toml").write_text(spec)
    status, out, _ = shell("experiment", "specs/one.toml", "-q")
    lines = out.splitlines()
    assert (status, len(lines), lines[2]) == (0, 3, "one: 2 measurements, 1 of them failed")
    assert lines[0].startswith("program=PageRank")
    assert lines[1].startswith("failed: program=BFS")
    assert "999" in lines[1]


def test_a_folder_fails_only_if_all_measurements_of_all_specs_do(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "specs" / "one.toml").write_text(SPEC.replace("program = 'PageRank'", NOBODY))
    assert shell("experiment", "specs", "--out", "some", "-q")[0] == 0
    (tmp_path / "specs" / "two.toml").unlink()
    assert shell("experiment", "specs", "--out", "none", "-q")[0] == 1
