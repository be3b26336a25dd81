"""How much of a table must be in memory at once, as its headers say, and that no more is taken than allowed."""

import io
import random
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from garaph_py.errors import FormatError
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
from garaph_py.io.formats.pages import (
    Chunk,
    Names,
    checked_chunks,
    chunk_bytes,
    chunks_of,
    largest_batch,
    largest_pages,
    page_header,
)
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
    return largest_pages(path, names)


CODEC_NAMES = {0: "UNCOMPRESSED", 1: "SNAPPY", 2: "GZIP", 4: "BROTLI", 5: "UNKNOWN", 6: "ZSTD", 7: "LZ4"}
"""What pyarrow calls the codecs of Parquet; 5 is LZ4 as Hadoop wrote it."""


def chunks_in(path, *names):
    with open(path, "rb") as file:
        return list(chunks_of(file, names))


def assert_chunks_are_pyarrows(path):
    metadata = pq.ParquetFile(path).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [[group.column(number) for number in range(metadata.num_columns)] for group in groups]
    names = {column.path_in_schema for group in columns for column in group}
    for few in (names, set(list(names)[:1]), {"no column"}):
        ours = [[each._replace(codec=CODEC_NAMES[each.codec]) for each in group] for group in chunks_in(path, *few)]
        assert ours == [[pyarrows(each) for each in group if each.path_in_schema in few] for group in columns]


def pyarrows(column):
    return Chunk(
        column.path_in_schema,
        column.compression,
        column.total_compressed_size,
        column.data_page_offset,
        column.dictionary_page_offset if column.has_dictionary_page else None,
    )


@pytest.mark.full
@pytest.mark.parametrize("dictionary", [False, True, ["target"]])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_chunks_are_those_that_pyarrow_tells(tmp_path, compression, dictionary):
    path = tmp_path / "edges.parquet"
    options = {"compression": compression, "use_dictionary": dictionary}
    pq.write_table(TABLE.slice(0, 100), path, row_group_size=9, **options)
    assert_chunks_are_pyarrows(path)
    pq.write_table(CODED, path, row_group_size=60, write_page_index=True, write_page_checksum=True, **options)
    assert_chunks_are_pyarrows(path)
    names = {f"column {number}": [b"\x00", b"\xff"] for number in range(40)} | {"a.b": [1, 2], "é": [0.5, None]}
    nested = {"list": [[1], []], "deep": [{"a": {"b": [{"c": "x"}]}}, None], "map": [[("k", 1)], []]}
    types = {"map": pa.map_(pa.string(), pa.int64())}
    table = pa.table({name: pa.array(each, types.get(name)) for name, each in (names | nested).items()})
    pq.write_table(table, path, compression=compression)  # the footer is long, and so are its lists
    assert_chunks_are_pyarrows(path)
    pq.write_table(table.slice(0, 0), path)
    assert_chunks_are_pyarrows(path)


def changed(path, was, now):
    contents = path.read_bytes()
    assert contents.count(was) == 1
    path.write_bytes(contents.replace(was, now))


def test_lz4_as_hadoop_wrote_it_and_no_dictionary_at_0(tmp_path):
    path = tmp_path / "edges.parquet"
    pq.write_table(CODED, path, compression="lz4")
    pages = pages_of(path, "source")
    changed(path, b"source\x15\x0e", b"source\x15\x0a")
    assert [chunk.codec for chunk in chunks_in(path, "source")[0]] == [5]
    assert_chunks_are_pyarrows(path)
    assert pages_of(path, "source") == pages
    assert names_of(path).longest == 4 + 0 + 4 + 1000 + 4 + 2
    pq.write_table(TABLE.slice(0, 100), path, use_dictionary=False)
    ((chunk,),), pages = chunks_in(path, "source"), pages_of(path, "source")
    assert chunk.dictionary_page is None
    with open(path, "rb") as file:
        for nowhere in (0, -1):
            assert chunk_bytes(file, chunk._replace(dictionary_page=nowhere)) == pages > 0


def test_a_footer_that_pyarrow_does_not_survive(tmp_path):
    path, names = tmp_path / "edges.parquet", ["a", "b"]
    pq.write_table(pa.table({"source": names, "target": names}), path)
    pages = pages_of(path, "source", "target")
    changed(path, b"\x25\x02\x18\x06target", b"\x25\x00\x18\x06target")  # required, with statistics of an optional one
    assert pages_of(path, "source", "target") == pages
    with pytest.raises(FormatError):
        load(path, LoadOptions(memory=100 * MIB))
    with pytest.raises(FormatError):
        import_file(path, tmp_path / "graph", ImportOptions(), memory=100 * MIB)


@pytest.mark.full
def test_a_damaged_footer_is_an_error_or_counts(tmp_path):
    rng, path = random.Random(1), tmp_path / "edges"
    pq.write_table(CODED, path, row_group_size=50)
    contents, outcomes = path.read_bytes(), set()
    begin = len(contents) - 8 - int.from_bytes(contents[-8:-4], "little")
    for _ in range(1000):
        damaged = bytearray(contents)
        for _ in range(3):
            damaged[rng.randrange(begin, len(damaged))] = rng.choice((0x19, 0x1C, 0xF9, 0xFC, 0xFF, rng.randrange(256)))
        path.write_bytes(damaged)
        try:
            outcomes.add(largest_pages(path, ["source", "target"]) >= 0)
            names_of(path)
        except FormatError as error:
            outcomes.add(str(error).partition("fetch or make")[1])
    assert outcomes == {True, "fetch or make"}


@pytest.mark.parametrize(
    "contents", [b"", b"PAR1", b"\xff" * 8, b"\x1c" * 1000 + (1000).to_bytes(4, "little") + b"PAR1"]
)
def test_what_is_no_footer(tmp_path, contents):
    path = tmp_path / "edges"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match="footer is"):
        largest_pages(path, ["source"])


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
    return Names(path, chain.from_iterable(checked_chunks(path, [name])), coded=coded)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_the_longest_name_of_a_dictionary(tmp_path, compression):
    path = tmp_path / "edges.parquet"
    pq.write_table(CODED, path, compression=compression, row_group_size=30)
    assert names_of(path).longest == 1000
    assert names_of(path, "target").longest == 9
    assert names_of(path, coded=True).longest == 0
    pq.write_table(CODED, path, compression=compression, **PLAIN)
    assert names_of(path).longest == 0


@pytest.mark.parametrize("codecs", [{}, {6: "lz4_raw"}])
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


@pytest.mark.slow
def test_damaged_headers_count_as_far_as_they_go(tmp_path):
    rng, path = random.Random(1), tmp_path / "edges"
    few = TABLE.slice(0, 100)
    pq.write_table(few, path)
    contents = path.read_bytes()
    begin = len(contents) - 8 - int.from_bytes(contents[-8:-4], "little")
    whole = [(contents[:begin], contents[begin:], lambda: largest_pages(path, ["source", "target"]))]
    for compression in (None, "zstd"):
        write_arrow(path, few, compression=compression)
        whole.append((path.read_bytes(), b"", lambda: largest_batch(path, 8)))
    for contents, footer, look in whole:
        for _ in range(1000):
            damaged = bytearray(contents)
            for _ in range(5):
                damaged[rng.randrange(min(len(damaged), 1000))] = rng.randrange(256)
            path.write_bytes(damaged[: rng.randrange(1, len(damaged) + 1)] + footer)
            assert look() >= 0
    path.write_bytes(b"")
    assert largest_batch(path, 8) == 0


def test_a_page_that_claims_more_than_the_file_has_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "edges.parquet"
    pq.write_table(TABLE.slice(0, 1000), path, use_dictionary=False, compression="none")
    contents, ((chunk,),) = path.read_bytes(), chunks_in(path, "target")
    size = chunk.data_page + 6  # behind the type and the decompressed size, and what says which fields these are
    assert contents[size - 3 : size - 1] == contents[size : size + 2]  # not compressed
    path.write_bytes(contents[:size] + b"\xfe\xff\xff\xff\x0f" + contents[size + 2 :])  # 2 GiB
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    with pytest.raises(FormatError, match="a page of 'target' is longer than the file; fetch or make it again"):
        load(path, LoadOptions(weights=False))


def test_a_footer_that_names_a_column_otherwise_than_its_schema_is_refused(tmp_path):
    path = tmp_path / "edges.parquet"
    pq.write_table(TABLE.slice(0, 1000), path, use_dictionary=False, compression="none")
    first, second, third = path.read_bytes().split(b"target")  # in the schema, and in the row group
    path.write_bytes(b"".join([first, b"target", second, b"tarXet", third]))
    with pytest.raises(FormatError, match="a row group lacks the column 'target'; fetch or make it again"):
        load(path, LoadOptions(weights=False))


@pytest.mark.parametrize("place", [-1, 1 << 62])
def test_chunks_that_lie_outside_the_file_count_nothing(place):
    assert chunk_bytes(io.BytesIO(bytes(100)), Chunk("source", 0, 1 << 62, place, None)) == 0


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
