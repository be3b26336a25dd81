"""False manifests with valid checksums: a typed error names the place, and nothing is allocated."""

import uuid

import pytest

from garaph_py.errors import DamagedGraphError, FormatError
from garaph_py.storage import directory as store
from tests.support.stored_graphs import dropping, rewrite, setting

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


@pytest.mark.slow
def test_a_manifest_with_false_sizes_is_refused_without_allocating(either, monkeypatch):
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
def test_false_sizes_that_only_checksums_reveal(directory, key, value):
    rewrite(directory, setting(key, value))
    with pytest.raises(DamagedGraphError, match="checksum"):
        store.open(directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting("version", 4), "version 4 is not known, only 1 to 3; upgrade garaph_py, or import the graph again"),
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
