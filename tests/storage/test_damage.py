"""Damaged and hostile graph directories: a typed error that names the place, never an answer, never an allocation."""

import errno
import json
import os
import shutil
import uuid

import numpy as np
import pytest
import xxhash

from garaph_py.codec.blocks import UNIT
from garaph_py.errors import DamagedGraphError, FormatError
from garaph_py.graph.build import from_edges
from garaph_py.storage import directory as store
from garaph_py.storage import manifest as manifests
from garaph_py.storage.blocks import INDEX_DTYPE
from garaph_py.storage.encode import raw_blocks
from garaph_py.storage.files import Damage
from tests.support.graphs import equal, small_graph, write_array


@pytest.fixture
def directory(tmp_path):
    """Every array in two blocks."""
    store.save(small_graph(), tmp_path / "graph", block_bytes=512)
    return tmp_path / "graph"


@pytest.fixture(params=["raw", "packed"])
def either(request, tmp_path):
    """The same graph, stored in either encoding; packed blocks are longer than its arrays."""
    block_bytes = {"raw": 512, "packed": UNIT}[request.param]
    store.save(small_graph(), tmp_path / "graph", encoding=request.param, block_bytes=block_bytes)
    return tmp_path / "graph"


# Damage


def outcome(directory, graph):
    """ "refused" or "equal", and whether `verify` says the same; "unread" if that finds damage where nobody looks."""
    problems = store.verify(directory, threads=1)
    try:
        back = store.open(directory, threads=1)
    except FormatError:
        assert problems, "verify finds nothing, but open refuses"
        return "refused"
    assert equal(graph, back)
    unread = [os.path.basename(problem.path) == "out_values.data" for problem in problems]  # made in memory
    assert all(unread), "open accepts what verify complains of"
    return "unread" if unread else "equal"


def test_every_byte_flipped_is_detected(either):
    graph = store.open(either)
    for file in sorted(either.iterdir()):
        data = file.read_bytes()
        with file.open("r+b", buffering=0) as handle:
            for place, byte in enumerate(data):
                os.pwrite(handle.fileno(), bytes([byte ^ (1 << place % 8)]), place)
                found = "unread" if file.name == "out_values.data" else "refused"
                assert outcome(either, graph) == found, (file.name, place)
                os.pwrite(handle.fileno(), bytes([byte]), place)
    assert outcome(either, graph) == "equal"


def test_every_truncation_is_detected(either):
    graph = store.open(either)
    for file in sorted(either.iterdir()):
        data = file.read_bytes()
        for length in reversed(range(len(data))):
            os.truncate(file, length)
            assert outcome(either, graph) == "refused", (file.name, length)
        file.write_bytes(data)
    assert outcome(either, graph) == "equal"


def test_bytes_that_belong_to_no_block_are_not_read(either):
    graph = store.open(either)
    with (either / "in_sources.data").open("ab") as file:
        file.write(b"litter")
    assert outcome(either, graph) == "equal"
    for file in ("in_sources.index", "manifest.json"):
        data = (either / file).read_bytes()
        (either / file).write_bytes(data + b"\n")
        assert outcome(either, graph) == "refused"
        (either / file).write_bytes(data)


def test_every_missing_file_is_named(either):
    graph = store.open(either)
    for file in sorted(either.iterdir()):
        data = file.read_bytes()
        file.unlink()
        assert outcome(either, graph) == "refused"
        with pytest.raises(DamagedGraphError, match=rf"{file.name}: missing"):
            store.open(either)
        file.write_bytes(data)


def test_damage_is_named_by_file_block_and_offset(directory):
    data = bytearray((directory / "in_values.data").read_bytes())
    assert len(data) == 560
    data[515] ^= 1
    data[3] ^= 1
    (directory / "in_values.data").write_bytes(data)
    with pytest.raises(DamagedGraphError, match=r"in_values\.data, byte 0: block 0: its checksum does not match"):
        store.open(directory, threads=1)
    os.truncate(directory / "out_targets.data", 520)
    with pytest.raises(DamagedGraphError, match=r"out_targets\.data, byte 520: block 1: the file ends"):
        store.open(directory)
    problems = store.verify(directory)
    assert all(isinstance(problem, Damage) for problem in problems)
    assert [(os.path.basename(problem.path), problem.block, problem.offset) for problem in problems] == [
        ("in_values.data", 0, 0), ("in_values.data", 1, 512), ("out_targets.data", 1, 520),
    ]  # fmt: skip


def test_a_read_error_is_named(directory, monkeypatch):
    def broken(handle, buffers, offset):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(DamagedGraphError, match=r"manifest\.json: cannot be read \(Input/output error\)"):
        store.open(directory)


# Hostile contents: everything below carries right checksums


def rewrite(directory, change):
    """Apply `change` to the manifest's document and seal it again."""
    document = json.loads((directory / "manifest.json").read_bytes())
    del document["checksum"]
    change(document)
    (directory / "manifest.json").write_bytes(manifests.seal(document))


def rewrite_array(directory, name, change):
    """Apply `change` to an array's elements; blocks, index and manifest fit them again."""
    info = store.info(directory)
    old = info.arrays[name]
    elements = np.fromfile(directory / old.data, old.dtype)
    change(elements)
    for file in (old.data, old.index):
        (directory / file).unlink()
    write_array(directory, info, name, len(elements), raw_blocks(elements, old.block_bytes))
    new = manifests.array_document(info.arrays[name])
    rewrite(directory, lambda document: document["arrays"].update({name: new}))


def rewrite_index(directory, name, change):
    info = store.info(directory)
    file = directory / info.arrays[name].index
    index = np.fromfile(file, INDEX_DTYPE)
    change(index)
    file.write_bytes(index.tobytes())
    digest = xxhash.xxh3_64_hexdigest(index.tobytes())
    rewrite(directory, lambda document: document["arrays"][name].update(index_checksum=digest))


def setting(*keys_and_value):
    *keys, last, value = keys_and_value

    def change(document):
        for key in keys:
            document = document[key]
        document[last] = value

    return change


def dropping(*keys):
    def change(document):
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


NO_COUNTS = (-1, 2**49, 10**400, 1.0, "6", True, None, [])
NO_SIZES = (-1, 0, 2**62, 7.0, None)
NO_FILES = (
    "../graph/in_sources.data",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "in_sources.data\0",
    "a\nb",
    "x" * 300,
    3,
    None,
)
NO_DISKS = (
    *([], ".", None, {}, 1, ["."] * 65, [f"/{k}" for k in range(65)], [".", "."], ["/a", "/a"], [1], [None], [[]]),
    *([".."], [""], ["a"], ["./a"], ["/a/"], ["/a/.."], ["/a//b"], ["//a"], ["/."], ["/a\0"], ["/\ud800"]),
    *(["/" + "a" * 1024], ["/"], ["/nowhere"], [".", "/nowhere"]),
)
OTHER_FILES = ("manifest.json", "in_values.data")
LIES = [
    *(setting(key, value) for key in ("vertices", "edges", "generation") for value in NO_COUNTS),
    *(setting("vertices", value) for value in (69, 2**32, 2**32 + 1)),
    *(setting("edges", value) for value in (139, 2**48)),
    *(setting("directed", value) for value in (1, "true", False, None)),
    *(setting("ids", value) for value in ("range", "integer", "names", 1)),
    *(setting("graph_id", value) for value in ("x", 5, str(uuid.UUID(int=0)) + " ", "-" * 36)),
    *(setting("disks", value) for value in NO_DISKS),
    *(setting("k", value) for value in (0, 0.99, -1, True, "2", [], 2**49, 10**400)),
    *(setting("format", value) for value in ("other", None)),
    *(setting("arrays", value) for value in ([], {}, None)),
    *(dropping(*keys) for keys in (["vertices"], ["arrays", "in_sources"], ["arrays", "id_bytes"])),
    setting("more", 1),
    setting("arrays", "more", {}),
    setting("arrays", "in_values", 3),
    setting("arrays", "in_sources", "more", 1),
    dropping("arrays", "in_sources", "data"),
    *(setting("arrays", "in_sources", key, value) for key in ("length", "block_bytes", "blocks") for value in NO_SIZES),
    *(setting("arrays", "in_sources", "stored_bytes", value) for value in NO_SIZES),
    *(setting("arrays", "in_sources", key, value) for key in ("data", "index") for value in NO_FILES + OTHER_FILES),
    *(setting("arrays", "in_sources", "dtype", value) for value in ("int32", "object", 4, ["uint32"])),
    *(setting("arrays", "in_values", "dtype", value) for value in ("int8", "float64", ">f4")),
    setting("arrays", "out_values", "dtype", "int32"),
    dropping("arrays", "in_values"),
    *(setting("arrays", "in_sources", "block_bytes", value) for value in (256, 1000, 2**31)),
    *(setting("arrays", "in_sources", "encoding", value) for value in ("raw", {"name": "raw"}, None)),
    *(setting("arrays", "in_sources", "index_checksum", value) for value in ("0" * 16, "0" * 17, 5)),
    setting("arrays", "id_bytes", "length", 2**48),
]


def test_a_lying_manifest_is_refused_without_allocating(either, monkeypatch):
    monkeypatch.setattr(store, "encoding_to_open", lambda *_: pytest.fail("allocated for a lie"))
    honest = (either / "manifest.json").read_bytes()
    for number, lie in enumerate(LIES):
        rewrite(either, lie)
        with pytest.raises(FormatError) as caught:
            store.open(either)
        assert len(str(caught.value)) < 600, number
        assert store.verify(either), number
        (either / "manifest.json").write_bytes(honest)


@pytest.mark.parametrize(("key", "value"), [("generation", 1), ("graph_id", str(uuid.UUID(int=0)))])
def test_a_lie_that_only_the_blocks_reveal(directory, key, value):
    rewrite(directory, setting(key, value))
    with pytest.raises(DamagedGraphError, match="checksum"):
        store.open(directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting("version", 2), "version 2 is not known, only 1; upgrade garaph_py, or import the graph again"),
        (setting("version", "1"), "version '1' is not known"),
        (setting("version", True), "version True is not known"),
        (
            setting("arrays", "in_sources", "encoding", {"name": "folded", "version": 1}),
            "encoding 'folded' version 1 is not known, only packed 1, raw 1; upgrade garaph_py, or import the graph",
        ),
        (setting("arrays", "in_sources", "encoding", {"name": "raw", "version": 2}), "only packed 1, raw 1; upgrade"),
        (setting("arrays", "in_sources", "encoding", {"name": [], "version": {}}), "not known, only packed 1, raw 1"),
    ],
)
def test_unknown_versions_say_what_is_known(directory, change, message):
    rewrite(directory, change)
    for call in (store.open, store.info):
        with pytest.raises(FormatError) as caught:
            call(directory)
        assert message in str(caught.value)
    assert message in str(store.verify(directory)[0])


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"null", b"{", b"\xff\xfe", b"\0" * 100, b"[" * 100_000, b'{"a":' * 50_000, b'{"a": NaN}',
        b'{"a": -Infinity}', b'{"format": "garaph graph", "format": "garaph graph"}', b"1" * 10_000,
        b'{"format": "garaph graph", "version": 1}', b" " * (2 << 20), b'{"format": "garaph graph", "version": 1e400}',
    ],
    ids=lambda text: repr(text[:30]),
)  # fmt: skip
def test_a_manifest_that_is_none(directory, text):
    (directory / "manifest.json").write_bytes(text)
    with pytest.raises(FormatError):
        store.open(directory)
    assert store.verify(directory)


@pytest.mark.parametrize(
    ("key", "value"), [("disk", 1), ("offset", 2**63), ("offset", 4), ("length", 15), ("length", 2**32 - 1)]
)
def test_a_lying_index(directory, key, value, monkeypatch):
    monkeypatch.setattr(store, "encoding_to_open", lambda *_: pytest.fail("allocated for a lie"))
    rewrite_index(directory, "in_sources", lambda index: index[key].__setitem__(0, value))
    with pytest.raises(DamagedGraphError, match=r"in_sources\.index"):
        store.open(directory)
    assert store.verify(directory)


def test_blocks_may_stand_in_any_order(directory):
    """What striping and later generations need: only the index says where a block is."""
    graph = store.open(directory)
    data = (directory / "in_sources.data").read_bytes()
    (directory / "in_sources.data").write_bytes(b"gap " + data[512:] + data[:512])
    rewrite_index(
        directory, "in_sources", lambda index: index["offset"].__setitem__(slice(None), [4 + len(data) - 512, 4])
    )
    assert outcome(directory, graph) == "equal"


@pytest.mark.parametrize(
    ("name", "element", "value", "offset", "problem"),
    [
        ("in_offsets", 0, 1, 0, "block 0: starts with 1, not 0"),
        ("in_offsets", 0, -1, 0, "block 0: starts with -1, not 0"),
        ("in_offsets", 70, 141, 560, "block 1: ends with 141, not 140"),
        ("in_offsets", 70, 2**62, 560, "block 1: ends with"),
        ("in_offsets", 3, 139, 32, "block 0: not in ascending order"),
        ("out_offsets", 64, 0, 512, "block 1: not in ascending order"),
        ("in_sources", 5, 70, 20, "block 0: a vertex number is not below 70"),
        ("in_sources", 139, 2**32 - 1, 556, "block 1: a vertex number is not below 70"),
        ("out_targets", 128, 70, 512, "block 1: a vertex number is not below 70"),
        ("id_offsets", 70, 603, 560, "block 1: ends with 603, not 604"),
        ("id_offsets", 2, 1, 0, "block 0: the name of vertex 1 is not UTF-8"),
        ("id_bytes", 590, 0xFF, 586, "block 1: the name of vertex 68 is not UTF-8"),
    ],
)
def test_contents_that_cannot_be(directory, name, element, value, offset, problem):
    rewrite_array(directory, name, lambda elements: elements.__setitem__(element, value))
    with pytest.raises(DamagedGraphError) as caught:
        store.open(directory)
    assert problem in str(caught.value)
    problems = store.verify(directory)
    assert [str(problem) for problem in problems] == [str(caught.value)]
    file = "id_bytes.data" if "UTF-8" in problem else f"{name}.data"
    assert (os.path.basename(problems[0].path), problems[0].offset) == (file, offset)


@pytest.mark.parametrize("ids", [[5, 5, 7], [7, 9, 7]])
def test_integer_ids_are_distinct(tmp_path, ids):
    store.save(from_edges([5, 6], [6, 700]), tmp_path / "graph")
    rewrite_array(tmp_path / "graph", "ids", lambda elements: elements.__setitem__(slice(None), ids))
    with pytest.raises(DamagedGraphError, match="two vertices have the same id"):
        store.open(tmp_path / "graph")


def test_names_are_distinct(tmp_path):
    store.save(from_edges(["a", "b"], ["b", "c"]), tmp_path / "graph")
    rewrite_array(tmp_path / "graph", "id_bytes", lambda elements: elements.__setitem__(2, elements[0]))
    with pytest.raises(DamagedGraphError, match="two vertices have the same id"):
        store.open(tmp_path / "graph")


def test_links_pipes_and_directories_are_refused(directory, tmp_path):
    graph = store.open(directory)
    (directory / "extra").symlink_to("/etc/passwd")
    assert outcome(directory, graph) == "refused"
    with pytest.raises(DamagedGraphError, match="extra: a symbolic link"):
        store.info(directory)
    (directory / "extra").unlink()
    file = directory / "in_sources.data"
    shutil.move(file, tmp_path / "moved")
    file.symlink_to(tmp_path / "moved")
    assert outcome(directory, graph) == "refused"
    file.unlink()
    os.mkfifo(file)
    assert outcome(directory, graph) == "refused"
    file.unlink()
    file.mkdir()
    assert outcome(directory, graph) == "refused"
    file.rmdir()
    shutil.move(tmp_path / "moved", file)
    (tmp_path / "link").symlink_to(directory)  # the user's own link to the directory is fine
    assert outcome(tmp_path / "link", graph) == "equal"


def test_what_is_no_graph_directory(tmp_path):
    (tmp_path / "file").write_text("0 1\n")
    for path, message in [("absent", "No such file"), ("file", "not a graph directory"), ("nul\0", "null")]:
        for call in (store.open, store.info, store.verify):
            with pytest.raises(FormatError, match=message):
                call(tmp_path / path)
    with pytest.raises(FormatError, match=r"manifest\.json: missing"):
        store.open(tmp_path)


def test_a_failed_open_leaves_no_file_open(directory):
    os.truncate(directory / "out_targets.data", 3)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(DamagedGraphError):
            store.open(directory)
    assert len(os.listdir("/proc/self/fd")) == before
