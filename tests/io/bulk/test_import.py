"""Imports out of core: the directory that an import in memory makes, byte for byte, in whatever memory."""

import errno
import gzip
import lzma
import os
import resource
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from garaph_py.errors import DiskFullError, FormatError, GraphError, ParameterError
from garaph_py.graph import generate
from garaph_py.graph.build import build, edge_values
from garaph_py.graph.number import number_vertices
from garaph_py.io import collect
from garaph_py.io.bulk import array_writer, numbering, spill
from garaph_py.io.bulk import build as external
from garaph_py.io.bulk.build import ImportOptions, write_external
from garaph_py.io.bulk.import_ import import_file, write_random
from garaph_py.io.bulk.scan import EdgeSource
from garaph_py.io.formats.format import EdgeList
from garaph_py.storage import directory as store
from garaph_py.storage.write import Destination
from tests.support.cases import mostly_full
from tests.support.graphs import equal

ID = uuid.UUID("27ebbb6f-9e49-4f2c-8a31-0f7d0cde4f77")


@pytest.fixture(autouse=True, scope="module")
def same_id():
    """Every graph has the same id, so that equal graphs are equal files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "uuid4", lambda: ID)
        yield


@pytest.fixture(autouse=True, scope="module")
def little_memory():
    """Memory that does not depend on the limit is counted as 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external, "READER_BYTES", 0)
        patch.setattr(external, "WRITER_BYTES", 0)
        patch.setattr(numbering, "MIN_TABLE_BYTES", 0)
        yield


def source_of(sources, targets, weights=None, rows=7, again=True):
    def batches(listener):
        for start in range(0, len(sources), rows):
            part = slice(start, start + rows)
            yield EdgeList(sources[part], targets[part], None if weights is None else weights[part])

    return EdgeSource(batches, again)


def in_memory(path, sources, targets, weights, options):
    *columns, ids = number_vertices(sources, targets)
    graph = build(
        [*columns, edge_values(weights, len(sources))],
        ids,
        directed=not options.both_ways,
        drop_self_loops=options.drop_self_loops,
        drop_parallel=options.drop_parallel,
        order=options.order,
    )
    store.save(graph.symmetrized() if options.symmetrize else graph, path, encoding=options.encoding)


def contents(path):
    return {file.name: file.read_bytes() for file in path.iterdir()}


def columns_of(kind, sources, targets):
    if kind == "names":
        return tuple(pa.array([f"v{k}" for k in column], pa.string()) for column in (sources, targets))
    scale, dtype = {
        "dense": (1, np.uint32),
        "gaps": (3, np.int64),
        "wide": (20_000, np.int64),
        "sparse": (10**9, np.int64),
        "huge": (1, np.uint64),
    }[kind]
    shift = 2**63 if kind == "huge" else -5 * 10**9 if kind == "sparse" else 0
    return tuple(np.array([k * scale + shift for k in column], dtype) for column in (sources, targets))


vertices = st.integers(0, 12) | st.just(3)


@pytest.mark.slow
@given(
    st.lists(st.tuples(vertices, vertices), min_size=1, max_size=300),
    st.sampled_from(["dense", "gaps", "wide", "sparse", "huge", "names"]),
    st.sampled_from([None, "int32", "int64", "float64"]),
    st.builds(
        ImportOptions,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["none", "none", "degree", "hub"]),
        st.sampled_from(["raw", "packed"]),
    ),
    st.booleans(),
    st.sampled_from([3_000, 200_000]),
    st.sampled_from([3, 1000]),
    st.sampled_from([1, 4]),
)
@example([(5, 9)] * 3000 + [(k, 9) for k in range(1000)], "dense", "int32", ImportOptions(), False, 20_000, 1000, 1)
@example([(5, 9), (9, 5)] * 3000, "dense", "float64", ImportOptions(symmetrize=True), False, 20_000, 3, 1)
@example([(1, 0)], "dense", None, ImportOptions(directed=False), True, 3_000, 3, 4)
@example([(k % 7, k % 11) for k in range(3000)], "names", "int64", ImportOptions(directed=False), True, 20_000, 3, 4)
@example([(k % 7, k % 11) for k in range(3000)], "gaps", "int32", ImportOptions(), True, 20_000, 3, 4)
# wide: what an import depends on
def test_the_graph_is_the_one_made_in_memory(
    tmp_path_factory, edges, kind, values, options, again, memory, modulus, passes
):
    folder = tmp_path_factory.mktemp("import")
    sources, targets = columns_of(kind, *zip(*edges, strict=True))
    weights = None if values is None else (np.arange(len(edges)) % modulus - 2).astype(values)
    in_memory(folder / "there", sources, targets, weights, options)
    source = source_of(sources, targets, weights, again=again and kind != "names")  # see EdgeSource
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external, "fewest_passes", lambda needs_of, there: passes)
        manifest = write_external(source, folder / "here", options, memory, min_sort_bytes=0)
    assert contents(folder / "here") == contents(folder / "there")
    assert manifest.edges == store.info(folder / "there").edges
    assert sorted(path.name for path in folder.iterdir()) == ["here", "there"]


@pytest.fixture
def out_of_core(monkeypatch):
    """Every import that can be out of core is."""
    monkeypatch.setattr(collect, "SORTING", 1 << 50)


def both_ways(path, folder, monkeypatch, most=1 << 50):
    """The directories that an import in memory makes of a file, and one out of core.

    `most` is the peak memory of the graph in bytes per byte of its entries; 1 GiB is allowed.
    """
    for name, nbytes in (("there", 0), ("here", most)):
        monkeypatch.setattr(collect, "SORTING", nbytes)
        import_file(path, folder / name, ImportOptions(encoding="packed"), memory="1GiB")
    return contents(folder / "here"), contents(folder / "there")


TEXT = "# one\n" + "".join(f"{k * k % 97} {k % 31}\n" for k in range(900))
TABLE = {"source": [5, 1, 2**40, 5], "target": [1, 5, 7, 1], "weight": np.array([3, 2, 1, 0], np.int16)}
NAMED = {"source": ["b", "c", "b"], "target": ["z", "b", "a"]}
PAIRS = np.array([[3, 1], [1, 3], [2, 9], [3, 3]], np.uint32)
RECORDS = np.array([(1, 2, 0.5), (7, 1, 1.5)], [("src", "<i8"), ("dst", "<u2"), ("weight", "<f4")])
FILES = {
    "plain.txt": lambda path: path.write_text(TEXT),
    "packed.tsv.gz": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "weights.txt": lambda path: path.write_text("1 2 3\n" * 200 + "2 1 0.5\n" * 3),
    "names.csv": lambda path: path.write_text("source,target\nb,c\nz,a\nc,y\nb,a\n"),
    "pairs.npy": lambda path: np.save(path, PAIRS),
    "columns.npy": lambda path: np.save(path, np.asfortranarray(PAIRS)),
    "rows.npy": lambda path: np.save(path, PAIRS.T[:, :3]),
    "records.npy": lambda path: np.save(path, RECORDS),
    "table.parquet": lambda path: parquet.write_table(pa.table(TABLE), path),
    "table.feather": lambda path: feather.write_feather(pa.table(NAMED), path),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ("plain.txt", "names.csv") else pytest.mark.slow) for name in FILES],
)
def test_a_file_gives_the_same_graph_in_memory_and_out_of_core(tmp_path, name, monkeypatch):
    monkeypatch.setattr("garaph_py.io.formats.text.BLOCK", 500)
    FILES[name](tmp_path / name)
    here, there = both_ways(tmp_path / name, tmp_path, monkeypatch)
    assert here == there


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("edges", [100, 450, 899])
@pytest.mark.parametrize("name", ["plain.txt", "packed.tsv.gz", "many.npy"])
def test_an_import_that_goes_on_out_of_core_gives_the_same_graph(tmp_path, name, edges, monkeypatch):
    monkeypatch.setattr("garaph_py.io.formats.text.BLOCK", 500)
    monkeypatch.setattr("garaph_py.io.formats.npy.PIECE", 500)
    write = FILES.get(name, lambda path: np.save(path, np.tile(PAIRS, (225, 1))))
    write(tmp_path / name)
    steps = []
    monkeypatch.setattr(external.Import, "run", lambda run, then=external.Import.run: steps.append(1) or then(run))
    here, there = both_ways(tmp_path / name, tmp_path, monkeypatch, most=(1 << 30) / (8 * edges))
    assert (here, len(steps)) == (there, 1)


@pytest.mark.parametrize("weights", [None, (-3, 200)])
def test_generated_edges_are_the_same_in_pieces(tmp_path, weights, monkeypatch):
    monkeypatch.setattr(generate, "MOST_BATCH_EDGES", 700)
    edges = generate.random_rmat(9, 8, weights=weights)
    write_random(edges, tmp_path / "there", ImportOptions())
    monkeypatch.setattr(collect, "SORTING", 1 << 50)
    write_random(edges, tmp_path / "here", ImportOptions())
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_striped_over_disks_it_is_the_same(tmp_path, encoding, out_of_core, monkeypatch):
    monkeypatch.setattr(array_writer, "BLOCK_BYTES", 8192)
    monkeypatch.setattr(array_writer, "CHUNK_BYTES", 4 * 8192)
    edges, disks = generate.random_rmat(11, 8, weights=(1, 9)), [tmp_path / "a", tmp_path / "b"]
    for disk in disks:
        disk.mkdir()
    graph = edges.graph(True, None, lambda event: None)
    store.save(graph, tmp_path / "there", encoding=encoding, block_bytes=8192, disks=disks)
    manifest = write_random(edges, tmp_path / "here", ImportOptions(encoding=encoding), disks=disks)
    assert manifest == store.info(tmp_path / "here")
    assert list(manifest.arrays.items()) == list(store.info(tmp_path / "there").arrays.items())
    for disk in disks:
        here, there = (contents(disk / f"{name}-{ID.hex[:8]}") for name in ("here", "there"))
        assert here == there
        assert len(here["in_sources.data"]) > 0
    assert equal(store.open(tmp_path / "here"), store.open(tmp_path / "there"))


def test_what_each_filesystem_needs(monkeypatch):
    disks = [Path(name) for name in ("one/a", "one/b", "other/a")]
    monkeypatch.setattr(external, "os", SimpleNamespace(stat=lambda disk: SimpleNamespace(st_dev=disk.parent)))
    destination = Destination(disks[0], (disks[2], disks[0], disks[1]), ("", "", ""), ID)
    here, there = disks[2], Path("third/a")
    assert external.disk_needs(destination, here, 1000, 300, 0.0) == {here: 1100, disks[0]: 200}
    assert external.disk_needs(destination, here, 1000, 300, 0.5) == {here: 1050, disks[0]: 200}
    assert external.disk_needs(destination, here, 30, 300, 0.5) == {here: 100, disks[0]: 200}
    assert external.disk_needs(destination, there, 1000, 300, 0.5) == {there: 1000, here: 100, disks[0]: 200}


@pytest.mark.parametrize(("scale", "factor"), [(0, 0), (3, 0), (0, 5)])
def test_few_edges_and_none(tmp_path, scale, factor, out_of_core):
    manifest = write_random(generate.random_uniform(scale, factor, weights=(1, 1)), tmp_path / "graph", ImportOptions())
    assert (manifest.vertices, manifest.edges) == (1 << scale, factor << scale)
    assert store.open(tmp_path / "graph").m == factor << scale
    assert not store.verify(tmp_path / "graph")


@pytest.fixture
def source():
    """20,000 edges between 900 vertices, which can be read once."""
    return source_of(*np.random.default_rng(1).integers(0, 900, (2, 20_000), np.uint32), rows=1000, again=False)


@pytest.mark.slow
@pytest.mark.parametrize(("again", "limit"), [(False, 100_000), (True, 20_000)])
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path, again, limit):
    source = source_of(*np.random.default_rng(1).integers(0, 900, (2, 20_000), np.uint32), rows=1000, again=again)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))  # it fails when ids are spilled, and when keys are
    try:
        with pytest.raises(DiskFullError, match=r"the disk at /.* takes no more \(File too large\): the graph .* need"):
            write_external(source, tmp_path / "graph", ImportOptions(directed=False), 1 << 18, min_sort_bytes=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_would_be_full_is_told_before(tmp_path, source, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100_000))
    needed = 20_000 * (8 + 8) + 2 * 8 * 901  # a copy and both arrays: these take more than the keys of a pass
    with pytest.raises(DiskFullError, match=rf"need {needed:,} bytes \(.*\), and 100,000 are free; free space there"):
        write_external(source, tmp_path / "graph", ImportOptions(), 1 << 18, min_sort_bytes=0)
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_are_where_the_user_says(tmp_path, source, monkeypatch):
    folders, opened = [], spill.SpillFile.__init__
    monkeypatch.setattr(
        spill.SpillFile, "__init__", lambda self, at, direct=False: (folders.append(at), opened(self, at, direct))[1]
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "disk").mkdir()
    write_external(source, tmp_path / "disk" / "graph", ImportOptions(), 1 << 18, min_sort_bytes=0)
    assert set(folders) == {tmp_path}
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(ParameterError, match=r"none: temporary files cannot be used \(No such file.*TMPDIR"):
        write_external(source, tmp_path / "disk" / "another", ImportOptions(), 1 << 18, min_sort_bytes=0)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["pwrite", "preadv", "fsync"])
def test_a_failing_disk_leaves_nothing(tmp_path, source, call, monkeypatch):
    def failing(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(ParameterError, match=r"graph.*\(Input/output error\).* another directory"):
        write_external(source, tmp_path / "graph", ImportOptions(), 1 << 18, min_sort_bytes=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", ["distributing edges", "sorting in-edges", "sorting out-edges", "writing graph"])
def test_an_interrupt_leaves_nothing(tmp_path, source, step):
    def interrupted(event):
        if event.name == step:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        write_external(source, tmp_path / "graph", ImportOptions(), 1 << 18, on_event=interrupted, min_sort_bytes=0)
    assert step == "writing graph" or list(tmp_path.iterdir()) == []  # that is told at the end, when all is done


@pytest.mark.slow
def test_temporary_directories_of_others_stay(tmp_path, source):
    (tmp_path / ".graph.partial-of-another").mkdir()
    write_external(source, tmp_path / "graph", ImportOptions(), 1 << 18, min_sort_bytes=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".graph.partial-of-another", "graph"]


def test_a_file_that_ends_early(tmp_path, out_of_core):
    whole = gzip.compress(TEXT.encode())
    (tmp_path / "edges.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="the compressed data end early or are damaged"):
        import_file(tmp_path / "edges.txt.gz", tmp_path / "graph", ImportOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt.gz"]


def test_too_little_memory_is_told(tmp_path, source, monkeypatch):
    with pytest.raises(GraphError, match=r"900 vertices take .* KiB of memory, .* MiB are needed; 1.0 MiB may"):
        write_external(source, tmp_path / "graph", ImportOptions(), 1 << 20)
    path = tmp_path / "graph.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    with pytest.raises(FormatError, match=r"matrix-market must fit in the memory that may be used, 40 B; allow more"):
        import_file(path, tmp_path / "graph", ImportOptions(), memory="40B")


def test_a_file_without_edges(tmp_path, out_of_core):
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(FormatError, match=r"empty\.txt: no edges"):
        import_file(tmp_path / "empty.txt", tmp_path / "graph", ImportOptions())


PEAK = """
import sys, numpy, pyarrow.csv, psutil, garaph_py as gp
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
small, large, out, memory = sys.argv[1:]
options = ImportOptions(directed=False)
import_file(small, out + "-small", options, memory=1 << 28)  # libraries and compiled code are there
base = psutil.Process().memory_info().rss
open("/proc/self/clear_refs", "w").write("5")
try:
    edges = import_file(large, out, options, memory=int(memory), threads=1).edges
except gp.errors.FormatError as error:
    edges = 0
    assert "its ids takes at least" in str(error), error
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak - base, edges)
"""
EQUAL, REPEATS = b"1\t2\n" * (1 << 16), 80
MANY = REPEATS << 16


def random_edges():
    """`MANY` edges, of which none is a self-loop."""
    return np.random.default_rng(1).integers(0, 1 << 17, (MANY, 2), np.uint32) + np.array([0, 1 << 17], np.uint32)


LARGE = {
    "edges.npy": lambda path: np.save(path, random_edges()),
    "edges.tsv.gz": lambda path: path.write_bytes(gzip.compress(EQUAL) * REPEATS),
    "edges.tsv.xz": lambda path: path.write_bytes(lzma.compress(EQUAL) * REPEATS),
    "edges.tsv.zst": lambda path: path.write_bytes(pa.compress(EQUAL, "zstd", asbytes=True) * REPEATS),
    "edges.parquet": lambda path: parquet.write_table(pa.table([np.full(MANY, k) for k in (1, 2)], ["u", "v"]), path),
}
"""Files of `MANY` edges. Compressed, equal edges take a few kilobytes."""


@pytest.mark.full
@pytest.mark.parametrize("name", mostly_full(LARGE, "edges.npy", "edges.tsv.zst", "edges.parquet"))
def test_memory_stays_within_what_is_allowed(tmp_path, name):
    memory = 112 << 20
    LARGE[name](tmp_path / name)
    small = tmp_path / ("small" + "".join(Path(name).suffixes))
    {".npy": FILES["pairs.npy"], ".parquet": FILES["table.parquet"]}.get(small.suffix, FILES["packed.tsv.gz"])(small)
    peak, stored = peak_of(tmp_path / name, small, memory)
    assert stored == 2 * MANY
    assert peak < 1.1 * memory


def peak_of(path, small, memory):
    """The peak memory of an import after that of a small file of the same kind, and how many edges it stored, 0 if
    the ids were too many."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(small), str(path), str(path.parent / "graph"), str(memory)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    peak, stored = map(int, done.stdout.split())
    return peak, stored


@pytest.mark.full
@pytest.mark.parametrize(
    ("memory", "stored"), [pytest.param(256 << 20, 0, marks=pytest.mark.full), (300 << 20, 2_000_000)]
)
def test_different_names_stay_within_what_is_allowed(tmp_path, memory, stored):
    """2 million names of 14 bytes, each of which occurs once."""
    names = pa.array(f"user-{number:09}" for number in range(2_000_000))
    table = pa.table([names[:1_000_000], names[1_000_000:]], ["source", "target"])
    pa.csv.write_csv(table, tmp_path / "names.csv")
    FILES["names.csv"](tmp_path / "small.csv")
    peak, found = peak_of(tmp_path / "names.csv", tmp_path / "small.csv", memory)
    assert found == stored
    assert peak < 1.1 * memory


@pytest.mark.full
def test_long_names_stay_within_what_is_allowed(tmp_path):
    """A name of a megabyte in 500 rows, of a Parquet file of a few kilobytes that does not say it is a dictionary."""
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500, np.int32)), pa.array(["a" * (1 << 20)]))
    table = pa.table([names, names], ["source", "target"])
    parquet.write_table(table, tmp_path / "names.parquet", compression="zstd", store_schema=False)
    FILES["table.parquet"](tmp_path / "small.parquet")
    memory = 160 << 20
    peak, stored = peak_of(tmp_path / "names.parquet", tmp_path / "small.parquet", memory)
    assert stored == 500  # self-loops
    assert peak < 1.1 * memory


@pytest.mark.parametrize("later", [[5, 9, 900], [5, 6, 7, 9], [5, 9]])
def test_a_file_that_changes_meanwhile(tmp_path, later):
    columns = [np.array([5, 7, 9]), np.array(later)]

    def batches(listener):
        column = columns.pop(0)
        yield EdgeList(column, column)

    with pytest.raises(GraphError, match="the file was changed while it was read; import it again"):
        write_external(EdgeSource(batches, True), tmp_path / "graph", ImportOptions(), 1 << 18, min_sort_bytes=0)
    assert list(tmp_path.iterdir()) == []
