"""Which disk a block goes to (docs/format.md, "Disks"). Only writers ask: readers go by the index."""

from __future__ import annotations

import xxhash


def disk_of(array: str, block: int, disks: int) -> int:
    """The number of the disk, of so many, for a block of an array.

    A hash, so that any selection of a graph's pages is spread over all disks, whatever the order (Garaph section 2.2).
    """
    return xxhash.xxh3_64_intdigest(block.to_bytes(8, "little") + array.encode()) % disks
