"""Valid files of every kind that garaph_py reads, in parts that `mutations` changes one by one."""

from __future__ import annotations

import dataclasses
import io
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import xxhash

import garaph_py as gp
from attacks import packed_blocks
from attacks.mutations import mutated
from garaph_py.checkpoint import format as checkpoint
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.store import NAMES as CHECKPOINT_NAMES
from garaph_py.checkpoint.store import Store
from garaph_py.codec.blocks import UNIT
from garaph_py.errors import GraphError
from garaph_py.graph import Graph
from garaph_py.io.formats import FORMATS
from garaph_py.io.formats.streams import COMPRESSED_SUFFIXES
from garaph_py.storage import blocks, manifest, write
from garaph_py.storage import directory as store
from garaph_py.storage.encode import raw_blocks
from garaph_py.storage.progress import Progress

PLAIN_SHARE = 6  # of every 9 samples that may be compressed: damage to those seldom reaches the parser
SEVERAL_BLOCKS = 4  # samples of directories whose packed arrays have more than one, beside 10 others
DIRECTORY, BLOCK, MANIFEST = "graph directory", "packed block", "manifest"
CHECKPOINT, REQUEST, SPEC = "checkpoint", "request", "spec"
EXPERIMENTS = Path(__file__).parents[1] / "experiments"
RECORD = {
    "program": "PageRank",
    "digest": None,
    "graph": "/graph",
    "options": {
        "output": "/ranks.tsv",
        "iterations": 9,
        "sync": True,
        "parameter": ["damping=0.9"],
        "checkpoint_every": "5s",
    },
}
"""The record of a request, with an option of each kind."""
CHECKPOINT_ARRAYS = {"values": np.arange(9.0), "frontier": np.arange(2, dtype=np.uint64)}
Parts = dict[str, bytes]


@dataclass(frozen=True)
class Sample:
    """A valid file, or several, in parts that are mutated one by one.

    Attributes
    ----------
    entry : str
        The file to read, or the directory.
    parts : dict of str to bytes
        Files by name, unless `pack` makes the files of them.
    pack : callable
        ``pack(parts, folder)`` writes them; where files carry checksums it can give a mutated part a right one.
    origin : int
        The place in `samples_of` of the sample that this one was before it was mutated.
    """

    entry: str
    parts: Parts
    pack: Callable[[Parts, Path], None]
    origin: int = 0


def write_parts(parts: Parts, folder: Path) -> None:
    for name, data in parts.items():
        if "/" in name:
            (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)


def files_in(folder: Path) -> Parts:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def graphs() -> list[Graph]:
    """What the samples hold: directed or not; with weights, names, vertices without edges, parallel edges, or none."""
    sources, targets = np.random.default_rng(1).integers(0, 40, (2, 90))
    whole, fractions = np.arange(90, dtype=np.int32) - 9, np.arange(90) / 7
    names = [f"vertex {number} é" for number in range(40)]
    found = [
        gp.from_edges(sources, targets, weights, vertices=vertices, directed=directed)
        for directed in (True, False)
        for weights in (None, whole, fractions)
        for vertices in (None, np.arange(45))
    ]
    simple = {"directed": False, "drop_parallel": True, "drop_self_loops": True}
    found += [gp.from_edges(sources, targets, weights, **simple) for weights in (None, whole)]
    return [*found, gp.from_edges(np.take(names, sources), np.take(names, targets), fractions)]


def samples_of(target: str) -> list[Sample]:
    """Valid files for the reader `target`, the same ones in each process."""
    return (MAKERS[target]() if target in MAKERS else of_format(target)) or sys.exit(f"no sample of {target}")


def of_format(name: str) -> list[Sample]:
    """Valid graphs of the format `name`, as its writer makes them."""
    found = []
    for format in FORMATS:
        if format.name != name or format.write is None:
            continue
        suffixes = [format.suffixes[0], *(format.suffixes[0] + second for second in COMPRESSED_SUFFIXES)]
        for graph in graphs():
            for suffix in suffixes if format.compresses else suffixes[:1]:
                with tempfile.TemporaryDirectory() as folder:
                    entry = f"g{suffix}"
                    try:
                        gp.write(graph, Path(folder, entry), format=name)
                    except GraphError:
                        continue  # the format cannot hold it
                    sample = Sample(entry, files_in(Path(folder)), write_parts)
                    found += [sample] * (1 if suffix in suffixes[1:] else PLAIN_SHARE)
                if name == "npz":
                    found += [archive_sample(sample)] * PLAIN_SHARE
    return found


def archive_sample(sample: Sample) -> Sample:
    """A zip archive whose members are mutated and then get right checksums."""

    def pack(parts: Parts, folder: Path) -> None:
        with zipfile.ZipFile(folder / sample.entry, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in parts.items():
                archive.writestr(name, data)

    with zipfile.ZipFile(io.BytesIO(sample.parts[sample.entry])) as archive:
        return Sample(sample.entry, {name: archive.read(name) for name in archive.namelist()}, pack)


def directories() -> list[Sample]:
    chosen = [(graph, encoding) for graph in graphs()[1::3] for encoding in ("raw", "packed")]
    chosen += [(of_several_blocks(), "packed")] * SEVERAL_BLOCKS
    return [sample for graph, encoding in chosen for sample in directory_samples(graph, encoding)]


def blocks_alone() -> list[Sample]:
    return [sample for block in packed_blocks.blocks() for sample in block_samples(*block)]


def block_samples(entry: str, parts: Parts) -> list[Sample]:
    """A packed block as it is, and one whose parts fit each other again after they are mutated."""

    def pack(parts: Parts, folder: Path) -> None:
        (folder / entry).write_bytes(packed_blocks.fitting(entry, parts))

    whole = {entry: packed_blocks.fitting(entry, parts)}
    return [Sample(entry, whole, write_parts), *[Sample(entry, parts, pack)] * 2]


def directory_samples(graph: Graph, encoding: str) -> list[Sample]:
    """A graph directory as it is, and one whose manifest and arrays get right checksums after they are mutated."""
    block_bytes = 512 if encoding == "raw" else UNIT
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g")
        store.save(graph, path, encoding=encoding, block_bytes=block_bytes)
        plain = Sample("g", files_in(Path(folder)), write_parts)
        said = store.info(path)
        lengths = {name: np.fromfile(path / array.index, blocks.INDEX_DTYPE)["length"] for name, array in
                   said.arrays.items()}  # fmt: skip
    document = json.loads(plain.parts[f"g/{manifest.NAME}"])
    del document["checksum"]
    arrays = {name: plain.parts[f"g/{array.data}"] for name, array in said.arrays.items()}

    class StatedLimits:
        """The limits that the graph had: they cannot be found in blocks that are not sound."""

        def __init__(self, array: blocks.ArrayLayout) -> None:
            self.found = said.arrays[array.name].limits

        def put(self, stored: np.ndarray, count: int) -> None:
            pass

    @mock.patch.object(write, "BlockLimits", StatedLimits)
    def pack(parts: Parts, folder: Path) -> None:
        path = folder / "g"
        path.mkdir()
        destination = write.Destination(path, (path,), write.HERE, said.graph_id)
        written = dataclasses.replace(said, arrays={})
        progress = Progress("", 0, gp.events.ignore)
        for name in arrays:
            old, dtype = said.arrays[name], said.arrays[name].dtype
            if old.encoding == blocks.PACKED_1:
                whole, elements = np.frombuffer(parts[name], np.uint8), np.empty(old.length, dtype)
                stored = np.split(whole, np.cumsum(lengths[name])[:-1])
            else:
                elements = np.frombuffer(parts[name][: len(parts[name]) // dtype.itemsize * dtype.itemsize], dtype)
                stored = raw_blocks(elements, block_bytes)
            write.write_blocks(destination, written, dataclasses.replace(old, length=len(elements)), stored, progress)
        text = parts[manifest.NAME]
        try:
            claimed = json.loads(text)
            for name, array in written.arrays.items():  # lengths are lies only where the text was changed
                if claimed["arrays"][name] == document["arrays"][name]:
                    claimed["arrays"][name] = manifest.array_document(array)
            text = manifest.seal(claimed)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        (path / manifest.NAME).write_bytes(text)

    parts = {manifest.NAME: json.dumps(document).encode(), **arrays}
    return [plain, Sample("g", parts, pack)]


def of_several_blocks() -> Graph:
    """A graph whose packed edges are three blocks an array, and its offsets two; lists go on from block to block."""
    sources, targets = np.random.default_rng(3).integers(0, 1500, (2, 4500))
    targets[:300] = targets[4200:] = 700
    return gp.from_edges(sources, targets, np.arange(4500, dtype=np.int32), vertices=np.arange(1500))


def large_directory() -> Sample:
    """A graph directory of 64 KiB: weights, names, several blocks an array."""
    sources, targets = np.random.default_rng(2).integers(0, 700, (2, 3400))
    names = np.array([f"vertex{number:04}" for number in range(700)])
    graph = gp.from_edges(names[sources], names[targets], np.arange(3400, dtype=np.float32))
    with tempfile.TemporaryDirectory() as folder:
        store.save(graph, Path(folder, "g"), block_bytes=4096)
        return Sample("g", files_in(Path(folder)), write_parts)


def manifests() -> list[Sample]:
    """Manifests as they are, and ones that get right checksums after they are mutated."""

    def pack(parts: Parts, folder: Path) -> None:
        head = parts[manifest.NAME].removesuffix(b'"}')
        (folder / manifest.NAME).write_bytes(head + b'%016x"\n}\n' % xxhash.xxh3_64_intdigest(head))

    found = []
    for one in directories()[::2]:
        text = one.parts[f"g/{manifest.NAME}"]
        found.append(Sample(manifest.NAME, {manifest.NAME: text}, write_parts))
        document = json.loads(text) | {"checksum": ""}
        found.append(Sample(manifest.NAME, {manifest.NAME: json.dumps(document).encode()}, pack))
    return found


def checkpoints() -> list[Sample]:
    """Checkpoints as they are, and ones that get right sizes and a right checksum after they are mutated."""
    name = CHECKPOINT_NAMES[1]

    def pack(parts: Parts, folder: Path) -> None:
        header, arrays = parts["header.json"], parts["arrays"]
        version = int.from_bytes(parts["version"][:4])
        size = checkpoint.BEGIN + len(header) + len(arrays)
        prefix = checkpoint.PREFIX.pack(checkpoint.MAGIC, version, len(header), size)
        checksum = checkpoint.CHECKSUM.pack(xxhash.xxh3_64_intdigest(prefix + header))
        (folder / name).write_bytes(prefix + checksum + header + arrays)

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "c"), Files())
        store.save(3, {"program": "PageRank", "number of vertices": 9}, CHECKPOINT_ARRAYS, RECORD)
        store.close()
        whole = Path(folder, "c", name).read_bytes()
    length = checkpoint.PREFIX.unpack_from(whole)[2]
    header, arrays = whole[checkpoint.BEGIN :][:length], whole[checkpoint.BEGIN + length :]
    old = json.dumps(json.loads(header) | {"command": ["run", "PageRank", "/graph"], "folder": "/"}).encode()
    parts = [{"version": b"\0\0\0\2", "header.json": header, "arrays": arrays}] * 4
    parts.append({"version": b"\0\0\0\1", "header.json": old, "arrays": arrays})
    return [Sample(".", {name: whole}, write_parts), *(Sample(".", one, pack) for one in parts)]


def requests() -> list[Sample]:
    library = {"program": "SSSP", "digest": None, "graph": "g", "options": {"device": "cpu", "gpu_memory": 1 << 30}}
    own = RECORD | {"program": "/p.py:Mine", "digest": "0" * 64}
    records = (RECORD, library, own)
    return [Sample("request.json", {"request.json": json.dumps(one).encode()}, write_parts) for one in records]


def specs() -> list[Sample]:
    texts = [path.read_bytes() for path in sorted(EXPERIMENTS.glob("*.toml"))]
    alone = [text for text in texts if b"/data/" not in text]  # those that read no file
    return [Sample("spec.toml", {"spec.toml": text}, write_parts) for text in alone]


MAKERS: dict[str, Callable[[], list[Sample]]] = {
    DIRECTORY: directories,
    BLOCK: blocks_alone,
    MANIFEST: manifests,
    CHECKPOINT: checkpoints,
    REQUEST: requests,
    SPEC: specs,
}
TARGETS = (*(format.name for format in FORMATS), *MAKERS)
"""Everything that reads what somebody else may have written: the formats, and the rest by `MAKERS`."""


def changed(sample: Sample, donors: Sequence[Sample], tokens: Sequence[bytes], rng: random.Random) -> Sample:
    """`sample` with one or two of its parts mutated."""
    parts, others = dict(sample.parts), list(rng.choice(donors).parts.values())
    for name in rng.sample(sorted(parts), rng.choice((1, 1, min(2, len(parts))))):
        parts[name] = mutated(name, parts[name], others, tokens, rng)
    return dataclasses.replace(sample, parts=parts)
