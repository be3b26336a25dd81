"""Packed graph directories: they keep every graph, the slow decoder agrees, and forged ones are refused."""

import json
import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py import events
from garaph_py.codec.blocks import KIND_OF, UNIT, PackedBlocks, UndecodableError, cut
from garaph_py.codec.format import ASCENDING, LISTS, NUMBERS, RECORD, RUN, Packed, decode
from garaph_py.errors import DamagedGraphError, FormatError, GraphError, ParameterError
from garaph_py.graph.adjacency import Adjacency
from garaph_py.graph.arrays import GraphArrays
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import rmat
from garaph_py.graph.graph import Graph
from garaph_py.graph.ids import IntegerIds, VertexIds
from garaph_py.storage import directory as store
from garaph_py.storage import keep
from garaph_py.storage import manifest as manifests
from garaph_py.storage.blocks import INDEX_DTYPE
from tests.support.graphs import equal, write_array
from tests.support.stored_graphs import rewrite_array, rewrite_index

ENCODINGS = ("raw", "packed")


@pytest.fixture(scope="module")
def graph():
    """Three blocks of sources, two of offsets; a list goes on from one block to the next."""
    sources, targets = np.random.default_rng(3).integers(0, 1500, (2, 4500))
    targets[:300] = targets[4200:] = 700
    values = np.random.default_rng(4).integers(-9, 9, 4500, np.int32)
    return from_numbered_edges(sources, targets, 1500, values)


@pytest.fixture
def directory(graph, tmp_path):
    store.save(graph, tmp_path / "graph", encoding="packed", block_bytes=UNIT)
    return tmp_path / "graph"


def stored_block(path, name, block):
    """The bytes of a block, as another reader finds them."""
    entry = json.loads((path / "manifest.json").read_bytes())["arrays"][name]
    index = np.fromfile(path / entry["index"], INDEX_DTYPE)[block]
    data = (path / entry["data"]).read_bytes()
    return bytearray(data[int(index["offset"]) :][: int(index["length"])]), entry


# Round trips


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("saved", ENCODINGS)
@pytest.mark.parametrize("opened", ENCODINGS)
@pytest.mark.parametrize("held", ENCODINGS)
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_survives_every_pair_of_encodings(tmp_path, held, saved, opened, directed):
    graph = rmat(12, weights=(1, 300), directed=directed)
    store.save(graph.packed() if held == "packed" else graph, tmp_path / "g", encoding=saved, block_bytes=2 * UNIT)
    assert store.verify(tmp_path / "g") == []
    assert {array.encoding for array in store.info(tmp_path / "g").arrays.values()} == {(saved, 1)}
    back = store.open(tmp_path / "g", encoding=opened)
    assert back.encoding == opened
    assert equal(graph, back)


def test_what_does_not_fit_stays_raw(tmp_path):
    for values in (np.array([0, 2**40, 5]), np.array([0.5, 1, 2])):
        path = tmp_path / values.dtype.name
        graph = from_numbered_edges([0, 1, 2], [1, 2, 0], 3, values)
        store.save(graph, path, encoding="packed")
        assert store.info(path).arrays["in_values"].encoding == ("raw", 1)
        assert equal(graph, store.open(path, encoding="packed"))


@pytest.mark.full
@settings(max_examples=40, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(-9, 2**31)), max_size=300),
    repeated=st.sampled_from([1, 30]),
    directed=st.booleans(),
    units=st.sampled_from([1, 3, 128]),
    opened=st.sampled_from(ENCODINGS),
)
def test_any_graph(tmp_path_factory, edges, repeated, directed, units, opened):
    sources, targets, weights = np.repeat(np.array(edges, np.int64).reshape(-1, 3).T, repeated, axis=1)
    graph = from_numbered_edges(sources, targets, 301, weights, directed=directed)
    path = tmp_path_factory.mktemp("any") / "graph"
    store.save(graph, path, encoding="packed", block_bytes=units * UNIT)
    assert equal(graph, store.open(path, encoding=opened, threads=3))
    assert store.verify(path, threads=3) == []


def test_the_slow_decoder_reads_blocks(graph, directory):
    """It follows docs/format.md and docs/packed.md, and uses none of the code that reads directories."""
    arrays = {"in_sources": graph._arrays.in_edges.neighbours, "in_offsets": graph._arrays.in_edges.offsets}
    arrays |= {"in_values": graph._arrays.in_edges.values, "out_targets": graph._arrays.out_edges.neighbours}
    for name, array in arrays.items():
        got = []
        kind = {"offsets": ASCENDING, "values": NUMBERS}.get(name[3:], LISTS)
        step = UNIT // array.itemsize
        for block in range(-(-len(array) // step)):
            data, entry = stored_block(directory, name, block)
            assert entry["encoding"] == {"name": "packed", "version": 1}
            count = min(step, len(array) - block * step)
            runs, groups = -(-count // 1024), -(-count // 32)
            records = np.frombuffer(data, RECORD, runs)
            starts, words_at = None, 48 * runs
            if kind == LISTS:
                masks = np.frombuffer(data, np.uint8, 4 * groups, words_at)
                starts, words_at = np.unpackbits(masks, bitorder="little")[:count].astype(bool), words_at + 4 * groups
            words = np.frombuffer(data[words_at:], np.uint32)
            got += decode(Packed(records, words, count, array.dtype), starts, kind)
        assert got == array.tolist()


@pytest.mark.parametrize("block_bytes", [512, UNIT + 512])
def test_runs_are_not_cut(tmp_path, block_bytes):
    with pytest.raises(ParameterError, match=f"multiple of {UNIT} for packed"):
        store.save(rmat(4), tmp_path / "g", encoding="packed", block_bytes=block_bytes)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spread
@pytest.mark.parametrize("block_bytes", [512, 4608, UNIT + 512, 3 * UNIT])
@pytest.mark.parametrize("chunk", [1, 1 << 24])
def test_packed_graphs_fill_any_raw_blocks(tmp_path, monkeypatch, block_bytes, chunk):
    monkeypatch.setattr(keep, "CHUNK_BYTES", chunk)
    graph = rmat(11, weights=(1, 300))
    store.save(graph.packed(), tmp_path / "packed", encoding="raw", block_bytes=block_bytes)
    store.save(graph, tmp_path / "raw", encoding="raw", block_bytes=block_bytes)
    for array in store.info(tmp_path / "raw").arrays.values():
        assert (tmp_path / "packed" / array.data).read_bytes() == (tmp_path / "raw" / array.data).read_bytes()
    for opened in ENCODINGS:
        assert equal(graph, store.open(tmp_path / "packed", encoding=opened, threads=2))


@pytest.mark.parametrize("place", [0, 5000])
def test_numbers_that_turn_out_wide_are_read_raw(tmp_path, monkeypatch, place):
    monkeypatch.setattr(keep, "CHUNK_BYTES", 1)
    values = np.arange(6000)
    values[place] = 2**40
    graph = from_numbered_edges(np.arange(6000), np.zeros(6000, int), 6000, values)
    store.save(graph, tmp_path / "g", encoding="raw")
    back = store.open(tmp_path / "g", encoding="packed")
    assert back._arrays.in_edges.value_array.codec == "raw"
    assert equal(graph, back)


@pytest.mark.parametrize("saved", ENCODINGS)
def test_a_gpu_can_pin_what_was_opened_packed(tmp_path, saved):
    store.save(rmat(8, weights=(1, 9)), tmp_path / "g", encoding=saved)
    edges = store.open(tmp_path / "g", encoding="packed")._arrays.in_edges
    for packed in edges.arrays():
        for array in (packed.records, packed.words):
            assert array.__array_interface__["data"][0] % mmap.PAGESIZE == 0


# Which encoding


# Damage and forgery


def refused(path):
    """What `open` says, either way, and `verify` too."""
    said = set()
    for encoding in ENCODINGS:
        with pytest.raises(FormatError) as caught:
            store.open(path, encoding=encoding)
        said.add(str(caught.value))
    assert {str(problem) for problem in store.verify(path)} >= said
    (message,) = said
    return message


def refused_from_disk(path, name):
    """The error of a run whose edges stay on disk, after it has read the whole array."""
    graph = store.read_graph(path, "auto", 1 << 20, None, events.ignore, on_disk=True)
    edges = graph._arrays.out_edges if name.startswith("out") else graph._arrays.in_edges
    array = edges.arrays(True)[name.endswith("values")]
    room = int(array.reader.index["length"].max()) + 4
    data = np.zeros(3 * room // 4 * 4, np.uint8)

    def check():
        for first in range(0, array.array.blocks, 3):
            blocks = list(range(first, min(first + 3, array.array.blocks)))
            places = [k * (room // 4 * 4) + first % 2 * 4 for k in range(len(blocks))]  # not aligned, too
            for block, at in zip(blocks, places, strict=True):
                array.stored(block, data, at)[:] = array.reader.stored(block)
            array.check(blocks, data, places)
        array.check_joints(0, array.array.blocks)

    with pytest.raises(FormatError) as caught:
        check()
    return str(caught.value)


def forge(path, name, block, change):
    """Apply `change` to a block's records, masks and words; index, checksums and manifest fit it."""
    info = store.info(path)
    old = info.arrays[name]
    pieces = [np.frombuffer(stored_block(path, name, k)[0], np.uint8) for k in range(old.blocks)]
    first, last = old.bounds(block)
    records_end, words_at = -(-(last - first) // RUN) * 48, PackedBlocks(name, old.dtype).words_at(last - first)
    forged = pieces[block]
    change(
        forged[:records_end].view(RECORD), forged[records_end:words_at].view(np.uint32), forged[words_at:].view("u4")
    )
    rewrite(path, info, name, pieces)


def rewrite(path, info, name, pieces):
    old = info.arrays[name]
    for file in (old.data, old.index):
        (path / file).unlink()
    write_array(path, info, name, old.length, pieces)
    (path / "manifest.json").write_bytes(manifests.serialize(info))


def setting(part, field, place, value):
    def change(*parts):
        target = parts[("records", "masks", "words").index(part)]
        (target[field] if field else target)[place] = value

    return change


def adding(part, field, place, value):
    def change(*parts):
        target = parts[("records", "masks", "words").index(part)]
        target = target[field] if field else target
        target[place] += value

    return change


@pytest.mark.parametrize(
    ("name", "block", "change", "problem"),
    [
        ("in_sources", 1, setting("records", "widths", (1, 3), 33), "width is above 32 bits"),
        ("in_sources", 1, setting("records", "widths", (1, 3), 255), "width is above 32 bits"),
        ("in_sources", 0, adding("records", "widths", (1, 3), 1), "its groups need"),
        ("in_sources", 0, setting("records", "first_word", 1, 2**62), "do not follow those of the run before"),
        ("in_sources", 0, setting("records", "first_word", 0, -1), "do not follow"),
        ("in_sources", 0, adding("records", "base", 1, 1), "base is not the element before it"),
        ("in_sources", 1, adding("records", "base", 0, -1), "base is not the element before it"),
        ("in_sources", 1, setting("records", "base", 0, 2**40), "does not fit its type"),
        ("in_sources", 1, setting("records", "base", 0, -(2**63)), "does not fit its type"),
        ("in_sources", 0, setting("words", "", slice(None), 2**32 - 1), ""),
        ("in_sources", 0, adding("masks", "", 20, 1), ""),
        ("in_sources", 2, setting("masks", "", -1, 2**31), "a list begins past its end"),
        ("out_targets", 0, setting("words", "", slice(0, 12), 2**32 - 1), "a vertex number is not below 1500"),
        ("in_offsets", 0, setting("records", "base", 0, 1), "starts with 1, not 0"),
        ("in_offsets", 1, adding("records", "base", 0, 3), ""),
        ("in_offsets", 1, setting("records", "base", 0, 2**63 - 1), ""),
        ("in_values", 0, setting("records", "base", 1, 2**31 - 2), "does not fit its type"),
        ("in_values", 2, setting("records", "base", 0, 2**63 - 2), "does not fit its type"),
    ],
)
def test_forged_blocks(directory, name, block, change, problem):
    forge(directory, name, block, change)
    message = refused(directory)
    assert problem in message
    assert f"{name}.data" in message
    if name in keep.EDGES:
        assert refused_from_disk(directory, name) == message


def test_forged_numbers_past_the_end(directory):
    last = store.info(directory).arrays["in_values"].bounds(2)
    assert (last[1] - last[0]) % 32  # the last group is not full
    forge(directory, "in_values", 2, setting("words", "", -1, 2**32 - 1))
    assert "past its end is not 0" in refused(directory)


@pytest.mark.parametrize("length", [0, 95, 2 * 48 + 4 * 64 + 1, 2**32 - 1])
def test_impossible_lengths(directory, length, monkeypatch):
    monkeypatch.setattr(store, "encoding_to_open", lambda *_: pytest.fail("allocated for a lie"))
    rewrite_index(directory, "in_sources", lambda index: index["length"].__setitem__(0, length))
    assert "a stored length its encoding cannot have" in refused(directory)


def test_lists_that_begin_elsewhere(graph, directory):
    """Every part is valid by itself, but the masks belong to another graph."""
    moved = graph._arrays.in_edges.offsets.copy()
    v = int(np.flatnonzero(np.diff(moved)[:-1] > 1)[0])
    moved[v + 1] -= 1
    packed = graph.packed()._arrays.in_edges.neighbour_array
    info = store.info(directory)
    rewrite(directory, info, "in_sources", list(cut(packed, UNIT // 4, moved)))
    refused(directory)


def test_raw_lists_that_do_not_ascend_are_not_packed(tmp_path):
    edges = Adjacency(np.array([0, 3, 3]), np.array([1, 0, 1], np.uint32))
    graph = Graph(GraphArrays(edges, edges, VertexIds(2)))
    with pytest.raises(GraphError, match="not in ascending order"):
        store.save(graph, tmp_path / "g", encoding="raw")
    store.save(from_numbered_edges([0, 0, 1], [0, 0, 0], 2), tmp_path / "g", encoding="raw")
    rewrite_array(tmp_path / "g", "in_sources", lambda sources: sources.__setitem__(slice(2), [1, 0]))
    with pytest.raises(DamagedGraphError, match=r"in_sources\.data: .*not in ascending order"):
        store.open(tmp_path / "g", encoding="packed")
    with pytest.raises(GraphError, match="not in ascending order"):
        store.save(graph, tmp_path / "h", encoding="packed")
    assert [file.name for file in tmp_path.iterdir()] == ["g"]


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("ids", "encoding", {"name": "packed", "version": 1}),
        ("in_values", "dtype", "float32"),
        ("in_sources", "block_bytes", 512),
        ("in_sources", "block_bytes", UNIT + 512),
    ],
)
def test_what_cannot_be_packed_is_refused(tmp_path, name, key, value):
    edges = from_numbered_edges([0, 1], [1, 2], 3, np.array([1, 2], np.int32))
    graph = edges._replace(ids=IntegerIds(np.array([5, 6, 9])))
    store.save(graph, tmp_path / "g", encoding="packed")
    document = json.loads((tmp_path / "g" / "manifest.json").read_bytes())
    del document["checksum"]
    document["arrays"][name][key] = value
    (tmp_path / "g" / "manifest.json").write_bytes(manifests.seal(document))
    assert "manifest.json" in refused(tmp_path / "g")


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(sorted(KIND_OF)),
    length=st.integers(1, 2 * RUN),
    dtype=st.sampled_from(["int32", "uint32", "int64"]),
    words=st.integers(0, 70),
    noise=st.binary(max_size=400),
    widths=st.lists(st.integers(0, 34), max_size=64),
)
def test_anything_decodes_or_is_refused(name, length, dtype, words, noise, widths):
    encoding = PackedBlocks(name, np.dtype({LISTS: "uint32", ASCENDING: "int64"}.get(KIND_OF[name], dtype)))
    head = encoding.words_at(length)
    raw = np.empty(length, encoding.dtype)
    stored = np.resize(np.frombuffer(noise or b"\0", np.uint8), head + 4 * words)
    records = stored[: -(-length // RUN) * 48].view(RECORD)
    records["widths"] = 0
    records["widths"].reshape(-1)[: len(widths)] = widths[: records["widths"].size]
    counts = records["widths"].sum(axis=1, dtype=np.int64)
    records["first_word"] = np.cumsum(counts) - counts
    landing = encoding.landing(raw.view(np.uint8).data, len(stored))
    landing[:] = stored.data
    try:
        piece = encoding.decode(landing, raw.view(np.uint8).data, length)
    except UndecodableError:
        return
    starts = None if piece.masks is None else np.unpackbits(piece.masks.view("u1"), bitorder="little")[:length] > 0
    assert decode(Packed(piece.records, piece.words, length, raw.dtype), starts, encoding.kind) == raw.tolist()
