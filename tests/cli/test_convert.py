"""``garaph convert`` and ``garaph formats``, and the table of formats in the docs."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from garaph_py.cli.convert import cells
from garaph_py.graph.build import from_numbered_edges
from garaph_py.io.formats import FORMATS
from garaph_py.io.read import read
from garaph_py.storage import directory as store
from tests.support.command import Shell
from tests.support.graphs import edges_of

DOCS = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
EDGES = "a\tb\t1.5\nb\tc\t2\nc\ta\t4\na\tb\t8\nc\tc\t16\n"


@pytest.fixture
def garaph(monkeypatch, capsys):
    return Shell(monkeypatch, capsys)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text(EDGES)
    return path


def test_through_every_kind_of_place_and_back(garaph, source, tmp_path):
    steps = [source, *(tmp_path / name for name in ("g.parquet", "directory", "g.arrow", "g.csv.zst"))]
    for one, other in pairwise(steps):
        status, out, err = garaph("convert", one, other)
        assert (status, out, err) == (0, f"{other}: 3 vertices, 5 directed edges, float64 values\n", "")
    back, before = read(steps[-1]), read(source)
    assert edges_of(back) == edges_of(before)
    assert store.open(tmp_path / "directory").m == 5


def test_formats_are_named_when_suffixes_do_not_tell(garaph, source, tmp_path):
    plain, out = source.rename(tmp_path / "edges.data"), tmp_path / "out.data"
    assert garaph("convert", plain, out, "--from", "text", "--to", "npz")[0] == 0
    assert read(out, format="npz").n == 3
    assert garaph("convert", out, tmp_path / "graph.d", "--from", "npz", "--to", "directory")[0] == 0
    assert store.open(tmp_path / "graph.d").n == 3


@pytest.mark.parametrize(
    ("options", "target", "losses"),
    [
        ([], "g.mtx", ["vertex ids; "]),
        (["--undirected"], "g.tsv", ["that edges are undirected; read it with --undirected"]),
        ([], "g.sg", ["vertex ids; ", "edge values"]),
    ],
)
def test_what_is_not_kept_is_said(garaph, source, tmp_path, options, target, losses):
    status, out, _ = garaph("convert", source, tmp_path / target, *options)
    said = re.findall(r"^  not kept: (.*)$", out, re.MULTILINE)
    assert status == 0
    assert len(said) == len(losses)
    assert all(found.startswith(loss) for found, loss in zip(said, losses, strict=True))


def test_vertices_without_edges_are_counted(garaph, tmp_path):
    store.save(from_numbered_edges([0], [3], 9), tmp_path / "graph")
    assert "not kept: 7 vertices without edges" in garaph("convert", tmp_path / "graph", tmp_path / "g.txt")[1]
    assert garaph("convert", tmp_path / "graph", tmp_path / "g.adj")[1].count("\n") == 1


@pytest.mark.slow
def test_commands_that_read_tables_name_columns(garaph, tmp_path):
    table = tmp_path / "sales.csv"
    table.write_text("time,buyer,seller,amount\n1990,ann,bob,5\n")
    names = ["--source-column", "buyer", "--target-column", "seller"]
    for command in (
        ["convert", table, tmp_path / "g.tsv"],
        ["import", table, tmp_path / "g"],
        ["run", "PageRank", table],
    ):
        assert "columns are 'time', 'buyer', 'seller', 'amount'" in garaph(*command)[2]
        status, out, _ = garaph(*command, *names, "--weight-column", "amount")
        assert status == 0
        assert "1 directed edge, int64 values" in out
    assert garaph("convert", table, tmp_path / "g.tsv", *names, "--no-weights")[0] == 0
    assert (tmp_path / "g.tsv").read_text() == "source\ttarget\nann\tbob\n"
    assert garaph("run", "PageRank", table, *names, "--no-weights")[0] == 0
    assert "is a graph directory" in garaph("run", "PageRank", tmp_path / "g", *names)[2]


@pytest.mark.parametrize("through", ["file", "directory"])
def test_a_graph_is_made_fit_for_metis(garaph, source, tmp_path, through):
    if through == "directory":
        assert garaph("convert", source, tmp_path / "graph")[0] == 0
        source = tmp_path / "graph"
    options = ["--symmetrize", "--no-weights", "--drop-self-loops", "--drop-parallel"]
    assert garaph("convert", source, tmp_path / "g.graph", *options)[0] == 0
    assert (tmp_path / "g.graph").read_text() == "3 3\n2 3\n1 3\n1 2\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["EDGES", "x.foo"], "suffix '.foo' is no format to write"),
        (["EDGES", "x.parquet.gz"], "parquet files are not compressed"),
        (["EDGES", "x.mtx", "--to", "foo"], "format='foo' is not known"),
        (["EDGES", "x.mtx", "--from", "foo"], "format='foo' is not known"),
        (["EDGES", "GRAPH"], "already exists"),
        (["EDGES", "GRAPH", "--to", "text"], "is a directory; give the name of a file"),
        (["GRAPH", "x.mtx", "--undirected"], "is a graph directory"),
        (["GRAPH", "x.mtx", "--source-column", "a"], "is a graph directory"),
        (["GRAPH", "x.graph"], "directed, but METIS files are undirected"),
        (["missing.tsv", "x.mtx"], "no such file"),
        (["EDGES", "no/such/x.mtx"], "there is no directory "),
    ],
)
def test_mistakes_end_in_one_line(garaph, source, tmp_path, monkeypatch, arguments, problem):
    monkeypatch.chdir(tmp_path)
    store.save(from_numbered_edges([0], [1], 2, np.ones(1)), tmp_path / "graph")
    before = sorted(tmp_path.iterdir())
    places = {"EDGES": source, "GRAPH": "graph"}
    status, out, err = garaph("convert", *[places.get(word, word) for word in arguments])
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("error: ")
    assert problem in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["convert", "formats"])
def test_help_shows_an_example(garaph, command):
    status, out, _ = garaph(command, "--help")
    assert status == 0
    assert f"garaph {command}" in out.split("Example")[1]


def test_formats_lists_every_format(garaph):
    status, out, _ = garaph("formats")
    assert status == 0
    for format in FORMATS:
        (line,) = (line for line in out.splitlines() if line.split()[0] == format.name)
        assert all(cell in line for cell in cells(format))


def test_the_docs_list_every_format():
    rows = [
        tuple(cell.strip(" `") for cell in line.strip("|").split("|")) for line in re.findall(r"^\|.*\|$", DOCS, re.M)
    ]
    found = {row[0]: row for row in rows[2:]}
    assert set(found) == {"a directory", *(format.name for format in FORMATS)}
    assert [found[format.name] for format in FORMATS] == [cells(format) for format in FORMATS]
