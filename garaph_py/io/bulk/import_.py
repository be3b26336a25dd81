"""A file of edges into a graph directory: in memory where that is enough, else out of core."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ... import events
from ...errors import FormatError, GraphError
from ...graph.generate import RandomEdges
from ...native.threads import ThreadPool
from ...storage import directory as store
from ...storage.fit import check_encoding, memory_limit
from ...storage.manifest import Manifest
from ...storage.write import HERE, PathLike, already_exists, disk_roots
from ...system.sizes import show_bytes
from ..formats import ReadOptions, format_of
from ..formats.format import EdgeList, Format, malformed
from ..formats.streams import compression
from ..read import check_file, read
from .build import ImportOptions, write_external
from .scan import EdgeSource, KnownCounts

BYTES_IN_MEMORY = 56
"""What an import in memory takes at its peak for an edge of the file, if each counts in both directions."""
PARSING, PARSING_THREAD = 32 << 20, 48 << 20
"""Bytes that reading text takes, and each of its threads: blocks, what becomes of them, and copies of both."""
COMPRESSION_RATIO = 4
"""Of text, about, and rather more."""


def import_file(
    path: PathLike,
    out: PathLike,
    options: ImportOptions,
    *,
    disks: Sequence[PathLike] = HERE,
    directed: bool | None = None,
    format: str | None = None,
    weights: bool | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Manifest:
    """Write the graph directory `out` from the file `path`: all of it or, whatever happens, nothing.

    Parameters
    ----------
    path, out : path-like
    wishes : Wishes
        But for `directed`, which the parameter of that name says.
    disks : sequence of path-like
        See `store.save`; the first also has the temporary files of an import out of core.
    directed, format, weights, threads, on_event
        See `graph.read.read`.
    memory : int or str, optional
        Bytes that it may take, such as ``"2GiB"``; by default four fifths of what is available. A file that may need
        more in memory is imported out of core, if its format can be read a part at a time.

    Raises
    ------
    FormatError
        If the file cannot be read, is not what it claims to be, has no edges, or would have to fit `memory` and does
        not.
    ParameterError
        If `out` exists already or cannot be written, or a disk cannot be used; `errors.DiskFullError` if there is not
        room enough.
    """
    check_encoding(options.encoding)
    path, roots, limit = check_file(path), disk_roots(disks), memory_limit(memory)
    if os.path.lexists(out):
        raise already_exists(out)
    chosen = format_of(path, format)
    if fits(path, chosen, limit):
        graph = read(
            path,
            directed=directed,
            format=format,
            weights=weights,
            drop_self_loops=options.drop_self_loops,
            drop_parallel=options.drop_parallel,
            order=options.order,
            threads=threads,
            on_event=on_event,
        )
        graph = graph.symmetrized(threads) if options.symmetrize else graph
        store.save(graph, out, encoding=options.encoding, disks=roots, on_event=on_event)
        return store.info(out)
    stream: Any = chosen.stream
    options = ReadOptions(weights, directed, ThreadPool(threads).size)

    def batches(listener: events.Listener) -> Iterator[EdgeList]:
        batches: Iterator[EdgeList] = stream(path, options, listener)
        return batches

    try:
        parsing = 0 if chosen.streams_again else PARSING + options.threads * PARSING_THREAD
        source = EdgeSource(batches, chosen.streams_again, parsing)
        return write_external(source, out, options, limit, disks=roots, threads=threads, on_event=on_event)
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
    """Write the graph directory `out` of generated edges; parameters and errors as for `import_file`."""
    check_encoding(options.encoding)
    roots, limit = disk_roots(disks), memory_limit(memory)
    if edges.count * BYTES_IN_MEMORY <= limit:
        graph = edges.graph(options.directed, threads, on_event)
        store.save(graph, out, encoding=options.encoding, disks=roots, on_event=on_event)
        return store.info(out)
    with ThreadPool(threads) as pool:

        def batches(listener: events.Listener) -> Iterator[EdgeList]:
            return (EdgeList(*columns) for columns in edges.batches(pool))

        source = EdgeSource(batches, True, known=KnownCounts(edges.n, edges.count, edges.dtype))
        return write_external(source, out, options, limit, disks=roots, threads=threads, on_event=on_event)


def fits(path: Path, format: Format, limit: int) -> bool:
    """Whether the file is to be imported in memory, of which `limit` bytes may be used.

    Raises
    ------
    FormatError
        If it would have to be, and it is too large for that.
    """
    with malformed(path, "not readable"), open(path, "rb") as file:
        size, packed = path.stat().st_size, compression(file.read(6)) is not None
    if format.stream is not None:
        ratio = COMPRESSION_RATIO if packed else 1
        return size * ratio // format.edge_bytes * BYTES_IN_MEMORY <= limit
    if size > limit:
        raise FormatError(
            path,
            f"{show_bytes(size)} long, and {show_bytes(limit)} of memory may be used, into which a file of format "
            f"{format.name} must fit; allow more (memory), or convert it to text, .npy or Parquet on another machine",
        )
    return True
