"""A graph on disk: a directory of checksummed blocks, written atomically, and believed only after checking."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from .. import events
from ..errors import DamagedGraphError, FormatError, GraphError, ParameterError
from ..graph.graph import Adjacency, Graph
from ..graph.ids import IntegerIds, StringIds, VertexIds
from ..threads import Team
from . import manifest as manifests
from .blocks import (
    BLOCK_BYTES,
    ENCODINGS,
    INDEX_DTYPE,
    MAX_BLOCK_BYTES,
    MIN_BLOCK_BYTES,
    BlockReader,
    Folder,
    StoredArray,
    checksum,
    identity,
    reason,
)
from .check import arrow_strings, expectations, invalid_string, load, scan, slicer
from .manifest import Manifest

Array = npt.NDArray[Any]
ENCODING = ("raw", 1)
TELL_EVERY = 1 << 25  # bytes between two progress events


def save(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    block_bytes: int = BLOCK_BYTES,
    on_event: events.Listener = events.ignore,
) -> None:
    """Write `graph` as a new graph directory: all of it or, whatever happens, nothing.

    Parameters
    ----------
    graph : Graph
    path : path-like
        The directory to make; its parent must exist.
    block_bytes : int
        Raw bytes of a block, a multiple of 512.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    ParameterError
        If `path` exists already, or a file cannot be written (its name and the system's reason are given).
    """
    if type(block_bytes) is not int or block_bytes not in range(MIN_BLOCK_BYTES, MAX_BLOCK_BYTES + 1, MIN_BLOCK_BYTES):
        allowed = f"a multiple of {MIN_BLOCK_BYTES} from {MIN_BLOCK_BYTES} to {MAX_BLOCK_BYTES}"
        raise ParameterError(f"block_bytes={block_bytes!r}: give {allowed}")
    target = Path(path)
    if os.path.lexists(target):
        raise already_exists(target)
    temporary = target.with_name(f".{target.name}.partial-{secrets.token_hex(8)}")
    try:
        with writing(temporary):
            temporary.mkdir()
        write_directory(graph, temporary, block_bytes, on_event)
        with writing(target):
            os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    with writing(target.parent):
        sync_directory(target.parent)


def write_directory(graph: Graph, folder: Path, block_bytes: int, on_event: events.Listener) -> None:
    arrays = arrays_of(graph)
    progress = Progress("writing graph", sum(array.nbytes for array in arrays.values()), on_event)
    manifest = Manifest(
        graph_id=uuid.uuid4(),
        generation=0,
        vertices=graph.n,
        edges=graph.m,
        directed=bool(graph.directed),
        ids=graph.ids.kind,
        disks=(".",),
        arrays={},
    )
    key = identity(manifest.graph_id, manifest.generation)
    for name, array in arrays.items():
        manifest.arrays[name] = write_array(folder, name, array, key, block_bytes, progress)
    write_file(folder / manifests.NAME, [manifests.serialize(manifest)])
    with writing(folder):
        sync_directory(folder)
    progress.finish()


def arrays_of(graph: Graph) -> dict[str, Array]:
    """The arrays that make up `graph`, by their names in the format."""
    arrays = {"in_offsets": graph.in_edges.offsets, "in_sources": graph.in_edges.neighbours}
    if graph.in_edges.values is not None:
        arrays["in_values"] = graph.in_edges.values
    if graph.directed:
        arrays |= {"out_offsets": graph.out_edges.offsets, "out_targets": graph.out_edges.neighbours}
    if isinstance(graph.ids, StringIds):
        arrays |= string_arrays(graph.ids.arrow)
    elif isinstance(graph.ids, IntegerIds):
        ids = graph.ids.array()
        arrays["ids"] = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64, copy=False)
    return arrays


def string_arrays(strings: Any) -> dict[str, Array]:
    """Offsets from 0 and UTF-8 bytes of an Arrow large_string array, which may be a slice of a longer one."""
    if not len(strings):
        return {"id_offsets": np.zeros(1, np.int64), "id_bytes": np.zeros(0, np.uint8)}
    _, offsets_buffer, text_buffer = strings.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.frombuffer(text_buffer or b"", np.uint8)[first:last]
    return {"id_offsets": offsets - first if first else offsets, "id_bytes": text}


def write_array(folder: Path, name: str, array: Array, key: bytes, block_bytes: int, progress: Progress) -> StoredArray:
    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).view(np.uint8).data
    starts = range(0, len(raw), block_bytes)
    index = np.zeros(len(starts), INDEX_DTYPE)

    def blocks() -> Iterator[memoryview]:
        offset = 0
        for block, start in enumerate(starts):
            piece = raw[start : start + block_bytes]
            stored = ENCODINGS[ENCODING].encode(piece)
            index[block] = offset, len(stored), 0, checksum(key, name, block, stored)
            offset += len(stored)
            yield stored
            progress.advance(len(piece))

    write_file(folder / f"{name}.data", blocks())
    index_bytes = index.tobytes()
    write_file(folder / f"{name}.index", [index_bytes])
    return StoredArray(
        name=name,
        dtype=array.dtype,
        length=len(array),
        encoding=ENCODING,
        block_bytes=block_bytes,
        stored_bytes=int(index["length"].sum(dtype=np.int64)),
        data=f"{name}.data",
        index=f"{name}.index",
        index_checksum=xxhash.xxh3_64_intdigest(index_bytes),
    )


def write_file(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    with writing(path), path.open("xb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's errors into one that names `path`."""
    try:
        yield
    except FileExistsError:
        raise already_exists(path) from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        problem = f"{path}: cannot be written ({reason(error)}); free space there or choose another directory"
        raise ParameterError(problem) from error


def already_exists(path: Path) -> ParameterError:
    return ParameterError(f"{path} already exists; remove it or choose another name")


def open(
    path: str | os.PathLike[str], *, threads: int | None = None, on_event: events.Listener = events.ignore
) -> Graph:
    """The graph in the directory `path`, read whole into memory, every block's checksum verified.

    Parameters
    ----------
    path : path-like
    threads : int, optional
        By default all cores this process may use.
    on_event : callable, optional
        Receives `events.Step` records, in the calling thread.

    Raises
    ------
    FormatError
        If it is not a graph directory of a version and encodings known here.
    DamagedGraphError
        If anything in it does not match its checksum, size or range; file, block and byte offset are named.
    GraphError
        If the arrays do not fit into memory.
    """

    def refuse(damage: FormatError) -> None:
        raise damage

    with Folder(path) as folder, Team(threads) as team:
        manifest = read_manifest(folder)
        key = identity(manifest.graph_id, manifest.generation)
        readers = {name: BlockReader(folder, array, key) for name, array in manifest.arrays.items()}
        for reader in readers.values():
            if damage := reader.truncation():
                raise damage
        rules, total = expectations(manifest), sum(array.raw_bytes for array in manifest.arrays.values())
        progress = Progress("reading graph", total, on_event)
        arrays: dict[str, Array] = {}
        for name, reader in readers.items():
            arrays[name] = allocate(reader.array, total, folder.path)
            scan(reader, rules[name], team, refuse, progress.advance, arrays[name])
        if manifest.ids == "string":
            offsets, text = arrays["id_offsets"], arrays["id_bytes"]
            if damage := invalid_string(readers["id_bytes"], manifest.vertices, slicer(offsets), slicer(text)):
                raise damage
    progress.finish()
    graph = assemble(manifest, arrays)
    if graph.ids.has_duplicates():
        raise DamagedGraphError(folder.path, "two vertices have the same id; import the graph again")
    return graph


def allocate(array: StoredArray, total: int, path: Path) -> Array:
    try:
        return np.empty(array.length, array.dtype)
    except MemoryError:
        problem = f"the graph's arrays need {total / 2**30:.1f} GiB of memory, more than there is"
        raise GraphError(f"{path}: {problem}") from None


def assemble(manifest: Manifest, arrays: dict[str, Array]) -> Graph:
    incoming = Adjacency(arrays["in_offsets"], arrays["in_sources"], arrays.get("in_values"))
    outgoing = Adjacency(arrays["out_offsets"], arrays["out_targets"]) if manifest.directed else incoming
    ids = VertexIds(manifest.vertices)
    if manifest.ids == "integer":
        ids = IntegerIds(arrays["ids"])
    elif manifest.ids == "string":
        ids = StringIds(arrow_strings(arrays["id_offsets"], arrays["id_bytes"]))
    return Graph(incoming, outgoing, manifest.directed, ids)


def verify(
    path: str | os.PathLike[str], *, threads: int | None = None, on_event: events.Listener = events.ignore
) -> list[FormatError]:
    """Everything that is wrong with the directory `path`, without loading it: memory for a block per thread.

    Parameters
    ----------
    path : path-like
    threads : int, optional
    on_event : callable, optional

    Returns
    -------
    list of FormatError
        Empty when the directory is whole. Each has `path` and `offset`; damage inside an array is a
        `garaph_py.pages.blocks.Damage` and has `block` too.

    Raises
    ------
    FormatError
        If there is no directory at `path`.
    """
    problems: list[FormatError] = []
    with Folder(path) as folder, Team(threads) as team:
        try:
            manifest = read_manifest(folder)
        except FormatError as error:
            return [error]
        key, rules, readers = identity(manifest.graph_id, manifest.generation), expectations(manifest), {}
        total = sum(array.raw_bytes for array in manifest.arrays.values())
        progress = Progress("verifying graph", total, on_event)
        for name, array in manifest.arrays.items():
            try:
                readers[name] = BlockReader(folder, array, key)
            except DamagedGraphError as error:
                problems.append(error)
                continue
            scan(readers[name], rules[name], team, problems.append, progress.advance)
        if manifest.ids == "string" and not problems:
            offsets, text = readers["id_offsets"], readers["id_bytes"]
            if damage := invalid_string(text, manifest.vertices, partial(load, offsets), partial(load, text)):
                problems.append(damage)
    progress.finish()
    return sorted(problems, key=lambda damage: (damage.path, getattr(damage, "block", None) or 0))


def info(path: str | os.PathLike[str]) -> Manifest:
    """What the directory `path` says of itself: reads the manifest only.

    Raises
    ------
    FormatError
        If there is no directory at `path`, or its manifest cannot be believed.
    """
    with Folder(path) as folder:
        return read_manifest(folder)


def read_manifest(folder: Folder) -> Manifest:
    folder.refuse_links()
    handle, size = folder.open(manifests.NAME)
    path = folder.path / manifests.NAME
    if size > manifests.MAX_BYTES:
        raise FormatError(path, f"{size} bytes long; a manifest has at most {manifests.MAX_BYTES}")
    return manifests.parse(folder.read(manifests.NAME, size, handle), path)


class Progress:
    """Counts bytes from any thread; tells the listener now and then, in the thread that made it."""

    def __init__(self, name: str, total: int, on_event: events.Listener) -> None:
        self._name, self._total, self._on_event = name, total, on_event
        self._done = self._told = 0
        self._lock, self._thread = threading.Lock(), threading.get_ident()

    def advance(self, count: int) -> None:
        with self._lock:
            self._done += count
        if threading.get_ident() == self._thread and self._told + TELL_EVERY <= self._done < self._total:
            self._told = self._done
            self._on_event(events.Step(self._name, self._done, self._total))

    def finish(self) -> None:
        self._on_event(events.Step(self._name, self._total, self._total))
