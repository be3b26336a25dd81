"""What the command ``garaph`` itself takes: its version, completion in the shell, and silence."""

import numba
import numpy as np
import pytest

import garaph_py as gp
from tests.support.command import Shell


@pytest.fixture
def garaph(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


def test_the_version_is_one_line(garaph):
    status, out, err = garaph("--version")
    assert (status, err, out.count("\n")) == (0, "", 1)
    assert out.startswith(f"garaph_py {gp.__version__} (Python 3.")
    assert out.endswith(f"NumPy {np.__version__}, Numba {numba.__version__})\n")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("garaph ver", ["verify"]),
        ("garaph run P", ["PageRank", "PenalizedHittingProbability"]),
        ("garaph convert a b --to ma", ["matrix-market"]),
        ("garaph run PageRank graph --checkpoint-", ["--checkpoint-every"]),
    ],
)
def test_the_shell_completes(garaph, monkeypatch, words, completed):
    monkeypatch.setenv("_GARAPH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert garaph()[1].split() == completed


def test_completion_is_shown_for_a_shell(garaph, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    status, out, _ = garaph("--show-completion", "bash")
    assert status == 0
    assert "_GARAPH_COMPLETE=complete_bash" in out


@pytest.mark.slow
def test_quiet_commands_print_results_alone(garaph, tmp_path):
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\nc\ta\n")
    status, out, err = garaph("run", "PageRank", "edges.tsv", "-q", "--top", 1)
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["PageRank", "converged", "top", "a"]
    assert garaph("import", "edges.tsv", "g", "-q") == (0, "g: 3 vertices, 3 directed edges\n", "")
    assert garaph("verify", "g", "-q") == (0, "g: whole\n", "")


@pytest.mark.slow
def test_the_nearest_file_is_named(garaph, tmp_path):
    (tmp_path / "edges.tsv").write_text("a\tb\n")
    (tmp_path / "graph").mkdir()
    for name in ("spec.toml", "mine.py"):
        (tmp_path / name).touch()
    for arguments, near in (
        (["run", "PageRank", "edge.tsv"], "edges.tsv"),
        (["info", "graf"], "graph"),
        (["simulate", "spec.tml"], "spec.toml"),
        (["run", "mines.py:P", "edges.tsv"], "mine.py"),
    ):
        status, out, err = garaph(*arguments)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert f"did you mean {near}?" in err
    assert "check the name" in garaph("run", "PageRank", "zzz")[2]
    for arguments in (["simulate", "edges.tml"], ["run", "edges.py:P", "edges.tsv"], ["run", "PageRank", "mine"]):
        assert "did you mean" not in garaph(*arguments)[2]  # of a kind that the command does not read
