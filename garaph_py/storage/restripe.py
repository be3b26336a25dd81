"""Move a graph's blocks to other disks: write new files beside the old ones, then remove the old ones.

A journal, a file in the graph directory, lists the directories on disks that a restriping uses. It is written first and
removed last, so that the next restriping can clean up after one that was killed. Cleaning up removes, in the listed
directories, every file that has the name of a graph's file (docs/format.md) and that the manifest does not name. If the
process was killed before it renamed the new manifest into place, these are the new files; later, they are the old ones.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from .. import events
from ..errors import GaraphError
from . import manifest as manifests
from .blocks import BlockReader
from .directory import Array, read_manifest, reader_of
from .files import Damage, GraphDirectory, reason
from .manifest import MAX_COUNT, Manifest, is_plain_absolute
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
    write_file,
    write_manifest,
    writing,
)

log = logging.getLogger("garaph_py")

JOURNAL = "restripe.partial"
NEW_JOURNAL = f"{JOURNAL}.new"
NEW_MANIFEST = f"{manifests.NAME}.partial"


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
        readers = {name: reader_of(folder, old, name) for name in old.arrays}
        for reader in readers.values():
            if damage := reader.truncation():
                raise damage
        try:
            write_journal(folder.path, {*left, *old.disks, *destination.listed})
            new = write_generation(destination, old, readers, on_event)
            rename(folder.path / NEW_MANIFEST, folder.path / manifests.NAME)
        except BaseException:
            with contextlib.suppress(GaraphError, OSError):  # if this fails, the journal stays for the next call
                sweep(folder, read_manifest(folder))
            raise
        sweep(folder, new)
    return new


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
    new = replace(old, generation=generation, disks=destination.listed, arrays={})
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


def write_journal(folder: Path, disks: Iterable[str]) -> None:
    """Write the directories in which files will be made and removed to the journal, and sync it to disk."""
    write_file(folder / NEW_JOURNAL, json.dumps(sorted(disks)).encode())
    rename(folder / NEW_JOURNAL, folder / JOURNAL)
    sync_directory(folder)


def read_journal(folder: GraphDirectory, manifest: Manifest) -> tuple[str, ...] | None:
    """The directories in the journal that are named like this graph's; None if there is no journal."""
    if not os.path.lexists(folder.path / JOURNAL):
        return None
    handle, size = folder.open(JOURNAL)
    try:
        noted = json.loads(folder.read(JOURNAL, min(size, manifests.MAX_BYTES), handle))
        if type(noted) is not list or any(type(disk) is not str for disk in noted):
            raise ValueError("not a list of directories")
    except (ValueError, RecursionError) as error:
        problem = f"damaged ({reason(error)}); remove it, and the files that this graph has left on other disks"
        raise Damage(folder.path / JOURNAL, problem) from None
    ours = f"-{manifest.graph_id.hex[:8]}"
    return tuple(disk for disk in noted if is_plain_absolute(disk) and disk.endswith(ours))


def sweep(folder: GraphDirectory, manifest: Manifest) -> tuple[str, ...]:
    """Remove the files of the last restriping that `manifest`, the current one, does not name.

    Returns
    -------
    tuple of str
        Directories in which files cannot be removed now; they stay in the journal.
    """
    with writing(folder.path / NEW_JOURNAL), contextlib.suppress(FileNotFoundError):
        os.unlink(folder.path / NEW_JOURNAL)
    noted = read_journal(folder, manifest)
    if noted is None:
        return ()
    sync_directory(folder.path)  # after a loss of power, the manifest must not be one that needs removed files
    left = []
    for disk in (".", *noted):
        try:
            clear(folder.path / disk, manifest, disk == "." or disk in manifest.disks)
        except OSError as error:
            log.warning("%s: old files cannot be removed (%s); the next restripe tries again", disk, reason(error))
            left.append(disk)
    if not left:
        with writing(folder.path / JOURNAL):
            os.unlink(folder.path / JOURNAL)
        sync_directory(folder.path)
    return tuple(left)


def clear(directory: Path, manifest: Manifest, used: bool) -> None:
    """Remove the files of other generations from a directory; remove the directory if it is empty and not `used`."""
    if directory.is_symlink() or not directory.is_dir():
        return
    ours = re.compile(rf"({'|'.join(manifest.arrays)})(\.\d+)?\.(data|index)|{re.escape(NEW_MANIFEST)}")
    keep = {name for array in manifest.arrays.values() for name in (array.data, array.index)} if used else set()
    for name in os.listdir(directory):
        if ours.fullmatch(name) and name not in keep:
            os.unlink(directory / name)
    if not used:
        try:
            os.rmdir(directory)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # other files are not this graph's
                raise
    sync_directory(directory if directory.is_dir() else directory.parent)
