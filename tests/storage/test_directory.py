"""The graph directory keeps every graph, or saving and opening end in a typed error."""

import errno
import json
import os
import resource
import shutil
import uuid

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.errors import DamagedGraphError, ParameterError
from garaph_py.graph.adjacency import EDGE_DTYPES
from garaph_py.graph.build import from_edges, from_numbered_edges
from garaph_py.graph.generate import rmat
from garaph_py.graph.ids import StringIds
from garaph_py.storage import directory as store
from garaph_py.storage import write
from garaph_py.storage.blocks import INDEX_DTYPE
from tests.support.graphs import equal, small_graph

ODD_EDGES = [0, 0, 3, 3, 3, 5, 2], [1, 1, 3, 0, 4, 2, 3]


def returned(graph, tmp_path):
    """`graph` out of a raw directory; out of a packed one, and packed out of either, it is the same."""
    for path, saved in ((tmp_path / "graph", "raw"), (tmp_path / "packed", "packed")):
        store.save(graph, path, encoding=saved)
        assert store.verify(path) == []
        for opened in ("raw", "packed"):
            assert equal(graph, store.open(path, encoding=opened))
    return store.open(tmp_path / "graph")


@pytest.fixture
def directory(tmp_path):
    """Every array in two blocks."""
    store.save(small_graph(), tmp_path / "graph", block_bytes=512)
    return tmp_path / "graph"


# Round trips


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [None, *EDGE_DTYPES], ids=str)
def test_round_trip_of_every_edge_type(tmp_path, directed, dtype):
    weights = None if dtype is None else np.arange(7).astype(dtype)
    graph = from_numbered_edges(*ODD_EDGES, 7, weights, directed=directed)
    assert equal(graph, returned(graph, tmp_path))


@pytest.mark.parametrize(
    "ids",
    [
        np.array([-5, 2**62, 7, -(2**63)]),
        np.array([2**64 - 1, 0, 2**63, 9], np.uint64),
        ["x", "", "a longer name", "ü"],
        ["", "", "", ""],
    ],
    ids=["int64", "uint64", "string", "one empty name"],
)
def test_round_trip_of_every_kind_of_id(tmp_path, ids):
    graph = from_edges([ids[0], ids[1], ids[2]], [ids[1], ids[3], ids[0]])
    back = returned(graph, tmp_path)
    assert equal(graph, back)
    assert back.ids.index(ids[3]) == graph.ids.index(ids[3])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_round_trip_without_edges(tmp_path, n):
    none = np.zeros(0, np.int64)
    graph = from_numbered_edges(none, none, n)
    assert equal(graph, returned(graph, tmp_path))


def test_round_trip_of_no_names(tmp_path):
    empty = from_numbered_edges(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    graph = empty._replace(ids=StringIds([]))
    assert equal(graph, returned(graph, tmp_path))


def test_names_that_are_a_slice_of_a_longer_column(tmp_path):
    edges = from_numbered_edges([0, 1], [1, 2], 3)
    names = StringIds(pa.array(["not", "these", "x", "yy", "", "nor", "those"], pa.large_string()).slice(2, 3))
    back = returned(edges._replace(ids=names), tmp_path)
    assert back.ids.array().tolist() == ["x", "yy", ""]
    assert store.info(tmp_path / "graph").arrays["id_bytes"].length == 3


@settings(max_examples=25, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(-9, 9)), max_size=300),
    directed=st.booleans(),
    block_bytes=st.sampled_from([512, 1024, 1 << 20]),
    threads=st.sampled_from([1, 2, 7]),
)
def test_round_trip_of_any_graph(tmp_path_factory, edges, directed, block_bytes, threads):
    sources, targets, weights = np.array(edges, np.int64).reshape(-1, 3).T
    graph = from_numbered_edges(sources, targets, 301, weights, directed=directed)
    path = tmp_path_factory.mktemp("any") / "graph"
    store.save(graph, path, block_bytes=block_bytes)
    assert equal(graph, store.open(path, threads=threads))
    assert store.verify(path, threads=threads) == []


def test_several_threads_and_large_blocks(tmp_path):
    graph = rmat(15, weights=(1, 9))
    back = returned(graph, tmp_path)
    assert equal(graph, back)
    assert equal(graph, store.open(tmp_path / "graph", threads=1))


def test_another_reader_needs_only_the_format(tmp_path):
    """The reader follows docs/format.md and uses none of the library's code."""
    graph = rmat(12, weights=(1, 9))
    store.save(graph, tmp_path / "graph", block_bytes=4096)
    text = (tmp_path / "graph" / "manifest.json").read_bytes()
    manifest = json.loads(text)
    assert int(manifest["checksum"], 16) == xxhash.xxh3_64_intdigest(text[:-20])
    for name, entry in manifest["arrays"].items():
        data = (tmp_path / "graph" / entry["data"]).read_bytes()
        index = (tmp_path / "graph" / entry["index"]).read_bytes()
        assert xxhash.xxh3_64_hexdigest(index) == entry["index_checksum"]
        assert len(index) == 24 * entry["blocks"]
        for block in range(entry["blocks"]):
            offset, length, disk, checksum = np.frombuffer(index[24 * block :][:24], INDEX_DTYPE)[0].tolist()
            where = uuid.UUID(manifest["graph_id"]).bytes + manifest["generation"].to_bytes(8, "little")
            seed = xxhash.xxh3_64_intdigest(where + block.to_bytes(8, "little") + name.encode())
            assert checksum == xxhash.xxh3_64_intdigest(data[offset : offset + length], seed)
            assert (disk, offset) == (0, 4096 * block)
    flat = np.fromfile(tmp_path / "graph" / manifest["arrays"]["in_sources"]["data"], np.uint32)
    assert np.array_equal(flat, graph._arrays.in_edges.neighbours)


def test_info_reads_the_manifest_only(directory):
    for file in directory.iterdir():
        if file.name != "manifest.json":
            file.unlink()
    info = store.info(directory)
    assert (info.vertices, info.edges, info.directed, info.ids) == (70, 140, True, "string")
    assert (info.edge_dtype, info.version, info.generation, info.disks) == (np.float32, 3, 0, (".",))
    assert info.bytes_per_edge["in_sources"] == info.bytes_per_edge["in_values"] == 4
    assert info.arrays["in_sources"].block_bytes == 512
    assert info.stored_bytes == sum(array.stored_bytes for array in info.arrays.values())


def test_two_saves_have_different_identities(tmp_path):
    graph = from_numbered_edges(*ODD_EDGES, 6)
    store.save(graph, tmp_path / "a")
    store.save(graph, tmp_path / "b")
    assert store.info(tmp_path / "a").graph_id != store.info(tmp_path / "b").graph_id
    shutil.copy(tmp_path / "a" / "in_sources.data", tmp_path / "b" / "in_sources.data")  # the same bytes ...
    for file in ("in_sources.index", "in_sources.data"):
        shutil.copy(tmp_path / "a" / file, tmp_path / "b" / file)
    with pytest.raises(DamagedGraphError):  # ... but another graph's blocks
        store.open(tmp_path / "b")


def test_progress_ends_and_stays_in_the_calling_thread(tmp_path):
    import threading

    told = []

    def listen(event):
        told.append((event.name, event.done, event.total, threading.get_ident()))

    graph = rmat(8)
    store.save(graph, tmp_path / "graph", on_event=listen)
    store.open(tmp_path / "graph", on_event=listen)
    store.verify(tmp_path / "graph", on_event=listen)
    assert {thread for *_, thread in told} == {threading.get_ident()}
    assert [(name, done) for name, done, total, _ in told if done == total] == [
        (name, graph.nbytes) for name in ("writing graph", "reading graph", "verifying graph")
    ]


# Saving


def test_an_existing_target_is_left_alone(directory):
    graph = store.open(directory)
    for target in (directory, directory.parent / "file", directory.parent / "dangling"):
        if target.name == "file":
            target.write_text("mine")
        if target.name == "dangling":
            target.symlink_to("nowhere")
        with pytest.raises(ParameterError, match="already exists; remove it or choose another name"):
            store.save(graph, target)
    assert (directory.parent / "file").read_text() == "mine"
    assert sorted(file.name for file in directory.parent.iterdir()) == ["dangling", "file", "graph"]


@pytest.mark.slow
@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError, SystemExit])
def test_an_interrupted_save_leaves_nothing(tmp_path, failure, monkeypatch):
    graph = from_edges(["a", "b"], ["b", "c"], [1, 2])
    real, calls, stop = write.NewFile.sync, [], []

    def interrupted(file):
        real(file)
        calls.append(file)
        if len(calls) in stop:
            raise failure

    monkeypatch.setattr(write.NewFile, "sync", interrupted)
    store.save(graph, tmp_path / "whole")
    for number in range(1, len(calls) + 1):
        calls.clear()
        stop[:] = [number]
        with pytest.raises(failure):
            store.save(graph, tmp_path / "graph")
        assert [file.name for file in tmp_path.iterdir()] == ["whole"]


@pytest.mark.parametrize("call", ["mkdir", "fsync", "rename"])
def test_a_failing_disk_is_named_and_leaves_nothing(tmp_path, call, monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    graph = rmat(6)
    monkeypatch.setattr(os, call, full)
    with pytest.raises(ParameterError, match=r"graph.*: cannot be written \(No space left on device\)"):
        store.save(graph, tmp_path / "graph")
    assert list(tmp_path.iterdir()) == []


def test_a_file_size_limit_is_a_named_error(tmp_path):
    graph = rmat(12)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(ParameterError, match=r"/graph/in_sources\.data: cannot be written"):
            store.save(graph, tmp_path / "graph")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_path_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"graph: there is no directory .*no; make it first$"):
        store.save(rmat(2), tmp_path / "no" / "graph")
    with pytest.raises(ParameterError, match="null"):
        store.save(rmat(2), tmp_path / "graph\0")


@pytest.mark.parametrize("block_bytes", [0, 8, 513, -512, 1 << 31, True, 512.0])
def test_block_bytes_out_of_range(tmp_path, block_bytes):
    with pytest.raises(ParameterError, match="block_bytes"):
        store.save(rmat(2), tmp_path / "graph", block_bytes=block_bytes)
