"""Graph directories at URLs: copies them, or as much of them as is needed, to a local disk.

`fsspec <https://filesystem-spec.readthedocs.io>`_ reads the URLs. A copy is trusted no more than any other directory:
whoever opens it checks its checksums.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from .. import events
from ..errors import DiskFullError, FormatError, ParameterError
from ..graph.graph import Graph
from ..system.sizes import show_bytes
from ..system.urls import url_of
from .partition import is_for_client
from .progress import Progress

Wanted = Callable[[str], bool]
"""``wanted(name)`` tells whether a file is copied; `name` is its path within the directory, with slashes."""

_urls: dict[str, str] = {}
"""The URL of each copy that `open_copy` has made and not removed yet, by the copy's path."""


def origin(path: str) -> str:
    """The URL of which the directory `path` is a copy; any other directory's path as it is."""
    return _urls.get(path, path)


def open_copy(path: str | os.PathLike[str], opener: Callable[[Path], Graph], on_event: events.Listener) -> Graph:
    """Open a copy of the graph at a URL; it is removed when nothing refers to the graph any more.

    Parameters
    ----------
    opener : callable
        ``opener(path)`` opens a graph directory.

    Raises
    ------
    ParameterError, FormatError, DiskFullError
        As `copy` and `opener` do.
    """
    url, folder = url_of(path), tempfile.TemporaryDirectory(prefix="garaph-")
    try:
        copy(url, Path(folder.name), is_for_client, on_event)
        graph = opener(Path(folder.name))
    except BaseException:
        folder.cleanup()
        raise
    _urls[folder.name] = url
    edges = graph._arrays.in_edges  # the reversed graph has them, too
    weakref.finalize(edges.neighbour_array if graph.on_disk else edges, remove, folder)
    return graph


def remove(folder: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a copy."""
    del _urls[folder.name]
    folder.cleanup()


def copy(url: str, folder: Path, wanted: Wanted, on_event: events.Listener = events.ignore) -> None:
    """Copy those files of the directory at a URL that are `wanted` into `folder`, but for those that are there already.

    Raises
    ------
    ParameterError
        If fsspec is not installed, or what it needs for this protocol.
    FormatError
        If there is nothing at the URL, it cannot be read, or it changes meanwhile.
    DiskFullError
        If the files take more than is free on the disk of `folder`.
    """
    store, root = connected(url)
    try:
        found = store.find(root, detail=True)
    except Exception as error:  # each store raises errors of its own
        raise unreadable(url, error) from error
    sizes = {name: size for name, size in listed(url, root, found).items() if wanted(name)}
    if not sizes:
        raise FormatError(url, "no graph directory there; check the URL (a file of edges must be downloaded first)")
    missing = {name: size for name, size in sizes.items() if not (folder / name).exists()}
    free, total = shutil.disk_usage(folder).free, sum(missing.values())
    if total > free:
        raise DiskFullError(
            f"a copy of {url} takes {show_bytes(total, up=True)}, and {folder} has {show_bytes(free)} free; name a "
            "directory on a larger disk in the environment variable TMPDIR (of Dask's workers: local_directory)"
        )
    progress = Progress(f"copying {url}", total, on_event)
    for name, size in missing.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            store.get_file(f"{root}/{name}", os.fspath(target))
        except Exception as error:
            target.unlink(missing_ok=True)
            raise unreadable(f"{url}/{name}", error) from error
        if (there := target.stat().st_size) != size:
            target.unlink()
            problem = f"{there} bytes were read of {size}; it has changed meanwhile: try again"
            raise FormatError(f"{url}/{name}", problem)
        progress.advance(size)
    progress.finish()


def connected(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the URL's path there."""
    try:
        import fsspec
    except ImportError as error:
        raise ParameterError(f"{url}: reading URLs needs fsspec: {error}; install it: `pip install fsspec`") from None
    try:
        store, root = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # of the protocol's own package, or no such protocol
        raise ParameterError(f"{url}: {error}; install what fsspec needs for this protocol, or check the URL") from None
    except Exception as error:
        raise unreadable(url, error) from error
    return store, root.rstrip("/")


def listed(url: str, root: str, found: dict[str, Any]) -> dict[str, int]:
    """The sizes of the files that a store has `found`, by their paths within the directory `root`."""
    sizes = {}
    for path, facts in found.items():
        name, size = path.removeprefix(root).lstrip("/"), facts.get("size")
        is_inside = path.startswith(f"{root}/") and name != "" and ".." not in PurePosixPath(name).parts
        if not is_inside or type(size) is not int or size < 0:
            raise FormatError(url, f"the store lists {path!r:.80} of {size!r:.20} bytes there, which is no file in it")
        sizes[name] = size
    return sizes


def unreadable(url: str, error: Exception) -> FormatError:
    """The error for a URL that cannot be read."""
    return FormatError(
        url, f"cannot be read: {type(error).__name__}: {error}; check the URL and that this machine may read it"
    )
