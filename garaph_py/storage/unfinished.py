"""Unfinished graph directories: their names, and the removal of those that a killed process left.

A graph is written into directories with temporary names, which the writing process keeps locked
(`system.files.try_lock`). The next process that writes a graph of the same name there removes every such directory
that is not locked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import FormatError
from ..system.files import try_lock
from . import manifest as manifests
from .files import reason

log = logging.getLogger("garaph_py")

TOKEN_BYTES = 8
"""Random bytes in a temporary name."""
SUFFIX = rf"\.partial-[0-9a-f]{{{2 * TOKEN_BYTES}}}"
"""The end of a temporary name (`new_suffix`), as a regular expression."""


def new_suffix() -> str:
    """A new suffix for the temporary names of one graph's directories."""
    return f".partial-{secrets.token_hex(TOKEN_BYTES)}"


def temporary_name(directory: Path, suffix: str) -> Path:
    """The temporary name of `directory`."""
    return directory.with_name(f".{directory.name}{suffix}")


def final_name(path: str | os.PathLike[str]) -> str:
    """The name that a path with a temporary name in it will have, for messages."""
    return re.sub(rf"\.([^/]+){SUFFIX}", r"\1", os.fspath(path))


def writer_of(target: Path) -> Path | None:
    """The locked directory into which a graph with the name of `target` is being written; None if there is none."""
    for directory, _ in unfinished(target, ()):
        with contextlib.suppress(OSError), try_lock(directory) as free:
            if not free:
                return directory
    return None


def sweep(target: Path, roots: Iterable[str]) -> None:
    """Remove the unfinished directories of a graph `target` that are not locked, beside it and on the disks `roots`."""
    for directory, suffix in unfinished(target, roots):
        try:
            clear(directory, suffix)
        except FileNotFoundError:  # another process has removed it, or renamed it to a finished graph
            pass
        except OSError as error:
            log.warning("%s: this directory of an unfinished graph cannot be removed (%s)", directory, reason(error))


def unfinished(target: Path, roots: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """The unfinished directories of graphs with the name of `target`, and their suffixes."""
    name = re.escape(target.name)
    on_disks = [(Path(root), rf"\.{name}-[0-9a-f]{{8}}({SUFFIX})") for root in roots if root != "."]
    for folder, pattern in [(target.parent, rf"\.{name}({SUFFIX})"), *on_disks]:
        with contextlib.suppress(OSError, ValueError):  # the writer of the new graph will report it
            there = os.listdir(folder)
            yield from ((folder / found[0], found[1]) for found in map(re.compile(pattern).fullmatch, there) if found)


def clear(directory: Path, suffix: str) -> None:
    """Remove an unfinished graph directory, unless it is locked, and its directories on disks, renamed or not yet."""
    with try_lock(directory) as locked:
        if not locked or os.stat(directory, follow_symlinks=False).st_uid != os.geteuid():
            return
        for disk in listed(directory, suffix):
            for made in (disk, temporary_name(disk, suffix)):
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(made)
        shutil.rmtree(directory)


def listed(directory: Path, suffix: str) -> list[Path]:
    """The directories on disks that the manifest in `directory` lists and that are this graph's alone.

    They are recognized by their names (see `write.directories`). None if there is no manifest yet.
    """
    try:
        with open(directory / manifests.NAME, "rb") as file:
            manifest = manifests.parse(file.read(manifests.MAX_BYTES), directory / manifests.NAME)
    except (FileNotFoundError, FormatError):  # then no directory has been renamed yet
        return []
    own = f"{directory.name.removeprefix('.').removesuffix(suffix)}-{manifest.graph_id.hex[:8]}"
    return [Path(disk) for disk in manifest.disks if Path(disk).name == own]
