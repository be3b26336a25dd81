"""Import a file of edges, or generated edges, into a graph directory: in memory if they fit, otherwise out of core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ... import events
from ...errors import FormatError, GraphError
from ...graph.generate import RandomEdges
from ...native.threads import ThreadPool
from ...storage import directory as store
from ...storage.fit import check_encoding, memory_limit
from ...storage.manifest import Manifest
from ...storage.write import HERE, Destination, PathLike, creating, disk_roots
from ...system.sizes import show_bytes
from ..formats import ReadOptions, format_of
from ..formats.format import EdgeList, Format, malformed
from ..formats.streams import compression
from ..read import check_file, read
from .build import ImportOptions, write_external
from .scan import EdgeSource, KnownCounts

BYTES_IN_MEMORY = 56
"""Peak memory of an import in memory, in bytes per edge of the file, for an undirected graph (the larger case)."""
PARSING, PARSING_THREAD = 32 << 20, 48 << 20
"""Memory for parsing text, in bytes: for the parser, and for each of its threads (blocks, parsed columns, copies)."""
COMPRESSION_RATIO = 4
"""Bytes of text per compressed byte: an upper estimate for edge lists."""


def import_file(
    path: PathLike,
    out: PathLike,
    options: ImportOptions,
    *,
    disks: Sequence[PathLike] = HERE,
    memory: int | str | None = None,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Manifest:
    """Write the graph directory `out` from the file `path`. If anything fails, no directory is left.

    Parameters
    ----------
    path, out : path-like
    options : ImportOptions
    disks : sequence of path-like
        See `storage.directory.save`. An import out of core puts its temporary files on the first disk.
    memory : int or str, optional
        Bytes of memory the import may take, such as ``"2GiB"``; by default four fifths of the available memory. A file
        that may need more is imported out of core if its format can be read in parts.
    threads, on_event
        See `io.read.read`.

    Raises
    ------
    FormatError
        If the file cannot be read, is not of its format or has no edges; or if it must fit `memory` and does not.
    ParameterError
        If `out` exists already or cannot be written, or a disk cannot be used; `errors.DiskFullError` if a disk has
        too little room.
    """
    check_encoding(options.encoding)
    path, roots, limit = check_file(path), disk_roots(disks), memory_limit(memory)
    with creating(out, roots) as place:  # before any work, so that of two imports the second fails at once
        write_file(path, place, options, limit, threads, on_event)
    return store.info(out)


def write_file(
    path: Path, place: Destination, options: ImportOptions, limit: int, threads: int | None, on_event: events.Listener
) -> None:
    """Read the edges of a file and write their graph, in at most `limit` bytes of memory; see `import_file`."""
    chosen = format_of(path, options.format)
    if fits(path, chosen, limit):
        graph = read(
            path,
            directed=options.directed,
            format=options.format,
            weights=options.weights,
            drop_self_loops=options.drop_self_loops,
            drop_parallel=options.drop_parallel,
            order=options.order,
            threads=threads,
            on_event=on_event,
        )
        graph = graph.symmetrized(threads) if options.symmetrize else graph
        store.save(graph, place, encoding=options.encoding, on_event=on_event)
        return
    try:
        source = file_source(path, chosen, options, threads)
        write_external(source, place, options, limit, threads=threads, on_event=on_event)
    except GraphError as error:
        raise FormatError(path, str(error)) from error


def write_random(
    edges: RandomEdges,
    out: PathLike,
    options: ImportOptions,
    *,
    disks: Sequence[PathLike] = HERE,
    memory: int | str | None = None,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Manifest:
    """Write the graph directory `out` of generated edges; parameters and errors are those of `import_file`."""
    check_encoding(options.encoding)
    limit = memory_limit(memory)
    with creating(out, disks) as place:
        if edges.count * BYTES_IN_MEMORY <= limit:
            graph = edges.graph(options.directed is not False, threads, on_event)
            store.save(graph, place, encoding=options.encoding, on_event=on_event)
        else:
            with ThreadPool(threads) as pool:

                def batches(listener: events.Listener) -> Iterator[EdgeList]:
                    return (EdgeList(*columns) for columns in edges.batches(pool))

                source = EdgeSource(batches, True, known=KnownCounts(edges.n, edges.count, edges.dtype))
                write_external(source, place, options, limit, threads=threads, on_event=on_event)
    return store.info(out)


def file_source(path: Path, format: Format, options: ImportOptions, threads: int | None) -> EdgeSource:
    """The edges of a file, read batch by batch; its format can be streamed."""
    stream = format.stream
    assert stream is not None
    read_options = ReadOptions(options.weights, options.directed, ThreadPool(threads).size)

    def batches(listener: events.Listener) -> Iterator[EdgeList]:
        return stream(path, read_options, listener)

    parsing = 0 if format.streams_again else PARSING + read_options.threads * PARSING_THREAD
    return EdgeSource(batches, format.streams_again, parsing)


def fits(path: Path, format: Format, limit: int) -> bool:
    """Whether a file is imported in memory, by an estimate from its size; `limit` is the memory allowed, in bytes.

    Raises
    ------
    FormatError
        If the file is larger than `limit` and its format cannot be streamed.
    """
    with malformed(path, "not readable"), open(path, "rb") as file:
        size, compressed = path.stat().st_size, compression(file.read(6)) is not None
    if format.stream is not None:
        ratio = COMPRESSION_RATIO if compressed else 1
        return size * ratio // format.edge_bytes * BYTES_IN_MEMORY <= limit
    if size > limit:
        raise FormatError(
            path,
            f"{show_bytes(size)} long, and {show_bytes(limit)} of memory may be used, into which a file of format "
            f"{format.name} must fit; allow more (memory), or convert it to text, .npy or Parquet on another machine",
        )
    return True
