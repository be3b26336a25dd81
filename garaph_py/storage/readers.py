"""Makes the reader of an array on disk, by its codec."""

from __future__ import annotations

from .blocks import BlockReader
from .check import Constraints as Rule
from .packed_reader import PackedArrayReader
from .raw_reader import RawArrayReader
from .reader import ArrayReader

READERS: dict[str, type[ArrayReader]] = {reader.codec: reader for reader in (RawArrayReader, PackedArrayReader)}
"""Readers by codec. A codec has the same name as the encoding of its blocks (docs/format.md)."""


def array_reader(reader: BlockReader, rule: Rule, k: float = 1.0) -> ArrayReader:
    """Make the array whose blocks `reader` reads; see `ArrayReader`."""
    return READERS[reader.array.encoding[0]](reader, rule, k)
