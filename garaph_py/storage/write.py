"""A graph's files written: a new directory that is there whole or not at all, and an array's blocks on all disks."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from ..errors import GaraphError, ParameterError
from ..system import interrupts
from ..system.files import make_alone
from ..system.machine import read_ratio
from . import manifest as manifests
from .blocks import INDEX_DTYPE, StoredArray, checksum, disk_of, identity
from .files import FULL, reason
from .manifest import MAX_DISKS, Manifest, is_plain_absolute
from .progress import Progress
from .unfinished import new_suffix, partial_of, sweep

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]

HERE = (".",)
"""The graph directory as the only disk."""
MEASURE_SECONDS = 0.4
MEASURE_BYTES = 1 << 26
"""Of data on each disk, from which on its speed is measured: less would say more of its cache."""


@dataclass(frozen=True)
class Destination:
    """Where the files of a graph are written.

    Attributes
    ----------
    folder : Path
        The graph directory, for index files and manifest.
    disks : tuple of Path
        The directory on each disk, for data files.
    listed : tuple of str
        The same as the manifest lists them, when all is done.
    graph_id : uuid.UUID
    """

    folder: Path
    disks: tuple[Path, ...]
    listed: tuple[str, ...]
    graph_id: uuid.UUID


@contextmanager
def creating(path: PathLike, disks: Sequence[PathLike] = HERE) -> Iterator[Destination]:
    """A place for a new graph, which becomes the directory `path` at the end; whatever fails before, nothing is left.

    Raises
    ------
    ParameterError
        If `path` exists already, a disk cannot be used, or a file cannot be written.
    """
    target, roots, graph_id = Path(path), disk_roots(disks), uuid.uuid4()
    listed = directories(roots, target, graph_id)
    final = [Path(name) for name in listed if name != "."]
    for directory in (target, *final):
        if os.path.lexists(directory):
            raise already_exists(directory)
    sweep(target, roots)
    suffix = new_suffix()
    temporary, *partial = [partial_of(destination, suffix) for destination in (target, *final)]
    others = iter(partial)
    at = tuple(temporary if name == "." else next(others) for name in listed)
    with ExitStack() as locks:
        try:
            for directory in (temporary, *partial):
                with writing(directory):
                    make_alone(make_directory, directory, locks)
            yield Destination(temporary, at, listed, graph_id)
            sync_all((*partial, temporary))
            for now, name in zip(partial, final, strict=True):
                rename(now, name)
            sync_all(name.parent for name in final)
            rename(temporary, target)  # the last: what the manifest lists is there
        except BaseException:
            if os.path.lexists(temporary):  # else it has become the graph
                with interrupts.held():  # a second Ctrl-C comes soon after the first
                    for directory in (*partial, *final, temporary):
                        shutil.rmtree(directory, ignore_errors=True)
            raise
    try:
        sync_directory(target.parent)
    except ParameterError as error:
        raise ParameterError(f"{target} has been written, but a loss of power may undo it: {error}") from error


def disk_roots(disks: Sequence[PathLike]) -> tuple[str, ...]:
    """`disks` as absolute directories without links; ``"."``, the graph directory, as it is.

    Raises
    ------
    ParameterError
        If one is absent, cannot be written or stands there twice.
    """
    if isinstance(disks, (str, bytes, os.PathLike)) or not 1 <= len(disks) <= MAX_DISKS:
        raise ParameterError(f"disks={disks!r}: give a list of 1 to {MAX_DISKS} directories")
    known: dict[object, PathLike] = {}
    roots = []
    for disk in disks:
        root, which = root_of(disk)
        if which in known:
            raise ParameterError(f"disk {disk} is listed twice (also as {known[which]}); list each directory once")
        known[which] = disk
        roots.append(root)
    return tuple(roots)


def root_of(disk: PathLike) -> tuple[str, object]:
    """The directory of a disk, absolute, and what tells it from others."""
    if os.fspath(disk) == ".":
        return ".", "."
    try:
        root = os.path.realpath(disk)
        status = os.stat(root)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise ParameterError(f"disk {disk}: {reason(error)}; mount it, or leave it out") from None
    if not os.path.isdir(root):
        raise ParameterError(f"disk {disk}: not a directory; give a directory on the disk")
    if not os.access(root, os.W_OK | os.X_OK):
        raise ParameterError(f"disk {disk}: cannot be written; mount it for writing and allow it, or leave it out")
    return root, (status.st_dev, status.st_ino)


def directories(roots: Sequence[str], graph: PathLike, graph_id: uuid.UUID) -> tuple[str, ...]:
    """The graph's directory on each disk, as its manifest lists them."""
    name = f"{os.path.basename(os.path.abspath(graph))}-{graph_id.hex[:8]}"
    listed = tuple(root if root == "." else os.path.join(root, name) for root in roots)
    for directory in listed:
        if directory != "." and not is_plain_absolute(directory):
            raise ParameterError(f"{directory}: too long a name for a disk's directory; choose a shorter one")
    return listed


def write_blocks(
    destination: Destination,
    manifest: Manifest,
    name: str,
    dtype: np.dtype[Any],
    length: int,
    encoding: tuple[str, int],
    block_bytes: int,
    blocks: Iterable[Array],
    progress: Progress,
) -> None:
    """Write the blocks of an array, its index, and its entry in the manifest. All of it outlasts a loss of power.

    Parameters
    ----------
    place : Place
    manifest : Manifest
        Of which `graph_id` and `generation` are needed; `arrays` gets the array.
    name : str
    dtype : dtype
    length : int
        Elements.
    encoding : tuple of (str, int)
        Name and version.
    block_bytes : int
        Raw bytes of a block.
    blocks : iterable of ndarray of uint8
        The stored bytes of each, in order; each is written before the next is asked for.
    progress : Progress
        Advances by raw bytes.

    Raises
    ------
    ParameterError
        If a file cannot be written. What has been is left to the caller (see `creating`).
    """
    key, size = identity(manifest.graph_id, manifest.generation), length * dtype.itemsize
    data, index_name = file_names(name, manifest.generation)
    entries = []
    with ExitStack() as stack:
        files = [stack.enter_context(NewFile(disk / data)) for disk in destination.disks]
        for block, stored in enumerate(blocks):
            disk = disk_of(name, block, len(files))
            entries.append((files[disk].size, len(stored), disk, checksum(key, name, block, stored)))
            files[disk].write(stored.data)
            progress.advance(min(block_bytes, size - block * block_bytes))
        for file in files:
            file.sync()
    index = np.array(entries, INDEX_DTYPE)
    write_file(destination.folder / index_name, index.tobytes())
    manifest.arrays[name] = StoredArray(
        name=name,
        dtype=dtype,
        length=length,
        encoding=encoding,
        block_bytes=block_bytes,
        stored_bytes=int(index["length"].sum(dtype=np.int64)),
        data=data,
        index=index_name,
        index_checksum=xxhash.xxh3_64_intdigest(index.tobytes()),
    )


def file_names(name: str, generation: int) -> tuple[str, str]:
    """The names of an array's data and index files."""
    stem = f"{name}.{generation}" if generation else name
    return f"{stem}.data", f"{stem}.index"


def write_manifest(destination: Destination, manifest: Manifest, name: str = manifests.NAME) -> Manifest:
    """Write the manifest, when all arrays have been, to the file `name`; with how fast the disks have become."""
    manifest = replace(manifest, k=measured_k(destination, manifest))
    write_file(destination.folder / name, manifests.serialize(manifest))
    return manifest


def measured_k(destination: Destination, manifest: Manifest) -> float | None:
    """How much faster than at random places the data just written are read one after another; None for few data."""
    files = [[disk / array.data for array in manifest.arrays.values()] for disk in destination.disks]
    if any(sum(file.stat().st_size for file in on_disk) < MEASURE_BYTES for on_disk in files):
        return None
    return read_ratio(files, MEASURE_SECONDS)


class NewFile:
    """A file that did not exist, written from its beginning on; errors name it."""

    def __init__(self, path: Path) -> None:
        self._path, self.size = path, 0
        with writing(path):
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, *failure: object) -> None:
        with writing(self._path):
            os.close(self._handle)

    def write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        with writing(self._path):
            while len(view):
                count = os.write(self._handle, view)
                view, self.size = view[count:], self.size + count

    def sync(self) -> None:
        with writing(self._path):
            os.fsync(self._handle)


def write_file(path: Path, data: bytes) -> None:
    with NewFile(path) as file:
        file.write(data)
        file.sync()


def make_directory(path: Path) -> None:
    with writing(path):
        os.mkdir(path)


def rename(path: Path, target: Path) -> None:
    with writing(target):
        os.rename(path, target)


def sync_all(directories: Iterable[PathLike]) -> None:
    for directory in directories:
        sync_directory(directory)


def sync_directory(path: PathLike) -> None:
    with writing(path):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def writing(path: PathLike) -> Iterator[None]:
    """Turn the system's errors into one that names `path`."""
    try:
        yield
    except FileExistsError:
        raise already_exists(path) from None
    except GaraphError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        room = "free space there or " if isinstance(error, OSError) and error.errno in FULL else ""
        problem = f"{path}: cannot be written ({reason(error)}); {room}choose another directory"
        raise ParameterError(problem) from error


def already_exists(path: PathLike) -> ParameterError:
    return ParameterError(f"{path} already exists; remove it or choose another name")
