"""Write the files of a graph: make a new graph directory atomically, and spread an array's blocks over the disks."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from ..codec.format import RECORD_BYTES
from ..errors import GaraphError, ParameterError
from ..system import interrupts
from ..system.files import make_locked, make_names_durable, no_directory, try_lock
from ..system.machine import read_ratio
from . import manifest as manifests
from .blocks import INDEX_DTYPE, PACKED_1, ArrayLayout, StoredArray, StoredFile, checksum, disk_of, identity
from .files import FULL, reason
from .limits import BlockLimits
from .manifest import MAX_DISKS, Manifest, is_plain_absolute
from .parts import records_of
from .progress import Progress
from .sums import sums
from .unfinished import final_name, new_suffix, sweep, temporary_name, writer_of

Array = npt.NDArray[Any]
PathLike = str | os.PathLike[str]

HERE = (".",)
"""Default for `disks`: all blocks are in the graph directory itself."""
TURN_SECONDS = 1.0
"""Seconds to wait while others lock the folder of a new graph, each for milliseconds, to see whether they are alone."""
MEASURE_SECONDS = 0.4
"""Time for measuring the speed of the disks, in seconds."""
MEASURE_BYTES = 1 << 26
"""Minimal bytes of data on a disk for measuring its speed: reads of less data would measure the disk's cache."""


@dataclass(frozen=True)
class Destination:
    """The directories into which a graph is written.

    Attributes
    ----------
    folder : Path
        The graph directory: receives the index files and the manifest.
    disks : tuple of Path
        The graph's directory on each disk: receives the data files.
    listed : tuple of str
        The final names of `disks`, as the manifest lists them.
    graph_id : uuid.UUID
    """

    folder: Path
    disks: tuple[Path, ...]
    listed: tuple[str, ...]
    graph_id: uuid.UUID


@contextmanager
def creating(path: PathLike | Destination, disks: Sequence[PathLike] = HERE) -> Iterator[Destination]:
    """Make a graph directory atomically: the caller writes to the `Destination`, which becomes `path` at the end.

    If the caller or this function fails, all files of the new graph are removed. A caller that is creating the graph
    already may pass its `Destination` as `path`; this function then does nothing.

    Raises
    ------
    ParameterError
        If `path` exists already or is being written, a disk cannot be used, or a file cannot be written.
    """
    if isinstance(path, Destination):
        yield path
        return
    target, roots, graph_id = Path(path), disk_roots(disks), uuid.uuid4()
    if not target.parent.exists():
        raise ParameterError(no_directory(target, target.parent))
    listed = directories(roots, target, graph_id)
    final = [Path(name) for name in listed if name != "."]
    sweep(target, roots)
    suffix = new_suffix()
    temporary, *partial = [temporary_name(destination, suffix) for destination in (target, *final)]
    others = iter(partial)
    at = tuple(temporary if name == "." else next(others) for name in listed)
    with ExitStack() as locks:
        try:
            with writing(target.parent), try_lock(os.path.realpath(target.parent), TURN_SECONDS) as alone:
                if alone and (other := writer_of(target)):
                    raise ParameterError(f"{target} is being written, at {other}; wait for it, or choose another name")
                for directory in (target, *final):  # now, because that writer may just have finished
                    if os.path.lexists(directory):
                        raise already_exists(directory)
                for directory in (temporary, *partial):
                    with writing(directory):
                        make_locked(make_directory, directory, locks)
            yield Destination(temporary, at, listed, graph_id)
            sync_all((*partial, temporary))
            if partial:  # the next writer finds directories that were renamed on disks only by way of `temporary`
                sync_directory(target.parent)
            for now, name in zip(partial, final, strict=True):
                rename(now, name)
            sync_all(name.parent for name in final)
            rename(temporary, target)  # last, so that all directories that the manifest lists exist
        except BaseException:
            if os.path.lexists(temporary):  # else it has become the graph
                with interrupts.Deferred():  # a second Ctrl-C comes soon after the first
                    for directory in (*partial, *final, temporary):
                        shutil.rmtree(directory, ignore_errors=True)
            raise
    try:
        sync_directory(target.parent)
    except ParameterError as error:
        raise ParameterError(f"{target} has been written, but a loss of power may undo it: {error}") from error


def disk_roots(disks: Sequence[PathLike]) -> tuple[str, ...]:
    """`disks` as absolute paths without symbolic links; ``"."``, the graph directory, stays as it is.

    Raises
    ------
    ParameterError
        If one is absent, cannot be written or is listed twice.
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
    """The absolute path of a disk's directory, and a key that is equal for two paths to the same directory."""
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
    """The graph's directory on each disk, as the manifest lists it."""
    name = f"{os.path.basename(os.path.abspath(graph))}-{graph_id.hex[:8]}"
    listed = tuple(root if root == "." else os.path.join(root, name) for root in roots)
    for directory in listed:
        if directory != "." and not is_plain_absolute(directory):
            raise ParameterError(f"{directory}: too long a name for a disk's directory; choose a shorter one")
    return listed


def write_blocks(
    destination: Destination,
    manifest: Manifest,
    array: ArrayLayout,
    blocks: Iterable[Array],
    progress: Progress,
    length: Callable[[], int] | None = None,
) -> None:
    """Write the blocks of an array and its index, sync them to disk, and add the array to `manifest`.

    Of an array of edges, it also writes what it takes to read parts of blocks (storage/parts.py), unless the manifest
    is of version 1.

    Parameters
    ----------
    destination : Destination
    manifest : Manifest
        Gives `graph_id` and `generation`; its `arrays` receives the array.
    array : ArrayLayout
    blocks : iterable of ndarray of uint8
        The stored bytes of each block, in order. Each block is written before the next one is requested.
    progress : Progress
        Advances by raw bytes.
    length : callable, optional
        The number of elements, if it is known only when all blocks have been requested; `array` then has a bound on it.

    Raises
    ------
    ParameterError
        If a file cannot be written. The caller removes the files written so far (see `creating`).
    """
    name, key = array.name, identity(manifest.graph_id, manifest.generation)
    data, index_name = file_names(name, manifest.generation)
    entries, last = list[tuple[int, int, int, int]](), None
    with ExitStack() as stack:
        files = [stack.enter_context(NewFile(disk / data)) for disk in destination.disks]
        kinds = manifests.files_beside(name, manifest.version, array.encoding == PACKED_1)
        parts = PartsWriter(destination.folder, array, kinds, manifest.generation, stack)
        for block, stored in enumerate(blocks):
            if last is not None:
                parts.put(last, entries[-1][0], array.bounds(0)[1])
            disk, last = disk_of(name, block, len(files)), stored
            entries.append((files[disk].size, len(stored), disk, checksum(key, name, block, stored)))
            files[disk].write(stored.data)
            progress.advance(min(array.block_bytes, array.raw_bytes - block * array.block_bytes))
        if length is not None:
            array = replace(array, length=length())
        if last is not None:
            first, end = array.bounds(len(entries) - 1)
            parts.put(last, entries[-1][0], end - first)
        for file in files:
            file.sync()
        beside = parts.finish()
    index = np.array(entries, INDEX_DTYPE)
    write_file(destination.folder / index_name, index.tobytes())
    manifest.arrays[name] = StoredArray(
        name,
        array.dtype,
        array.length,
        array.encoding,
        array.block_bytes,
        stored_bytes=int(index["length"].sum(dtype=np.int64)),
        data=data,
        index=index_name,
        index_checksum=xxhash.xxh3_64_intdigest(index.tobytes()),
        **beside,
    )


def file_names(name: str, generation: int, kinds: Sequence[str] = ("data", "index")) -> tuple[str, ...]:
    """The names of an array's files of these `kinds`."""
    stem = f"{name}.{generation}" if generation else name
    return tuple(f"{stem}.{kind}" for kind in kinds)


def write_manifest(destination: Destination, manifest: Manifest, name: str = manifests.NAME) -> Manifest:
    """Write the manifest to the file `name`, after all arrays; add the measured speed of the disks (`Manifest.k`)."""
    manifest = replace(manifest, k=measured_k(destination, manifest))
    write_file(destination.folder / name, manifests.serialize(manifest))
    return manifest


def measured_k(destination: Destination, manifest: Manifest) -> float | None:
    """The ratio of sequential to random read speed, measured on the new data; None if there are too few data."""
    files = [[disk / array.data for array in manifest.arrays.values()] for disk in destination.disks]
    if any(sum(file.stat().st_size for file in on_disk) < MEASURE_BYTES for on_disk in files):
        return None
    return read_ratio(files, MEASURE_SECONDS)


class PartsWriter:
    """Writes the files about parts of an array's blocks (storage/parts.py), and finds its limits, block by block.

    Parameters
    ----------
    folder : Path
        The graph directory.
    array : ArrayLayout
    kinds : sequence of str
        The kinds of files to write: see `manifest.files_beside`.
    generation : int
        That of the array, which is in the files' names.
    stack : ExitStack
        Closes the files.
    """

    # wide: which files of which array, and where
    def __init__(
        self, folder: Path, array: ArrayLayout, kinds: Sequence[str], generation: int, stack: ExitStack
    ) -> None:
        self._limits, self._kinds = BlockLimits(array), kinds
        self._names = file_names(array.name, generation, kinds)
        self._files = [stack.enter_context(NewFile(folder / name)) for name in self._names]
        self._hashes = [xxhash.xxh3_64() for _ in self._files]

    def put(self, stored: Array, offset: int, count: int) -> None:
        """Add the next block: `stored` bytes from `offset` on in a data file, which hold `count` elements."""
        self._limits.put(stored, count)
        if not self._files:
            return
        written = sums(stored, offset).tobytes(), stored[: records_of(count) * RECORD_BYTES].tobytes()
        for file, known, data in zip(self._files, self._hashes, written, strict=False):
            file.write(data)
            known.update(data)

    def finish(self) -> dict[str, Any]:
        """Sync the files to disk; return the fields of `StoredArray` that name them, and its limits."""
        for file in self._files:
            file.sync()
        checksums = [known.intdigest() for known in self._hashes]
        files = zip(self._kinds, map(StoredFile, self._names, checksums), strict=True)
        return {**dict(files), "limits": self._limits.found}


class NewFile:
    """A new file, written sequentially; errors name it."""

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
        make_names_durable(path)


@contextmanager
def writing(path: PathLike) -> Iterator[None]:
    """Turn an `OSError` of the body into a `ParameterError` that names `path`."""
    try:
        yield
    except FileExistsError:
        raise already_exists(path) from None
    except GaraphError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        room = "free space there or " if isinstance(error, OSError) and error.errno in FULL else ""
        problem = f"{final_name(path)}: cannot be written ({reason(error)}); {room}choose another directory"
        raise ParameterError(problem) from error


def already_exists(path: PathLike) -> ParameterError:
    return ParameterError(f"{path} already exists; remove it or choose another name")
