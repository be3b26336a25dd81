"""Import a file of edges, or generated edges, into a graph directory: in memory if they fit, otherwise out of core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

from ... import events
from ...graph.generate import RandomEdges
from ...native.threads import ThreadPool
from ...storage import directory as store
from ...storage.fit import check_encoding, memory_limit
from ...storage.manifest import Manifest
from ...storage.write import HERE, Destination, PathLike, creating, disk_roots
from ..collect import PARSING, PARSING_THREAD, CollectedEdges
from ..formats import ReadOptions, format_of
from ..formats.format import EdgeList, Format
from ..read import buffer_bytes, built, check_file, naming, read_graph
from .build import ImportOptions, write_external
from .scan import EdgeSource, KnownCounts


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
        Bytes of memory the import may take, such as ``"2GiB"``; by default four fifths of the available memory. If the
        format can be read in parts, edges are collected in memory as long as their graph would fit; if it does not, the
        import goes on out of core.
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
    reading = ReadOptions(options.weights, options.directed, ThreadPool(threads).size, limit, options.columns)
    chosen.check_options(path, reading)
    if chosen.stream is None:
        graph = read_graph(path, chosen, reading, options, on_event)
    else:
        edges, beside = CollectedEdges(options), buffer_bytes(path, chosen, reading, limit)
        with naming(path), closing(chosen.stream(path, reading, on_event)) as batches:
            if not edges.fill(batches, limit - beside):
                source = rest_of(path, chosen, reading, edges, batches, beside)
                write_external(source, place, options, limit, threads=threads, on_event=on_event)
                return
            graph = built(path, edges.joined(), options, reading.threads, on_event)
    store.save(graph, place, encoding=options.encoding, on_event=on_event)


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
    """Write the graph directory `out` of generated edges; parameters and errors are those of `import_file`.

    A graph whose vertices get an order of their own is built out of core, whatever its size.
    """
    check_encoding(options.encoding)
    limit, value_bytes = memory_limit(memory), 0 if edges.dtype is None else edges.dtype.itemsize
    with creating(out, disks) as place:
        if options.order == "none" and options.peak(edges.count, value_bytes, edges.n) <= limit:
            graph = edges.graph(options.directed is not False, threads, on_event)
            store.save(graph, place, encoding=options.encoding, on_event=on_event)
        else:
            with ThreadPool(threads) as pool:

                def batches(listener: events.Listener) -> Iterator[EdgeList]:
                    return (EdgeList(*columns) for columns in edges.batches(pool))

                known = KnownCounts(edges.n, edges.count, edges.dtype)
                source = EdgeSource(batches, True, known=known, drawn=edges)
                write_external(source, place, options, limit, threads=threads, on_event=on_event)
    return store.info(out)


def rest_of(
    path: Path, format: Format, reading: ReadOptions, edges: CollectedEdges, batches: Iterator[EdgeList], beside: int
) -> EdgeSource:
    """All edges of a file, of which some have been collected and `batches` gives the others.

    Reading takes `beside` bytes of memory beside the edges.
    """
    stream = format.stream
    assert stream is not None
    if format.streams_again:
        edges.batches.clear()
        return EdgeSource(lambda listener: stream(path, reading, listener), True)
    memory = max(PARSING + reading.threads * PARSING_THREAD, edges.nbytes) + beside
    return EdgeSource(lambda listener: chain(edges.drained(), batches), False, memory)
