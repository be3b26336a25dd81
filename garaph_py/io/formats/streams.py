"""Read and write plain and compressed files, and cut text into blocks of whole lines."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from ... import events
from ...errors import FormatError
from ...system.threads import submit
from .format import malformed
from .windows import GZIP_MAGIC, XZ_MAGIC, ZSTD_MAGIC, decoder_memory

T = TypeVar("T")
COMPRESSIONS = {GZIP_MAGIC: "gzip", ZSTD_MAGIC: "zstd", XZ_MAGIC: "xz"}
COMPRESSED_SUFFIXES = (".gz", ".zst", ".xz")
XZ_MEMORY = 66 << 20
"""Most bytes of memory for decompressing xz: ``xz -9``, whose dictionary has 64 MiB, takes 65 MiB. The library for zstd
has a limit of its own: windows of 128 MiB (``--long=27``)."""
LONGEST_LINE = 1 << 20
"""Most bytes of a line; a file with longer lines is no edge list."""


class BadLine(ValueError):
    """A line of a block that cannot be parsed.

    Attributes
    ----------
    line : int or None
        Its number within the block, from 0; None if every line can be parsed, but not all of them together.
    text : str or None
        Its text, for the message.
    """

    def __init__(self, line: int | None, problem: str, text: str | None = None) -> None:
        super().__init__(problem)
        self.line, self.text = line, text


def compression(beginning: bytes) -> str | None:
    """``"gzip"``, ``"zstd"`` or ``"xz"``, recognized by the first bytes of a file; None if it is not compressed."""
    return next((name for magic, name in COMPRESSIONS.items() if beginning.startswith(magic)), None)


def decompressed(raw: io.BufferedReader, xz_memory: int = XZ_MEMORY) -> IO[bytes]:
    """The decompressed contents of an open file; the position of `raw` shows how much of it has been read."""
    import pyarrow as pa

    method = compression(raw.peek(6))
    if method is None:
        return raw
    if method == "xz":
        return io.BufferedReader(XzReader(raw, xz_memory), 1 << 18)
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), method), 1 << 18)


class XzReader(io.RawIOBase):
    """The decompressed contents of an xz file of one stream or several. Unlike `lzma.LZMAFile`, it bounds `memory`."""

    def __init__(self, raw: io.BufferedReader, memory: int) -> None:
        self._raw, self._memory, self._stream = raw, memory, lzma.LZMADecompressor(memlimit=memory)

    def readable(self) -> bool:
        return True

    def readinto(self, out: Any) -> int:
        while True:
            given = b""
            if self._stream.eof:
                rest = (self._stream.unused_data or self._raw.read(1 << 18)).lstrip(b"\0")  # streams may be padded
                if not rest and not self._raw.peek(1):
                    return 0
                given, self._stream = rest, lzma.LZMADecompressor(memlimit=self._memory)
            elif self._stream.needs_input and not (given := self._raw.read(1 << 18)):
                raise EOFError("the last stream of xz has no end")
            if found := self._stream.decompress(given, len(out)):
                out[: len(found)] = found
                return len(found)


@contextmanager
def decoding(path: Path, problem: str) -> Iterator[None]:
    """`malformed`, with an error of its own for compressed data that would take too much memory."""
    with malformed(path, problem):
        try:
            yield
        except (OSError, lzma.LZMAError) as error:
            if "memory" not in str(error).lower():
                raise
            problem = f"decompressing it takes too much memory ({str(error).splitlines()[0]})"
            raise FormatError(path, f"{problem}; compress it again, at most with xz -9 or zstd --long=27") from None


@contextmanager
def compressing(file: IO[bytes], path: Path) -> Iterator[Any]:
    """A stream to write to that compresses into `file` as the suffix of `path` says."""
    import pyarrow as pa

    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
            yield stream
    elif suffix == ".xz":
        with lzma.LZMAFile(file, "wb") as stream:
            yield stream
    elif suffix == ".zst":
        own = os.fdopen(os.dup(file.fileno()), "wb")  # pyarrow closes the file that it writes to
        with pa.CompressedOutputStream(pa.PythonFile(own, mode="w"), "zstd") as stream:
            yield stream
    else:
        yield file


def opening_bytes(path: Path, count: int) -> bytes:
    """The first `count` bytes of the decompressed contents of a file; fewer if it is shorter."""
    with decoding(path, "not readable"), open(path, "rb") as raw, decompressed(raw) as stream:
        return stream.read(count)


def uncompressed_size(path: Path) -> int | None:
    """The size of a file in bytes; None if it is compressed, so that its size says little about its contents."""
    with open(path, "rb") as file:
        return path.stat().st_size if compression(file.read(6)) is None else None


def text_blocks(path: Path, size: int, listener: events.Listener, bounded: bool = False) -> Iterator[bytes]:
    """The decompressed contents of a file in blocks of whole lines, of about `size` bytes.

    If memory is `bounded`, decompressing takes no more than `decoder_memory` says.
    """
    with ExitStack() as files:
        with malformed(path, "not readable"):  # not what follows: it would include exceptions of a listener
            total = path.stat().st_size
            raw = open(path, "rb")  # noqa: SIM115 - `files` closes it
            files.callback(close, raw)
            stream = decompressed(raw, min(decoder_memory(path), XZ_MEMORY) if bounded else XZ_MEMORY)
            files.callback(close, stream)
        for block in line_blocks(path, stream, size):
            listener(events.Step("reading", min(raw.tell(), total - 1), total))
            yield block
    listener(events.Step("reading", total, total))


def close(file: IO[bytes]) -> None:
    """Close a file that was read: an error would concern writes, and nothing was written."""
    with suppress(OSError):
        file.close()


def find_line(pattern: re.Pattern[bytes], blocks: Iterable[bytes]) -> tuple[bytes | None, bytes, int]:
    """The first line that matches `pattern`, the rest of its block, and the line's number (from 1).

    Without such a line: None, no bytes, and the number of lines plus one.
    """
    line = 1
    for block in blocks:
        if found := pattern.search(block):
            return found.group(), block[found.end() + 1 :], line + block.count(b"\n", 0, found.start())
        line += block.count(b"\n")
    return None, b"", line


def line_number(path: Path, index: int, counts: Callable[[bytes], bool]) -> int:
    """The number (from 1) of the line with this `index` (from 0) among the lines for which ``counts(line)`` is true.

    It reads the file again; for error messages.
    """
    line = 0
    for block in text_blocks(path, 4 << 20, events.ignore):
        for text in io.BytesIO(block):
            line += 1
            if counts(text.removesuffix(b"\n")):
                index -= 1
                if index < 0:
                    return line
    raise FormatError(path, "it was changed while it was read; read it again")


def line_blocks(path: Path, stream: IO[bytes], size: int) -> Iterator[bytes]:
    r"""Consecutive blocks of whole lines, of about `size` bytes; every line end becomes ``\n``.

    Raises
    ------
    FormatError
        If the stream is cut off or damaged, or a line exceeds `LONGEST_LINE`.
    """
    while True:
        with decoding(path, "the compressed data end early or are damaged; fetch or make the file again"):
            block = stream.read(size)
            rest = b"" if len(block) < size else stream.readline(LONGEST_LINE)
        if not block:
            return
        if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
            raise FormatError(path, f"a line of more than {LONGEST_LINE:,} bytes; this is no list of edges")
        block = block + rest if rest else block
        yield block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def parsed_in_order(
    path: Path, parse: Callable[[bytes], T], blocks: Iterable[bytes], threads: int, line: int, lines: Callable[[T], int]
) -> Iterator[tuple[int, T]]:
    """Parse blocks with several threads, a few blocks ahead; yield the results in order, with their first line numbers.

    Parameters
    ----------
    parse : callable
        May raise `BadLine`, which becomes a `FormatError` with the line's number.
    line : int
        Number of the first line of the first block.
    lines : callable
        ``lines(result)`` returns the number of lines of a block.
    """
    for future in submitted_in_order(parse, blocks, threads):
        try:
            result = future.result()
        except BadLine as error:
            number = None if error.line is None else line + error.line
            raise FormatError(path, str(error), line=number, text=error.text) from None
        yield line, result
        line += lines(result)


def submitted_in_order(parse: Callable[[bytes], T], blocks: Iterable[bytes], threads: int) -> Iterator[Future[T]]:
    """The futures of ``parse(block)`` for every block, in order; at most ``2 * threads`` blocks wait."""
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="garaph-read")
    try:
        for block in blocks:
            waiting.append(submit(pool, parse, block))
            if len(waiting) > 2 * threads:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:  # do not wait: after an error any thread may close this generator, when it is garbage-collected
        pool.shutdown(wait=False, cancel_futures=True)
