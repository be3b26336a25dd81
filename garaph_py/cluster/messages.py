"""What one part sends another after a superstep: which of the receiver's mirrors have changed, and their values.

A message is about the vertices that its receiver mirrors, in ascending order; a position is an index into these. If the
message does not have all of them, it has their positions: as a list, or as a bitmap if that takes fewer bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError
from .part_run import Changed

Array = npt.NDArray[Any]

ALL, LIST, BITMAP = "all", "list", "bitmap"
"""How a message says which vertices it has."""
POSITION = np.dtype("<u4")
"""The type of a position in a list: uint32, little-endian."""


@dataclass(frozen=True)
class Message:
    """A `Changed` in plain buffers.

    Attributes
    ----------
    how : str
        How `where` says which vertices are sent: ``"all"``, ``"list"`` or ``"bitmap"``.
    where, values, active : ndarray of uint8
        Their positions; their values; and a bitmap of those that are active, empty if all are.
    first, last : int
        The message is about the vertices from position `first` up to `last` of those that the receiver mirrors; other
        positions in it count from `first`.
    """

    how: str
    where: Array
    values: Array
    active: Array
    first: int
    last: int

    @property
    def nbytes(self) -> int:
        """Bytes to send, without what the transport adds."""
        return self.where.nbytes + self.values.nbytes + self.active.nbytes


def encode(changed: Changed) -> Message:
    """The shortest message that tells the receiver all changes."""
    sent = changed.changed | changed.active
    length, count = len(sent), int(np.count_nonzero(sent))
    if count == length:
        how, where, values, active = ALL, nothing(), changed.values, changed.active
    else:
        positions = np.flatnonzero(sent)
        values, active = changed.values[positions], changed.active[positions]
        how = LIST if count * POSITION.itemsize <= bitmap_bytes(length) else BITMAP
        where = positions.astype(POSITION).view(np.uint8) if how == LIST else np.packbits(sent, bitorder="little")
    all_active = bool(active.all())
    bitmap = nothing() if all_active else np.packbits(active, bitorder="little")
    return Message(how, where, as_bytes(values), bitmap, changed.first, changed.first + length)


def decode(message: Message, mirrors: int, dtype: np.dtype[Any]) -> Changed:
    """What a message says of the vertices that the receiver mirrors. Values that were not sent are 0.

    Parameters
    ----------
    message : Message
    mirrors : int
        How many of the sender's vertices the receiver mirrors.
    dtype : dtype
        The type of a value.

    Raises
    ------
    ClusterError
        If sizes or positions are not those of a valid message.
    """
    first, length = message.first, message.last - message.first
    check(0 <= first <= message.last <= mirrors, f"the vertices from {first} to {message.last} of {mirrors} mirrors")
    positions = positions_of(message, length)
    count = length if positions is None else len(positions)
    check(message.values.nbytes == count * dtype.itemsize, f"{message.values.nbytes} bytes of values for {count}")
    if message.active.nbytes:
        check(message.active.nbytes == bitmap_bytes(count), f"{message.active.nbytes} bytes of active bits for {count}")
        active = bits(message.active, count)
    else:
        active = np.ones(count, bool)
    if positions is None:
        return Changed(message.values.view(dtype), np.ones(length, bool), active, first)
    values, is_sent, is_active = np.zeros(length, dtype), np.zeros(length, bool), np.zeros(length, bool)
    values[positions], is_sent[positions], is_active[positions] = message.values.view(dtype), True, active
    return Changed(values, is_sent, is_active, first)


def positions_of(message: Message, length: int) -> Array | None:
    """The positions that a message has, ascending; None if it has all."""
    where = message.where
    if message.how == ALL:
        check(where.nbytes == 0, "positions beside all values")
        return None
    if message.how == BITMAP:
        check(where.nbytes == bitmap_bytes(length), f"a bitmap of {where.nbytes} bytes for {length} mirrors")
        return np.flatnonzero(bits(where, length))
    check(message.how == LIST, f"the unknown encoding {message.how!r:.20}")
    check(where.nbytes % POSITION.itemsize == 0, f"a list of {where.nbytes} bytes")
    positions = where.view(POSITION).astype(np.int64)
    check(bool(np.all(positions[1:] > positions[:-1])), "positions out of order")
    check(not len(positions) or int(positions[-1]) < length, f"a position beyond its {length} mirrors")
    return positions


def check(holds: bool, problem: str) -> None:
    """Refuse a message that has a `problem`."""
    if not holds:
        raise ClusterError(f"a worker's message has {problem}; use the same version of garaph_py on all workers")


def as_bytes(array: Array) -> Array:
    """The bytes of an array, not copied if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def nothing() -> Array:
    return np.empty(0, np.uint8)


def bits(bitmap: Array, count: int) -> Array:
    """The first bits of a bitmap, as booleans."""
    return np.unpackbits(bitmap, count=count, bitorder="little").view(bool)


def bitmap_bytes(count: int) -> int:
    return -(-count // 8)
