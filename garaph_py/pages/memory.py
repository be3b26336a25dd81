"""The memory for edges that stay on disk: how a run's memory is divided, and what a pass over the edges takes.

Pure: sizes in, sizes or an error out. `executor.memory` says what a run takes beside edges; verifiers, which pass over
the edges too, are below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ..codec.arrays import PACKED
from ..errors import GraphError
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..storage.disks import checkers_of_disk
from ..storage.fit import check_run
from ..storage.reader import ArrayReader
from ..system.sizes import show_bytes
from .disk_frames import least_room
from .layout import PAGE_EDGES

OUT_SHARE = 5
"""Out-edges that only notify or push get one part in five of the memory for edges, and their values another one."""
SPARE_BYTES = 1 << 22
"""Bytes of a run's memory that are left for whatever is not counted."""
CHECKER_BLOCKS = 2
"""Packed blocks for which a checker thread has scratch memory."""
PASS_EDGES = 1 << 17
"""Edges of a page in a pass where memory is short: whatever is made of so many fits into `SPARE_BYTES`."""
PASS_EDGE_BYTES = 64
"""Bytes of the memory for edges for each edge of a page in a pass: a page takes a small part of that memory."""
PASS_VERTEX_BYTES = 64
"""Bytes for each vertex that a verifier takes."""


@dataclass(frozen=True)
class MemoryNeeds:
    """What a run, or a pass over the edges, takes of the memory beside edges, and which edges it reads.

    Attributes
    ----------
    vertices : int
        Bytes for vertices.
    readers : int
        Threads that read pages of in-edges at the same time: 2 where CPU and GPU share a run.
    apart : bool
        Out-edges have pages of their own, also where they are the in-edges.
    pushes : bool
        The values of out-edges are read too.
    tiles : int
        Bytes for tiles, if the run makes some: then it reads out-edges to make them, and no other edges.
    verifies : bool
        The pass verifies an answer. Only the error depends on it.
    """

    vertices: int
    readers: int = 1
    apart: bool = False
    pushes: bool = False
    tiles: int = 0
    verifies: bool = False


class EdgeMemory:
    """The memory that is left for edges on disk, divided between in-edges and out-edges.

    Parameters
    ----------
    graph : Graph
        Its edges are on disk.
    reads_values : bool
        The program reads edge values.
    needs : MemoryNeeds

    Attributes
    ----------
    taken : int
        Bytes that are taken beside edges and tiles.
    into, out : int
        Bytes for in-edges and for out-edges. With tiles there are no pages of in-edges, and both are the same bytes.

    Raises
    ------
    GraphError
        If nothing is left for edges.
    """

    def __init__(self, graph: Graph, reads_values: bool, needs: MemoryNeeds) -> None:
        edges = graph.in_edges
        self._graph, self._reads_values, self.needs, self._memory = graph, reads_values, needs, graph.memory or 0
        arrays = arrays_on_disk(edges)
        self.taken = needs.vertices + SPARE_BYTES
        if edges.encoding == PACKED:
            checkers = len(arrays[0].reader.paths) * max(checkers_of_disk(), 1)
            self.taken += checkers * CHECKER_BLOCKS * arrays[0].array.block_bytes
        self.apart = needs.apart or graph.directed
        out_parts = len(self.out_arrays()) if self.apart else 0
        self._in_parts, self._out_parts = (0, OUT_SHARE) if needs.tiles else (OUT_SHARE - out_parts, out_parts)
        left = self._memory - self.taken - needs.tiles
        if left <= 0:
            raise self.too_little()
        self.out = left * self._out_parts // OUT_SHARE
        self.into = left if needs.tiles else left - self.out

    def in_arrays(self) -> list[ArrayReader]:
        """The arrays of in-edges that are read."""
        return arrays_on_disk(self._graph.in_edges, self._reads_values)

    def out_arrays(self) -> list[ArrayReader]:
        """The arrays of out-edges that are read."""
        return arrays_on_disk(self._graph.out_edges, self._reads_values and self.needs.pushes)

    def too_little(self, in_least: int = 0) -> GraphError:
        """The error that says with how much memory the run can begin.

        Parameters
        ----------
        in_least : int
            The least bytes for in-edges, where it is known that they take more than the smallest pages do.
        """
        graph, needs, out_least = self._graph, self.needs, 0
        if self._in_parts:
            in_least = max(in_least, least_room(self.in_arrays(), graph.in_edges.offsets, needs.readers))
        if self._out_parts:
            out_least = least_room(self.out_arrays(), graph.out_edges.offsets)
        shares = (in_least * bool(self._in_parts), self._in_parts), (out_least, self._out_parts)
        least = max(-(-nbytes * OUT_SHARE // max(parts, 1)) for nbytes, parts in shares)
        total = self.taken + needs.tiles + least
        vertices = f"{show_bytes(self.taken)} of memory for the vertices"
        what, otherwise = "the run", ""
        if needs.tiles:
            vertices = (
                f"{show_bytes(needs.tiles)} of memory for tiles of the edges, {show_bytes(self.taken)} for the vertices"
            )
            otherwise = ", with which its edges are in memory too, or choose another mode"
            total += max(graph.raw_bytes - graph.nbytes, 0)  # with so much the edges may no longer stay on disk
        if needs.verifies:
            what, otherwise = "to verify the answer", ", or leave the answer unverified"
        return GraphError(
            f"{what} takes {vertices} and {show_bytes(least)} for edges at hand, and may take "
            f"{show_bytes(self._memory)}; allow {show_bytes(total, up=True)} when the graph is opened "
            f"(memory, --memory){otherwise}"
        )


def arrays_on_disk(edges: Adjacency, values: bool = False) -> list[ArrayReader]:
    """The arrays of `edges` that stay on disk: the other endpoints and, if they are asked for, the `values`."""
    assert edges.on_disk
    return cast(list[ArrayReader], edges.arrays(values))


def pass_bytes(graph: Graph) -> int:
    """Bytes of memory beside edges that a graph and a verifier's pass over its edges take."""
    return graph.nbytes + graph.ids.nbytes + PASS_VERTEX_BYTES * graph.n


def pass_page_edges(graph: Graph, room: int) -> int | None:
    """The bound on a page's edges in a pass; None for the usual one.

    `room` is the memory for edges where these stay on disk.
    """
    if graph.on_disk:
        return few_edges(room)
    if graph.memory is None:
        return None
    return min(max((graph.memory - pass_bytes(graph)) // PASS_EDGE_BYTES, PASS_EDGES), PAGE_EDGES)


def few_edges(room: int) -> int:
    """The bound on a page's edges in a pass over edges on disk, for which there are so many bytes of memory."""
    return min(PASS_EDGES, max(room // PASS_EDGE_BYTES, 1))


def check_verifying(graph: Graph, reads_values: bool) -> None:
    """Raise `GraphError` if the memory that the graph was opened with is too little to verify an answer in."""
    needed = pass_bytes(graph)
    if not graph.on_disk:
        takes = f"to verify the answer takes {show_bytes(needed)} of memory"
        check_run(graph, needed, takes, "leave the answer unverified")
        return
    memory = EdgeMemory(graph, reads_values, MemoryNeeds(needed, verifies=True))
    if memory.into < least_room(memory.in_arrays(), graph.in_edges.offsets):
        raise memory.too_little()
