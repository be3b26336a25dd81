"""Names of vertices and files may hold anything; the terminal receives lines of printable text."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import garaph_py as gp
from garaph_py.cli.terminal import OneLine
from garaph_py.errors import FormatError, GraphError, printable
from tests.support.command import Shell

EVIL = "a\n\r\t\x1b]0;title\x07\x1b[2J\x7f\x9b31m\u202eexe\u2066\u2028\u2029z"
"""A name that would end lines, set the window's title, clear the screen, and reverse text."""


@pytest.fixture
def garaph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def is_plain(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def test_printable() -> None:
    escaped = r"a\n\r\t\x1b]0;title\x07\x1b[2J\x7f\x9b31m\u202eexe\u2066\u2028\u2029z"
    assert printable(EVIL) == printable(escaped) == escaped
    assert printable("zoë 東京 \\n\udcff") == "zoë 東京 \\n\\udcff"


def test_errors_print_as_one_line() -> None:
    error = FormatError(EVIL, "no\nfile")
    assert str(error) == f"{printable(EVIL)}: no\\nfile"
    assert error.path == EVIL
    with pytest.raises(GraphError) as caught:
        gp.from_edges(["a"], [EVIL]).ids.index(EVIL + "?")
    assert str(caught.value).isprintable()


@pytest.mark.full
def test_every_command_escapes_names(garaph: Shell, tmp_path: Path) -> None:
    folder = tmp_path / EVIL.replace("/", "")
    folder.mkdir()
    edges, graph, disk, ranks = folder / "edges.parquet", folder / "graph", folder / "disk", folder / "ranks.csv"
    gp.write(gp.from_edges([EVIL, "b"], ["b", EVIL + "2"]), edges)
    disk.mkdir()
    for command in (
        ("import", edges, graph),
        ("info", graph),
        ("restripe", graph, "--disk", disk),
        ("info", graph),
        ("verify", graph),
        ("convert", graph, folder / "copy.parquet"),
        ("generate", "rmat", folder / "rmat", "--scale", 4),
        ("run", "BFS", graph, "--source", EVIL, "--output", ranks, "--report", folder / "r.html", "-q"),
        ("run", "ConnectedComponents", graph, "--symmetrize", "-q"),
    ):
        status, out, err = garaph(*command)
        assert (status, err) == (0, ""), command
        assert is_plain(out)
    assert out.count("2066") == 6  # ids and values of the top, which are names too, and the name of the graph
    next(graph.glob("*.index")).unlink()
    for command in (
        ("verify", graph),
        ("info", folder / "none"),
        ("run", "BFS", edges, "--source", EVIL + "3"),
        ("run", folder / "none.py:X", edges),
        ("run", "BFS", edges, "--source", EVIL, "--output", folder / "none" / "x.csv"),
        ("import", edges, graph),
    ):
        status, out, err = garaph(*command)
        assert status == 1, command
        assert is_plain(out)
        assert is_plain(err)
        assert len(err.splitlines()) <= 1


def test_log_messages_are_one_line() -> None:
    record = logging.LogRecord("garaph_py", logging.WARNING, "", 0, "%s: slow", (EVIL,), None)
    assert OneLine("%(name)s: %(message)s").format(record) == f"garaph_py: {printable(EVIL)}: slow"


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_letters_that_the_terminal_lacks(tmp_path: Path, encoding: str) -> None:
    edges = os.fsencode(tmp_path / "zoë") + b"\xff.tsv"
    Path(os.fsdecode(edges)).write_text("zoë\tb\n")
    start = "import sys; from garaph_py.cli import main; sys.argv[0] = 'garaph'; main()"
    command = [sys.executable, "-c", start, "run", "ConnectedComponents", edges, "--symmetrize", "-q"]
    done = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": encoding}, capture_output=True, check=True)
    name = "zoë" if encoding == "utf-8" else r"zo\xeb"
    assert f"/{name}\\udcff.tsv)" in done.stdout.decode(encoding)
    assert f"  {name}  {name}\n" in done.stdout.decode(encoding)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_a_run_whose_streams_are_closed_writes_its_files(tmp_path: Path, closed: str) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 1\n")
    command = f"{sys.executable} -m garaph_py run PageRank edges.txt --output ranks.csv {closed}"
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.getcwd()}, check=True)
    assert (tmp_path / "ranks.csv").read_text().startswith('"id","value"')
