"""Outputs that would replace what it reads, or each other: refused before anything is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.command import Shell


@pytest.fixture
def garaph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name, text in (("g.csv", "no graph"), ("my.py", "raise SystemExit('was run')")):
        (tmp_path / name).write_text(text)
    os.link("g.csv", "link.csv")
    os.symlink("g.csv", "symbolic.csv")
    (tmp_path / "directory").mkdir()
    return Shell(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        *[(["g.csv", name, "./g.csv"], f"{name} g.csv: is the graph") for name in ("--output", "--report", "--trace")],
        (["g.csv", "--output", "link.csv"], "--output link.csv: is the graph"),
        (["g.csv", "--output", "symbolic.csv"], "--output symbolic.csv: is the graph"),
        (["g.csv", "--report", "my.py"], "--report my.py: is the program's file"),
        (["directory", "--trace", "directory/x"], "--trace directory/x: is in the graph's directory"),
        (["g.csv", "--output", "a.csv", "--trace", "./a.csv"], "--output and --trace are both 'a.csv'; name two files"),
        (["g.csv", "--report", "a", "--trace", "a"], "--trace and --report are both 'a'; name two files"),
    ],
)
def test_nothing_is_overwritten(garaph: Shell, arguments: list[str], problem: str) -> None:
    status, out, err = garaph("run", "my.py:P", *arguments)
    assert (status, out) == (1, "")
    assert err.startswith(f"error: {problem}")
    assert err.count("\n") == 1
    assert Path("g.csv").read_text() == "no graph"


@pytest.mark.parametrize("command", ["convert", "import"])
@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ("g.csv", "./g.csv", "is the graph; choose another name"),
        ("symbolic.csv", "link.csv", "is the graph; choose another name"),
        ("directory", "directory", "is the graph; choose another name"),
        ("directory", "directory/x.csv", "is in the graph's directory; choose another place"),
    ],
)
def test_what_is_read_is_not_replaced(garaph: Shell, command: str, source: str, target: str, problem: str) -> None:
    Path("g.csv").write_text("1,2\n2,3\n")
    status, out, err = garaph(command, source, target)
    assert (status, out, err) == (1, "", f"error: {Path(target)}: {problem}\n")
    assert Path("g.csv").read_text() == "1,2\n2,3\n"
    assert not any(Path("directory").iterdir())
