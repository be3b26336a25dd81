"""A graph on disk: a directory of checksummed blocks, written atomically, and believed only after checking."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from .. import events
from ..errors import DamagedGraphError, FormatError, GaraphError, ParameterError
from ..graph.graph import PACKED, RAW, Adjacency, Edges, Graph, PackedAdjacency
from ..graph.ids import IntegerIds, StringIds, VertexIds
from ..graph.packed import RUN, Packed
from ..graph.packing import UnsortedError, pack, unpack
from ..graph.stored import StoredAdjacency
from ..memory import enough_memory
from ..sizes import show_bytes
from ..threads import Team
from . import manifest as manifests
from .blocks import (
    BLOCK_BYTES,
    INDEX_DTYPE,
    MAX_BLOCK_BYTES,
    MIN_BLOCK_BYTES,
    PACKED_1,
    RAW_1,
    BlockReader,
    Folder,
    StoredArray,
    checksum,
    identity,
    reason,
)
from .check import Begins, arrow_strings, begins_stored, expectations, invalid_string, load, scan, slicer
from .fit import (
    AUTO,
    TooLargeError,
    check_encoding,
    check_fits,
    encoding_to_open,
    encoding_to_save,
    memory_limit,
    tell_packed,
    tell_stored,
)
from .keep import EDGES, Kept, Repacked, blocks_of_whole_runs, can_be_packed, least_bytes
from .manifest import Manifest
from .packed_blocks import KIND_OF, OFFSETS_OF, UNIT, PackedBlocks, begin_masks, cut
from .stored_blocks import StoredBlocks

Array = npt.NDArray[Any]
TELL_EVERY = 1 << 25  # bytes between two progress events


def save(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    encoding: str = AUTO,
    block_bytes: int = BLOCK_BYTES,
    on_event: events.Listener = events.ignore,
) -> None:
    """Write `graph` as a new graph directory: all of it or, whatever happens, nothing.

    Parameters
    ----------
    graph : Graph
    path : path-like
        The directory to make; its parent must exist.
    encoding : {"auto", "raw", "packed"}
        How edges and offsets are stored: as they are, or in about half the bytes (docs/format.md). ``"auto"``: packed
        if the raw arrays take more than half of the machine's memory. Whether `graph` is packed does not matter.
    block_bytes : int
        Raw bytes of a block, a multiple of 512, and of 8192 for packed blocks.
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
    arrays = arrays_of(graph)
    chosen = encoding_to_save(encoding, sum(map(raw_bytes, arrays.values())))
    if chosen == PACKED and block_bytes % UNIT:
        raise ParameterError(f"block_bytes={block_bytes}: give a multiple of {UNIT} for packed blocks")
    target = Path(path)
    if os.path.lexists(target):
        raise already_exists(target)
    temporary = target.with_name(f".{target.name}.partial-{secrets.token_hex(8)}")
    try:
        with writing(temporary):
            temporary.mkdir()
        write_directory(graph, arrays, temporary, chosen, block_bytes, on_event)
        with writing(target):
            os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    with writing(target.parent):
        sync_directory(target.parent)


def write_directory(
    graph: Graph,
    arrays: dict[str, Array | Packed],
    folder: Path,
    encoding: str,
    block_bytes: int,
    on_event: events.Listener,
) -> None:
    progress = Progress("writing graph", sum(map(raw_bytes, arrays.values())), on_event)
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
    with Team() as team:
        for name, array in arrays.items():
            starts = arrays.get(OFFSETS_OF.get(name, ""))
            offsets = starts if isinstance(starts, np.ndarray) else None
            what = ready(name, array, encoding, offsets, team)
            stored_as, blocks = blocks_of(name, what, encoding, block_bytes, offsets, team)
            manifest.arrays[name] = write_blocks(folder, name, what, stored_as, blocks, key, block_bytes, progress)
    write_file(folder / manifests.NAME, [manifests.serialize(manifest)])
    with writing(folder):
        sync_directory(folder)
    progress.finish()


def arrays_of(graph: Graph) -> dict[str, Array | Packed]:
    """The arrays that make up `graph`, by their names in the format."""
    into, values = edge_arrays(graph.in_edges)
    arrays: dict[str, Array | Packed] = {"in_offsets": graph.in_edges.offsets, "in_sources": into}
    if values is not None:
        arrays["in_values"] = values
    if graph.directed:
        out, _ = edge_arrays(graph.out_edges)
        arrays |= {"out_offsets": graph.out_edges.offsets, "out_targets": out}
    if isinstance(graph.ids, StringIds):
        arrays |= string_arrays(graph.ids.arrow)
    elif isinstance(graph.ids, IntegerIds):
        ids = graph.ids.array()
        arrays["ids"] = ids.astype(np.uint64 if ids.dtype.kind == "u" else np.int64, copy=False)
    return arrays


def edge_arrays(edges: Edges) -> tuple[Array | Packed, Array | Packed | None]:
    """Neighbours and values, packed where they are in memory."""
    if isinstance(edges, PackedAdjacency):
        return edges.packed, edges.packed_values
    return edges.neighbours, edges.values


def raw_bytes(array: Array | Packed) -> int:
    return array.length * array.dtype.itemsize if isinstance(array, Packed) else array.nbytes


def string_arrays(strings: Any) -> dict[str, Array]:
    """Offsets from 0 and UTF-8 bytes of an Arrow large_string array, which may be a slice of a longer one."""
    if not len(strings):
        return {"id_offsets": np.zeros(1, np.int64), "id_bytes": np.zeros(0, np.uint8)}
    _, offsets_buffer, text_buffer = strings.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.frombuffer(text_buffer or b"", np.uint8)[first:last]
    return {"id_offsets": offsets - first if first else offsets, "id_bytes": text}


def ready(name: str, array: Array | Packed, encoding: str, offsets: Array | None, team: Team) -> Array | Packed:
    """`array` packed if it can be and its blocks are to be."""
    if encoding == RAW or name not in KIND_OF or isinstance(array, Packed):
        return array
    packed = pack(array, KIND_OF[name], team, offsets)
    return array if packed is None else packed


def blocks_of(
    name: str, array: Array | Packed, encoding: str, block_bytes: int, offsets: Array | None, team: Team
) -> tuple[tuple[str, int], Iterable[Array]]:
    """The blocks of `array`, and their encoding: packed arrays can have either."""
    if not isinstance(array, Packed):
        return RAW_1, raw_blocks(array, block_bytes)
    if encoding == RAW:
        return RAW_1, unpacked_blocks(array, KIND_OF[name], block_bytes, offsets, team)
    return PACKED_1, cut(array, block_bytes // array.dtype.itemsize, offsets)


def raw_blocks(array: Array, block_bytes: int) -> Iterator[Array]:
    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).view(np.uint8)
    return (raw[start : start + block_bytes] for start in range(0, len(raw), block_bytes))


def unpacked_blocks(packed: Packed, kind: str, block_bytes: int, offsets: Array | None, team: Team) -> Iterator[Array]:
    """Raw blocks, unpacked a chunk at a time."""
    itemsize = packed.dtype.itemsize
    runs = blocks_of_whole_runs(block_bytes, itemsize) * block_bytes // (RUN * itemsize)
    for first in range(0, len(packed.records), runs):
        yield from raw_blocks(unpack(packed.runs(first, first + runs), kind, team, offsets, first * RUN), block_bytes)


def write_blocks(
    folder: Path,
    name: str,
    array: Array | Packed,
    encoding: tuple[str, int],
    stored: Iterable[Array],
    key: bytes,
    block_bytes: int,
    progress: Progress,
) -> StoredArray:
    """Write the `stored` blocks of `array`, and their index."""
    size, entries = raw_bytes(array), []

    def pieces() -> Iterator[memoryview]:
        offset = 0
        for block, piece in enumerate(stored):
            entries.append((offset, len(piece), 0, checksum(key, name, block, piece)))
            offset += len(piece)
            yield piece.data
            progress.advance(min(block_bytes, size - block * block_bytes))

    write_file(folder / f"{name}.data", pieces())
    index = np.array(entries, INDEX_DTYPE)
    write_file(folder / f"{name}.index", [index.tobytes()])
    return StoredArray(
        name=name,
        dtype=array.dtype,
        length=size // array.dtype.itemsize,
        encoding=encoding,
        block_bytes=block_bytes,
        stored_bytes=int(index["length"].sum(dtype=np.int64)),
        data=f"{name}.data",
        index=f"{name}.index",
        index_checksum=xxhash.xxh3_64_intdigest(index.tobytes()),
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
    except GaraphError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        problem = f"{path}: cannot be written ({reason(error)}); free space there or choose another directory"
        raise ParameterError(problem) from error


def already_exists(path: Path) -> ParameterError:
    return ParameterError(f"{path} already exists; remove it or choose another name")


def open(
    path: str | os.PathLike[str],
    *,
    encoding: str = AUTO,
    memory: int | str | None = None,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """The graph in the directory `path`: read whole into memory, or if it does not fit, its edges as runs need them.

    Every block's checksum is verified, and what it holds, before it is used. Runs of a graph whose edges stay on disk
    keep to `memory` in all (Garaph section 2.2); answers are the same.

    Parameters
    ----------
    path : path-like
    encoding : {"auto", "raw", "packed"}
        Of the graph in memory, whatever the directory's is. ``"auto"``: packed if the raw arrays exceed `memory`, and
        on disk, as they are, if packed ones do. A raw directory's edges are packed as they are read.
    memory : int or str, optional
        Bytes that the graph's arrays may take, such as ``"2GiB"``; by default four fifths of what is available. To
        read, some 16 MiB more are used, or as many blocks as make whole runs of numbers if these are longer.
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
        If the arrays do not fit into `memory`: with ``encoding="auto"``, not even offsets and ids.
    """
    check_encoding(encoding)
    limit = memory_limit(memory)
    try:
        return read_graph(path, encoding, limit, threads, on_event)
    except TooLargeError:
        if encoding != AUTO:
            raise
    return read_graph(path, encoding, limit, threads, on_event, on_disk=True)


def read_graph(
    path: str | os.PathLike[str], encoding: str, limit: int, threads: int | None, on_event: events.Listener,
    on_disk: bool = False,
) -> Graph:  # fmt: skip
    """See `open`; the edges stay `on_disk`, or everything fits or raises `TooLargeError`."""

    def refuse(damage: FormatError) -> None:
        raise damage

    with Folder(path) as folder, Team(threads) as team:
        manifest = read_manifest(folder)
        key = identity(manifest.graph_id, manifest.generation)
        readers = {name: BlockReader(folder, array, key) for name, array in manifest.arrays.items()}
        for reader in readers.values():
            if damage := reader.truncation():
                raise damage
        sizes = {name: array.raw_bytes for name, array in manifest.arrays.items()}
        rules, total = expectations(manifest), sum(sizes.values())
        chosen = encoding_to_open(encoding, total, limit)
        if chosen == PACKED:
            sizes = {name: least_bytes(array) for name, array in manifest.arrays.items()}
        if on_disk:
            sizes = {name: 0 if name in EDGES else array.raw_bytes for name, array in manifest.arrays.items()}

        def allow(name: str, nbytes: int) -> None:
            sizes[name] = nbytes
            check_fits(folder.path, chosen, sum(sizes.values()), limit, more=chosen == PACKED)

        progress = Progress("reading graph", total, on_event)
        arrays: dict[str, Any] = {}
        for name, reader in readers.items():
            offsets = arrays.get(OFFSETS_OF.get(name, ""))
            if on_disk and name in EDGES:
                arrays[name] = StoredBlocks(reader, rules[name], offsets)
                continue
            begins = None if offsets is None else partial(begin_masks, offsets)
            read = partial(scan, reader, rules[name], team, refuse, progress.advance, begins=begins)
            with enough_memory(f"{folder.path}, whose arrays take {show_bytes(total)} raw"):
                if chosen == PACKED and can_be_packed(reader.array):
                    arrays[name] = read_packed(reader, read, offsets, team, partial(allow, name))
                if arrays.get(name) is None:
                    allow(name, reader.array.raw_bytes)
                    arrays[name] = np.empty(reader.array.length, reader.array.dtype)
                    read(target=arrays[name])
        if manifest.ids == "string":
            offsets, text = arrays["id_offsets"], arrays["id_bytes"]
            if damage := invalid_string(readers["id_bytes"], manifest.vertices, slicer(offsets), slicer(text)):
                raise damage
    progress.finish()
    if on_disk:
        tell_stored(folder.path, total, limit)
    elif chosen == PACKED and encoding == AUTO:
        tell_packed(folder.path, total, limit)
    graph = assemble(manifest, arrays, limit)
    if graph.ids.has_duplicates():
        raise DamagedGraphError(folder.path, "two vertices have the same id; import the graph again")
    return graph


def read_packed(
    reader: BlockReader,
    read: Callable[..., object],
    offsets: Array | None,
    team: Team,
    allow: Callable[[int], None],
) -> Packed | None:
    """An array packed; None if its numbers do not fit 32 bits, which only raw blocks can hold."""
    if isinstance(reader.encoding, PackedBlocks):
        kept = Kept(reader.encoding, reader.array, reader.index["length"])
        read(target=kept)
        return kept.packed
    repacked = Repacked(reader.array, offsets, team, allow)
    try:
        read(target=repacked)
    except UnsortedError as error:
        raise DamagedGraphError(reader.path, str(error)) from None
    return repacked.packed


def adjacency(offsets: Array, neighbours: Any, values: Any, memory: int) -> Edges:
    if isinstance(neighbours, StoredBlocks):
        return StoredAdjacency(offsets, neighbours, values, memory)
    if isinstance(neighbours, Packed):
        return PackedAdjacency(offsets, neighbours, values)
    return Adjacency(offsets, neighbours, values)


def assemble(manifest: Manifest, arrays: dict[str, Any], memory: int) -> Graph:
    incoming = adjacency(arrays["in_offsets"], arrays["in_sources"], arrays.get("in_values"), memory)
    outgoing = incoming
    if manifest.directed:
        outgoing = adjacency(arrays["out_offsets"], arrays["out_targets"], None, memory)
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
        starts: dict[str, Begins] = {}
        for name, array in manifest.arrays.items():
            try:
                readers[name] = BlockReader(folder, array, key)
            except DamagedGraphError as error:
                problems.append(error)
                continue
            begins = starts.get(OFFSETS_OF.get(name, ""))
            ends = scan(readers[name], rules[name], team, problems.append, progress.advance, begins=begins)
            if ends is not None:
                starts[name] = begins_stored(readers[name], ends)
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
