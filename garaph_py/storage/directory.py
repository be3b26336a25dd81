"""A graph on disk: a directory of checksummed blocks, which is written atomically and checked when it is read."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..codec.arrays import PACKED, RAW, EdgeArray
from ..codec.blocks import OFFSETS_OF, UNIT
from ..codec.codecs import decoded
from ..codec.format import ASCENDING, Packed
from ..codec.pack import UnsortedError
from ..errors import DamagedGraphError, FormatError, GraphError, ParameterError
from ..graph.adjacency import Adjacency
from ..graph.arguments import check_graph_to_write
from ..graph.arrays import VALUED_OUT_EDGES, GraphArrays, reversing_bytes
from ..graph.graph import Graph
from ..graph.ids import IntegerIds, StringIds, VertexIds
from ..native.threads import ThreadPool
from ..system.arguments import check_listener, check_path, explained
from ..system.memory import enough_memory
from ..system.sizes import show_bytes
from ..system.threads import submit
from ..system.urls import is_url
from . import manifest as manifests
from .blocks import (
    BLOCK_BYTES,
    EDGES,
    MAX_BLOCK_BYTES,
    MIN_BLOCK_BYTES,
    PACKED_1,
    ArrayLayout,
    BlockReader,
    identity,
)
from .check import arrow_strings, expectations, invalid_string, load, scan, slicer
from .edge_hashes import StoredHashes, hashes_of
from .encode import arrays_of, blocks_of, raw_bytes, ready
from .files import GraphDirectory
from .fit import (
    AUTO,
    ON_DISK,
    PACKED_HERE,
    RUN_BYTES,
    TooLargeError,
    check_encoding,
    check_fits,
    encoding_to_open,
    encoding_to_save,
    log_fallback,
    memory_limit,
    unbounded,
)  # fmt: skip
from .journal import sweep_opened
from .keep import Assembled, Repacked, bytes_in_memory, can_be_packed
from .limits import BlockLimits
from .lists import Lists, StoredLists
from .manifest import Manifest
from .partition import graph_of, is_partition, problems_of
from .parts import checker_of
from .progress import Progress
from .readers import array_reader
from .remote import open_copy
from .write import HERE, Destination, creating, write_blocks, write_manifest

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

READ_LATER = "out_values"
"""The array that `open` does not read if edges are raw in memory: the first push that needs it reads it, or makes it
from the other arrays. Making it from packed edges would take several times its memory for a moment."""


@explained
def save(
    graph: Graph,
    path: str | os.PathLike[str] | Destination,
    *,
    encoding: str = AUTO,
    block_bytes: int = BLOCK_BYTES,
    disks: Sequence[str | os.PathLike[str]] = HERE,
    on_event: events.Listener = events.ignore,
) -> None:
    """Write `graph` as a new graph directory, atomically: if this fails or is killed, there is no directory.

    Parameters
    ----------
    graph : Graph
    path : path-like
        The directory to make; its parent must exist. Or the `write.Destination` of a graph that the caller is creating.
    encoding : {"auto", "raw", "packed"}
        How edges and offsets are stored. Packed arrays take about half the bytes. ``"auto"`` packs if the raw arrays
        take more than half of the machine's memory. Whether `graph` is packed does not matter.
    block_bytes : int
        Raw bytes of a block, a multiple of 512, and of 8192 for packed blocks.
    disks : sequence of path-like
        Directories over which the blocks are spread, one on each disk. In each, `save` makes a directory for this
        graph. By default, and for ``"."``, blocks are in the graph directory itself.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    ParameterError
        If `graph` is no graph, `path` exists already, a disk is absent or listed twice, or a file cannot be written.
        The message gives the file's name and the system's reason.
    GraphError
        If the out-edges are not the in-edges reversed, or the edges of a vertex do not ascend.
    """
    check_graph_to_write(graph, path, "save")
    if not isinstance(path, Destination):
        check_path(path, "save")
    check_listener(on_event)
    if type(block_bytes) is not int or block_bytes not in range(MIN_BLOCK_BYTES, MAX_BLOCK_BYTES + 1, MIN_BLOCK_BYTES):
        allowed = f"a multiple of {MIN_BLOCK_BYTES} from {MIN_BLOCK_BYTES} to {MAX_BLOCK_BYTES}"
        raise ParameterError(f"block_bytes={block_bytes!r}: give {allowed}")
    with ThreadPool() as pool, ThreadPoolExecutor(1, "garaph-hash") as beside, creating(path, disks) as place:
        arrays = arrays_of(graph, pool)
        chosen = encoding_to_save(encoding, sum(map(raw_bytes, arrays.values())))
        if chosen == PACKED and block_bytes % UNIT:
            raise ParameterError(f"block_bytes={block_bytes}: give a multiple of {UNIT} for packed blocks")
        progress = Progress("writing graph", sum(map(raw_bytes, arrays.values())), on_event)
        manifest = Manifest(
            graph_id=place.graph_id,
            generation=0,
            vertices=graph.n,
            edges=graph.m,
            directed=bool(graph.directed),
            ids=graph.ids.kind,
            disks=place.listed,
            arrays={},
        )
        hashes = submit(beside, hashes_of, arrays, manifest.directed)  # writing mostly waits for the disk
        write_arrays(place, manifest, arrays, chosen, block_bytes, progress, pool)
        write_manifest(place, replace(manifest, edge_hashes=hashes.result()))
        progress.finish()


def write_arrays(
    place: Destination,
    manifest: Manifest,
    arrays: dict[str, EdgeArray],
    encoding: str,
    block_bytes: int,
    progress: Progress,
    pool: ThreadPool,
) -> None:
    for name, array in arrays.items():
        starts = arrays.get(OFFSETS_OF.get(name, ""))
        offsets = None if starts is None else decoded(starts, ASCENDING)
        what = ready(name, array, encoding, offsets, pool)
        stored_as, blocks = blocks_of(name, what, encoding, block_bytes, offsets, pool)
        layout = ArrayLayout(name, array.dtype, len(array), stored_as, block_bytes)
        write_blocks(place, manifest, layout, blocks, progress)


@explained
def open(
    path: str | os.PathLike[str],
    *,
    encoding: str = AUTO,
    memory: int | str | None = None,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Open the graph in the directory `path`. If it does not fit in memory, its edges stay on disk.

    The checksum and the contents of every block are checked before it is used. A run over edges on disk takes at most
    `memory` in total (Garaph section 2.2); its answers are the same.

    Parameters
    ----------
    path : path-like
        Or a URL that fsspec reads, such as ``s3://bucket/graph``: the graph is copied to a temporary directory first.
    encoding : {"auto", "raw", "packed"}
        The encoding of the graph in memory, whatever the directory's is. ``"auto"`` packs the edges, while they are
        read, if the raw arrays exceed `memory`; for a directed graph with edge values, these include the values of
        out-edges, whether or not a run will need them. If the packed arrays exceed `memory` too, the edges stay on
        disk, as they are stored.
    memory : int or str, optional
        Bytes that the graph and a run over it may take, such as ``"2GiB"``. By default the graph's arrays may take four
        fifths of the available memory; a graph that takes at most half of that gets no bound (`Graph.memory`). If
        `encoding` is not ``"auto"``, the graph's arrays alone may take all of `memory`. Reading takes about 16 MiB
        more, or the least number of blocks that hold whole runs of numbers if that is more.
    threads : int, optional
        By default all cores that this process may use.
    on_event : callable, optional
        Receives `events.Step` records, in the calling thread.

    Raises
    ------
    FormatError
        If it is not a graph directory, or its version or an encoding is unknown.
    DamagedGraphError
        If anything in it does not match its checksum, size or range. The message names file, block and byte offset.
    GraphError
        If the arrays do not fit into `memory`; with ``encoding="auto"``, if not even offsets and ids do.
    """
    check_path(path, "open")
    check_listener(on_event)
    check_encoding(encoding)
    if is_url(path):
        here = partial(open, encoding=encoding, memory=memory, threads=threads, on_event=on_event)
        return open_copy(path, here, on_event)
    limit, beside = memory_limit(memory), RUN_BYTES if memory is not None and encoding == AUTO else 0
    if is_partition(path):
        return graph_of(path, limit, lambda vertices: read_graph(vertices, RAW, limit, threads, on_event))
    try:
        graph = read_graph(path, encoding, limit, threads, on_event, beside)
        graph = unbounded(graph, limit) if memory is None else graph
        if graph._arrays.bytes_to_reverse:
            read = partial(read_out_values, os.path.abspath(path), graph.directory)
            graph._arrays.derived.stored[VALUED_OUT_EDGES] = read
        return graph
    except TooLargeError:
        if encoding != AUTO:
            raise
    return read_graph(path, encoding, limit, threads, on_event, beside, on_disk=True)


def read_graph(
    path: str | os.PathLike[str], encoding: str, limit: int, threads: int | None, on_event: events.Listener,
    beside: int = 0, on_disk: bool = False,
) -> Graph:  # fmt: skip
    """Read a graph; see `open`.

    Parameters
    ----------
    limit : int
        Bytes of memory that the graph's arrays may take.
    beside : int
        Bytes per vertex of `limit` that must stay free for runs; ignored if edges stay on disk.
    on_disk : bool
        Whether to leave the edges on disk.

    Raises
    ------
    TooLargeError
        If the arrays take more than `limit`.
    """
    with ExitStack() as stack, ThreadPool(threads) as pool:
        folder = stack.enter_context(GraphDirectory(path))
        manifest = read_manifest(folder)
        sweep_opened(folder, manifest)
        readers = readers_of(folder, manifest)
        arrays_raw = {name: array for name, array in manifest.arrays.items() if name != READ_LATER}
        total = sum(array.raw_bytes for array in arrays_raw.values())
        if manifest.directed and manifest.edge_dtype is not None:
            total += reversing_bytes(manifest.edges, manifest.vertices, manifest.edge_dtype, RAW)
        kept = beside * manifest.vertices
        room = max(limit - kept, 0)
        rules, chosen = expectations(manifest), encoding_to_open(encoding, total, room)
        wanted = manifest.arrays if on_disk or chosen == PACKED else arrays_raw
        sizes = {name: bytes_in_memory(array, chosen, on_disk) for name, array in wanted.items()}

        def allow(name: str, nbytes: int) -> None:
            sizes[name] = nbytes
            check_fits(folder.path, chosen, sum(sizes.values()), limit if on_disk else room, more=chosen == PACKED)

        progress = Progress("reading graph", sum(array.raw_bytes for array in wanted.values()), on_event)
        arrays: dict[str, Any] = {}
        for name in wanted:
            reader, offsets, rule = readers[name], arrays.get(OFFSETS_OF.get(name, "")), rules[name]
            rule = rule if offsets is None else replace(rule, lists=Lists(offsets))
            if on_disk and name in EDGES:
                arrays[name] = array_reader(reader, rule, manifest.k or 1.0)
                continue
            read = partial(scan, reader, rule, pool, refuse, progress.advance)
            with enough_memory(f"{folder.path}, whose arrays take {show_bytes(total)} raw"):
                if chosen == PACKED and can_be_packed(reader.array):
                    arrays[name] = read_packed(reader, read, offsets, pool, partial(allow, name))
                if arrays.get(name) is None:
                    allow(name, reader.array.raw_bytes)
                    arrays[name] = np.empty(reader.array.length, reader.array.dtype)
                    read(target=arrays[name])
        if manifest.ids == "string":
            offsets, text = arrays["id_offsets"], arrays["id_bytes"]
            if damage := invalid_string(readers["id_bytes"], manifest.vertices, slicer(offsets), slicer(text)):
                raise damage
        if on_disk:  # the directory stays locked as long as the graph is used
            weakref.finalize(arrays["in_sources"], stack.pop_all().close)
    progress.finish()
    if on_disk and total > room:
        log_fallback(folder.path, ON_DISK, total, limit, kept)
    elif chosen == PACKED and encoding == AUTO:
        log_fallback(folder.path, PACKED_HERE, total, limit, kept)
    graph = assemble(manifest, arrays, limit)
    if graph.ids.has_duplicates():
        raise DamagedGraphError(folder.path, "two vertices have the same id; import the graph again")
    return graph


def read_out_values(path: str, graph_id: str | None, pool: ThreadPool) -> Array | None:
    """The values of the out-edges in the directory `path`; None if it has none, if they cannot be read, or if it now
    holds another graph."""
    try:
        with GraphDirectory(path) as folder:
            manifest = read_manifest(folder)
            if str(manifest.graph_id) != graph_id or READ_LATER not in manifest.arrays:
                return None
            reader = reader_of(folder, manifest, READ_LATER)
            if damage := reader.truncation():
                raise damage
            values = np.empty(reader.array.length, reader.array.dtype)
            scan(reader, expectations(manifest)[READ_LATER], pool, refuse, lambda nbytes: None, target=values)
            return values
    except (FormatError, GraphError, OSError) as error:
        log.warning("%s; the values of out-edges are made of those of in-edges", error)
        return None


def refuse(damage: FormatError) -> None:
    raise damage


def read_packed(
    reader: BlockReader,
    read: Callable[..., object],
    offsets: Array | None,
    pool: ThreadPool,
    allow: Callable[[int], None],
) -> Packed | None:
    """Read an array and keep it packed in memory. None if its numbers do not fit into 32 bits (only in raw blocks)."""
    if reader.array.encoding == PACKED_1:
        assembled = Assembled(reader.array, reader.index["length"])
        read(target=assembled)
        return assembled.packed
    repacked = Repacked(reader.array, offsets, pool, allow)
    try:
        read(target=repacked)
    except UnsortedError as error:
        raise DamagedGraphError(", ".join(map(str, reader.paths)), str(error)) from None
    return repacked.packed


def adjacency(offsets: Array, neighbours: Array | EdgeArray, values: Array | EdgeArray | None) -> Adjacency:
    """The `Adjacency` of these arrays.

    Raises
    ------
    GraphError
        If compiled code cannot read this combination of codecs from disk.
    """
    edges = Adjacency(offsets, neighbours, values)
    if edges.on_disk and edges.value_array is not None and edges.value_array.codec not in (RAW, edges.encoding):
        raise GraphError(
            "raw edges with packed values cannot stay on disk; import the graph again, or allow more memory"
        )
    return edges


def assemble(manifest: Manifest, arrays: dict[str, Any], memory: int) -> Graph:
    """The graph that consists of these `arrays`."""
    incoming = adjacency(arrays["in_offsets"], arrays["in_sources"], arrays.get("in_values"))
    outgoing = incoming
    if manifest.directed:
        outgoing = adjacency(arrays["out_offsets"], arrays["out_targets"], arrays.get("out_values"))
    ids = VertexIds(manifest.vertices)
    if manifest.ids == "integer":
        ids = IntegerIds(arrays["ids"])
    elif manifest.ids == "string":
        ids = StringIds(arrow_strings(arrays["id_offsets"], arrays["id_bytes"]))
    return Graph(GraphArrays(incoming, outgoing, ids, memory), str(manifest.graph_id))


def verify(
    path: str | os.PathLike[str], *, threads: int | None = None, on_event: events.Listener = events.ignore
) -> list[FormatError]:
    """Find all damage in the directory `path`, and out-edges that are not the in-edges reversed.

    This takes memory for a few blocks per thread, not for the graph.

    Parameters
    ----------
    path : path-like
    threads : int, optional
    on_event : callable, optional

    Returns
    -------
    list of FormatError
        Empty if the directory is intact. Each error has `path` and `offset`; damage inside an array is a
        `garaph_py.storage.files.Damage` and has `block` too.

    Raises
    ------
    FormatError
        If there is no directory at `path`.
    """
    if is_partition(path):
        return problems_of(path, partial(verify, threads=threads, on_event=on_event), info)
    problems: list[FormatError] = []
    with GraphDirectory(path) as folder, ThreadPool(threads) as pool:
        try:
            manifest = read_manifest(folder)
        except FormatError as error:
            return [error]
        for disk in manifest.disks:
            try:
                folder.disk(disk)
            except DamagedGraphError as error:
                problems.append(error)
        if problems:
            return problems
        rules, readers, lists = expectations(manifest), dict[str, BlockReader](), dict[str, Lists]()
        hashes = StoredHashes(manifest, readers, lists)
        total = sum(array.raw_bytes for array in manifest.arrays.values())
        progress = Progress("verifying graph", total, on_event)
        for name in manifest.arrays:
            try:
                readers[name] = reader_of(folder, manifest, name)
            except DamagedGraphError as error:
                problems.append(error)
                continue
            rule = replace(rules[name], lists=lists.get(OFFSETS_OF.get(name, "")))
            limits = BlockLimits(manifest.arrays[name])
            try:
                readers[name].also = checker_of(readers[name], limits)
            except DamagedGraphError as error:
                problems.append(error)
            visit = None if problems else hashes.visit(name)
            ends = scan(readers[name], rule, pool, problems.append, progress.advance, visit=visit)
            readers[name].also = None  # it holds the array's sums and records
            if ends is not None and (problem := limits.problem(manifest.arrays[name].limits)):
                problems.append(DamagedGraphError(folder.path / manifests.NAME, problem))
            if ends is not None and name in OFFSETS_OF.values():
                lists[name] = StoredLists(readers[name], ends)
        if not problems and (problem := hashes.problem()):
            problems.append(DamagedGraphError(folder.path / manifests.NAME, problem))
        if manifest.ids == "string" and not problems:
            offsets, text = readers["id_offsets"], readers["id_bytes"]
            if damage := invalid_string(text, manifest.vertices, partial(load, offsets), partial(load, text)):
                problems.append(damage)
    progress.finish()
    return sorted(problems, key=lambda damage: (damage.path, getattr(damage, "block", None) or 0))


def info(path: str | os.PathLike[str]) -> Manifest:
    """The manifest of the graph directory `path`; no other file is read.

    Raises
    ------
    FormatError
        If there is no directory at `path`, or its manifest fails a check.
    """
    with GraphDirectory(path) as folder:
        return read_manifest(folder)


def read_manifest(folder: GraphDirectory) -> Manifest:
    folder.refuse_links()
    handle, size = folder.open(manifests.NAME)
    path = folder.path / manifests.NAME
    if size > manifests.MAX_BYTES:
        raise FormatError(path, f"{size} bytes long; a manifest has at most {manifests.MAX_BYTES}")
    return manifests.parse(folder.read(manifests.NAME, size, handle), path)


def readers_of(folder: GraphDirectory, manifest: Manifest) -> dict[str, BlockReader]:
    """A reader of each array; raise `Damage` if a data file ends too early."""
    readers = {name: reader_of(folder, manifest, name) for name in manifest.arrays}
    for reader in readers.values():
        if damage := reader.truncation():
            raise damage
    return readers


def reader_of(folder: GraphDirectory, manifest: Manifest, name: str) -> BlockReader:
    """A reader of an array, on all disks; see `BlockReader`."""
    disks = [folder.disk(listed) for listed in manifest.disks]
    return BlockReader(folder, disks, manifest.arrays[name], identity(manifest.graph_id, manifest.generation))
