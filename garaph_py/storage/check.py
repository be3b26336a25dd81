"""What a graph's arrays must satisfy before anything is indexed by them, checked block by block as they are read."""

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
from .keep import Kept, Repacked
from .manifest import Manifest

Array = npt.NDArray[Any]
Fetch = Callable[[int, int], Array]
Begins = Callable[[int, int], Array]
"""Of elements [a, b), a bit each: whether a list begins there; as `begin_masks` gives it."""
STRINGS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Rule:
    """What the elements of an array must satisfy before anything is indexed by them.

    Attributes
    ----------
    below : int, optional
        Every element is less.
    order : ufunc, optional
        ``numpy.greater_equal`` or ``numpy.greater``: how each element compares with the one before.
    span : tuple of int, optional
        The first element and the last.
    """

    below: int | None = None
    order: np.ufunc | None = None
    span: tuple[int, int] | None = None

    def excess(self, most: int) -> str | None:
        """Why a block cannot have an element as great as `most`."""
        return None if self.below is None or most < self.below else f"a vertex number is not below {self.below}"

    def fault(self, elements: Array) -> tuple[int, str] | None:
        """The first element of a block that cannot be, and why."""
        if self.below is not None and (problem := self.excess(int(elements.max()))):
            return int(np.argmax(elements >= self.below)), problem
        if self.order is not None and not (rises := self.order(elements[1:], elements[:-1])).all():
            return int(np.argmin(rises)) + 1, "not in ascending order"
        return None

    def fault_between(self, ends: Array) -> tuple[int, int, str] | None:
        """Block, 0 or -1 for its first or last element, and why; `ends` holds each block's first and last element."""
        if self.order is not None and not (rises := self.order(ends[1:, 0], ends[:-1, 1])).all():
            return int(np.argmin(rises)) + 1, 0, "not in ascending order"
        if self.span is not None and int(ends[0, 0]) != self.span[0]:
            return 0, 0, f"starts with {ends[0, 0]}, not {self.span[0]}"
        if self.span is not None and int(ends[-1, 1]) != self.span[1]:
            return len(ends) - 1, -1, f"ends with {ends[-1, 1]}, not {self.span[1]}"
        return None


def expectations(manifest: Manifest) -> dict[str, Rule]:
    """The rule of every array of the graph."""
    offsets, neighbours = Rule(order=np.greater_equal, span=(0, manifest.edges)), Rule(below=manifest.vertices)
    text = manifest.arrays["id_bytes"].length if "id_bytes" in manifest.arrays else 0
    return {
        "in_offsets": offsets,
        "in_sources": neighbours,
        "in_values": Rule(),
        "out_offsets": offsets,
        "out_targets": neighbours,
        "out_values": Rule(),
        "ids": Rule(),
        "id_offsets": Rule(order=np.greater_equal, span=(0, text)),
        "id_bytes": Rule(),  # see invalid_string
    }


def scan(
    reader: BlockReader,
    rule: Rule,
    pool: ThreadPool,
    report: Callable[[FormatError], None],
    advance: Callable[[int], None],
    target: Array | Kept | Repacked | None = None,
    begins: Begins | None = None,
) -> Array | None:
    """Read all blocks of an array into `target` (or nowhere), check them, and `report` what is wrong.

    A block is checked while it is still in the cache of the core that read it. `advance` gets the bytes of each.
    `begins` tells where lists begin, for arrays of lists. The answer is each block's first and last element, or None if
    something is wrong.
    """
    array = reader.array
    ends = np.zeros((array.blocks, 2), array.dtype)
    sound, continues = np.zeros((2, array.blocks), np.bool_)
    bases = np.zeros(array.blocks, np.int64)

    def check(block: int, elements: Array) -> None:
        piece = reader.read(block, elements.view(np.uint8).data)
        if fault := rule.fault(elements):
            raise reader.damage(block, fault[1], element=fault[0])
        if piece is None:
            return
        if piece.masks is not None and begins is not None and (piece.masks != begins(*array.bounds(block))).any():
            raise reader.damage(block, f"its lists do not begin where {OFFSETS_OF[array.name]} says")
        bases[block], continues[block] = piece.base, piece.continues
        if isinstance(target, Kept):
            target.put(block, piece)

    def work(numbers: Iterator[int]) -> None:
        needs_scratch = target is None or isinstance(target, Kept)
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
                    sound[block] = True
                except Damage as damage:
                    report(damage)
                ends[block] = elements[0], elements[-1]
                advance(elements.nbytes)
        except BaseException:
            deque(numbers, maxlen=0)  # the other threads stop, too
            raise

    for blocks in target.chunks() if isinstance(target, Repacked) else (range(array.blocks),):
        pool.run(work, [(iter(blocks),)] * pool.size)  # whoever is free takes the next block
    if not sound.all():
        return None
    if array.blocks and (fault := rule.fault_between(ends)):
        block, end, problem = fault
        element = 0 if end == 0 else array.length - array.bounds(block)[0] - 1
        report(reader.damage(block, problem, element=element))
        return None
    strange = continues & (bases != np.append(0, ends[:-1, 1])[: array.blocks])
    if strange.any():
        report(reader.damage(int(np.argmax(strange)), PROBLEMS[BASE]))
        return None
    return ends


def begins_stored(reader: BlockReader, ends: Array) -> Begins:
    """Where lists begin, as an array of offsets says that `scan` has found whole, a block of it at a time."""

    def begins(first: int, last: int) -> Array:
        found = begin_masks(np.zeros(0, np.int64), first, last)
        for block in range(int(np.searchsorted(ends[:, 1], first)), int(np.searchsorted(ends[:, 0], last))):
            found |= begin_masks(load(reader, *reader.array.bounds(block)), first, last)
        return found

    return begins


def arrow_strings(offsets: Array, text: Array) -> Any:
    """Arrow strings over these arrays, without a copy."""
    import pyarrow as pa

    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))


def invalid_string(text: BlockReader, n: int, offsets_of: Fetch, text_of: Fetch) -> Damage | None:
    """The first of `n` strings that is not UTF-8. The fetchers give elements [a, b) of the two arrays."""
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
    """Elements [first, last) of an array that `scan` has found whole."""
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
