"""`PackedArrayReader`: packed arrays on disk, of which single runs can be read, by records in memory or on disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import PACKED
from ..codec.blocks import KIND_OF, OFFSETS_OF, WORD, begin_masks
from ..codec.checked import begins_where, unpack_checked
from ..codec.codecs import Limits
from ..codec.format import ASCENDING, GROUP, LISTS, RECORD, RECORD_BYTES, RUN, WHOLE, Placed
from ..codec.sound import Pieces, blocks_in, find_sound, sounding_kernel
from ..native import IN_TURN, From, Kernel
from .blocks import AGAIN, BlockReader
from .check import Constraints as Rule
from .disks import ALIGNMENT
from .packed_parts import BEGIN, BLOCK, COPY_RECORDS, END, FIND_PARTS, FIRST, HEADS, KNOWN, LAST, STORED, parts_of
from .parts import REWRITE, in_order, read_records, read_sums, records_of
from .reader import ArrayReader, PartReads, ReadPlan, ReadRequest
from .sectors import cut, numbers_in
from .sums import FIND_WRONG, HASH_SECTORS, sums

Array = npt.NDArray[Any]

RUNS_AT_ONCE = 1 << 12
"""About as many runs of parts are checked together: they take 0.7 MB beside the buffers."""


@dataclass(frozen=True)
class Known:
    """What it takes to read parts of packed blocks.

    Attributes
    ----------
    blocks : ndarray of bool
        The blocks of which this is known: all, or those that have been checked.
    records : ndarray of RECORD, shape (runs,), or None
        `first_word` counts from the block's own first word. None: they are read by sectors, from the head of the block.
    sums : ndarray of uint32
        A checksum of each sector of the data file that holds bytes of the block; of these bytes only.
    sound : ndarray of bool, shape (runs,)
        Runs whose contents have been checked against these records.
    """

    blocks: Array
    records: Array | None
    sums: Array
    sound: Array


@dataclass(frozen=True)
class PackedPartReads(PartReads):
    """The same of packed blocks.

    Attributes
    ----------
    runs : ndarray of int64, shape (k, 2)
        The first run of each part, and one past its last, counted from the array's first.
    known : Known
        What is known of the blocks.
    """

    runs: Array
    known: Known


class RecordReads(PackedPartReads):
    """Reads of the records of these runs, at the head of their blocks."""


def begin_masks_of(offsets: Array, bounds: Array) -> tuple[Array, Array]:
    """The bitmaps that `begin_masks` makes of the elements between each of the `bounds`, shape (k, 2), in one array;
    and where each begins."""
    sizes = -(-(bounds[:, 1] - bounds[:, 0]) // GROUP)
    at = np.cumsum(sizes) - sizes
    numbers, of = numbers_in(*offsets.searchsorted(bounds.T))
    places, masks = offsets[numbers] - bounds[of, 0], np.zeros(int(sizes.sum()), np.uint32)
    np.bitwise_or.at(masks, at[of] + places // GROUP, np.uint32(1) << (places % GROUP).astype(np.uint32))
    return masks, at


class PackedArrayReader(ArrayReader):
    """A packed array on disk. Its blocks are decoded in the buffer of the read; only their records are copied.

    After `keep_parts`, what it takes to read single runs of blocks is in memory.
    """

    codec = PACKED
    unit = RUN

    def __init__(self, reader: BlockReader, rule: Rule, k: float = 1.0) -> None:
        super().__init__(reader, rule, k)
        self._runs = self.block_elements // RUN  # runs of a block
        self._words = self._starts + reader.words_at()  # where the words of each block begin in its data file
        self._known: Known | None = None

    @property
    def kernels(self) -> list[Kernel]:
        return [
            sounding_kernel(KIND_OF[self.array.name], self.dtype),
            IN_TURN,
            *[HASH_SECTORS, FIND_WRONG, FIND_PARTS, COPY_RECORDS] * self.keeps_parts,
        ]

    @property
    def reads_compactly(self) -> bool:
        return self._known is not None and bool(self._known.blocks.all())

    @property
    def keeps_parts(self) -> bool:
        return self._known is not None

    @property
    def parts_nbytes(self) -> int:
        return self.sums_nbytes + records_of(len(self)) * RECORD_BYTES

    @property
    def sums_nbytes(self) -> int:
        return records_of(len(self)) + int(self._sums_at[-1]) * np.dtype(np.uint32).itemsize

    def keep_parts(self, wanted: bool, records: bool = True) -> None:
        if not wanted:
            self._known = None  # reads that are under way still have it
        elif self._known is None or records == (self._known.records is None):
            is_stored, runs, found = self.array.sums is not None, records_of(len(self)), None
            if records:
                found = read_records(self.reader) if is_stored else np.zeros(runs, RECORD)
            self._known = Known(
                np.full(self.array.blocks, is_stored),
                found,
                read_sums(self.reader) if is_stored else np.zeros(self._sums_at[-1], np.uint32),
                np.zeros(runs, np.bool_),
            )

    def plan(self, span: range, skip: bool = False, ranges: Array | None = None) -> ReadPlan:
        blocks, runs, known = list(span[1:] if skip else span), np.empty((0, 2), np.int64), self._known
        if ranges is not None:
            blocks, runs = [], np.stack((ranges[:, 0] // RUN, -(-ranges[:, 1] // RUN)), axis=1)
            if known is None or not known.blocks.all():
                runs = cut(runs, self._runs)
                whole = np.ones(len(runs), np.bool_) if known is None else ~known.blocks[runs[:, 0] // self._runs]
                blocks, runs = np.unique(runs[whole, 0] // self._runs).tolist(), runs[~whole]
        then = partial(self._plan, span, skip, blocks, runs, known)
        if known is None or known.records is not None or not len(runs):
            return then(np.empty(0, RECORD))
        parts = self._parts(HEADS, runs, known, np.empty(0, RECORD), 0, 0)
        nbytes = sum(int(some.nbytes.sum()) for some in parts)
        return ReadPlan(span.start, span.stop, [0] * len(span), [], parts, nbytes, then)

    def _plan(
        self, span: range, skip: bool, blocks: list[int], runs: Array, known: Known | None, records: Array
    ) -> ReadPlan:
        """Plan to read whole `blocks`, and the sectors that hold `runs` of others.

        The page's `records` must have those of the runs, unless these are in memory.
        """
        first = span.start if len(span) else 0
        at, reads, place = [0] * len(span), [], 0
        if skip and len(span):
            place = -(-int(self._lengths[first]) // ALIGNMENT) * ALIGNMENT
        for group in self._adjoining(blocks):
            read = self._read(group, place)
            for block in group:
                at[block - first] = place + int(self._starts[block]) - read.offset
            reads.append(read)
            place += read.nbytes
        parts = list[PackedPartReads]()
        if known is not None and len(runs):
            what = STORED if known.records is None else KNOWN
            parts = self._parts(what, runs, known, records, first, place)
        place += sum(int(some.nbytes.sum()) for some in parts)
        return ReadPlan(first, span.stop, at, reads, parts, place + ALIGNMENT)

    def _parts(
        self, what: int, runs: Array, known: Known, records: Array, first: int, place: int
    ) -> list[PackedPartReads]:
        """The reads of the sectors that hold `what` of the `runs`, to the buffer from `place` on; see `packed_parts`.

        The page's `records`, which begin with block `first`, stay only where they are needed, if they were read.
        """
        found = parts_of(runs, self._runs, what, self._starts, self._words, *self._in_memory(known, records, first))
        sizes = found[END] - found[BEGIN]
        places = place + np.cumsum(sizes) - sizes
        kind = RecordReads if what == HEADS else PackedPartReads
        return [
            kind(**vars(reads), runs=found[FIRST : LAST + 1, own].T, known=known)
            for reads, own in self._by_disk(found[BLOCK], found[BEGIN], found[END], places)
        ]

    def _in_memory(self, known: Known, records: Array, first: int) -> tuple[Array, int]:
        """The array that has the records of runs, and the run of its first: if it does not have all, it is the page's
        `records`, which begin with block `first`."""
        return (records, first * self._runs) if known.records is None else (known.records, 0)

    def _read(self, group: list[int], place: int) -> ReadRequest:
        """Plan one read of adjacent blocks, to the position `place` in the buffer."""
        _, end, offset = self._bounds_on_disk(group)
        nbytes = -(-(end - offset) // ALIGNMENT) * ALIGNMENT
        return ReadRequest(int(self._disks[group[0]]), offset, nbytes, end - offset, group, [(place, nbytes)])

    def check(self, blocks: list[int], data: Array, places: list[int]) -> None:
        super().check(blocks, data, places)
        if (known := self._known) is not None:
            for block, at in zip(blocks, places, strict=True):
                self._note_known(known, block, data, at)

    def _note_known(self, known: Known, block: int, data: Array, at: int) -> None:
        """Compare the records of a sound block with those that are known of it, or take over what is not known."""
        first, last = self.array.bounds(block)
        runs = slice(first // RUN, -(-last // RUN))
        if known.sound[runs].all():
            return
        found, beside = self._stored_records(block, data, at), self.array.records
        if known.records is not None and beside is not None and known.records[runs].tobytes() != found.tobytes():
            raise self.reader.damage_beside(beside, f"its records for block {block} do not match; {REWRITE}")
        known.sound[runs] = True
        if known.blocks[block]:
            return
        if known.records is not None:
            known.records[runs].view(WHOLE)[:] = found.view(WHOLE)
        sectors = slice(self._sums_at[block], self._sums_at[block + 1])
        known.sums[sectors] = sums(self.stored(block, data, at), int(self._starts[block]))
        known.blocks[block] = True

    def take_parts(self, parts: PartReads, data: Array, plan: ReadPlan, records: Array) -> None:
        assert isinstance(parts, PackedPartReads)
        self._check_sums(parts, data, parts.known.sums)
        if isinstance(parts, RecordReads):
            self._take_records(parts, data, plan, records)
            return
        firsts, lasts = map(np.ascontiguousarray, parts.runs.T)
        shifts = (parts.places + self._words[parts.blocks] - parts.offsets) // WORD
        stored, base = self._in_memory(parts.known, records, plan.first)
        numbers = [array.view(np.int64) for array in (stored, records)]

        def copy(trusted: bool) -> int:
            known, to = (parts.known.sound.view(np.uint8), numbers[0], base), (numbers[1], plan.first * self._runs)
            return COPY_RECORDS(firsts, lasts, shifts, len(shifts), trusted, *known, *to)

        if copy(False):
            self._check_runs_of(parts, data, plan.first, records)
            copy(True)

    def _check_runs_of(self, parts: PackedPartReads, data: Array, first: int, records: Array) -> None:
        """Check the contents of the parts that have runs that were not checked before."""
        runs, of = numbers_in(*parts.runs.T)
        (stored, base), sound = self._in_memory(parts.known, records, first), parts.known.sound
        own = stored.take(runs - base)
        new, begins = np.unique(of[~sound[runs]]), np.searchsorted(of, np.arange(len(parts.runs) + 1))
        for some in np.array_split(new, 1 + len(runs) // RUNS_AT_ONCE):
            self._check_parts(parts, some, data, own, begins)
        sound[runs] = True

    def _take_records(self, parts: RecordReads, data: Array, plan: ReadPlan, records: Array) -> None:
        """Copy the records in `data` to their places in `records`, if they can be those of their runs."""
        runs, of = numbers_in(*parts.runs.T)
        blocks, within = parts.blocks[of], runs - parts.blocks[of] * self._runs
        places = (parts.places + self._starts[parts.blocks] - parts.offsets)[of] + RECORD_BYTES * within
        words = data[: plan.nbytes].view(np.uint32)
        found = words[places[:, None] // WORD + np.arange(RECORD_BYTES // WORD)].view(RECORD)[:, 0]
        most = (self._lengths - self._words + self._starts)[blocks] // WORD
        wrong = ~in_order(found, runs, blocks, most)
        if wrong.any():
            raise self.reader.damage(int(blocks[np.argmax(wrong)]), f"its records do not fit its length; {AGAIN}")
        records.view(WHOLE)[runs - plan.first * self._runs] = found.view(WHOLE)

    def _check_parts(self, parts: PackedPartReads, some: Array, data: Array, records: Array, begins: Array) -> None:
        """Check the contents of `some` of the parts, as far as that is possible without the rest of their blocks.

        The `records` of part k are those from ``begins[k]`` up to ``begins[k + 1]``.
        """
        if not len(some):
            return
        own, of = numbers_in(begins[some], begins[some + 1])
        counts, found = begins[some + 1] - begins[some], records.take(own)
        ends = np.cumsum(counts)
        firsts, last = found["first_word"][ends - counts], found[ends - 1]
        words = last["first_word"] + last["widths"].sum(axis=1, dtype=np.int64) - firsts
        found["first_word"] -= firsts[of]
        bounds, lists = np.minimum(parts.runs[some] * RUN, len(self)), self._rule.lists
        masks, at = begin_masks_of(np.zeros(0, np.int64) if lists is None else lists.offsets, bounds)
        places = (parts.places + self._words[parts.blocks] - parts.offsets)[some] // WORD + firsts
        pieces = Pieces(
            From(found.view(np.uint32), (ends - counts) * (RECORD_BYTES // WORD)), From(masks, at),
            From(data[: len(data) // WORD * WORD].view(np.uint32), places), words, bounds,
        )  # fmt: skip
        check = find_sound(pieces, self.array.name, self.dtype, None if lists is None else lists.offsets)
        limits = np.column_stack((check.sound, check.least, check.most)).tolist()
        for k, (is_sound, least, most) in zip(some.tolist(), limits, strict=True):
            if not is_sound or self._rule.excess(Limits(least, most)):
                self._check_runs(parts, k, data, records[begins[k] : begins[k + 1]].copy())  # says what is wrong

    def _check_runs(self, parts: PackedPartReads, k: int, data: Array, records: Array) -> None:
        """The same for part number `k`, whose `records` are changed."""
        block, (first_run, last_run) = int(parts.blocks[k]), parts.runs[k].tolist()
        first, last = first_run * RUN, min(last_run * RUN, len(self))
        words = int(records["widths"].sum(dtype=np.int64))
        place = int(parts.places[k] + self._words[block] - parts.offsets[k]) + WORD * int(records["first_word"][0])
        records["first_word"] -= records["first_word"][0]
        kind, lists = KIND_OF[self.array.name], self._rule.lists
        masks = begin_masks(lists.offsets, first, last) if kind == LISTS and lists is not None else None
        problem, most = unpack_checked(
            kind, records, masks, data[place : place + WORD * words].view(np.uint32), last - first,
            np.empty(min(last - first, RUN), self.dtype),
        )  # fmt: skip
        if problem:
            raise self.reader.damage(block, f"{problem}; {AGAIN}")
        if problem := self._rule.excess(Limits(int(records["base"].min()), most)):
            raise self.reader.damage(block, problem)

    def records_bytes(self, span: range) -> int:
        return len(span) * self._runs * RECORD.itemsize

    def note_records(self, block: int, data: Array, plan: ReadPlan, records: Array) -> None:
        place = block - plan.first
        first, at = place * self._runs, plan.at[place]
        stored = self._stored_records(block, data, at)
        own = records[first : first + len(stored)]
        own.view(WHOLE)[:] = stored.view(WHOLE)
        own["first_word"] += (at + int(self._words[block] - self._starts[block])) // WORD

    def _stored_records(self, block: int, data: Array, at: int) -> Array:
        """The records of a block that begins at `at` in `data`, as they are stored there."""
        begin, end = self.array.bounds(block)
        return data[at : at + -(-(end - begin) // RUN) * RECORD.itemsize].view(RECORD)

    def elements(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> Placed:
        begin = plan.first * self.block_elements
        own = records[(first - begin) // RUN : -(-(last - begin) // RUN)]
        return Placed(own, data[: plan.nbytes].view(np.uint32), last - first, self.dtype)

    def alone(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> Placed:
        return self.elements(first, last, data, records, plan).alone(self.room(first, last))

    def _check_new(self, blocks: list[int], data: Array, places: list[int]) -> None:
        numbers = np.array(blocks, np.int64)
        first = numbers * self.block_elements
        bounds = np.column_stack((first, np.minimum(first + self.block_elements, len(self))))
        words_at = self._words[numbers] - self._starts[numbers]
        some = blocks_in(data, np.array(places, np.int64), self._lengths[numbers], words_at, bounds)
        lists = self._rule.lists
        found = find_sound(some, self.array.name, self.dtype, None if lists is None else lists.offsets)
        for k, (is_sound, *limits) in enumerate(np.column_stack((found.sound, found.least, found.most)).tolist()):
            if not is_sound or self._rule.excess(Limits(*limits)):
                self._check_once(blocks[k], self.stored(blocks[k], data, places[k]))  # says what is wrong
        is_ascending = KIND_OF[self.array.name] == ASCENDING
        continues = ~found.begins if lists is not None else is_ascending
        self._bases[numbers], self._continues[numbers], self._ends[numbers] = found.bases, continues, found.last

    def _check_once(self, block: int, stored: Array) -> None:
        piece = self.reader.decode(block, stored.data, None)
        assert piece is not None
        if problem := self._rule.excess(piece.limits):
            raise self.reader.damage(block, problem)
        if piece.masks is not None and self._rule.lists is not None:
            begin, end = self.array.bounds(block)
            if not begins_where(self._rule.lists.offsets, begin, end, piece.masks):
                problem = f"its lists do not begin where {OFFSETS_OF[self.array.name]} says"
                raise self.reader.damage(block, problem)
