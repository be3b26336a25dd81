"""Checks the contents of a graph's arrays block by block while they are read, before any code uses them as indexes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.blocks import OFFSETS_OF
from ..codec.checked import BASE, PROBLEMS
from ..codec.codecs import Limits
from ..errors import FormatError
from ..native.threads import ThreadPool
from .blocks import RAW_1, BlockReader, StoredArray
from .files import Damage
from .keep import Assembled, Repacked
from .lists import UNSORTED, Lists
from .manifest import Manifest

Array = npt.NDArray[Any]
Fetch = Callable[[int, int], Array]
"""``fetch(a, b)``: the elements [a, b) of an array."""
Visit = Callable[[int, Array], None]
"""``visit(first, elements)`` receives the elements of a sound block, from element `first` of its array on."""
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
    lists : Lists, optional
        Where the lists begin, in each of which elements ascend; several may be equal.
    limits : Limits, optional
        Every element is within these.
    """

    below: int | None = None
    order: np.ufunc | None = None
    span: tuple[int, int] | None = None
    lists: Lists | None = None
    limits: Limits | None = None

    def excess(self, found: Limits) -> str | None:
        """Why a block with elements that have these limits is damaged; None if it is not."""
        if self.below is not None and found.most >= self.below:
            return f"a vertex number is not below {self.below}"
        if self.limits is not None and not (self.limits.least <= found.least and found.most <= self.limits.most):
            return f"an edge value is not from {self.limits.least} to {self.limits.most}, as the manifest says"
        return None

    def fault(self, first: int, elements: Array) -> tuple[int, str] | None:
        """Position of the first element of a raw block that violates a constraint, and the problem.

        The block begins with element `first` of the array.
        """
        if self.lists is not None and self.below is not None and self.lists.sound(first, elements, self.below):
            return None
        if self.below is not None or self.limits is not None:
            found = Limits(elements.min(), elements.max())
            if problem := self.excess(found):
                return self._first_outside(elements), problem
        if self.order is not None and not (rises := self.order(elements[1:], elements[:-1])).all():
            return int(np.argmin(rises)) + 1, "not in ascending order"
        if self.lists is not None and (fall := self.lists.fall(first, elements)) is not None:
            return fall, UNSORTED
        return None

    def _first_outside(self, elements: Array) -> int:
        """The position of the first element that is too small or too large; there is one."""
        if self.limits is None:
            return int(np.argmax(elements >= self.below))
        return int(np.argmin((elements >= self.limits.least) & (elements <= self.limits.most)))

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
        "in_values": within_limits(manifest, "in_values"),
        "out_offsets": offsets,
        "out_targets": neighbours,
        "out_values": within_limits(manifest, "out_values"),
        "ids": Constraints(),
        "id_offsets": Constraints(order=np.greater_equal, span=(0, text)),
        "id_bytes": Constraints(),  # `invalid_string` checks it
    }


def within_limits(manifest: Manifest, name: str) -> Constraints:
    """The constraints on an array of edge values: its limits, unless there are none, or some value is NaN."""
    limits = manifest.arrays[name].limits if name in manifest.arrays else None
    return Constraints() if limits is None or limits.least != limits.least else Constraints(limits=limits)


def scan(
    reader: BlockReader,
    constraints: Constraints,
    pool: ThreadPool,
    report: Callable[[FormatError], None],
    advance: Callable[[int], None],
    target: Array | Assembled | Repacked | None = None,
    visit: Visit | None = None,
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
    target : ndarray or Assembled or Repacked, optional
        Receives the elements; None to check them only.
    visit : callable, optional
        Receives the elements of every sound block, from several threads.

    Returns
    -------
    ndarray, shape (blocks, 2), or None
        The first and the last element of each block; None if there is damage.
    """
    scanning = ArrayScan(reader, constraints, target, visit)
    chunks = target.chunks() if isinstance(target, Repacked) else (range(reader.array.blocks),)
    for blocks in chunks:  # the threads share one iterator: a free thread takes the next block
        pool.run(scanning.check_blocks, [(iter(blocks), report, advance)] * pool.size)
    if not scanning.sound.all():
        return None
    if damage := scanning.damage_between_blocks():
        report(damage)
        return None
    return scanning.ends


class ArrayScan:
    """The state of one `scan`, which several threads share.

    Attributes
    ----------
    sound : ndarray of bool, shape (blocks,)
        Blocks that have been read and have no damage.
    ends : ndarray, shape (blocks, 2)
        The first and the last element of each block.
    """

    def __init__(
        self,
        reader: BlockReader,
        constraints: Constraints,
        target: Array | Assembled | Repacked | None,
        visit: Visit | None,
    ) -> None:
        blocks = reader.array.blocks
        self._reader, self._constraints, self._target, self._visit = reader, constraints, target, visit
        self.sound, self.ends = np.zeros(blocks, np.bool_), np.zeros((blocks, 2), reader.array.dtype)
        # What `broken_joints` compares with the last element of the block before.
        self._bases, self._continues = np.zeros(blocks, np.int64), np.zeros(blocks, np.bool_)

    def check_blocks(
        self, blocks: Iterator[int], report: Callable[[FormatError], None], advance: Callable[[int], None]
    ) -> None:
        """Read and check blocks until the iterator, which the threads share, is empty."""
        array, target = self._reader.array, self._target
        needs_scratch = target is None or isinstance(target, Assembled)
        scratch = np.empty(array.bounds(0)[1] if needs_scratch else 0, array.dtype)
        try:
            for block in blocks:
                first, last = array.bounds(block)
                if isinstance(target, Repacked):
                    elements = target.elements(first, last)
                else:
                    elements = target[first:last] if isinstance(target, np.ndarray) else scratch[: last - first]
                try:
                    self._check(block, elements)
                    self.sound[block] = True
                except Damage as damage:
                    report(damage)
                self.ends[block] = elements[0], elements[-1]
                advance(elements.nbytes)
        except BaseException:
            deque(blocks, maxlen=0)  # take the remaining blocks, so that the other threads stop, too
            raise

    def _check(self, block: int, elements: Array) -> None:
        reader, constraints, lists = self._reader, self._constraints, self._constraints.lists
        first, last = reader.array.bounds(block)
        piece = reader.read(block, elements.view(np.uint8).data)
        if piece is None:
            if fault := constraints.fault(first, elements):
                raise reader.damage(block, fault[1], element=fault[0])
            if lists is not None:
                self._bases[block], self._continues[block] = elements[0], lists.continues(first)
        else:
            if problem := constraints.excess(piece.limits):
                raise reader.damage(block, problem)
            if lists and piece.masks is not None and (piece.masks != lists.begins(first, last)).any():
                raise reader.damage(block, f"its lists do not begin where {OFFSETS_OF[reader.array.name]} says")
            self._bases[block], self._continues[block] = piece.base, piece.continues
            if isinstance(self._target, Assembled):
                self._target.put(block, piece)
        if self._visit is not None:
            self._visit(first, elements)

    def damage_between_blocks(self) -> Damage | None:
        """Damage that shows only by comparing sound blocks with adjacent ones; None if there is none."""
        reader, array, ends = self._reader, self._reader.array, self.ends
        if array.blocks and (fault := self._constraints.fault_between(ends)):
            block, end, problem = fault
            element = 0 if end == 0 else array.length - array.bounds(block)[0] - 1
            return reader.damage(block, problem, element=element)
        wrong, problem = broken_joints(array, self._continues, self._bases, np.append(0, ends[:-1, 1])[: array.blocks])
        return reader.damage(int(np.argmax(wrong)), problem) if wrong.any() else None


def broken_joints(array: StoredArray, continues: Array, bases: Array, before: Array) -> tuple[Array, str]:
    """Whether blocks do not continue the ones before, and the problem.

    Parameters
    ----------
    array : StoredArray
    continues : ndarray of bool
        Whether each block begins within a list or, if it is packed, in an array that ascends as a whole.
    bases : ndarray of int64
        The first element of a raw block, which is not less than the one before; the base of a packed block's first run,
        which is the element before.
    before : ndarray
        The last element of the block before each.
    """
    if array.encoding == RAW_1:
        return continues & (bases < before), UNSORTED
    return continues & (bases != before), PROBLEMS[BASE]


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
