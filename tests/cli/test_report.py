"""``garaph report`` makes the page about a run afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

import garaph_py as gp
from tests.support.command import Shell
from tests.support.runs import run_with


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A shell in a folder with the traces one.json and two.json."""
    graph = gp.rmat(6, 4)
    for name in ("one", "two"):
        run_with(gp.apps.BFS(1), graph, device="cpu", trace=tmp_path / f"{name}.json")
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


def test_a_page_from_one_trace_or_two(shell: Shell, tmp_path: Path) -> None:
    assert shell("report", "one.json") == (0, "wrote a report to one.html; open it in a browser\n", "")
    assert shell("report", "one.json", "two.json")[1] == "wrote a report to one-two.html; open it in a browser\n"
    assert shell("report", "one.json", "two.json", "--out", "both.html")[0] == 0
    assert (tmp_path / "both.html").read_text() == (tmp_path / "one-two.html").read_text()
    assert (tmp_path / "both.html").read_text().count("<section>") == 2


def test_what_cannot_be_reported(shell: Shell, tmp_path: Path) -> None:
    before = (tmp_path / "two.json").read_text()
    for arguments, said in (
        (("three.json",), "three.json: no such file; "),
        (("one.json", "two.json", "--out", "two.json"), "--out two.json: is a trace to read; name another file"),
        (("one.json", "--out", "nowhere/page.html"), "--out nowhere/page.html: there is no directory"),
    ):
        status, out, err = shell("report", *arguments)
        assert (status, out) == (1, "")
        assert err.startswith(f"error: {said}")
        assert err.count("\n") == 1
    assert (tmp_path / "two.json").read_text() == before
    assert not list(tmp_path.glob("*.html"))
