"""Answers, by the user's ids: as arrays, ranked, as files."""

import errno
import os
from csv import reader

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError
from garaph_py.events import Iteration
from garaph_py.graph.ids import IntegerIds, StringIds, VertexIds
from garaph_py.output.history import History
from garaph_py.output.result import Result
from garaph_py.output.stats import Stats
from tests.support import twins

from ..support.runs import run_with

STATS = Stats(History(), True, 0.0, 1)
NAMES = ["zoë", "a", "", 'quote"d', "e, f"]


def result(values, ids=None, **more):
    values = np.asarray(values)
    return Result(values, VertexIds(len(values)) if ids is None else ids, STATS, "Test", **more)


def tree(ids):
    """Levels and parents of five vertices, the third not reached."""
    values = np.array([(0, 0), (1, 0), (-1, -1), (1, 0), (2, 3)], [("level", np.int64), ("parent", np.int64)])
    return result(values, ids, vertex_fields=("parent",))


INTEGERS = IntegerIds(np.array([-7, 3, 2**33, 2**60, 2**62]))
UNSIGNED = IntegerIds(np.array([1, 2, 3, 2**63, 2**64 - 1], np.uint64))
STRINGS = StringIds(NAMES)


# Ids and columns.


def test_values_stand_in_the_order_of_ids():
    graph = gp.from_edges([30, 10], [10, 20])
    answer = gp.run(gp.apps.BFS(30), graph)
    assert answer.ids.tolist() == [10, 20, 30]
    assert answer.values["level"].tolist() == [1, 2, 0]
    assert answer.column("level").tolist() == [1, 2, 0]
    assert answer.column("parent").tolist() == [30, 10, 30]
    assert answer.names == ("level", "parent")
    assert answer.column().tolist() == [1, 2, 0]
    assert "BFS" in repr(answer)
    assert "3 values, converged after" in repr(answer)


@pytest.mark.parametrize("ids", [None, INTEGERS, UNSIGNED, STRINGS], ids=["range", "integer", "unsigned", "string"])
def test_vertices_are_reported_by_the_users_ids(ids):
    answer = tree(ids)
    named = answer.ids.tolist()
    assert answer.column("parent").tolist() == [named[0], named[0], None, named[0], named[3]]


def test_components_are_reported_by_the_users_ids():
    graph = gp.from_edges(["x", "y", "q"], ["y", "x", "p"], directed=False)
    answer = gp.run(gp.apps.ConnectedComponents(), graph)
    assert answer.names == ("value",)
    assert dict(zip(answer.ids, answer.column(), strict=True)) == {"x": "x", "y": "x", "p": "q", "q": "q"}


def test_a_column_that_is_not_reported():
    with pytest.raises(ParameterError, match="Test reports level, parent, not 'depth'"):
        tree(None).column("depth")
    with pytest.raises(ParameterError, match="Test reports value, not 'rank'"):
        result([1.0]).top(1, "rank")


# A mapping from ids to values.


@pytest.mark.parametrize("ids", [None, INTEGERS, UNSIGNED, STRINGS], ids=["range", "integer", "unsigned", "string"])
def test_a_result_is_read_like_a_dictionary(ids):
    answer = tree(ids)
    named = answer.ids.tolist()
    first, other = {"level": 0, "parent": named[0]}, {"level": -1, "parent": None}
    assert answer[named[0]] == first
    assert answer[named[2]] == other
    assert len(answer) == 5
    assert list(answer) == list(answer.keys()) == named
    assert {type(vertex) for vertex in answer} <= {int, str}
    assert dict(answer) == dict(answer.items()) == answer.to_dict()
    assert answer.to_dict()[named[2]] == answer.get(named[2]) == other
    assert answer.to_dict("parent") == dict(zip(named, answer.column("parent"), strict=True))
    assert named[4] in answer
    assert "nowhere" not in answer
    assert answer.get("nowhere", 7) == 7
    assert np.asarray(answer) is not None
    assert (np.asarray(answer) == answer.values).all()


def test_values_of_one_number_are_plain():
    answer = result(np.array([1.5, np.inf], np.float32), StringIds(["a", "b"]))
    assert dict(answer) == answer.to_dict() == {"a": 1.5, "b": np.inf}
    assert type(answer["a"]) is float


@pytest.mark.parametrize("kind", [GraphError, KeyError])
def test_a_vertex_without_a_value(kind):
    with pytest.raises(kind) as caught:
        result([1, 2], StringIds(["libc6", "libgcc-s1"]))["libc7"]
    assert str(caught.value) == (
        "vertex 'libc7' is not in the graph; its 2 vertices have names such as 'libc6'; near it: 'libc6'"
    )


# The largest and the smallest values.


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5, 6, 7, 100, np.int64(4)])
@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, 2, 3, 1, 2]),
        np.array([0.5, np.nan, np.inf, -np.inf, np.nan, 0.5, 0.0]),
        np.full(7, np.nan),
        np.zeros(7),
        np.array([2**53, 2**53 + 1, 2**53 + 2, 2**62, -(2**63), 2**63 - 1, 2**62 + 1]),
        np.array([2**64 - 1, 0, 2**64 - 2, 2**63, 5, 2**53 + 1, 2**53], np.uint64),
        np.array([1.5, 2.5, 2.5, 0, -1, 9, 9], np.float32),
    ],
)
def test_top(values, k):
    known = [i for i in range(7) if values[i] == values[i]]
    order = sorted(known, key=lambda i: (-values[i].item(), i))
    assert result(values).top(k) == [(i, values[i].item()) for i in order[: int(k)]]
    order = sorted(known, key=lambda i: (values[i].item(), i))
    assert result(values).top(k, smallest=True) == [(i, values[i].item()) for i in order[: int(k)]]


def test_top_of_nothing():
    assert result(np.zeros(0)).top(3) == []


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_top_of_distances_ends_with_unreached_vertices(dtype):
    graph = gp.from_edges(["s", "s", "x", "b"], ["a", "b", "y", "c"], weights=np.array([3, 1, 1, 1], dtype))
    answer = gp.run(gp.apps.SSSP("s"), graph)
    never = np.inf if dtype == "float64" else np.iinfo(np.int64).max
    assert answer.top(6) == [("a", 3), ("c", 2), ("b", 1), ("s", 0), ("x", never), ("y", never)]
    assert [vertex for vertex, _ in answer.top(5)] == ["a", "c", "b", "s", "x"]
    assert answer.top(2) == [("a", 3), ("c", 2)]
    assert answer.top(6, smallest=True) == [("s", 0), ("b", 1), ("c", 2), ("a", 3)]


@pytest.mark.full
@pytest.mark.parametrize("program", [gp.apps.BFS, gp.apps.SSWP])
def test_unreached_vertices_are_not_among_the_smallest(program):
    answer = gp.run(program("s"), gp.from_edges(["s", "x"], ["a", "y"]))
    assert {vertex for vertex, _ in answer.top(4, smallest=True)} == {"s", "a"}
    assert {vertex for vertex, _ in answer.top(4)[2:]} == {"x", "y"}


def test_top_by_name():
    assert tree(STRINGS).top(2) == [("e, f", 2), ("a", 1)]
    assert tree(STRINGS).top(5, "level")[-1] == ("", -1)
    assert tree(INTEGERS).top(9, "parent") == [
        (2**62, 2**60), (-7, -7), (3, -7), (2**60, -7), (2**33, None)
    ]  # fmt: skip
    assert tree(INTEGERS).top(9, "parent", smallest=True) == [(-7, -7), (3, -7), (2**60, -7), (2**62, 2**60)]


def test_top_gives_plain_numbers():
    for pair in result(np.array([1.0, 2.0], np.float32), IntegerIds(np.array([5, 6]))).top(2):
        assert [type(item) for item in pair] == [int, float]


@pytest.mark.parametrize("k", [-1, 1.0, "3", None, True])
def test_top_of_what(k):
    with pytest.raises(ParameterError, match="give a number of vertices"):
        result([1.0]).top(k)


# Files.


@pytest.mark.parametrize("ids", [None, INTEGERS, UNSIGNED, STRINGS], ids=["range", "integer", "unsigned", "string"])
def test_parquet_round_trip(tmp_path, ids):
    answer = tree(ids)
    answer.to_parquet(tmp_path / "answer.parquet")
    table = pq.read_table(tmp_path / "answer.parquet")
    assert table.column_names == ["id", "level", "parent"]
    assert table["id"].to_pylist() == answer.ids.tolist()
    assert table["level"].to_pylist() == [0, 1, -1, 1, 2]
    assert table["parent"].to_pylist() == answer.column("parent").tolist()


@pytest.mark.parametrize("ids", [None, INTEGERS, UNSIGNED, STRINGS], ids=["range", "integer", "unsigned", "string"])
def test_csv_round_trip(tmp_path, ids):
    answer = tree(ids)
    answer.to_csv(tmp_path / "answer.csv")
    types = {"id": answer._table()["id"].type, "parent": answer._table()["parent"].type}
    options = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    table = csv.read_csv(tmp_path / "answer.csv", convert_options=options)
    expected = [None if name == "" else name for name in answer.ids.tolist()]
    assert table["id"].to_pylist() == expected
    assert table["level"].to_pylist() == [0, 1, -1, 1, 2]
    assert table["parent"].to_pylist() == answer.column("parent").tolist()


FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "\0x", "\uff1dx", "'=x", "''-x"]
HARMLESS = ["a=1", "'tis", "1-2", "", "a\n=1"]


@pytest.mark.parametrize("raw", [False, True])
def test_names_that_begin_a_formula_are_quoted_in_csv(tmp_path, raw):
    names = [*FORMULAS, *HARMLESS]
    parents = np.zeros(len(names), [("level", np.int64), ("parent", np.int64)])
    parents["level"], parents["parent"] = -1, np.arange(len(names)) - 1
    answer = result(parents, StringIds(names), vertex_fields=("parent",))
    answer.to_csv(tmp_path / "answer.csv", raw=raw)
    with open(tmp_path / "answer.csv", newline="") as file:
        rows = list(reader(file))[1:]
    expected = names if raw else [*("'" + name for name in FORMULAS), *HARMLESS]
    assert [row[0] for row in rows] == expected
    assert [row[2] for row in rows] == ["", *expected[:-1]]
    assert {row[1] for row in rows} == {"-1"}


def test_integers_are_never_quoted_in_csv(tmp_path):
    tree(INTEGERS).to_csv(tmp_path / "answer.csv")
    tree(INTEGERS).to_csv(tmp_path / "raw.csv", raw=True)
    assert (tmp_path / "answer.csv").read_bytes() == (tmp_path / "raw.csv").read_bytes()
    assert (tmp_path / "answer.csv").read_text().splitlines()[1] == "-7,0,-7"


def test_floats_survive_files(tmp_path):
    values = np.array([0.1, 1e-300, np.inf, -0.0, np.nan, 1 / 3])
    answer = result(values)
    answer.to_csv(tmp_path / "answer.csv")
    answer.to_parquet(tmp_path / "answer.parquet")
    answer.to_npy(tmp_path / "answer.npy")
    for read in (
        csv.read_csv(tmp_path / "answer.csv")["value"].to_numpy(),
        pq.read_table(tmp_path / "answer.parquet")["value"].to_numpy(),
        np.load(tmp_path / "answer.npy"),
    ):
        np.testing.assert_array_equal(read, values)


def test_npy_keeps_named_fields(tmp_path):
    answer = tree(None)
    answer.to_npy(str(tmp_path / "answer.npy"))
    read = np.load(tmp_path / "answer.npy", allow_pickle=False)
    assert read.dtype == answer.values.dtype
    assert (read == answer.values).all()


def test_pandas():
    frame = tree(STRINGS).to_pandas()
    assert frame.index.name == "id"
    assert frame.index.tolist() == NAMES
    assert frame["level"].tolist() == [0, 1, -1, 1, 2]
    assert frame["parent"][:2].tolist() == ["zoë", "zoë"]
    assert pd.isna(frame.loc["", "parent"])
    assert tree(STRINGS).to_pandas(name="level").columns.tolist() == ["level"]
    assert result([0.5]).to_pandas(name="rank").to_dict() == {"rank": {0: 0.5}}
    with pytest.raises(ParameterError, match="not 'depth'"):
        tree(STRINGS).to_pandas(name="depth")


def test_arrow_takes_a_result():
    assert pa.table(tree(STRINGS)).to_pydict() == {
        "id": NAMES, "level": [0, 1, -1, 1, 2], "parent": ["zoë", "zoë", None, "zoë", 'quote"d']
    }  # fmt: skip


def test_a_notebook_shows_the_top_with_escaped_names():
    html = result(np.arange(20), StringIds(["<b>", "\u202ex", "y" * 99, *map(str, range(17))]))._repr_html_()
    assert "<b>Test</b>: 20 values, converged after 0 iterations" in html
    assert "10 with the largest value" in html
    assert html.count("<tr>") == 11
    assert "<td>16</td><td>19</td>" in html
    html = result(np.zeros(3), StringIds(["<b>", "\u202ex", "y" * 99]))._repr_html_()
    assert "<td>&lt;b&gt;</td>" in html
    assert "<td>\\u202ex</td>" in html
    assert f"<td>{'y' * 59}…</td>" in html
    assert "<th>parent</th>" in tree(None)._repr_html_()


@pytest.mark.parametrize("method", ["to_parquet", "to_csv", "to_npy"])
@pytest.mark.parametrize("values", [np.zeros(0), np.zeros(0, [("level", np.int64), ("parent", np.int64)])])
def test_files_of_nothing(tmp_path, method, values):
    fields = ("parent",) if values.dtype.names else ()
    getattr(result(values, vertex_fields=fields), method)(tmp_path / "answer")
    assert (tmp_path / "answer").stat().st_size > 0


@pytest.mark.parametrize("method", ["to_parquet", "to_csv", "to_npy"])
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch, method):
    path = tmp_path / "answer"
    path.write_text("yesterday's")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ParameterError, match="No space left on device; nothing was written"):
            getattr(tree(STRINGS), method)(path)
    assert path.read_text() == "yesterday's"
    assert os.listdir(tmp_path) == ["answer"]
    getattr(tree(STRINGS), method)(path)
    assert path.read_bytes() != b"yesterday's"
    assert os.listdir(tmp_path) == ["answer"]


@pytest.mark.parametrize("method", ["to_parquet", "to_csv", "to_npy"])
def test_a_place_that_is_not_there(tmp_path, method):
    with pytest.raises(ParameterError, match=r"there is no directory .*nowhere; make it first$"):
        getattr(tree(None), method)(tmp_path / "nowhere" / "answer")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ParameterError, match="directory"):
        getattr(tree(None), method)(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


# What the run did.


def test_stats():
    edges = twins.skewed(61, 300, 1500)
    graph = gp.from_edges(edges.sources, edges.targets)
    heard = []
    stats = run_with(gp.apps.PageRank(), graph, iterations=3, threads=2, page_edges=400, on_event=heard.append).stats
    assert [event for event in heard if isinstance(event, Iteration)] == stats.iterations
    columns = stats.columns()
    assert columns["number"] == [0, 1, 2]
    assert columns["mode"] == ["pull"] * 3
    assert columns["f"] == [1.0] * 3
    assert columns["active"] == [graph.n] * 3
    assert columns["edges"] == [1500] * 3
    assert columns["pages_skipped"] == [0] * 3
    assert all(pages >= 4 for pages in columns["pages"])
    assert all(seconds > 0 for seconds in columns["seconds"])
    assert columns["edges_per_second"] == [1500 / seconds for seconds in columns["seconds"]]
    assert stats.edges == 4500
    assert stats.threads == 2
    assert not stats.converged
    assert sum(columns["seconds"]) <= stats.seconds
    assert stats.to_pandas().to_dict("list") == columns


def test_stats_say_why_and_print_as_a_table():
    edges = twins.skewed(62, 300, 1500)
    graph = gp.from_edges(edges.sources, edges.targets)
    run_with(gp.apps.BFS(0), graph, mode="pull")  # else a line below the table may say what compiling took
    stats = run_with(gp.apps.BFS(0), graph, mode="pull").stats
    columns = stats.columns()
    assert set(columns["why"]) == {"as asked"}
    assert columns["alpha"] == [None] * len(stats.iterations)
    ends = [begin + seconds for begin, seconds in zip(columns["started"], columns["seconds"], strict=True)]
    begins = np.array(columns["started"][1:])
    assert (np.array(ends) > 0).all()
    assert (ends[:-1] <= begins + 1e-9).all()  # the clock counts nanoseconds, and the sum is rounded
    heading, *lines = str(stats).splitlines()
    assert heading.split()[:4] == ["iteration", "mode", "f", "active"]
    assert [line.split()[:2] for line in lines] == [[str(k), "pull"] for k in range(len(stats.iterations))]
    assert {len(line) for line in lines} == {len(heading)}


def test_a_long_table_is_cut_and_alpha_shown_where_there_is_one():
    rows = [Iteration(k, "pull", 1.0, 9, 100, 1, 0, 0.1, "cpu+gpu", alpha=0.25) for k in range(100)]
    heading, *lines = str(Stats(History(rows), True, 1.0, 2)).splitlines()
    assert heading.endswith("device  bytes/edge   alpha")
    assert len(lines) == 11
    assert lines[6] == "      ...  (90 more)"
    assert lines[5].split()[0] == "5"
    assert lines[7].split()[0] == "96"
    assert lines[-1].split()[0] == "99"
    assert lines[-1].endswith("0.25")


@pytest.mark.parametrize(
    ("writer", "name", "right"),
    [("to_csv", "x.parquet", "to_parquet"), ("to_parquet", "x.CSV", "to_csv"), ("to_npy", "x.csv", "to_csv")],
)
def test_the_suffix_of_another_format_is_refused(writer, name, right, tmp_path):
    with pytest.raises(ParameterError, match=f"{name}: {writer} writes no .* file; call {right}, or"):
        getattr(result([1, 2]), writer)(tmp_path / name)
    assert not list(tmp_path.iterdir())
