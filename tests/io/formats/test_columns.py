"""Columns of edges, in tables of every format: by the names that the user gives, or by usual names."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from garaph_py.errors import FormatError, GaraphError, ParameterError
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
from garaph_py.io.formats import ColumnNames, ReadOptions
from garaph_py.io.read import read
from garaph_py.storage import directory as store
from tests.support.graphs import edges_of

SALES = {"time": [1990, 1991], "buyer": [1, 2], "seller": [2, 3], "amount": [0.5, 1.5], "kind": ["x", "y"]}
NAMED = {"source_column": "buyer", "target_column": "seller"}
EDGES = [(1, 2), (2, 3)]


def save_npy(table, path):
    columns = {name: np.array(column) for name, column in table.to_pydict().items()}
    edges = np.empty(len(table), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        edges[name] = column
    np.save(path, edges)


WRITERS = {
    "g.parquet": lambda table, path: parquet.write_table(table, path),
    "g.feather": lambda table, path: feather.write_feather(table, str(path)),
    "g.csv": lambda table, path: csv.write_csv(table, path),
    "g.tsv": lambda table, path: csv.write_csv(table, path, csv.WriteOptions(delimiter="\t")),
    "g.npy": save_npy,
}


@pytest.fixture(params=WRITERS)
def file_of(request, tmp_path):
    def write(columns):
        path = tmp_path / request.param
        WRITERS[request.param](pa.table(columns), path)
        return path

    return write


def test_columns_are_read_by_name_also_out_of_core(file_of, tmp_path):
    path = file_of(SALES)
    edges = [(*edge, weight) for edge, weight in zip(EDGES, SALES["amount"], strict=True)]
    assert edges_of(read(path, weight_column="amount", **NAMED)) == edges
    assert edges_of(read(path, weights=False, **NAMED)) == [(*edge, None) for edge in EDGES]
    options = ImportOptions(columns=ColumnNames("buyer", "seller", "amount"))
    import_file(path, tmp_path / "g", options, memory="200MB")
    assert edges_of(store.open(tmp_path / "g")) == edges


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (SALES, {}, "no columns have usual names of sources and targets .*'time', 'buyer', 'seller', 'amount'"),
        (SALES, NAMED, r"no column has a usual name of edge values .*'amount'.*weight_column= \(--weight-column\)"),
        (SALES, {**NAMED, "weights": True}, "no column has a usual name of edge values"),
        (SALES, {**NAMED, "weight_column": "Amount"}, "no column is called 'Amount' .*'amount'"),
        (SALES, {"source_column": "buyer"}, "no columns have usual names"),
        (["source", "target", "time"], {}, "no column has a usual name of edge values"),
        (["source", "Source", "target"], {}, "several columns are called 'source'"),
    ],
)
def test_columns_are_not_guessed(file_of, tmp_path, names, given, message):
    path = file_of(names if isinstance(names, dict) else {name: [1, 2] for name in names})
    with pytest.raises(FormatError, match=message):
        read(path, **given)
    columns = ColumnNames(*(given.get(f"{role}_column") for role in ("source", "target", "weight")))
    with pytest.raises(FormatError, match=message):
        import_file(path, tmp_path / "g", ImportOptions(weights=given.get("weights"), columns=columns))


def test_usual_names_and_two_columns_need_no_options(file_of):
    assert edges_of(read(file_of({"a": [1], "b": [2]}))) == [(1, 2, None)]
    assert edges_of(read(file_of({"a": [1], "b": [2]}), source_column="b")) == [(2, 1, None)]
    assert edges_of(read(file_of({"w": [7], "Destination": [2], "SOURCE": [1]}))) == [(1, 2, 7)]
    assert edges_of(read(file_of({"a": [1], "to": [2], "w": [7]}), source_column="a")) == [(1, 2, 7)]


def test_a_column_of_edge_values_holds_numbers(file_of):
    path = file_of({"source": [1], "target": [2], "weight": ["1_000"]})
    with pytest.raises(FormatError, match="column 'weight' holds no numbers"):
        read(path)
    assert edges_of(read(path, weights=False)) == [(1, 2, None)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ColumnNames(3),
        lambda: ColumnNames("a", "a"),
        lambda: ReadOptions(weights=False, columns=ColumnNames(weight="w")),
    ],
)
def test_names_that_cannot_be_meant(make):
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize("name", ["g.mtx", "g.npz", "g.npy"])
def test_other_files_have_no_names_of_columns(tmp_path, name):
    np.save(tmp_path / "g.npy", [[1, 2], [2, 3], [3, 4]])
    (tmp_path / "g.mtx").touch()
    (tmp_path / "g.npz").touch()
    with pytest.raises(GaraphError, match="columns"):
        read(tmp_path / name, source_column="a")
