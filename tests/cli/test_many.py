"""``garaph run --sources``: a column for each source, in text, JSON and files; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import garaph_py as gp
from tests.support.command import Shell

LEVELS = {"id": ["a", "b", "c", "d"], "a": [0, 1, 2, -1], "d": [1, 2, 3, 0]}


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.tsv"
    path.write_text("a\tb\nb\tc\nc\ta\nd\ta\n")
    return path


@pytest.fixture
def garaph(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_a_file_has_a_column_for_each_source(garaph: Shell, edges: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"levels.{suffix}"
    status, out, _ = garaph("run", "BFS", edges, "--sources", "a,d", "--verify", "--top", 1, "--output", target)
    assert status == 0
    assert "from a: converged after" in out
    assert out.split("from d: ")[1].split("top 1 by level:")[1].split()[:2] == ["c", "3"]
    assert "verified: each answer" in out
    assert f"wrote 4 rows of 2 values to {target}" in out
    if suffix == "csv":
        rows = [line.replace('"', "").split(",") for line in target.read_text().splitlines()]
        assert rows == [list(LEVELS), *(list(map(str, row)) for row in zip(*LEVELS.values(), strict=True))]
    else:
        table = pq.read_table(target) if suffix == "parquet" else pa.ipc.open_file(target).read_all()
        assert table.to_pydict() == LEVELS


def test_json_has_a_run_for_each_line_of_a_file(garaph: Shell, edges: Path, tmp_path: Path) -> None:
    (tmp_path / "seeds").write_text("a\n\n d\n")
    status, out, _ = garaph("run", "PageRank", edges, "--sources", f"@{tmp_path}/seeds", "-p", "damping=0.5", "--json")
    expected = gp.run_many(gp.apps.PageRank(damping=0.5), gp.read(edges), sources=["a", "d"])
    runs = json.loads(out)["runs"]
    assert status == 0
    assert [run["source"] for run in runs] == ["a", "d"]
    assert [run["top"] for run in runs] == [[list(pair) for pair in expected[source].top(10)] for source in expected]


def test_numbers_are_vertices(garaph: Shell, tmp_path: Path) -> None:
    path = tmp_path / "numbers.tsv"
    path.write_text("5\t6\t1\n6\t7\t1\n")
    status, _, _ = garaph("run", "SSSP", path, "--sources", "5,7", "--output", tmp_path / "far.parquet")
    assert status == 0
    assert pq.read_table(tmp_path / "far.parquet").column_names == ["id", "5", "7"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["BFS", "--sources", "a,zz"], "vertex 'zz' is not in the graph"),
        (["BFS", "--sources", "a,a"], "'a' comes twice"),
        (["BFS", "--sources", ","], "names no vertex; write A,B,C, or @FILE"),
        (["BFS", "--sources", "@none/such"], "--sources @none/such: No such file or directory"),
        (["BFS", "--sources", "a", "-p", "source=b"], "--sources and -p source=b both set source"),
        (["BFS", "--sources", "a", "--source", "b"], "--source is for one run"),
        (["BFS", "--sources", "a", "--trace", "x.json"], "--trace is for one run"),
        (["BFS", "--sources", "a", "--resume"], "--resume is for one run"),
        (["BFS", "--sources", "a", "--async"], "run_many is synchronous"),
        (["BFS", "--sources", "a", "--output", "x.npy"], "must end in .parquet, .csv, .arrow"),
        (
            ["BFS", "--sources", "a", "--output", "x.parquet", "--raw-names"],
            "--raw-names is only for --output FILE.csv",
        ),
        (["ConnectedComponents", "--sources", "a"], "has no parameter that a source could be"),
    ],
)
def test_mistakes_end_in_one_line(garaph: Shell, edges: Path, arguments: list[str], problem: str) -> None:
    program, *options = arguments
    status, out, err = garaph("run", program, edges, *options)
    assert status == 1
    assert err.count("\n") == 1
    assert problem in err
    assert out == ""
