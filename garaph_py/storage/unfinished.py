"""Directories that are to become a graph: how they are named, and what removes those of a process that was killed.

Their writer has them locked (`files.alone`). What nobody has locked, the next who writes a graph of that name there
removes.
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
from ..system.files import alone
from . import manifest as manifests
from .files import reason

log = logging.getLogger("garaph_py")

TOKEN_BYTES = 8
SUFFIX = rf"\.partial-[0-9a-f]{{{2 * TOKEN_BYTES}}}"


def new_suffix() -> str:
    """Of the names of one graph's directories, until it is whole."""
    return f".partial-{secrets.token_hex(TOKEN_BYTES)}"


def partial_of(place: Path, suffix: str) -> Path:
    """What the directory that is to be `place` is called until then."""
    return place.with_name(f".{place.name}{suffix}")


def sweep(target: Path, roots: Iterable[str]) -> None:
    """Remove what processes that were killed left of a graph `target`, beside it and in the directories of disks."""
    for directory, suffix in partials(target, roots):
        try:
            clear(directory, suffix)
        except FileNotFoundError:  # somebody else has removed it, or it has become a graph
            pass
        except OSError as error:
            log.warning("%s: of a graph that was not finished, but cannot be removed (%s)", directory, reason(error))


def partials(target: Path, roots: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """The partial directories of graphs of that name, and their suffixes."""
    name = re.escape(target.name)
    on_disks = [(Path(root), rf"\.{name}-[0-9a-f]{{8}}({SUFFIX})") for root in roots if root != "."]
    for folder, pattern in [(target.parent, rf"\.{name}({SUFFIX})"), *on_disks]:
        with contextlib.suppress(OSError, ValueError):  # which whoever writes there will meet
            there = os.listdir(folder)
            yield from ((folder / found[0], found[1]) for found in map(re.compile(pattern).fullmatch, there) if found)


def clear(directory: Path, suffix: str) -> None:
    """Remove a directory that nobody has locked, after those on disks that its manifest lists, renamed or not."""
    with alone(directory) as nobodys:
        if not nobodys or os.stat(directory, follow_symlinks=False).st_uid != os.geteuid():
            return
        for disk in listed(directory, suffix):
            for made in (disk, partial_of(disk, suffix)):
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(made)
        shutil.rmtree(directory)


def listed(directory: Path, suffix: str) -> list[Path]:
    """The directories on disks of the graph in `directory` alone, as `write.directories` names them; none if it
    has no manifest yet."""
    try:
        with open(directory / manifests.NAME, "rb") as file:
            manifest = manifests.parse(file.read(manifests.MAX_BYTES), directory / manifests.NAME)
    except (FileNotFoundError, FormatError):  # which was not whole before the first was renamed
        return []
    own = f"{directory.name.removeprefix('.').removesuffix(suffix)}-{manifest.graph_id.hex[:8]}"
    return [Path(disk) for disk in manifest.disks if Path(disk).name == own]
