"""An array of a graph directory that is written as it comes, by a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.blocks import KIND_OF, cut
from ...codec.pack import pack
from ...native.threads import ThreadPool
from ...storage.blocks import BLOCK_BYTES, PACKED_1, RAW_1
from ...storage.encode import raw_blocks
from ...storage.manifest import Manifest
from ...storage.progress import Progress
from ...storage.write import Destination, write_blocks

Array = npt.NDArray[Any]

CHUNK_BYTES = 4 * BLOCK_BYTES
CHUNKS_WAITING = 1
WRITER_BYTES = 2 * (CHUNKS_WAITING + 2) * CHUNK_BYTES
"""Of memory that one takes, at most: chunks that are filled, wait and are written, raw and packed."""


@dataclass(frozen=True)
class WriteTarget:
    """Where and how arrays are written.

    Attributes
    ----------
    place : Place
    manifest : Manifest
        Gets each array when it has been written.
    progress : Progress
    pool : ThreadPool
        To pack with.
    """

    destination: Destination
    manifest: Manifest
    progress: Progress
    pool: ThreadPool


class BackgroundArrayWriter:
    """Takes an array piece by piece; its blocks are packed by the caller's team and written behind its back.

    Parameters
    ----------
    output : Output
    name : str
        As in the format.
    dtype : dtype
    length : int
        Elements that will come at most.
    packed : bool
        The array can be and is to be packed, and all its numbers fit.
    begins : callable, optional
        For lists: ``list_starts(start, stop)`` says where they begin, as `adjacency.AdjacencyBuilder` does.

    Raises
    ------
    ParameterError
        From any call, if the array cannot be written.
    """

    def __init__(
        self,
        output: WriteTarget,
        name: str,
        dtype: np.dtype[Any],
        length: int,
        packed: bool,
        list_starts: Callable[[int, int], Array] | None = None,
    ) -> None:
        self._output, self._name, self._dtype, self._length = output, name, dtype, length
        self._packed, self._begins = packed, list_starts
        self._chunk: Array | None = None
        self._filled = self._start = self._before = 0
        self._chunks: queue.Queue[Callable[[], Iterator[Array]] | None] = queue.Queue(CHUNKS_WAITING)
        self._ended = False  # all chunks have been taken
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name=f"garaph-write {name}", daemon=True)
        self._thread.start()

    def put(self, array: Array) -> None:
        """The next elements, which are copied."""
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
            list_starts = None if self._begins is None else self._begins(self._start, self._start + len(chunk))
            kind = KIND_OF[self._name]
            packed = pack(chunk, kind, self._output.pool, list_starts, self._start, self._before)
            assert packed is not None
            inside = None if list_starts is None else list_starts - self._start
            blocks = partial(cut, packed, BLOCK_BYTES // self._dtype.itemsize, inside)
            self._before = int(chunk[-1])
        self._start, self._filled = self._start + len(chunk), 0
        self._chunks.put(blocks)
        self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Wait until the array, all of which has come, is on its disks and in the manifest."""
        if self._filled:
            self._send()
        self.close()
        self._raise()

    def close(self) -> None:
        """End the thread, whether or not all has come."""
        if self._thread.is_alive():
            self._chunks.put(None)
        self._thread.join()

    def _blocks(self) -> Iterator[Array]:
        while (blocks := self._chunks.get()) is not None:
            yield from blocks()
        self._ended = True

    def _write(self) -> None:
        encoding = PACKED_1 if self._packed else RAW_1
        output, name = self._output, self._name
        try:
            write_blocks(
                output.destination,
                output.manifest,
                name,
                self._dtype,
                self._length,
                encoding,
                BLOCK_BYTES,
                self._blocks(),
                output.progress,
            )
            arrays = output.manifest.arrays
            arrays[name] = replace(arrays[name], length=self._start)  # which may be less than was expected
        except BaseException as error:
            self._error = error
            while not self._ended:  # the caller must not wait for room
                self._ended = self._chunks.get() is None
