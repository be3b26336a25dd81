"""The journal of a restriping: a file in the graph directory that lists the directories on disks that it uses.

It is written first and removed last, so that what a killed restriping has left can be removed: in the listed
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
from collections.abc import Iterable
from pathlib import Path

from ..errors import GaraphError
from . import manifest as manifests
from .files import Damage, GraphDirectory, reason
from .manifest import Manifest, is_plain_absolute
from .write import rename, sync_directory, write_file, writing

log = logging.getLogger("garaph_py")

JOURNAL = "restripe.partial"
NEW_JOURNAL = f"{JOURNAL}.new"
NEW_MANIFEST = f"{manifests.NAME}.partial"


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


def sweep(folder: GraphDirectory, manifest: Manifest, on_disks: bool = True) -> tuple[str, ...]:
    """Remove the files of the last restriping that `manifest`, the current one, does not name.

    Parameters
    ----------
    on_disks : bool
        False to remove files only from the graph directory itself.

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
    left = [] if on_disks else [*noted]
    for disk in (".", *noted) if on_disks else (".",):
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


def sweep_opened(folder: GraphDirectory, manifest: Manifest) -> None:
    """Remove what a killed restriping left in a graph directory that is open to be read, if this process may do so.

    The shared lock is enough, because a restriping holds an exclusive one. Directories on disks are left to the next
    restriping: if `folder` is a copy, they may belong to the original, and to read a graph must never remove another.
    """
    if not folder.locked:  # a restriping may be under way on another machine
        return
    with contextlib.suppress(GaraphError, OSError):
        if left := sweep(folder, manifest, on_disks=False):
            where = ", ".join(left)
            log.warning("%s: a killed restripe left files in %s; the next restripe removes them", folder.path, where)


def clear(directory: Path, manifest: Manifest, used: bool) -> None:
    """Remove the files of other generations from a directory; remove the directory if it is empty and not `used`."""
    if directory.is_symlink() or not directory.is_dir():
        return
    ours = re.compile(rf"({'|'.join(manifest.arrays)})(\.\d+)?\.(data|index|sums|records)|{re.escape(NEW_MANIFEST)}")
    keep = {name for array in manifest.arrays.values() for name in array.files} if used else set()
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
