"""What ``garaph run`` says of options that it does not know, or whose values it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Shell


@pytest.fixture
def garaph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.tsv"
    path.write_text("a\tb\nb\tc\n")
    return path


def test_a_parameter_as_an_option(garaph: Shell, edges: Path) -> None:
    status, _, err = garaph("run", "PageRank", edges, "--damping", "0.9")
    assert status == 2
    assert "No such option: --damping; give a parameter of the program by -p damping=..." in err


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        ("PageRank", ["--foo", "3"], "No such option: --foo\n"),
        ("PageRank", ["--iter", "4"], "No such option: --iter (Possible options: --iterations)"),
        ("PageRank", ["--outptu", "x"], "No such option: --outptu (Possible options: --output)"),
        ("BFS", ["--damping", "1"], "No such option: --damping\n"),
        ("my.py:Mine", ["--rate", "1"], "No such option: --rate; give a parameter of the program by -p rate=..."),
        ("PageRank", ["--iterations", "ten"], "'--iterations': write a whole number"),
        ("BFS", ["--source", "a", "--source=b"], "--source: given twice; give one vertex, or several with --sources A"),
    ],
)
def test_an_option_that_is_wrong(garaph: Shell, edges: Path, program: str, options: list[str], said: str) -> None:
    status, _, err = garaph("run", program, edges, *options)
    assert status == 2
    assert said in err
