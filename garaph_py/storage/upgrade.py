"""Brings a graph directory to the current version of the format: writes what it takes to read parts of blocks.

The blocks stay as they are. The journal (`journal`) lets later calls clean up after one that was killed.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace

from .. import events
from . import manifest as manifests
from .blocks import PACKED_1, BlockReader, StoredArray
from .directory import read_manifest, readers_of
from .files import GraphDirectory
from .journal import NEW_MANIFEST, sweep
from .manifest import VERSION, Manifest
from .progress import Progress
from .restripe import replacing
from .write import PartsWriter, file_names, sync_directory, write_file, writing


def upgrade(path: str | os.PathLike[str], *, on_event: events.Listener = events.ignore) -> Manifest:
    """Bring the graph directory `path` to version 3 of the format; this reads and checks every block of the edges'
    arrays about which something is missing.

    Whenever it fails or is killed, the graph is whole, in the old version or in the new one. A graph that has this
    version stays as it is.

    Parameters
    ----------
    path : path-like
    on_event : callable, optional
        Receives `events.Step` records.

    Returns
    -------
    Manifest
        The graph's manifest.

    Raises
    ------
    ParameterError
        If another process uses the graph, or a file cannot be written.
    FormatError
        If it is not a graph directory, or its version or an encoding is unknown.
    DamagedGraphError
        If a block does not match its checksum.
    """
    with GraphDirectory(path, exclusive=True) as folder:
        old = read_manifest(folder)
        left = sweep(folder, old)
        if old.version == VERSION:
            return old
        readers = readers_of(folder, old)
        new = replace(old, version=VERSION, arrays=dict(old.arrays))
        progress = Progress("upgrading graph", sum(array.raw_bytes for array in old.arrays.values()), on_event)
        with replacing(folder, {*left, *old.disks}):
            for name, reader in readers.items():
                new.arrays[name] = upgraded(folder, new, reader, progress)
            write_file(folder.path / NEW_MANIFEST, manifests.serialize(new))
            sync_directory(folder.path)
            progress.finish()
    return new


def upgraded(folder: GraphDirectory, new: Manifest, reader: BlockReader, progress: Progress) -> StoredArray:
    """The entry of an array in the `new` manifest: writes the files about its parts, and finds its limits, if it has
    none."""
    array = reader.array
    kinds = manifests.files_beside(array.name, new.version, array.encoding == PACKED_1)
    kinds = tuple(kind for kind in kinds if getattr(array, kind) is None)
    if not kinds and not manifests.has_limits(array.name, new.version):
        progress.advance(array.raw_bytes)
        return array
    for name in file_names(array.name, new.generation, kinds):  # an older version may have swept up the journal alone
        with writing(folder.path / name):
            (folder.path / name).unlink(missing_ok=True)
    with ExitStack() as stack:
        parts = PartsWriter(folder.path, array, kinds, new.generation, stack)
        for block in range(array.blocks):
            first, last = array.bounds(block)
            parts.put(reader.stored(block), int(reader.index["offset"][block]), last - first)
            progress.advance((last - first) * array.dtype.itemsize)
        return replace(array, **parts.finish())
