"""Tables of Arrow, in Parquet, Feather and Arrow files: which are edges, and what is said of those that are none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from garaph_py import events
from garaph_py.errors import FormatError
from garaph_py.io.formats import ReadOptions, format_of, parquet
from garaph_py.io.read import read
from tests.support.contents import STRINGS, TABLE, TABLE_WRITERS
from tests.support.graphs import edges_of

TABLE_EDGES = [(1, 2, 0.5), (2, 2, 2.5), (2, 3, 1.5)]


@pytest.fixture(params=TABLE_WRITERS)
def write_table(request, tmp_path):
    def write(table):
        path = str(tmp_path / request.param)
        TABLE_WRITERS[request.param](table, path)
        return path

    return write


@pytest.mark.spread
@pytest.mark.parametrize(
    ("table", "edges"),
    [
        (TABLE, TABLE_EDGES),
        (TABLE.select(["weight", "target", "source"]), TABLE_EDGES),
        (TABLE.rename_columns(["U", "V", "Value"]), TABLE_EDGES),
        (TABLE.rename_columns(["dst", "src", "wgt"]), [(2, 1, 0.5), (2, 2, 2.5), (3, 2, 1.5)]),
        (
            TABLE.append_column("w", pa.array([7, 8, 9])).rename_columns(["source", "target", "time", "w"]),
            [(1, 2, 7), (2, 2, 9), (2, 3, 8)],
        ),
        (TABLE.set_column(2, "kind", pa.array(["x", "y", "z"])), [(1, 2, None), (2, 2, None), (2, 3, None)]),
        (STRINGS, [("a", "b", None), ("b", "é", None)]),
        (pa.table([STRINGS[0].dictionary_encode(), STRINGS[1]], ["x", "y"]), [("a", "b", None), ("b", "é", None)]),
        (pa.table({"x": pa.array([2**64 - 1], pa.uint64()), "y": pa.array([5], pa.int8())}), [(2**64 - 1, 5, None)]),
    ],
)
def test_tables(write_table, table, edges):
    assert edges_of(read(write_table(table))) == sorted(edges)


@pytest.mark.spread
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.slice(0, 0), "no edges"),
        (TABLE.select(["source"]), "1 columns"),
        (pa.table({"source": [1, None], "target": [1, 2]}), "'source' has missing values"),
        (pa.table({"source": ["a", None], "target": ["b", "c"]}), "'source' has missing values"),
        (pa.table({"source": [1.5], "target": [1]}), "'source' holds fractions"),
        (pa.table({"source": [1], "target": ["x"]}), "differ in kind"),
        (pa.table({"source": [[1]], "target": [1]}), "'source' has type list"),
        (pa.table([[1], [2], [3]], ["source", "target", "source"]), "several columns are called 'source'"),
        (pa.table({"a": pa.array([-1]), "b": pa.array([2**64 - 1], pa.uint64())}), "no 64-bit integer type"),
    ],
)
def test_tables_that_are_no_edges(write_table, table, message):
    path = write_table(table)
    with pytest.raises(FormatError, match=message):
        read(path)


def test_names_are_decoded_a_few_at_a_time(write_table, monkeypatch):
    monkeypatch.setattr(parquet, "DECODED_BYTES", 1000)
    long = pa.array(["x" * 300, "y"]).take(pa.array([0, 1] * 50)).dictionary_encode()
    path = Path(write_table(pa.table([long, long], ["source", "target"])))
    batches = list(format_of(path).stream(path, ReadOptions(), lambda event: None))
    assert max(len(batch.sources) for batch in batches) == 3
    assert sum(len(batch.targets) for batch in batches) == 100
    assert batches[0].sources.to_pylist() == ["x" * 300, "y", "x" * 300]


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "max_rows_per_page": 1, "write_batch_size": 1}])
def test_rows_of_long_names_are_few(tmp_path, monkeypatch, options):
    monkeypatch.setattr(parquet, "DECODED_BYTES", 5000)
    path, long = tmp_path / "edges.parquet", pa.array(["x" * 300, "y" * 300] * 50)
    pq.write_table(pa.table([long, long], ["source", "target"]), path, store_schema=False, **options)
    batches = list(parquet.PARQUET.stream(path, ReadOptions(), events.ignore))
    assert max(len(batch.sources) for batch in batches) == 8
    assert [name for batch in batches for name in batch.targets.to_pylist()] == long.to_pylist()


def test_a_row_that_takes_too_much_memory_is_refused(tmp_path):
    path, long = tmp_path / "edges.parquet", pa.array(["x" * (9 << 20)])
    pq.write_table(pa.table([long, long], ["source", "target"]), path, store_schema=False)
    said = r"the longest names of one row take 54\.1 MiB, and 50\.0 MiB of memory may be used; allow more"
    with pytest.raises(FormatError, match=said):
        next(parquet.PARQUET.stream(path, ReadOptions(memory=50 << 20), events.ignore))
    assert len(next(parquet.PARQUET.stream(path, ReadOptions(memory=60 << 20), events.ignore)).sources) == 1


def test_names_that_recur_take_little_memory(tmp_path):
    path, names = tmp_path / "edges.parquet", pa.array(["somebody with a rather long name " * 4] * (1 << 18))
    pq.write_table(pa.table([names, names], ["source", "target"]), path)
    before = pa.total_allocated_bytes()
    batches = list(parquet.PARQUET.stream(path, ReadOptions(), events.ignore))
    assert pa.total_allocated_bytes() - before < names.nbytes / 8
    assert sum(len(batch.sources) for batch in batches) == len(names)
