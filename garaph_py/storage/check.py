"""Check the contents of a graph's arrays, block by block while they are read, before anything is indexed by them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.blocks import OFFSETS_OF, begin_masks
from ..codec.checked import BASE, PROBLEMS
from ..errors import FormatError
from ..native.threads import ThreadPool
from .blocks import BlockReader
from .files import Damage
from .keep import Assembled, Repacked
from .manifest import Manifest

Array = npt.NDArray[Any]
Fetch = Callable[[int, int], Array]
"""``fetch(a, b)``: the elements [a, b) of an array."""
Begins = Callable[[int, int], Array]
"""``begins(a, b)``: one bit for each element in [a, b), set where a list begins; see `codec.blocks.begin_masks`."""
STRINGS_AT_ONCE = 1 << 17
"""Strings that are validated at a time."""


@dataclass(frozen=True)
class Constraints:
    """Constraints on the elements of an array.

    Attributes
    ----------
    below : int, optional
        Every element is less than this.
    order : ufunc, optional
        ``numpy.greater_equal`` or ``numpy.greater``: how each element must compare with the one before.
    span : tuple of int, optional
        The values of the first and the last element.
    """

    below: int | None = None
    order: np.ufunc | None = None
    span: tuple[int, int] | None = None

    def excess(self, most: int) -> str | None:
        """Why a block whose greatest element is `most` is damaged; None if it is not."""
        return None if self.below is None or most < self.below else f"a vertex number is not below {self.below}"

    def fault(self, elements: Array) -> tuple[int, str] | None:
        """Position of the first element of a block that violates a constraint, and the problem."""
        if self.below is not None and (problem := self.excess(int(elements.max()))):
            return int(np.argmax(elements >= self.below)), problem
        if self.order is not None and not (rises := self.order(elements[1:], elements[:-1])).all():
            return int(np.argmin(rises)) + 1, "not in ascending order"
        return None

    def fault_between(self, ends: Array) -> tuple[int, int, str] | None:
        """The first block whose first or last element violates a constraint: block, 0 (first) or -1 (last), problem.

        `ends` holds the first and the last element of each block.
        """
        if self.order is not None and not (rises := self.order(ends[1:, 0], ends[:-1, 1])).all():
            return int(np.argmin(rises)) + 1, 0, "not in ascending order"
        if self.span is not None and int(ends[0, 0]) != self.span[0]:
            return 0, 0, f"starts with {ends[0, 0]}, not {self.span[0]}"
        if self.span is not None and int(ends[-1, 1]) != self.span[1]:
            return len(ends) - 1, -1, f"ends with {ends[-1, 1]}, not {self.span[1]}"
        return None


def expectations(manifest: Manifest) -> dict[str, Constraints]:
    """The constraints on every array of the graph."""
    offsets, neighbours = (
        Constraints(order=np.greater_equal, span=(0, manifest.edges)),
        Constraints(below=manifest.vertices),
    )
    text = manifest.arrays["id_bytes"].length if "id_bytes" in manifest.arrays else 0
    return {
        "in_offsets": offsets,
        "in_sources": neighbours,
        "in_values": Constraints(),
        "out_offsets": offsets,
        "out_targets": neighbours,
        "out_values": Constraints(),
        "ids": Constraints(),
        "id_offsets": Constraints(order=np.greater_equal, span=(0, text)),
        "id_bytes": Constraints(),  # `invalid_string` checks it
    }


@dataclass(frozen=True, eq=False)
class ScanResult:
    """What a scan has found out about each block of an array.

    Attributes
    ----------
    sound : ndarray of bool, shape (blocks,)
        No damage was found in the block itself.
    ends : ndarray, shape (blocks, 2)
        The first and the last element.
    bases : ndarray of int64, shape (blocks,)
        Of packed blocks: the number that the first element is stored relative to.
    continues : ndarray of bool, shape (blocks,)
        Of packed blocks: the base must equal the last element of the block before.
    """

    sound: Array
    ends: Array
    bases: Array
    continues: Array


def scan(
    reader: BlockReader,
    constraints: Constraints,
    pool: ThreadPool,
    report: Callable[[FormatError], None],
    advance: Callable[[int], None],
    target: Array | Assembled | Repacked | None = None,
    begins: Begins | None = None,
) -> Array | None:
    """Read and check all blocks of an array. A block is checked while it is in the cache of the core that read it.

    Parameters
    ----------
    reader : BlockReader
    constraints : Constraints
    pool : ThreadPool
    report : callable
        Receives every damage found; may raise.
    advance : callable
        Receives the raw bytes of each block that has been read.
    target : ndarray or Kept or Repacked, optional
        Receives the elements; None: they are only checked.
    begins : callable, optional
        For arrays of lists: where lists begin.

    Returns
    -------
    ndarray, shape (blocks, 2), or None
        The first and the last element of each block; None if there is damage.
    """
    array = reader.array
    count = array.blocks
    found = ScanResult(
        np.zeros(count, np.bool_),
        np.zeros((count, 2), array.dtype),
        np.zeros(count, np.int64),
        np.zeros(count, np.bool_),
    )

    def check(block: int, elements: Array) -> None:
        piece = reader.read(block, elements.view(np.uint8).data)
        if fault := constraints.fault(elements):
            raise reader.damage(block, fault[1], element=fault[0])
        if piece is None:
            return
        if piece.masks is not None and begins is not None and (piece.masks != begins(*array.bounds(block))).any():
            raise reader.damage(block, f"its lists do not begin where {OFFSETS_OF[array.name]} says")
        found.bases[block], found.continues[block] = piece.base, piece.continues
        if isinstance(target, Assembled):
            target.put(block, piece)

    def work(numbers: Iterator[int]) -> None:
        needs_scratch = target is None or isinstance(target, Assembled)
        scratch = np.empty(array.bounds(0)[1] if needs_scratch else 0, array.dtype)
        try:
            for block in numbers:
                first, last = array.bounds(block)
                if isinstance(target, Repacked):
                    elements = target.elements(first, last)
                else:
                    elements = target[first:last] if isinstance(target, np.ndarray) else scratch[: last - first]
                try:
                    check(block, elements)
                    found.sound[block] = True
                except Damage as damage:
                    report(damage)
                found.ends[block] = elements[0], elements[-1]
                advance(elements.nbytes)
        except BaseException:
            deque(numbers, maxlen=0)  # take the remaining blocks, so that the other threads stop, too
            raise

    for blocks in target.chunks() if isinstance(target, Repacked) else (range(count),):
        pool.run(work, [(iter(blocks),)] * pool.size)  # the threads share one iterator: a free thread takes the next
    if not found.sound.all():
        return None
    if damage := damage_between_blocks(reader, constraints, found):
        report(damage)
        return None
    return found.ends


def damage_between_blocks(reader: BlockReader, constraints: Constraints, found: ScanResult) -> Damage | None:
    """Damage that shows only when blocks, each sound, are compared with their neighbours."""
    array, ends = reader.array, found.ends
    if array.blocks and (fault := constraints.fault_between(ends)):
        block, end, problem = fault
        element = 0 if end == 0 else array.length - array.bounds(block)[0] - 1
        return reader.damage(block, problem, element=element)
    wrong = found.continues & (found.bases != np.append(0, ends[:-1, 1])[: array.blocks])
    return reader.damage(int(np.argmax(wrong)), PROBLEMS[BASE]) if wrong.any() else None


def begins_stored(reader: BlockReader, ends: Array) -> Begins:
    """Where lists begin, by an array of offsets in which `scan` found no damage; loads one block of it at a time."""

    def begins(first: int, last: int) -> Array:
        found = begin_masks(np.zeros(0, np.int64), first, last)
        for block in range(int(np.searchsorted(ends[:, 1], first)), int(np.searchsorted(ends[:, 0], last))):
            found |= begin_masks(load(reader, *reader.array.bounds(block)), first, last)
        return found

    return begins


def arrow_strings(offsets: Array, text: Array) -> Any:
    """An Arrow string array over these offsets and UTF-8 bytes, without a copy."""
    import pyarrow as pa

    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))


def invalid_string(text: BlockReader, n: int, offsets_of: Fetch, text_of: Fetch) -> Damage | None:
    """Damage at the first of `n` strings that is not UTF-8; None if there is none."""
    import pyarrow as pa

    for first in range(0, n, STRINGS_AT_ONCE):
        offsets = offsets_of(first, min(first + STRINGS_AT_ONCE, n) + 1)
        piece = text_of(int(offsets[0]), int(offsets[-1]))
        try:
            arrow_strings(offsets - offsets[0], piece).validate(full=True)
        except pa.ArrowInvalid:
            for number, (start, stop) in enumerate(pairwise((offsets - offsets[0]).tolist())):
                try:
                    piece[start:stop].tobytes().decode()
                except UnicodeDecodeError:
                    block, element = divmod(int(offsets[number]), text.array.block_bytes)
                    return text.damage(block, f"the name of vertex {first + number} is not UTF-8", element=element)
    return None


def slicer(array: Array) -> Fetch:
    return lambda first, last: array[first:last]


def load(reader: BlockReader, first: int, last: int) -> Array:
    """Elements [first, last) of an array in which `scan` found no damage."""
    if first == last:
        return np.empty(0, reader.array.dtype)
    step = reader.array.bounds(0)[1]
    blocks = range(first // step, -(-last // step))
    base = blocks[0] * step
    elements = np.empty(reader.array.bounds(blocks[-1])[1] - base, reader.array.dtype)
    for block in blocks:
        start, stop = reader.array.bounds(block)
        reader.read(block, elements[start - base : stop - base].view(np.uint8).data)
    return elements[first - base : last - base]
