"""``garaph run-many`` prints and writes a column of values for each source."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import garaph_py as gp
from tests.support.command import Shell


@pytest.fixture
def garaph(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_text("a\tb\nb\tc\nd\ta\nc\td\n")
    (tmp_path / "seeds.txt").write_text("a\n\n d \n")
    return Shell(monkeypatch, capsys)


@pytest.mark.parametrize("sources", [("a", "d"), ("--sources-from", "seeds.txt"), ("a", "--sources-from", "one.txt")])
def test_it_prints_what_single_runs_print(garaph, tmp_path, sources):
    (tmp_path / "one.txt").write_text("d")
    status, out, _ = garaph("run-many", "BFS", "edges.tsv", *sources, "--smallest", "--top", 2, "--verify")
    singles = [garaph("run", "BFS", "edges.tsv", "--source", name, "--smallest", "--top", 2, "-q")[1] for name in "ad"]
    expected = ["from a:", *singles[0].splitlines()[-3:], "from d:", *singles[1].splitlines()[-3:]]
    assert status == 0
    assert out.splitlines()[:-1] == expected
    assert out.splitlines()[-1].endswith("; all answers verified")


def test_a_table_is_written(garaph):
    status, out, _ = garaph("run-many", "PageRank", "edges.tsv", "a", "c", "-p", "damping=0.5", "--output", "r.parquet")
    assert (status, "wrote 4 rows to r.parquet" in out) == (0, True)
    table = pq.read_table("r.parquet")
    assert table.column_names == ["id", "a", "c"]
    graph = gp.read("edges.tsv")
    assert table["id"].to_pylist() == list(graph.ids)
    for source in ("a", "c"):
        one = gp.run(gp.apps.PageRank(damping=0.5, personalization={source: 1.0}), graph)
        np.testing.assert_allclose(table[source].to_numpy(), one.values, rtol=1e-6)


def test_json(garaph):
    document = json.loads(garaph("run-many", "BFS", "edges.tsv", "a", "c", "--json", "--top", 1)[1])
    assert [(one["source"], one["top"]) for one in document["sources"]] == [("a", [["d", 3]]), ("c", [["b", 3]])]


@pytest.mark.parametrize(("arguments", "said"), [
    (("BFS", "edges.tsv"), "there is no source"), (("BFS", "edges.tsv", "a", "a"), "the source 'a' comes 2 times"),
    (("BFS", "edges.tsv", "z"), "vertex 'z' is not in the graph"),
    (("BFS", "edges.tsv", "--sources-from", "none.txt"), "--sources-from none.txt: No such file"),
    (("BFS", "edges.tsv", "a", "-p", "source=b"), "-p source=...: the sources take its place"),
    (("BFS", "edges.tsv", "a", "--output", "r.csv"), "--output r.csv: the name must end in .parquet"),
    (("BFS", "edges.tsv", "a", "--output", "edges.tsv"), "is the graph"),
    (("BFS", "edges.tsv", "a", "--top", -1), "--top -1"),
    (("ConnectedComponents", "edges.tsv", "a"), "ConnectedComponents has no parameter that a source could be"),
])  # fmt: skip
def test_mistakes_end_in_one_line(garaph, arguments, said):
    status, out, err = garaph("run-many", *arguments)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert said in err
