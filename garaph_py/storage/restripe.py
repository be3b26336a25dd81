"""Move a graph's blocks to other disks: write new files beside the old ones, then remove the old ones.

A journal of the directories that it uses lets later calls clean up after one that was killed (`journal`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from .. import events
from ..errors import GaraphError
from . import manifest as manifests
from .blocks import BlockReader
from .directory import Array, read_manifest, readers_of
from .files import GraphDirectory
from .journal import NEW_MANIFEST, sweep, write_journal
from .manifest import MAX_COUNT, VERSION, Manifest
from .progress import Progress
from .write import (
    Destination,
    PathLike,
    already_exists,
    directories,
    disk_roots,
    make_directory,
    rename,
    sync_all,
    sync_directory,
    write_blocks,
    write_manifest,
)


def restripe(path: PathLike, disks: Sequence[PathLike], *, on_event: events.Listener = events.ignore) -> Manifest:
    """Spread the blocks of the graph directory `path` over exactly these disks, verifying every block's checksum.

    Whenever it fails or is killed, the graph is whole, on its old disks or on the new ones. The next call removes the
    files that a killed call left.

    Parameters
    ----------
    path : path-like
    disks : sequence of path-like
        Directories, one on each disk. In each, `restripe` makes a directory for this graph. ``"."`` is the graph
        directory itself.
    on_event : callable, optional
        Receives `events.Step` records.

    Returns
    -------
    Manifest
        The new manifest.

    Raises
    ------
    ParameterError
        If another process uses the graph, a disk is absent or listed twice, or a file cannot be written.
    FormatError
        If it is not a graph directory, or its version or an encoding is unknown.
    DamagedGraphError
        If a block does not match its checksum.
    """
    with GraphDirectory(path, exclusive=True) as folder:
        old = read_manifest(folder)
        left = sweep(folder, old)
        destination = new_destination(folder.path, old, disk_roots(disks))
        readers = readers_of(folder, old)
        with replacing(folder, {*left, *old.disks, *destination.listed}):
            new = write_generation(destination, old, readers, on_event)
    return new


@contextlib.contextmanager
def replacing(folder: GraphDirectory, disks: Iterable[str]) -> Iterator[None]:
    """In ``with``: write new files in these directories, and then the file `NEW_MANIFEST`, which becomes the manifest.

    Afterwards, also after a failure, the files that the manifest does not name are removed.
    """
    try:
        write_journal(folder.path, disks)
        yield
        rename(folder.path / NEW_MANIFEST, folder.path / manifests.NAME)
    except BaseException:
        with contextlib.suppress(GaraphError, OSError):  # if this fails, the journal stays for the next call
            sweep(folder, read_manifest(folder))
        raise
    sweep(folder, read_manifest(folder))


def new_destination(folder: Path, old: Manifest, roots: Sequence[str]) -> Destination:
    """The destination of the new files. A directory that exists already must belong to this graph."""
    listed = directories(roots, folder, old.graph_id)
    for directory in listed:
        if directory not in (".", *old.disks) and os.path.lexists(directory):
            raise already_exists(directory)
    at = tuple(folder if directory == "." else Path(directory) for directory in listed)
    return Destination(folder, at, listed, old.graph_id)


def write_generation(
    destination: Destination, old: Manifest, readers: dict[str, BlockReader], on_event: events.Listener
) -> Manifest:
    """Write the next generation of all arrays, and its manifest under a temporary name."""
    for directory, listed in zip(destination.disks, destination.listed, strict=True):
        if listed not in (".", *old.disks):
            make_directory(directory)
            sync_directory(directory.parent)
    generation = (old.generation + 1) % (MAX_COUNT + 1)
    new = replace(old, generation=generation, disks=destination.listed, arrays={}, version=VERSION)
    progress = Progress("restriping graph", sum(array.raw_bytes for array in old.arrays.values()), on_event)
    for reader in readers.values():
        write_blocks(destination, new, reader.array, stored(reader), progress)
    new = write_manifest(destination, new, NEW_MANIFEST)
    sync_all({*destination.disks, destination.folder})
    progress.finish()
    return new


def stored(reader: BlockReader) -> Iterator[Array]:
    """The stored bytes of each block, one block at a time."""
    return map(reader.stored, range(reader.array.blocks))
