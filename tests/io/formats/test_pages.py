"""How much of a table must be in memory at once, as its headers say, and that no more is taken than allowed."""

import io
import random
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from garaph_py.errors import FormatError
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
from garaph_py.io.formats.pages import Names, largest_batch, largest_pages, page_header
from garaph_py.io.load import LoadOptions, load

MIB = 1 << 20
ROWS = 1 << 18
NUMBERS = np.random.default_rng(1).integers(0, 1 << 62, ROWS)
TABLE = pa.table({"source": NUMBERS, "target": NUMBERS[::-1].copy(), "more": NUMBERS})
BODY = ROWS * 8 * 3


def write_arrow(path, table=TABLE, rows=None, compression=None, new=pa.ipc.new_file):
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, rows)


def pages_of(path, *names):
    return largest_pages(path, pq.ParquetFile(path).metadata, names)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_of_the_columns_that_are_read(tmp_path, version):
    path = tmp_path / "edges.parquet"
    options = {"use_dictionary": False, "compression": "none", "data_page_version": version, "write_page_index": True}
    pq.write_table(TABLE, path, **options, max_rows_per_page=ROWS, data_page_size=1 << 30)
    assert 2 * 8 * 1024 < pages_of(path, "source") <= 2 * BODY // 3 + 100
    assert pages_of(path, "source", "target") == 2 * pages_of(path, "source")
    pq.write_table(TABLE, path, **options, max_rows_per_page=1024)
    assert 2 * 8 * 1024 <= pages_of(path, "source") < 2 * 8 * 1024 + 100


@pytest.mark.parametrize("of", [1, 2, 3, 5, 7, 8], ids=["true", "false", "byte", "integer", "double", "binary"])
def test_a_list_that_claims_too_many_items_ends_with_the_header(of):
    claims = bytes([0x19, 0xF0 | of]) + b"\xff" * 8 + b"\x7f"  # 2**63 - 1 items
    assert page_header(io.BytesIO(claims)) == ({}, 0)


def test_a_page_is_held_as_stored_and_decompressed(tmp_path):
    path = tmp_path / "edges.parquet"
    equal = pa.table({"source": np.zeros(1024), "target": np.zeros(1024)})
    pq.write_table(equal, path, use_dictionary=False, compression="zstd")
    assert 8 * 1024 < pages_of(path, "source") < 8 * 1024 + 200


def test_dictionaries_count_beside_pages(tmp_path):
    path = tmp_path / "edges.parquet"
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50, np.int32)), pa.array(["a" * MIB]))
    pq.write_table(pa.table({"source": names, "target": names}), path, compression="none")
    assert 2 * MIB < pages_of(path, "source") < 3 * MIB + 1000


CODED = pa.table({"source": ["", "a" * 1000, "é"] * 50, "target": ["a" * 9] * 150})
PLAIN = {"store_schema": False, "use_dictionary": False}


def names_of(path, name="source", coded=False):
    return Names(path, pq.ParquetFile(path).metadata, name, coded=coded)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_the_longest_name_of_a_dictionary(tmp_path, compression):
    path = tmp_path / "edges.parquet"
    pq.write_table(CODED, path, compression=compression, row_group_size=30)
    assert names_of(path).longest == 1000
    assert names_of(path, "target").longest == 9
    assert names_of(path, coded=True).longest == 0
    pq.write_table(CODED, path, compression=compression, **PLAIN)
    assert names_of(path).longest == 0


@pytest.mark.parametrize("codecs", [{}, {"ZSTD": "lz4_raw"}])
def test_a_dictionary_of_another_codec_counts_as_one_name(tmp_path, codecs, monkeypatch):
    path = tmp_path / "edges.parquet"
    pq.write_table(CODED, path, compression="zstd")
    monkeypatch.setattr("garaph_py.io.formats.pages.CODECS", codecs)
    assert names_of(path).longest == 4 + 0 + 4 + 1000 + 4 + 2


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_that_rows_contain_whole(tmp_path, version):
    path, names = tmp_path / "edges.parquet", pa.array(["a" * 996] * 100)
    options = {"max_rows_per_page": 10, "write_batch_size": 10, "data_page_version": version}
    pq.write_table(pa.table({"source": names, "target": names}), path, **PLAIN, **options, row_group_size=50)
    for rows, pages in ((1, 0), (9, 0), (10, 1), (25, 2), (70, 7), (1000, 10)):
        assert 10_000 * pages <= names_of(path).decoded_bytes(rows) < 10_100 * pages + 1


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_batches(tmp_path, new):
    path, begin = tmp_path / "edges", 8 if new is pa.ipc.new_file else 0
    write_arrow(path, new=new)
    assert largest_batch(path, begin) == BODY
    write_arrow(path, rows=1024, new=new)
    assert largest_batch(path, begin) == 3 * 8 * 1024
    write_arrow(path, pa.table({"source": np.zeros(ROWS), "target": np.zeros(ROWS)}), compression="zstd", new=new)
    assert 2 * 8 * ROWS < largest_batch(path, begin) < 2 * 8 * ROWS + 10_000


def test_dictionaries_of_batches_stay(tmp_path):
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50, np.int32)), pa.array(["a" * MIB]))
    for compression, most in ((None, 2 * MIB), ("zstd", 2 * MIB)):
        write_arrow(tmp_path / "edges", pa.table({"source": names, "target": names}), 10, compression)
        assert most < largest_batch(tmp_path / "edges", 8) < most + 10_000


def test_damaged_headers_count_as_far_as_they_go(tmp_path):
    rng, path = random.Random(1), tmp_path / "edges"
    few = TABLE.slice(0, 100)
    pq.write_table(few, path)
    metadata, parquet = pq.ParquetFile(path).metadata, path.read_bytes()
    whole = [(parquet, lambda: largest_pages(path, metadata, ["source", "target"]))]
    for compression in (None, "zstd"):
        write_arrow(path, few, compression=compression)
        whole.append((path.read_bytes(), lambda: largest_batch(path, 8)))
    for contents, look in whole:
        for _ in range(1000):
            damaged = bytearray(contents)
            for _ in range(5):
                damaged[rng.randrange(min(len(damaged), 1000))] = rng.randrange(256)
            path.write_bytes(damaged[: rng.randrange(1, len(damaged) + 1)])
            assert look() >= 0
    path.write_bytes(b"")
    assert largest_batch(path, 8) == 0


def test_chunks_that_lie_outside_the_file_count_nothing(tmp_path):
    path = tmp_path / "edges"
    path.write_bytes(bytes(100))
    places = {"data_page_offset": 1 << 62, "dictionary_page_offset": None, "total_compressed_size": 1 << 62}
    chunk = SimpleNamespace(path_in_schema="source", has_dictionary_page=False, **places)
    groups = SimpleNamespace(
        num_row_groups=1, num_columns=1, row_group=lambda _: SimpleNamespace(column=lambda _: chunk)
    )
    assert largest_pages(path, groups, ["source"]) == 0


LARGE = 1 << 23
"""Rows of a table of two columns of 64 MiB each."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["edges.arrow", "edges.parquet"])
def test_what_does_not_fit_is_refused_before_it_is_read(tmp_path, name, monkeypatch):
    path, numbers = tmp_path / name, np.arange(LARGE)
    table = pa.table({"source": numbers, "target": numbers})
    if name.endswith("arrow"):
        write_arrow(path, table)
        said = "its largest batches take 128.0 MiB of memory, and 100.0 MiB may be used; .*smaller batches"
    else:
        monkeypatch.setattr("pyarrow.parquet.ParquetFile.iter_batches", None)
        monkeypatch.setattr("garaph_py.io.formats.parquet.largest_pages", lambda *_: 126 * MIB)
        pq.write_table(table, path, row_group_size=LARGE)
        said = "its largest pages take 128.0 MiB of memory, and 100.0 MiB may be used; .*smaller pages or row groups"
    before = pa.default_memory_pool().bytes_allocated()
    with pytest.raises(FormatError, match=said):
        import_file(path, tmp_path / "graph", ImportOptions(), memory=100 * MIB)
    with pytest.raises(FormatError, match=said):
        load(path, LoadOptions(memory=100 * MIB))
    assert pa.default_memory_pool().bytes_allocated() - before < MIB
