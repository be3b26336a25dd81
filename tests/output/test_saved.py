"""A result that was written to a file is ranked as the result itself."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import garaph_py as gp
from garaph_py.errors import FormatError, ParameterError
from garaph_py.graph.ids import IntegerIds, StringIds, VertexIds
from garaph_py.output.files import WRITERS
from garaph_py.output.history import History
from garaph_py.output.result import Result
from garaph_py.output.saved import read_result
from garaph_py.output.stats import Stats

STATS = Stats(History(), True, 0.0, 1)
NAMES = StringIds(["a", "=1+1", "'=x", "d"])


def result(values, ids=NAMES, **more):
    return Result(np.array(values), ids, STATS, "P", **more)


@pytest.mark.parametrize(
    "saved",
    [
        result([0.5, 2.0, np.nan, -1.0]),
        result([0.5, np.inf, 1.0, np.inf], unreached=np.inf),
        result([3, 2, 9, 9]),
        result(np.array([(3, 1.0), (2, 0.0), (9, 0.0), (9, 0.0)], [("level", "i4"), ("x", "f8")])),
    ],
    ids=["floats", "unreached", "integers", "fields"],
)
def test_what_is_read_ranks_as_what_was_written(saved, tmp_path):
    saved.to_parquet(tmp_path / "r.parquet")
    saved.to_csv(tmp_path / "r.csv")
    saved.to_npy(tmp_path / "r.npy")
    numbers = Result(saved.values, VertexIds(4), STATS, "P", (), saved.unreached)
    for smallest in (False, True):
        assert read_result(tmp_path / "r.parquet").top(4, smallest=smallest) == saved.top(4, smallest=smallest)
        assert read_result(tmp_path / "r.csv").top(4, smallest=smallest) == saved.top(4, smallest=smallest)
        assert read_result(tmp_path / "r.npy").top(4, smallest=smallest) == numbers.top(4, smallest=smallest)


def test_integer_ids_and_the_value_of_the_unreached(tmp_path):
    saved = result([1, 5, 0], IntegerIds(np.array([30, 10, 20])), unreached=5)
    saved.to_parquet(tmp_path / "r.parquet")
    assert read_result(tmp_path / "r.parquet").top(3) == [(30, 1), (20, 0), (10, 5)]
    assert read_result(tmp_path / "r.parquet").top(3, smallest=True) == [(20, 0), (30, 1)]


@pytest.mark.parametrize("write", ["to_parquet", "to_ipc", "to_csv"])
def test_of_a_table_the_first_column_is_ranked(write, tmp_path):
    roads = gp.from_edges(["a", "a", "b"], ["b", "c", "d"], weights=[1, 5, 2], vertices=["a", "b", "c", "d", "e"])
    table = gp.run_many(gp.apps.SSSP, roads, sources=["a", "b"])
    path = tmp_path / f"distances.{write.removeprefix('to_').replace('ipc', 'arrow')}"
    getattr(table, write)(path)
    saved = read_result(path)
    assert saved.names == ("a",)
    assert saved.top(4, smallest=True) == [("a", 0), ("b", 1), ("d", 3), ("c", 5)]
    if write != "to_csv":  # which does not say that "e" is unreached
        assert saved.top() == table["a"].top()


def test_no_vertices(tmp_path):
    empty = result(np.zeros(0), StringIds([]))
    empty.to_parquet(tmp_path / "r.parquet")
    empty.to_csv(tmp_path / "r.csv")
    assert read_result(tmp_path / "r.parquet").top() == read_result(tmp_path / "r.csv").top() == []


def test_foreign_and_damaged_files(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really PAR1")
    pq.write_table(pa.table({"source": [1], "target": [2]}), tmp_path / "edges.parquet")
    pq.write_table(pa.table({"id": [1], "component": ["a"]}), tmp_path / "text.parquet")
    pq.write_table(pa.table({"id": [1.5], "value": [2]}), tmp_path / "half.parquet")
    pq.write_table(pa.table({"id": [1, None], "value": [2, 3]}), tmp_path / "null.parquet")
    (tmp_path / "x.arrow").write_bytes(b"ARROW1 not really ARROW1")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "edges.csv").write_text("a,b\n1,2\n")
    np.save(tmp_path / "square.npy", np.zeros((2, 2)))
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "square.npy").read_bytes()[:100])
    for name, problem in {
        "x.parquet": "not readable as the values of a result",
        "x.arrow": "not readable as the values of a result",
        "edges.parquet": "its columns are source, target, not id and values",
        "text.parquet": "its column 'component' holds text",
        "half.parquet": "its ids are fractions",
        "null.parquet": "has missing values",
        "empty.csv": "not readable as the values of a result",
        "edges.csv": "its columns are a, b, not id and values",
        "square.npy": r"an array of shape \(2, 2\) of float64",
        "objects.npy": "not readable as the values of a result",
        "cut.npy": "not readable as the values of a result",
        "edge.csv": r"no such file; did you mean edges.csv\?",
    }.items():
        with pytest.raises(FormatError, match=problem):
            read_result(tmp_path / name)
    with pytest.raises(ParameterError, match=r"must end in \.parquet, \.csv, \.npy, \.arrow"):
        read_result(tmp_path / "x.tsv")


@pytest.mark.parametrize(("suffix", "writer"), WRITERS.items())
def test_names_may_have_any_bytes(tmp_path, suffix, writer):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff" + suffix.encode()))
    table = gp.run_many(gp.apps.BFS, gp.from_edges([0, 1], [1, 2]), [0])
    getattr(table if writer == "to_ipc" else table[0], writer)(path)
    assert read_result(path).column().tolist() == [0, 1, 2]
