"""Packed blocks for `fuzz`: given to the decoder without checksums, between pages that nobody may touch."""

from __future__ import annotations

import ctypes
import itertools
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from garaph_py.codec.blocks import KIND_OF, PackedBlock, PackedBlocks, UndecodableError, cut
from garaph_py.codec.format import LISTS, PADDING, RECORD, RUN, Packed, decode
from garaph_py.codec.pack import pack
from garaph_py.native.threads import ThreadPool

LENGTHS = (1, 31, 33, RUN, 2 * RUN - 5)
DTYPES = {"in_sources": ("uint32",), "in_offsets": ("int64",), "in_values": ("int32", "uint32", "int64")}
NO_ACCESS = 0
LIBC = ctypes.CDLL(None, use_errno=True)
Parts = dict[str, bytes]


def blocks() -> Iterator[tuple[str, Parts]]:
    """Valid blocks of each kind, in their parts, and for a name: array.dtype.length."""
    rng = np.random.default_rng(1)
    with ThreadPool(1) as pool:
        for name, dtypes in DTYPES.items():
            for length, dtype in itertools.product(LENGTHS, dtypes):
                offsets, numbers = None, rng.integers(0, 5000, length).astype(dtype)
                if name == "in_offsets":
                    numbers.sort()
                if name == "in_sources":
                    inner = np.sort(rng.integers(0, length + 1, length // 9))
                    offsets = np.concatenate([[0], inner, [length]]).astype(np.int64)
                    for begin, end in itertools.pairwise(offsets):
                        numbers[begin:end].sort()
                packed = pack(numbers, KIND_OF[name], pool, offsets)
                assert packed is not None
                (stored,) = cut(packed, 2 * RUN, offsets)
                yield f"{name}.{dtype}.{length}", parts_of(f"{name}.{dtype}.{length}", stored.tobytes())


def encoding_of(entry: str) -> tuple[PackedBlocks, int]:
    name, dtype, length = entry.split(".")
    return PackedBlocks(name, np.dtype(dtype)), int(length)


def parts_of(entry: str, stored: bytes) -> Parts:
    encoding, length = encoding_of(entry)
    masks_at, words_at = -(-length // RUN) * RECORD.itemsize, encoding.words_at(length)
    table = np.frombuffer(stored[:masks_at], RECORD)
    bases, widths = table["base"].tobytes(), table["widths"].tobytes()
    return {"bases": bases, "widths": widths, "masks": stored[masks_at:words_at], "words": stored[words_at:]}


def fitting(entry: str, parts: Parts) -> bytes:
    """A block of whatever is in the parts, whose sizes and places fit each other: what only the kernels can refuse."""
    encoding, length = encoding_of(entry)
    runs = -(-length // RUN)
    mask_bytes = encoding.words_at(length) - runs * RECORD.itemsize
    table = np.zeros(runs, RECORD)
    table["base"] = np.frombuffer(cut_to(parts["bases"], 8 * runs), np.int64)
    table["widths"] = np.frombuffer(cut_to(parts["widths"], 32 * runs), np.uint8).reshape(runs, 32) % 33
    counts = table["widths"].sum(axis=1, dtype=np.int64)
    table["first_word"] = np.cumsum(counts) - counts
    return table.tobytes() + cut_to(parts["masks"], mask_bytes) + cut_to(parts["words"], 4 * int(counts.sum()))


def cut_to(data: bytes, size: int) -> bytes:
    return data.ljust(size, b"\0")[:size]


def guarded(count: int, at_end: bool) -> memoryview:
    """So many bytes of memory right after a page that cannot be read or written, or (to 8 bytes) right before one."""
    page = mmap.PAGESIZE
    inside = max(-(-count // page), 1) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for place in (address, address + page + inside):
        if LIBC.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(page), NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    begin = page + (inside - count) // 8 * 8 if at_end else page
    return memoryview(memory)[begin : begin + count]


def attempt(path: Path) -> str | None:
    """Decode the block in `path`, whose name is array.dtype.length; why that cannot be. The slow decoder must agree."""
    (encoding, length), stored = encoding_of(path.name), path.read_bytes()
    nbytes = length * encoding.dtype.itemsize
    if not encoding.possible(np.array([len(stored)]), np.array([nbytes])).all():
        return "a stored length its encoding cannot have"
    said, slow = [], None
    for at_end in (True, False):
        landing, raw = guarded(len(stored), at_end), guarded(nbytes, at_end)
        landing[:] = stored
        try:
            piece = encoding.decode(landing, raw, length)
        except UndecodableError as error:
            said.append(str(error))
            continue
        said.append(None)
        slow = decoded_slowly(piece, encoding, length) if slow is None else slow
        assert slow == np.frombuffer(raw, encoding.dtype).tolist(), "the slow decoder does not agree"
    assert said[0] == said[1], said
    return said[0]


def decoded_slowly(piece: PackedBlock, encoding: PackedBlocks, length: int) -> list[int]:
    starts = None
    if encoding.kind == LISTS:
        assert piece.masks is not None
        starts = np.unpackbits(piece.masks.view(np.uint8), bitorder="little")[:length].astype(bool)
    words = np.append(piece.words, np.zeros(PADDING, np.uint32))
    return decode(Packed(piece.records, words, length, encoding.dtype), starts, str(encoding.kind))
