"""Divides a run's memory if edges are on disk, and computes the memory that a pass over the edges takes.

This module only computes sizes. `executor.memory` computes what a run takes beside edges. Verifiers also pass over the
edges, but are in a lower layer than `executor.memory`, so what they take is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from ..codec.arrays import PACKED
from ..errors import GraphError
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..graph.arrays import GraphArrays
from ..storage.disks import checkers_of_disk
from ..storage.fit import check_run
from ..storage.reader import ArrayReader
from ..system.sizes import show_bytes
from .disk_layout import DiskLayout, RoomError, lay_out, least_room, page_edges_within
from .layout import PAGE_EDGES, Page

OUT_SHARE = 5
"""Out-edges with pages of their own get 1/5 of the memory for edges, and their values another 1/5."""
PARTS_SHARE = 2
"""Records and checksums, which make it possible to read parts of packed blocks, take 2 to 3 % of the edges' bytes; they
may take 1/2 of the memory for edges. Fewer pages are then resident, so a dense iteration reads these 2 to 3 % more."""
SUMS_SHARE = 8
"""Checksums alone take 0.15 % of the edges' bytes, and may take 1/8 of the memory for edges: with that, a dense
iteration over Kronecker 22 read as much as without them, and 6 % more with 1/7 (November 2026; the rest is in
docs/results/ssd.md, "Records by sectors")."""
ENOUGH_BYTES = 1 << 26
"""Records may take more than half if they leave these bytes, which are enough to read pages at the disk's pace."""
SPARE_BYTES = 1 << 22
"""Bytes of a run's memory that are reserved for small objects, which are not counted."""
CHECKER_BLOCKS = 2
"""Packed blocks for which a checker thread has scratch memory."""
PASS_EDGES = 1 << 17
"""Edges of a page in a pass if memory is short: temporary arrays of this many elements fit into `SPARE_BYTES`."""
PASS_EDGE_BYTES = 64
"""Bytes of the memory for edges per edge of a page in a pass, so that a page takes only a small part of that memory."""
PASS_VERTEX_BYTES = 64
"""Bytes per vertex that a verifier takes."""


@dataclass(frozen=True)
class MemoryNeeds:
    """The memory that a run, or a pass over the edges, takes beside edges, and the edges that it reads.

    Attributes
    ----------
    vertices : int
        Bytes for vertices.
    values : int
        Bytes of these for arrays of values, whose memory may be that of an earlier run's.
    lent : int
        Bytes of these that are unused until the CPU works beside a GPU: they hold in-edges until then.
    follows_out : bool
        Whether iterations follow out-edges, to notify or to push.
    pushes : bool
        Whether the run also reads the values of out-edges.
    tiles : int
        Bytes for tiles; 0 if the run makes none. A run with tiles reads out-edges to make them, and no other edges.
    searches : bool
        Whether iterations may read the lists of a few vertices.
    whole_pages : bool
        Whether in-edges are read by whole pages only.
    verifies : bool
        Whether the pass verifies an answer. Only the error's text depends on it.
    """

    vertices: int
    values: int = 0
    lent: int = 0
    follows_out: bool = False
    pushes: bool = False
    tiles: int = 0
    searches: bool = False
    whole_pages: bool = False
    verifies: bool = False


class EdgeMemory:
    """The memory for edges on disk, divided between in-edges and out-edges.

    Parameters
    ----------
    arrays : GraphArrays
        Those of a graph whose edges are on disk.
    reads_values : bool
        Whether the program reads edge values.
    needs : MemoryNeeds

    Attributes
    ----------
    taken : int
        Bytes of everything except edges and tiles.
    into, out : int
        Bytes for in-edges and for out-edges. With tiles there are no pages of in-edges, and both are the same memory.
    parts : list of ArrayReader
        The arrays that keep what it takes to read parts of their blocks (`ArrayReader.keep_parts`), which `taken`
        includes.
    summed : list of ArrayReader
        Those that keep the same without records, for which there is no room; `taken` includes it, too.

    Raises
    ------
    GraphError
        If nothing is left for edges.
    """

    def __init__(self, arrays: GraphArrays, reads_values: bool, needs: MemoryNeeds) -> None:
        edges, memory = arrays.in_edges, arrays.memory or 0
        self._arrays, self._reads_values, self.needs, self._memory = arrays, reads_values, needs, memory
        self.taken = needs.vertices + SPARE_BYTES + arrays.reserved
        if edges.encoding == PACKED:
            sources = arrays_on_disk(edges)[0]
            checkers = len(sources.reader.paths) * max(checkers_of_disk(), 1)
            self.taken += checkers * CHECKER_BLOCKS * sources.array.block_bytes
        self.apart = (needs.follows_out or needs.tiles > 0) and arrays.directed
        out_parts = len(self.out_arrays()) if self.apart else 0
        self._in_parts, self._out_parts = (0, OUT_SHARE) if needs.tiles else (OUT_SHARE - out_parts, out_parts)
        left = self._memory - self.taken - needs.tiles
        if left <= 0:
            raise self.too_little()
        self.parts, self.summed = list[ArrayReader](), list[ArrayReader]()
        if needs.searches and not needs.tiles:
            self._choose_parts(left)
        parts = self.parts_nbytes
        self.taken, left = self.taken + parts, left - parts
        self.out = left * self._out_parts // OUT_SHARE
        self.into = left if needs.tiles else left - self.out

    @property
    def parts_nbytes(self) -> int:
        """Bytes of the records and checksums that `parts` and `summed` keep."""
        return sum(array.parts_nbytes for array in self.parts) + sum(array.sums_nbytes for array in self.summed)

    def _choose_parts(self, left: int) -> None:
        """Choose the arrays to read by parts: those of a side whose edges exceed its share of `left` bytes.

        If too little would be left for edges, they keep only checksums, or nothing.
        """
        sides = [(self.out_arrays(), self._out_parts)] if self.apart else []
        if not (self.needs.whole_pages and self.apart):
            sides.append((self.in_arrays(), self._in_parts))
        found = dict[ArrayReader, None]()  # in an undirected graph both sides have the same arrays
        for arrays, share in sides:
            if sum(array.stored_bytes for array in arrays) > left * share // OUT_SHARE:
                found |= dict.fromkeys(arrays)
        most, spare = max(left // PARTS_SHARE, left - ENOUGH_BYTES), left - self._least()
        if 0 < sum(array.parts_nbytes for array in found) <= min(most, spare):
            self.parts = list(found)
        elif 0 < sum(array.sums_nbytes for array in found) <= min(most, left // SUMS_SHARE, spare):
            self.summed = list(found)

    @property
    def page_edges(self) -> int:
        """The bound on the in-edges of a page that does not stay."""
        return page_edges_within(self.in_arrays(), self._arrays.in_edges.offsets, self.into)

    def in_layout(
        self, page_edges: int | None = None, parts: Sequence[Page] | None = None, elsewhere: int = 0
    ) -> DiskLayout:
        """The pages of in-edges; the parameters are those of `lay_out`. It may give up records, or also checksums, to
        make room for pages.

        Raises
        ------
        GraphError
            If the memory is too little for a page.
        """
        offsets = self._arrays.in_edges.offsets
        try:
            return lay_out(self.in_arrays(), offsets, self.into, page_edges, parts, elsewhere, self.needs.lent)
        except RoomError as error:
            if not self.parts_nbytes:
                raise self.too_little(error.least) from None
        before = self.parts_nbytes
        self.parts, self.summed = [], self.parts
        spared = before - self.parts_nbytes
        self.taken, self.into = self.taken - spared, self.into + spared
        return self.in_layout(page_edges, parts, elsewhere)

    def out_layout(self, page_edges: int | None = None) -> DiskLayout:
        """The pages of out-edges, if these have pages of their own, with at most `page_edges` edges.

        Raises
        ------
        GraphError
            If the memory is too little for a page.
        """
        try:
            return lay_out(self.out_arrays(), self._arrays.out_edges.offsets, self.out, page_edges)
        except RoomError:
            raise self.too_little() from None

    def in_arrays(self) -> list[ArrayReader]:
        """The arrays of in-edges that are read."""
        return arrays_on_disk(self._arrays.in_edges, self._reads_values)

    def out_arrays(self) -> list[ArrayReader]:
        """The arrays of out-edges that are read."""
        return arrays_on_disk(self._arrays.out_edges, self._reads_values and self.needs.pushes)

    def _least(self, in_least: int = 0) -> int:
        """The least memory for edges, in bytes, with which the shares of in-edges and out-edges both suffice."""
        arrays, out_least = self._arrays, 0
        if self._in_parts:
            in_least = max(in_least, least_room(self.in_arrays(), arrays.in_edges.offsets))
        if self._out_parts:
            out_least = least_room(self.out_arrays(), arrays.out_edges.offsets)
        shares = (in_least * bool(self._in_parts), self._in_parts), (out_least, self._out_parts)
        return max(-(-nbytes * OUT_SHARE // max(parts, 1)) for nbytes, parts in shares)

    def too_little(self, in_least: int = 0) -> GraphError:
        """The error that says how much memory the run needs.

        Parameters
        ----------
        in_least : int
            Bytes that in-edges are known to need, if that is more than the smallest pages need.
        """
        arrays, needs, least = self._arrays, self.needs, self._least(in_least)
        total = self.taken + needs.tiles + least
        vertices = f"{show_bytes(self.taken)} of memory for the vertices and its own buffers"
        what, otherwise = "the run", ""
        if needs.tiles:
            vertices = (
                f"{show_bytes(needs.tiles)} of memory for tiles of the edges, {show_bytes(self.taken)} for the "
                "vertices and its own buffers"
            )
            otherwise = ", with which its edges are in memory too, or choose another mode"
            total += max(arrays.raw_bytes - arrays.nbytes, 0)  # with so much memory, the edges would be loaded into it
        if needs.verifies:
            what, otherwise = "to verify the answer", ", or leave the answer unverified"
        return GraphError(
            f"{what} takes {vertices}, and {show_bytes(least)} for the edges that it reads at a time, and may take "
            f"{show_bytes(self._memory)}; allow {show_bytes(total, up=True)} when the graph is opened "
            f"(memory, --memory){otherwise}"
        )


def arrays_on_disk(edges: Adjacency, values: bool = False) -> list[ArrayReader]:
    """The arrays of `edges`, which are on disk: the other endpoints and, if `values`, the edge values."""
    assert edges.on_disk
    return cast(list[ArrayReader], edges.arrays(values))


def bytes_on_disk(edges: Adjacency, values: bool) -> int:
    """Bytes of `edges` on disk, with or without their `values`; 0 if they are in memory."""
    return sum(array.stored_bytes for array in arrays_on_disk(edges, values)) if edges.on_disk else 0


def pass_bytes(graph: Graph) -> int:
    """Bytes of memory that a graph and a verifier's pass over its edges take, without edges that are on disk."""
    return graph.nbytes + graph.ids.nbytes + PASS_VERTEX_BYTES * graph.n


def pass_page_edges(graph: Graph, room: int) -> int | None:
    """The bound on a page's edges in a pass; None for the default (`layout.PAGE_EDGES`).

    `room` is the memory for edges on disk, in bytes.
    """
    if graph.on_disk:
        return few_edges(room)
    if graph.memory is None:
        return None
    return min(max((graph.memory - pass_bytes(graph)) // PASS_EDGE_BYTES, PASS_EDGES), PAGE_EDGES)


def tile_page_edges(room: int, page_edges: int | None) -> int:
    """The bound on the edges of a page from which tiles are made, if the user gave `page_edges`, or None."""
    most = few_edges(room)
    return min(page_edges or most, most)


def few_edges(room: int) -> int:
    """The bound on a page's edges in a pass over edges on disk, with `room` bytes of memory for edges."""
    return min(PASS_EDGES, max(room // PASS_EDGE_BYTES, 1))


def check_verifying(graph: Graph, reads_values: bool) -> None:
    """Raise `GraphError` if the memory with which the graph was opened is too little to verify an answer."""
    needed = pass_bytes(graph)
    if not graph.on_disk:
        takes = f"to verify the answer takes {show_bytes(needed)} of memory"
        check_run(graph, needed, takes, "leave the answer unverified")
        return
    memory = EdgeMemory(graph._arrays, reads_values, MemoryNeeds(needed, verifies=True))
    if memory.into < least_room(memory.in_arrays(), graph._arrays.in_edges.offsets):
        raise memory.too_little()
