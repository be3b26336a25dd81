"""A superstep of HyTGraph: the edges of each partition reach the GPU in the way that is cheapest (sections V and VI).

The GPU counts what each partition has to push, the engine chooses on the host (`PartitionPush.plan`), the GPU lists the
active vertices, and tasks follow each other on the stream of kernels: first those whose partitions have stayed on the
GPU, if any may (kept_partitions.py); then those whose partitions are copied, on a stream of copies; then kernels that
read lists in host memory; then those whose lists the CPU has compacted meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native.threads import ThreadPool
from ..decision import PageDecision
from ..modes import COMPACTED, COPIED, GPU, PUSH, RESIDENT
from ..partitions import INDEX_BYTES, MULTIPLE, PartitionCounts, TransferTask
from ..results import PageResult
from ..state import State
from .compaction import compact
from .edge_lists import EdgeLists
from .header import PIECE
from .launches import Launches
from .partition_buffers import TALLIES, WHOLE, Slot, padded
from .requests import LINE, SECTOR
from .task import copy_of

Array = npt.NDArray[Any]

ADDRESSES = 1 << 64
"""The number of addresses of a GPU; addresses wrap around, because edge 0 of some lists would lie before its memory."""
NOT_LISTED = 0xFFFFFFFF
"""In `to_queue`: the partition's vertices are not listed."""


@dataclass(frozen=True)
class Part:
    """The edges that one launch of kernels pushes along: a task, or compacted lists that fit a buffer.

    Attributes
    ----------
    number : int
    transfer : str
    partitions : tuple of int
    is_listed : bool
        Its active vertices are in the queue; otherwise kernels look at all its vertices.
    places : (int, int)
        The places of the queue, from one to before the other.
    pieces : (int, int)
        The same of the pieces of long lists, or where there is room for them.
    edges : int
        Its active edges.
    """

    number: int
    transfer: str
    partitions: tuple[int, ...]
    is_listed: bool
    places: tuple[int, int]
    pieces: tuple[int, int]
    edges: int

    @property
    def is_whole(self) -> bool:
        """Whether its partitions are in the device's memory as a whole."""
        return self.transfer in WHOLE


class Superstep:
    """One superstep. The device's context must be current.

    Parameters
    ----------
    launches : Launches
    lists : EdgeLists
    state : State
    first : bool
        Every vertex pushes all that it contributes to its targets' sums.
    """

    def __init__(self, launches: Launches, lists: EdgeLists, state: State, first: bool) -> None:
        assert lists.buffers is not None
        self.launches, self.lists, self.buffers, self.how = launches, lists, lists.buffers, lists.buffers.how
        self.arrays, self.driver, self.launcher = launches.arrays, launches.driver, launches.launcher
        self.pushes_deltas = launches.placed.keeps_sums
        self.in_turn = self.how.in_turn and self.pushes_deltas and not first
        self.is_synchronous = state.synchronous and not self.in_turn
        self.recomputes = self.how.recomputes and not self.is_synchronous
        self.arrays.context["in_turn"] = self.in_turn
        self.task, self.words = launches.tasks.of_all(), -(-self.arrays.n // MULTIPLE)
        self.kernels, self.copies = self.buffers.kernels, self.buffers.copies or self.buffers.kernels

    def __call__(self) -> list[PageResult]:
        counted = self._count()
        counts = self._counts(counted)
        tasks = self._plan(counts)
        parts = self._divide(tasks, counted, counts)
        vertices = self._list(parts, counted)
        with ThreadPool(self.lists.threads) as pool:
            for part in parts:
                if part.is_whole:
                    self._push_whole(part)
                elif part.transfer == COMPACTED:
                    self._compact(part, vertices[part.number], pool)
                else:
                    self._push(part, self.task)
        self._end(any(part.is_listed for part in parts))
        return self._results(tasks, counted, counts, self._followed_more(parts))

    def _count(self) -> Array:
        """The edges that each partition has to push, counted by the GPU."""
        counted, place = self.buffers.template.copy(), self.arrays.address("partition_table")
        self.driver.memcpy_htod(place, counted.view(np.uint8))
        self.launcher.on_threads("count_partitions", self.words, None, self.task)
        self.driver.memcpy_dtoh(counted.view(np.uint8), place)
        return counted

    def _counts(self, counted: Array) -> PartitionCounts:
        """The same counts, as the engine takes them."""
        vertices, edges, requests = (counted[name].astype(np.int64) for name in ("active", "active_edges", "requests"))
        change, width = counted["change"] if self.pushes_deltas else None, sum(self.buffers.widths)
        return PartitionCounts(self.buffers.partitions.edges, vertices, edges, requests, width, change)

    def _plan(self, counts: PartitionCounts) -> list[TransferTask]:
        """The tasks: partitions that have stayed, those that are copied to stay, and the engine's for the others.

        A copy to stay is a task by itself.
        """
        staying, is_active = self.buffers.staying, counts.active_edges > 0
        if staying is None:
            return self.how.plan(counts)
        before = [number for number in sorted(staying.places) if is_active[number]]
        others = self.how.plan(without(counts, before))
        copied = {number for task in others if task.transfer == COPIED for number in task.partitions}
        admitted = staying.admit(is_active, copied)
        staying.count_uses(counts)
        stayed = [number for number in before if number in staying.places]
        tasks = [TransferTask(way, (k,)) for way, those in ((RESIDENT, stayed), (COPIED, admitted)) for k in those]
        return tasks + self.how.plan(without(counts, stayed + admitted))

    def _divide(self, tasks: list[TransferTask], counted: Array, counts: PartitionCounts) -> list[Part]:
        """Give each task its places of the queue, and room for its pieces; what is copied is cut to buffers.

        A list that is cut has `PIECE` edges or more, and two pieces more than whole ones at most. In a synchronous
        relaxation all are listed, because the places of the queue then have copies of what vertices push.
        """
        looks = self.how.looks_at_all and (self.pushes_deltas or not self.is_synchronous)
        active, every, followed = counts.active_vertices.tolist(), counts.edges.tolist(), counts.active_edges.tolist()
        cut, compacted, parts, place, piece = counted["pieces"].tolist(), counts.compacted_bytes, list[Part](), 0, 0
        for task in tasks:
            is_listed = task.transfer not in WHOLE or not looks
            for group in self.buffers.groups(task, compacted):
                vertices = sum(active[k] for k in group) if is_listed else 0
                pieces = sum(cut[k] for k in group)
                if task.transfer in WHOLE:  # kernels may look for those that have changed, and leave other pieces
                    pieces = 3 * sum(every[k] for k in group) // PIECE
                room, edges = (piece, piece + pieces), sum(followed[k] for k in group)
                places = place, place + vertices
                parts.append(Part(len(parts), task.transfer, tuple(group), is_listed, places, room, edges))
                place, piece = place + vertices, piece + pieces
        return parts

    def _list(self, parts: list[Part], counted: Array) -> dict[int, Array]:
        """Have the GPU list active vertices; return those whose lists the CPU compacts, by the number of their part.

        They are read now: a copy to the host waits for all that has been launched.
        """
        table, tallies = counted.copy(), np.zeros(max(TALLIES * len(parts), 1), self.launcher.layouts.tally)
        table["to_queue"] = NOT_LISTED
        for part in (part for part in parts if part.is_listed):
            chosen = list(part.partitions)
            for name, to, begin in ("active", "to_queue", part.places), ("pieces", "to_pieces", part.pieces):
                table[to][chosen] = begin[0] + np.cumsum(counted[name][chosen]) - counted[name][chosen]
            tallies["pieces"][TALLIES * part.number] = counted["pieces"][chosen].sum()
        self.driver.memcpy_htod(self.buffers.tallies, tallies.view(np.uint8))
        if not any(part.is_listed for part in parts):
            return {}
        self.driver.memcpy_htod(self.arrays.address("partition_table"), table.view(np.uint8))
        self.launcher.on_threads("list_partitions", self.words, None, self.task)
        compacted = [part for part in parts if part.transfer == COMPACTED]
        if not compacted:
            return {}
        before, last = compacted[0].places[0], compacted[-1].places[1]
        queue = self.buffers.listed(last - before)
        self.driver.memcpy_dtoh(queue.view(np.uint8), self.arrays.address("queue") + queue.itemsize * before)
        return {part.number: queue[part.places[0] - before : part.places[1] - before] for part in compacted}

    def _push_whole(self, part: Part) -> None:
        """Push along the lists of adjacent partitions, which are copied as a whole unless they have stayed."""
        edges = self.buffers.partitions.first_edges
        slot = self.buffers.place_of(part.partitions) or self.buffers.next()
        first, last = int(edges[part.partitions[0]]), int(edges[part.partitions[-1] + 1])
        self.copies.wait_for_event(slot.free)
        addresses, at = [], slot.address
        for host, mapped, width in zip(self.lists.arrays, self.lists.addresses, self.buffers.widths, strict=True):
            place = at + (mapped + first * width) % LINE  # in its line as in host memory
            if part.transfer == COPIED:
                self.driver.memcpy_htod_async(place, host[first:last].view(np.uint8), self.copies)
            addresses.append(place - first * width)
            at += padded((last - first) * width)
        self._push_when_there(part, slot, self._with_lists(addresses))

    def _compact(self, part: Part, vertices: Array, pool: ThreadPool) -> None:
        """Have the CPU compact the lists of `vertices`; copy them with their index, and push along them."""
        staged, slot, lists = self.buffers.next_staged(), self.buffers.next(), self.lists
        assert staged.memory is not None
        sizes = [len(vertices) * INDEX_BYTES, *(part.edges * width for width in self.buffers.widths)]
        begins = list(accumulate((-(-size // LINE) * LINE for size in sizes), initial=0))
        places = [staged.memory[begin : begin + size] for begin, size in zip(begins, sizes, strict=False)]
        columns = [place.view(array.dtype) for place, array in zip(places[1:], lists.arrays, strict=True)]
        compact(vertices, self.buffers.offsets, lists.arrays, places[0].view(np.int64), columns, pool)
        self.copies.wait_for_event(slot.free)
        self.driver.memcpy_htod_async(slot.address, staged.memory[: begins[-1]], self.copies)
        staged.arrived.record(self.copies)
        task = self._with_lists([slot.address + begin for begin in begins[1:-1]])
        task["context"]["compacted"] = (slot.address - INDEX_BYTES * part.places[0]) % ADDRESSES
        self._push_when_there(part, slot, task)

    def _with_lists(self, addresses: list[int]) -> Array:
        """The argument of kernels for which edge 0 of the lists would be at these addresses."""
        task = copy_of(self.task)
        for name, address in zip(("lists", "list_values"), addresses, strict=False):
            task["context"][name] = address % ADDRESSES
        return task

    def _push_when_there(self, part: Part, slot: Slot, task: Array) -> None:
        """Push once the copies to `slot` have ended, and once more if that is wanted; then the slot is free."""
        slot.arrived.record(self.copies)
        self.kernels.wait_for_event(slot.arrived)
        self._push(part, task)
        if self.recomputes and part.is_whole and not (self.in_turn and part.is_listed):
            self._push_range(part, task, 1)
        slot.free.record(self.kernels)

    def _push(self, part: Part, task: Array) -> None:
        """Push from the active vertices of a part."""
        if not part.is_listed:
            self._push_range(part, task, 0)
            return
        listed = copy_of(task)
        listed["page"]["first_place"], listed["page"]["last_place"] = part.places
        self.launcher.on_warps("push_listed", part.places[1] - part.places[0], self.kernels, listed)
        self._push_pieces(part, listed, 0)

    def _push_range(self, part: Part, task: Array, turn: int) -> None:
        """Push from the vertices of adjacent partitions: those of the frontier, then those that have changed since.

        If deltas are applied in turn, both are those that are in the frontier now, and new values are applied at once.
        """
        bounds, looked = self.buffers.partitions.bounds, copy_of(task)
        context, page = looked["context"], looked["page"]
        first, last = int(bounds[part.partitions[0]]), int(bounds[part.partitions[-1] + 1])
        page["first_vertex"], page["last_vertex"] = first, last
        page["tally"] = self._tally(part, turn)
        if turn or self.in_turn:
            self.launcher.on_threads("take_frontier", last - first, self.kernels, looked)
            context["frontier"] = self.arrays.address("taken")
        context["queue"] = 0  # what refers to places there refers to vertices
        context["pieces"] = self._pieces(part)
        self.launcher.on_threads("push_vertices", last - first, self.kernels, looked)
        self._push_pieces(part, looked, turn)
        if self.in_turn:
            context["frontier"] = self.arrays.address("frontier")
            self.launcher.on_all("apply_in_turn", self.kernels, looked)

    def _push_pieces(self, part: Part, task: Array, turn: int) -> None:
        """Push along the pieces of long lists, if these are split."""
        if self.lists.how.splits:
            task["page"]["tally"], task["context"]["pieces"] = self._tally(part, turn), self._pieces(part)
            self.launcher.on_all("push_pieces", self.kernels, task)

    def _tally(self, part: Part, turn: int) -> int:
        """The address of a part's counts: those of its first kernels, or of those that process it once more."""
        return self.buffers.tallies + (TALLIES * part.number + turn) * int(self.launcher.layouts.tally.itemsize)

    def _pieces(self, part: Part) -> int:
        """The address of a part's pieces."""
        return self.arrays.address("pieces") + part.pieces[0] * int(self.launcher.layouts.list_piece.itemsize)

    def _end(self, is_listed: bool) -> None:
        """Apply what has been pushed, and count the next frontier."""
        arrays = self.arrays
        if self.pushes_deltas and not self.in_turn:
            self.launcher.on_blocks("apply_notified", arrays.n, None, self.task)
            return
        if self.in_turn and is_listed:
            self.launcher.on_all("apply_in_turn", self.kernels, self.task)
        if self.in_turn:
            self.driver.memcpy_dtod(arrays.address("next_frontier"), arrays.address("frontier"), 4 * self.words)
        self.launcher.on_all("scan_updated", None, self.task)

    def _followed_more(self, parts: list[Part]) -> int:
        """Edges that were followed beside those that had been counted: once more, or of vertices active since then."""
        if not (self.recomputes and parts):
            return 0
        tallies = np.zeros(TALLIES * len(parts), self.launcher.layouts.tally)
        self.driver.memcpy_dtoh(tallies.view(np.uint8), self.buffers.tallies)
        taken = tallies["active_edges"].astype(np.int64).reshape(-1, TALLIES)
        late = [taken[part.number, 0] - part.edges for part in parts if self.in_turn and not part.is_listed]
        return int(taken[:, 1].sum() + sum(late))

    def _results(
        self, tasks: list[TransferTask], counted: Array, counts: PartitionCounts, again: int
    ) -> list[PageResult]:
        """The result of each partition. The first active one has the counts of all, and the edges followed `again`.

        Bytes that kernels read in host memory are those of the sectors that hold lists.
        """
        ways = {number: task.transfer for task in tasks for number in task.partitions}
        moved = {way: counted["sectors"].astype(np.int64) * SECTOR for way in ways.values()}
        moved |= {COPIED: counts.edges * counts.edge_bytes, COMPACTED: counts.compacted_bytes}
        moved[RESIDENT] = np.zeros_like(counts.edges)
        how = {way: (PageDecision(PUSH, GPU, way), nbytes.tolist()) for way, nbytes in moved.items()}
        results = list[PageResult]()
        for number, edges in enumerate(counts.active_edges.tolist()):
            if number in ways:
                decision, nbytes = how[ways[number]]
                results.append(PageResult(edges, 0, 0, 0, None, to_device=nbytes[number], how=decision))
            else:
                results.append(PageResult(0, 0, 0, 0, None, skipped=True))
        tallies = self.launches.read_tallies()
        first = next((result for result in results if not result.skipped), results[0])
        first.active = first.changeable = int(tallies["active"].sum())
        first.active_edges, first.edges = int(tallies["active_edges"].sum()), first.edges + again
        results[0].counts = counts
        return results


def without(counts: PartitionCounts, numbers: list[int]) -> PartitionCounts:
    """The counts as if these partitions had nothing to push."""
    left = {name: getattr(counts, name).copy() for name in ("active_vertices", "active_edges", "requests")}
    for array in left.values():
        array[numbers] = 0
    return replace(counts, **left)


def push_partitions(launches: Launches, state: State, first: bool) -> list[PageResult]:
    """Push from the frontier in one superstep; new values replace the old ones. The context must be current.

    In the `first` superstep of a program that pushes deltas, every vertex pushes all that it contributes.
    """
    assert launches.placed.lists is not None
    return Superstep(launches, launches.placed.lists, state, first)()
