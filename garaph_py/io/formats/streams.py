"""Bytes out of and into plain and compressed files; text cut into blocks of whole lines."""

from __future__ import annotations

import gzip
import io
import lzma
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from ...errors import FormatError
from .format import malformed

T = TypeVar("T")
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}
COMPRESSED_SUFFIXES = (".gz", ".zst", ".xz")
LONGEST_LINE = 1 << 20


def compression(beginning: bytes) -> str | None:
    """``"gzip"``, ``"zstd"`` or ``"xz"``, told by how the file begins, whatever it is called."""
    return next((name for magic, name in COMPRESSIONS.items() if beginning.startswith(magic)), None)


def decompressed(raw: io.BufferedReader) -> IO[bytes]:
    """The contents of an open file; the position in `raw` tells how much of the file has been used."""
    import pyarrow as pa

    method = compression(raw.peek(6))
    if method is None:
        return raw
    if method == "xz":
        return lzma.LZMAFile(raw)
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), method), 1 << 18)


@contextmanager
def compressing(file: IO[bytes], path: Path) -> Iterator[Any]:
    """What to write to, so that `file` becomes compressed as the suffix of `path` says."""
    import pyarrow as pa

    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
            yield stream
    elif suffix == ".xz":
        with lzma.LZMAFile(file, "wb") as stream:
            yield stream
    elif suffix == ".zst":
        own = os.fdopen(os.dup(file.fileno()), "wb")  # pyarrow closes what it writes to
        with pa.CompressedOutputStream(pa.PythonFile(own, mode="w"), "zstd") as stream:
            yield stream
    else:
        yield file


def opening_bytes(path: Path, count: int) -> bytes:
    """The first `count` bytes of the contents of a file, or all there are."""
    with malformed(path, "not readable"), open(path, "rb") as raw, decompressed(raw) as stream:
        return stream.read(count)


def line_blocks(path: Path, stream: IO[bytes], size: int) -> Iterator[bytes]:
    r"""Consecutive blocks of about `size` bytes that end where lines end, with ``\n`` as line end.

    Raises
    ------
    FormatError
        If the stream is cut off or damaged, or a line exceeds `LONGEST_LINE`.
    """
    while True:
        with malformed(path, "the compressed data end early or are damaged; fetch or make the file again"):
            block = stream.read(size)
            rest = b"" if len(block) < size else stream.readline(LONGEST_LINE)
        if not block:
            return
        if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
            raise FormatError(path, f"a line of more than {LONGEST_LINE:,} bytes; this is no list of edges")
        block = block + rest if rest else block
        yield block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def parsed_in_order(parse: Callable[[bytes], T], blocks: Iterable[bytes], threads: int) -> Iterator[Future[T]]:
    """``parse(block)`` of every block, by several threads that run a little ahead; finished or failed, in order."""
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="garaph-read")
    try:
        for block in blocks:
            waiting.append(pool.submit(parse, block))
            if len(waiting) > 2 * threads:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:  # not waiting: a generator left behind by an error is closed by whatever thread happens to collect it
        pool.shutdown(wait=False, cancel_futures=True)
