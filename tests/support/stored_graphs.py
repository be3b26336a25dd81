"""Graphs in directories: open with little room for their edges, or changed so that their checksums are right again."""

import contextlib
import json
import os

import numpy as np
import pytest
import xxhash

import garaph_py as gp
from garaph_py.errors import FormatError
from garaph_py.storage import directory as store
from garaph_py.storage import manifest as manifests
from garaph_py.storage.blocks import INDEX_DTYPE
from garaph_py.storage.encode import raw_blocks
from tests.support.graphs import equal, write_array


def stored_cases(*kept):
    """Whether a graph is directed, and its encoding: as parameters, all but those `kept` marked `full`."""
    cases = ((True, "raw"), (True, "packed"), (False, "raw"), (False, "packed"))
    return [pytest.param(case, id=str(case), marks=() if case in kept else pytest.mark.full) for case in cases]


STORED = stored_cases((True, "packed"), (False, "raw"))
"""Two of the four cases have every direction and every encoding."""


def opened(path, room):
    """The graph in `path`, with `room` for edges beside what its vertices take."""
    offsets = store.info(path).arrays["in_offsets"].raw_bytes
    graph = store.read_graph(path, "auto", 3 * offsets, None, gp.events.ignore, on_disk=True)
    assert graph.on_disk
    return with_memory(graph, graph.nbytes + 18 * graph.n + room)


def with_memory(graph, memory):
    """The graph, whose runs may take so much."""
    return graph._replace(memory=memory)


def alone(*elements):
    """What is wanted of a page: these elements, each by itself."""

    def wanted(page):
        own = np.array([e for e in sorted(elements) if page.first_edge <= e < page.last_edge], np.int64)
        return np.column_stack((own, own + 1))

    return wanted


def hub(graph):
    """A vertex from which most others are reached."""
    return int(graph.out_degrees.argmax())


def outcome(directory, graph):
    """ "refused" or "equal", and whether `verify` says the same; "unread" if that finds damage where nobody looks.

    Nobody looks at what is made in memory, and at what is for parts of blocks on disk.
    """
    problems = store.verify(directory, threads=1)
    try:
        back = store.open(directory, threads=1)
    except FormatError:
        assert problems, "verify finds nothing, but open refuses"
        return "refused"
    assert equal(graph, back)
    unread = [is_unread(os.path.basename(problem.path)) for problem in problems]
    assert all(unread), "open accepts what verify complains of"
    return "unread" if unread else "equal"


def is_unread(file):
    """Whether a graph in memory is opened without this file."""
    return file == "out_values.data" or file.endswith((".sums", ".records"))


@contextlib.contextmanager
def flipped(file, place):
    """A bit of the byte at `place` is another one meanwhile."""
    whole = file.read_bytes()
    file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    try:
        yield
    finally:
        file.write_bytes(whole)


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
    new = manifests.array_document(info.arrays[name], info.version)
    rewrite(directory, lambda document: document["arrays"].update({name: new}))


def forge(monkeypatch, graph, out_edges, path, **options):
    """Save `graph` with out-edges that are not its own: every checksum is right, and both hashes are the graph's."""
    into = edge_hash(graph)
    with monkeypatch.context() as patch:
        patch.setattr(store, "hashes_of", lambda arrays, directed: manifests.EdgeHashes(into, into))
        store.save(graph._replace(out_edges=out_edges), path, **options)


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


def mix(number, factor):
    """`mix` of docs/format.md."""
    spread = (number * factor + 0x85EBCA77C2B2AE63) % 2**64
    return (spread % 2**32 * (spread >> 32) + spread) % 2**64


def hash_of_edges(edges):
    """The hash in docs/format.md of edges (source, target, bits of the value or None)."""
    total = 0
    for source, target, bits in edges:
        ends = mix(source, 0x9E3779B185EBCA87) * mix(target, 0xC2B2AE3D27D4EB4F)
        total += ends * (1 if bits is None else mix(bits ^ bits >> 32, 0x165667B19E3779F9))
    return total % 2**64


def edge_hash(graph):
    """The hash of a graph's in-edges."""
    edges = graph._arrays.in_edges
    targets, values = np.repeat(np.arange(graph.n), np.diff(edges.offsets)).tolist(), edges.values
    bits = [None] * graph.m if values is None else values.view(f"u{values.dtype.itemsize}").tolist()
    return hash_of_edges(zip(edges.neighbours.tolist(), targets, bits, strict=True))


def as_version_1(directory):
    """Make a graph directory one of version 1 of the format, which has no files about parts of blocks."""
    for array in store.info(directory).arrays.values():
        for file in array.files[2:]:
            (directory / file).unlink()

    def change(document):
        document["version"] = 1
        for array in document["arrays"].values():
            for key in (key for keys in manifests.BESIDE.values() for key in keys):
                array.pop(key, None)

    as_version_2(directory)
    rewrite(directory, change)
    return directory


def as_version_2(directory):
    """Make a graph directory one of version 2 of the format, whose manifest has no limits of edge values."""

    def change(document):
        document["version"] = 2
        for array in document["arrays"].values():
            array.pop("limits", None)

    rewrite(directory, change)
    return directory
