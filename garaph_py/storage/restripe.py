"""A graph's blocks put onto other disks, beside the old ones, which go when the new ones are all there.

What a run that is killed leaves is found by its journal, a file of the graph directory that is there before anything
else is made and goes last. It names directories only; in these, files go that are named as ours are (docs/format.md)
and that the manifest does not name. So it does not matter when the run was killed: before the new manifest was renamed
into place the new files go, after that the old ones.
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
    """Spread the blocks of the graph directory `path` over exactly these disks; every block's checksum is verified.

    Whatever happens meanwhile, the graph is there, on its old disks or its new ones. What a run that was killed left is
    removed by the next.

    Parameters
    ----------
    path : path-like
    disks : sequence of path-like
        Directories, one on each disk: a directory for this graph is made there. ``"."`` is the graph directory itself.
    on_event : callable, optional
        Receives `events.Step` records.

    Returns
    -------
    Manifest
        The new one.

    Raises
    ------
    ParameterError
        If another process uses the graph, a disk is absent or listed twice, or a file cannot be written.
    FormatError
        If it is not a graph directory of a version and encodings known here.
    DamagedGraphError
        If a block does not match its checksum.
    """
    with GraphDirectory(path, exclusive=True) as folder:
        old = read_manifest(folder)
        left = sweep(folder, old)
        destination = new_place(folder.path, old, disk_roots(disks))
        readers = {name: reader_of(folder, old, name) for name in old.arrays}
        for reader in readers.values():
            if damage := reader.truncation():
                raise damage
        try:
            write_journal(folder.path, {*left, *old.disks, *destination.listed})
            new = write_generation(destination, old, readers, on_event)
            rename(folder.path / NEW_MANIFEST, folder.path / manifests.NAME)
        except BaseException:
            with contextlib.suppress(GaraphError, OSError):  # else the journal stays, for the next run
                sweep(folder, read_manifest(folder))
            raise
        sweep(folder, new)
    return new


def new_place(folder: Path, old: Manifest, roots: Sequence[str]) -> Destination:
    """Where the new files go. A directory that is there already must be the graph's own."""
    listed = directories(roots, folder, old.graph_id)
    for directory in listed:
        if directory not in (".", *old.disks) and os.path.lexists(directory):
            raise already_exists(directory)
    at = tuple(folder if directory == "." else Path(directory) for directory in listed)
    return Destination(folder, at, listed, old.graph_id)


def write_generation(
    destination: Destination, old: Manifest, readers: dict[str, BlockReader], on_event: events.Listener
) -> Manifest:
    """Write the next generation of all arrays, and its manifest, which does not count yet."""
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
    """The stored bytes of each block, one in memory at a time."""
    return map(reader.stored, range(reader.array.blocks))


def write_journal(folder: Path, disks: Iterable[str]) -> None:
    """Note where files are about to be made and removed; when this returns, that outlasts a loss of power."""
    write_file(folder / NEW_JOURNAL, json.dumps(sorted(disks)).encode())
    rename(folder / NEW_JOURNAL, folder / JOURNAL)
    sync_directory(folder)


def read_journal(folder: GraphDirectory, manifest: Manifest) -> tuple[str, ...] | None:
    """The directories on disks that the journal notes and that are named as ours are; None if there is no journal."""
    if not os.path.lexists(folder.path / JOURNAL):
        return None
    handle, size = folder.open(JOURNAL)
    try:
        noted = json.loads(folder.read(JOURNAL, min(size, manifests.MAX_BYTES), handle))
        if type(noted) is not list or any(type(disk) is not str for disk in noted):
            raise ValueError("not a list of directories")
    except (ValueError, RecursionError) as error:
        problem = f"damaged ({reason(error)}); remove it, and what this graph has left on other disks"
        raise Damage(folder.path / JOURNAL, problem) from None
    ours = f"-{manifest.graph_id.hex[:8]}"
    return tuple(disk for disk in noted if is_plain_absolute(disk) and disk.endswith(ours))


def sweep(folder: GraphDirectory, manifest: Manifest) -> tuple[str, ...]:
    """Remove what the last run has made or left behind and `manifest`, the current one, does not name.

    Returns
    -------
    tuple of str
        Directories where that cannot be done now; the journal keeps them.
    """
    with writing(folder.path / NEW_JOURNAL), contextlib.suppress(FileNotFoundError):
        os.unlink(folder.path / NEW_JOURNAL)
    noted = read_journal(folder, manifest)
    if noted is None:
        return ()
    sync_directory(folder.path)  # no file goes that is needed if the manifest's renaming is lost
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
    """Remove the files of other generations from a directory, and the directory if it is empty and no longer `used`."""
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
            if error.errno != errno.ENOTEMPTY:  # what else is there is not ours
                raise
    sync_directory(directory if directory.is_dir() else directory.parent)
