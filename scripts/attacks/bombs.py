"""Small files that become large when they are decompressed, for every compression that a reader takes.

A bomb must be read, or refused by a typed error that names it. Reading may take twice what the file holds when it is
decompressed and 64 MiB, refusing twice the file and 64 MiB. Each round reads one bomb, in a process of its own; as many
rounds as `BOMBS` has entries read all of them.
"""

from __future__ import annotations

import multiprocessing
import os
import zipfile
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import garaph_py as gp
from attacks import Outcome, reading
from garaph_py.io.formats import FORMATS
from garaph_py.io.formats.streams import COMPRESSED_SUFFIXES, compressing

TEXT_BYTES, EDGES = 64 << 20, 8 << 20
"""Size of a bomb of text, and number of edges of the others: their arrays alone exceed what may be taken beside."""
PATIENCE = 300
"""Seconds after which reading a bomb hangs."""
LINES = {
    "equal edges": b"7\t8\n",
    "equal names": b"somebody\telse\n",
    "blank lines": b"\n",
    "comments": b"# nothing\n% nothing\nc nothing\n",
    "one line of digits": b"7",
    "one line of blanks": b" ",
    "one line of nulls": b"\0",
    "returns": b"\r",
}
"""What a bomb of text repeats."""
CODECS = {"parquet": ("snappy", "gzip", "brotli", "zstd", "lz4", "none"), "arrow": ("lz4", "zstd", "uncompressed")}
NAMES = {"equal edges": 7, "equal names": "somebody with a rather long name"}
"""The end of every edge in a bomb that is a table."""


def valid(path: Path, format: str) -> None:
    """Write a small valid file."""
    weights = next([3, 4] if one.keeps.weights == "required" else None for one in FORMATS if one.name == format)
    gp.write(gp.from_edges([0, 1], [1, 2], weights, directed=False), path, format=format)


def text(path: Path, format: str, line: bytes) -> None:
    """The beginning of a file of the format, and then a line, again and again."""
    valid(path, format)
    with reading.streams.decompressed(open(path, "rb")) as stream:
        head = stream.read()
    block = line * ((1 << 20) // len(line))
    with open(path, "wb") as file, compressing(file, path) as stream:
        stream.write(head)
        for _ in range(TEXT_BYTES // len(block)):
            stream.write(block)


def table(path: Path, format: str, codec: str, end: int | str, by_dictionary: bool) -> None:
    """A table of equal edges, in which a dictionary or long runs stand for nearly everything."""
    ends = pa.array([end]).take(pa.array(np.zeros(1 << 20, np.int32)))
    batch = pa.record_batch([ends, ends], ["source", "target"])
    with open(path, "wb") as file:
        if format == "parquet":
            writer = parquet.ParquetWriter(file, batch.schema, compression=codec, use_dictionary=by_dictionary)
        else:
            options = pa.ipc.IpcWriteOptions(compression=None if codec == "uncompressed" else codec)
            writer = pa.ipc.new_file(file, batch.schema, options=options)
        with writer:
            for _ in range(EDGES >> 20):
                writer.write_batch(batch)


def archive(path: Path, method: int, edges: int) -> None:
    """An archive of equal edges."""
    with zipfile.ZipFile(path, "w", method) as members:
        for name in ("src", "dst"):
            with members.open(f"{name}.npy", "w") as member:
                np.save(member, np.zeros(edges, np.int64))


class Bomb(NamedTuple):
    """What ``write(path)`` writes in a format, with a suffix; it holds so many bytes."""

    format: str
    suffix: str
    write: Callable[[Path], None]
    holds: int


def all_bombs() -> dict[str, Bomb]:
    """The bombs by name."""
    found: dict[str, Bomb] = {}
    for format in FORMATS:
        if format.compresses:
            for second in COMPRESSED_SUFFIXES:
                for what, line in LINES.items():
                    write = partial(text, format=format.name, line=line)
                    found[f"{format.name}{second}, {what}"] = Bomb(
                        format.name, format.suffixes[0] + second, write, TEXT_BYTES
                    )
    for name, codecs in CODECS.items():
        for codec in codecs:
            for what, end in NAMES.items():
                for by_dictionary in (True, False) if name == "parquet" else (False,):
                    write = partial(table, format=name, codec=codec, end=end, by_dictionary=by_dictionary)
                    kind = f"{what}{' in a dictionary' * by_dictionary}"
                    found[f"{name} with {codec}, {kind}"] = Bomb(name, f".{name}", write, 2 * EDGES * bytes_of(end))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        write = partial(archive, method=method, edges=EDGES)
        found[f"npz by method {method}"] = Bomb("npz", ".npz", write, 2 * EDGES * bytes_of(0))
    return found


def bytes_of(end: int | str) -> int:
    """Bytes of an end of an edge in an array; strings have an offset, too."""
    return 8 if isinstance(end, int) else 8 + len(end)


BOMBS = all_bombs()


def attack(seed: int, folder: Path) -> Outcome:
    name = sorted(BOMBS)[seed % len(BOMBS)]
    context = multiprocessing.get_context("spawn")
    reports, far_end = context.Pipe(duplex=False)
    worker = context.Process(target=explode, args=(name, folder, far_end), daemon=True)
    worker.start()
    far_end.close()
    outcome = Outcome()
    try:
        if not reports.poll(PATIENCE):
            worker.kill()
        result, times, note = reports.recv()
    except EOFError:
        worker.join()
        outcome.problems.append(f"bomb {name}: no answer in {PATIENCE} s, or exit status {worker.exitcode}")
        return outcome
    worker.join()
    outcome.counts[f"bombs {result}"] += 1
    if result == reading.BAD or times > 1:
        outcome.problems.append(f"bomb {name}: {times:.2f} times the memory it may take; {result} {note}")
    return outcome


def explode(name: str, folder: Path, reports: Connection) -> None:
    """Write a bomb and read it; the process whose memory is measured."""
    format, suffix, write, holds = BOMBS[name]
    small, bomb = folder / f"small{suffix}", folder / f"bomb{suffix}"
    valid(small, format)
    for _ in range(2):  # what is imported and compiled once counts for nobody
        reading.attempt(small, format)
    write(bomb)
    pa.default_memory_pool().release_unused()
    before = reading.reset_peak()
    result, note, declared = reading.attempt(bomb, format)
    allowed = max(declared, holds) if result == reading.READ else declared
    reports.send((result, reading.times_allowed(before, allowed), note))
    os.unlink(bomb)
