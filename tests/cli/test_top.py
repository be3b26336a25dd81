"""``garaph top`` ranks what ``garaph run --output`` has written, and --smallest ranks from below."""

import json

import pytest

import garaph_py as gp
from tests.support.command import Shell


@pytest.fixture
def garaph(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\nd\ta\n")
    return Shell(monkeypatch, capsys)


def top_of(out):
    return out.split(":\n")[1].split()


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_it_prints_what_the_run_has_printed(garaph, suffix):
    printed = garaph("run", "BFS", "edges.tsv", "--source", "a", "--output", f"r.{suffix}", "--top", 2)[1]
    status, out, _ = garaph("top", f"r.{suffix}", "-k", 2)
    assert status == 0
    assert out.splitlines() == printed.splitlines()[-4:-1]
    assert top_of(out) == ["c", "2", "b", "1"]


def test_the_nearest_come_first_and_the_unreached_not_at_all(garaph):
    printed = garaph("run", "BFS", "edges.tsv", "--source", "a", "--output", "r.parquet", "--smallest")[1]
    out = garaph("top", "r.parquet", "--smallest")[1]
    assert out.splitlines() == printed.splitlines()[-5:-1]
    assert out.startswith("smallest 3 by level:")
    assert top_of(out) == ["a", "0", "b", "1", "c", "2"]
    answer = json.loads(garaph("run", "BFS", "edges.tsv", "--source", "a", "--smallest", "--json")[1])
    assert answer["top"] == json.loads(garaph("top", "r.parquet", "--smallest", "--json")[1])["top"]


def test_a_format_that_does_not_know_the_unreached_says_so(garaph):
    gp.run(gp.apps.BFS("a"), gp.read("edges.tsv")).to_csv("r.csv")
    assert garaph("top", "r.csv", "--smallest")[1].splitlines()[-1].startswith("note: a .csv file does not tell")


def test_a_mistake_ends_in_one_line(garaph):
    status, out, err = garaph("top", "edges.parquet")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert garaph("top", "edges.tsv")[2].startswith("error: edges.tsv: the name must end in .parquet, .csv, .npy")
