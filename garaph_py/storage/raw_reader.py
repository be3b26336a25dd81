"""`RawArrayReader`: raw arrays on disk, of which sectors can be read alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import RAW, RawArray
from ..native import Kernel
from .blocks import BlockReader
from .check import Constraints as Rule
from .disks import ALIGNMENT
from .lists import COUNT_FAULTS
from .parts import read_sums
from .reader import ArrayReader, PartReads, ReadPlan, ReadRequest
from .sectors import SECTOR, cut
from .sums import FIND_WRONG, HASH_SECTORS, sums

Array = npt.NDArray[Any]


class RawArrayReader(ArrayReader):
    """A raw array on disk. Parts of its blocks can be read alone: see storage/sectors.py."""

    codec = RAW
    unit = 1

    def __init__(self, reader: BlockReader, rule: Rule, k: float = 1.0) -> None:
        super().__init__(reader, rule, k)
        aligned = self.array.block_bytes % SECTOR == 0 and not (self._starts % SECTOR).any()
        self._sectors = self.array.block_bytes // SECTOR if aligned else 0  # of a block; 0 if parts cannot be read
        has_sums = aligned and self.array.sums is not None
        self._sums = read_sums(reader) if has_sums else np.zeros(self._sums_at[-1] * aligned, np.uint32)
        self._summed = np.full(self.array.blocks, has_sums)  # blocks whose sums are known
        self._sound = np.zeros(len(self._sums), np.bool_)  # sectors that were checked without their block

    @property
    def nbytes(self) -> int:
        """Bytes of memory for the checksums of sectors, and for what is known of these."""
        return self._sums.nbytes + self._sound.nbytes

    @property
    def kernels(self) -> list[Kernel]:
        return [*[COUNT_FAULTS] * (self._rule.lists is not None), *[HASH_SECTORS, FIND_WRONG] * (self._sectors > 0)]

    def plan(self, span: range, skip: bool = False, ranges: Array | None = None) -> ReadPlan:
        blocks, parts = list(span[1:] if skip else span), list[PartReads]()
        first, size = (span.start if len(span) else 0), self.array.block_bytes
        if ranges is not None and self._sectors:
            blocks, parts = self._parts(ranges, first)
        elif ranges is not None:
            blocks = self._touched(span, ranges)
        reads = [self._read(group, first) for group in self._adjoining(blocks)]
        at = [k * size for k in range(len(span))]
        return ReadPlan(first, span.stop, at, reads, parts, size * len(span) + ALIGNMENT)

    def _parts(self, ranges: Array, first: int) -> tuple[list[int], list[PartReads]]:
        """What to read for `ranges`: whole blocks, and parts of other blocks. The buffer begins with block `first`.

        A block is read whole if the sums of its sectors are not known yet, or all of its sectors are wanted.
        """
        width = self.dtype.itemsize
        parts = cut(np.stack((ranges[:, 0] * width // SECTOR, -(-ranges[:, 1] * width // SECTOR)), 1), self._sectors)
        blocks = parts[:, 0] // self._sectors
        whole = ~self._summed[blocks] | (parts[:, 1] - parts[:, 0] == self._sectors)
        missing = np.unique(blocks[whole])
        rest = ~np.isin(blocks, missing)
        blocks, parts = blocks[rest], parts[rest]
        within = (parts - (blocks * self._sectors)[:, None]) * SECTOR  # bytes from the block's first
        offsets, ends = (self._starts[blocks][:, None] + within).T
        places = (blocks - first) * self.array.block_bytes + within[:, 0]
        return missing.tolist(), [reads for reads, _ in self._by_disk(blocks, offsets, ends, places)]

    def _read(self, group: list[int], first: int) -> ReadRequest:
        """Plan one read of adjacent blocks, each to its own place in a buffer that begins with block `first`."""
        begin, end, offset = self._bounds_on_disk(group)
        nbytes, size = -(-(end - offset) // ALIGNMENT) * ALIGNMENT, self.array.block_bytes
        pieces: list[tuple[int, int]] = []
        if size % ALIGNMENT == 0 and begin == offset:
            pieces = [((block - first) * size, size) for block in group[:-1]]
            pieces.append(((group[-1] - first) * size, nbytes - len(pieces) * size))
        return ReadRequest(int(self._disks[group[0]]), offset, nbytes, end - offset, group, pieces)

    def elements(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> RawArray:
        begin, size = plan.first * self.block_elements, self.dtype.itemsize
        return RawArray(data[(first - begin) * size : (last - begin) * size].view(self.dtype))

    def _check_once(self, block: int, stored: Array) -> None:
        elements, (first, _) = stored.view(self.dtype), self.array.bounds(block)
        if fault := self._rule.fault(first, elements):
            raise self.reader.damage(block, fault[1], element=fault[0])
        if self._rule.lists is not None:
            self._continues[block] = self._rule.lists.continues(first)
            self._bases[block], self._ends[block] = elements[0], elements[-1]
        if self._sectors and not self._summed[block]:
            noted = sums(stored)
            self._sums[self._sums_at[block] :][: len(noted)] = noted
            self._summed[block] = True

    def take_parts(self, parts: PartReads, data: Array, plan: ReadPlan, records: Array) -> None:
        self._check_sums(parts, data, self._sums)
        for k in np.flatnonzero(~self._checked[parts.blocks]).tolist():
            block, within = int(parts.blocks[k]), int(parts.offsets[k] - self._starts[parts.blocks[k]])
            first, count = self._sums_at[block] + within // SECTOR, -(-int(parts.needed[k]) // SECTOR)
            own = self._sound[first : first + count]
            if own.all():
                continue
            element, (begin, _) = within // self.dtype.itemsize, self.array.bounds(block)
            elements = data[parts.places[k] : parts.places[k] + parts.needed[k]].view(self.dtype)
            if fault := self._rule.fault(begin + element, elements):
                raise self.reader.damage(block, fault[1], element=element + fault[0])
            own[:] = True
