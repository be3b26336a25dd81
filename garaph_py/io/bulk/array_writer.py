"""Write an array of a graph directory while it is made: a background thread does the writing."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.blocks import KIND_OF, cut
from ...codec.pack import pack
from ...native.threads import ThreadPool
from ...storage.blocks import BLOCK_BYTES, PACKED_1, RAW_1, ArrayLayout
from ...storage.encode import raw_blocks
from ...storage.manifest import Manifest
from ...storage.progress import Progress
from ...storage.write import Destination, write_blocks
from ...system.threads import start

Array = npt.NDArray[Any]

CHUNK_BYTES = 4 * BLOCK_BYTES
"""Elements are packed and written in chunks of this many bytes."""
CHUNKS_WAITING = 1
"""Packed chunks that may wait for the background thread; the caller of `put` waits when there are more."""
WRITER_BYTES = 2 * (CHUNKS_WAITING + 2) * CHUNK_BYTES
"""Peak memory of one writer, in bytes: one chunk being filled, those waiting and one being written, raw and packed."""


@dataclass(frozen=True)
class WriteTarget:
    """What the writers of one import share.

    Attributes
    ----------
    destination : Destination
    manifest : Manifest
        A writer adds its array when that has been written.
    progress : Progress
    pool : ThreadPool
        The threads that pack chunks.
    """

    destination: Destination
    manifest: Manifest
    progress: Progress
    pool: ThreadPool


class BackgroundArrayWriter:
    """Write one array from consecutive pieces.

    The calling thread collects the pieces into chunks and packs them with the thread pool; a background thread writes
    the chunks' blocks.

    Parameters
    ----------
    target : WriteTarget
    name : str
        The array's name in the graph directory.
    dtype : dtype
    length : int
        Upper bound on the number of elements.
    packed : bool
        Store packed blocks. The array must be of a kind that can be packed, and all its numbers must fit.
    begins : callable, optional
        For arrays of lists: ``list_starts(start, stop)`` gives the positions in [start, stop) where a list starts; see
        `adjacency.AdjacencyBuilder.list_starts`.

    Raises
    ------
    ParameterError
        From any method, if the array cannot be written.
    DeviceError
        If the thread that writes it cannot be started.
    """

    def __init__(
        self,
        target: WriteTarget,
        name: str,
        dtype: np.dtype[Any],
        length: int,
        packed: bool,
        list_starts: Callable[[int, int], Array] | None = None,
    ) -> None:
        self._target, self._name, self._dtype, self._length = target, name, dtype, length
        self._packed, self._list_starts = packed, list_starts
        self._chunk: Array | None = None
        self._filled = self._start = self._before = 0
        self._chunks: queue.Queue[Callable[[], Iterator[Array]] | None] = queue.Queue(CHUNKS_WAITING)
        self._ended = False  # the thread has taken the last chunk
        self._error: BaseException | None = None
        self._thread = start(f"garaph-write {name}", self._write)

    def put(self, array: Array) -> None:
        """Append elements; they are copied."""
        room = CHUNK_BYTES // self._dtype.itemsize
        done = 0
        while done < len(array):
            if self._chunk is None:
                self._chunk = np.empty(min(room, self._length - self._start), self._dtype)
            count = min(len(self._chunk) - self._filled, len(array) - done)
            self._chunk[self._filled : self._filled + count] = array[done : done + count]
            self._filled, done = self._filled + count, done + count
            if self._filled == room:
                self._send()

    def _send(self) -> None:
        assert self._chunk is not None
        chunk, self._chunk = self._chunk[: self._filled], None
        blocks: Callable[[], Iterator[Array]] = partial(raw_blocks, chunk, BLOCK_BYTES)
        if self._packed:
            list_starts = (
                None if self._list_starts is None else self._list_starts(self._start, self._start + len(chunk))
            )
            kind = KIND_OF[self._name]
            packed = pack(chunk, kind, self._target.pool, list_starts, self._start, self._before)
            assert packed is not None
            inside = None if list_starts is None else list_starts - self._start
            blocks = partial(cut, packed, BLOCK_BYTES // self._dtype.itemsize, inside)
            self._before = int(chunk[-1])
        self._start, self._filled = self._start + len(chunk), 0
        self._chunks.put(blocks)
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Write what is left, and wait until the array is on its disks and in the manifest."""
        if self._filled:
            self._send()
        self.close()
        self._raise_error()

    def close(self) -> None:
        """End the thread, whether or not the array is complete."""
        if self._thread.is_alive():
            self._chunks.put(None)
        self._thread.join()

    def _blocks(self) -> Iterator[Array]:
        while (blocks := self._chunks.get()) is not None:
            yield from blocks()
        self._ended = True

    def _write(self) -> None:
        encoding = PACKED_1 if self._packed else RAW_1
        target, name = self._target, self._name
        try:
            layout = ArrayLayout(name, self._dtype, self._length, encoding, BLOCK_BYTES)
            blocks, place = self._blocks(), target.destination
            write_blocks(place, target.manifest, layout, blocks, target.progress, lambda: self._start)
        except BaseException as error:
            self._error = error
            while not self._ended:  # empty the queue, so that `put` does not wait for ever
                self._ended = self._chunks.get() is None
