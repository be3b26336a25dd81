"""`MemoryPlan`: the host memory that a run needs in addition to the edges. Pure functions of sizes.

`pages.memory` divides the remaining memory among edges on disk; `executor.gpu.memory_plan` plans the GPU's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..graph import Graph
from ..graph.arrays import OUT_WEIGHTS
from ..graph.tiles import BITS, PIECES, destination_bounds, granule_bits_of
from ..graph.vertex_set import BLOCK, WORD
from ..pages.memory import MemoryNeeds
from ..program import BoundProgram
from ..storage.fit import check_run
from ..system.sizes import show_bytes
from .edge_list import buffer_bytes, edges_of_buffer

VERTEX_SETS = 4
"""Number of vertex sets in a `State`: frontier, next frontier, notified, pending."""
PARENT_BYTES = 4
"""Bytes of a vertex's parent: in a tree of connected vertices, or for the result."""
TILE_TABLES = 3
"""Number of int64 tables with an entry for each piece of the out-edges and block of destinations that exist at once
while tiles are made."""


@dataclass
class MemoryPlan:
    """The host memory that a run needs in addition to the edges, by executor; each is computed when it is asked for.

    Attributes
    ----------
    bound : BoundProgram
    graph : Graph
    synchronous : bool
    pushes : bool
        The CPU may push, or a GPU along lists that the CPU reads from disk.
    is_tiled : bool
        Every iteration pulls by tiles.
    components : bool
        The CPU may find connected components.
    deltas : bool
        The CPU alone may push deltas, so it keeps the vertices' sums.
    follows_out : bool
        Iterations may follow out-edges; those of other runs only pull, or find components.
    """

    bound: BoundProgram
    graph: Graph
    synchronous: bool
    pushes: bool
    is_tiled: bool
    components: bool = False
    deltas: bool = False
    follows_out: bool = True

    @cached_property
    def cpu(self) -> MemoryNeeds:
        """For a run on the CPU alone."""
        others = self._parents + sum_bytes(self.bound, self.graph) * self.deltas
        tiles = tile_bytes(self.bound, self.graph) if self.is_tiled and self.graph.on_disk else 0
        return self._needs(1 + self.synchronous, others, pushes=self.pushes or tiles > 0, tiles=tiles)

    @cached_property
    def gpu(self) -> MemoryNeeds:
        """For a run on one GPU: the CPU only notifies, and reads the lists from disk along which the GPU pushes."""
        return self._needs(1, self._lists, whole_pages=True, pushes=self.pushes)

    @cached_property
    def both(self) -> MemoryNeeds:
        """For a run on the CPU and one GPU."""
        # Values that a GPU sends need a second array, unless they may be written in place; it is lent until then.
        second = self.synchronous or not self.bound.is_relaxation
        lent = self._values(1) * second
        return self._needs(1 + second, self._lists + self._parents, lent=lent, pushes=self.pushes)

    def _needs(self, arrays: int, others: int, **more: Any) -> MemoryNeeds:
        """What a run takes with so many `arrays` of values, and `others` in addition to what every run takes."""
        nbytes = vertex_bytes(self.bound, self.graph, arrays) + others
        searches = not self.bound.updates_all_vertices
        return MemoryNeeds(nbytes, self._values(arrays), follows_out=self.follows_out, searches=searches, **more)

    def _values(self, arrays: int) -> int:
        return self.graph.n * self.bound.value.itemsize * arrays

    @property
    def _lists(self) -> int:
        """Bytes of the buffers for lists that are read from disk."""
        reads = self.pushes and self.graph.on_disk
        return buffer_bytes(edges_of_buffer(self.graph.m, True), self.bound.edge_value_bytes) if reads else 0

    @property
    def _parents(self) -> int:
        """Bytes of the vertices' parents in trees of connected vertices."""
        return PARENT_BYTES * self.graph.n if self.components else 0


def vertex_bytes(bound: BoundProgram, graph: Graph, arrays: int) -> int:
    """Bytes of ids, offsets, the program's data, vertex sets, the reported values, and so many `arrays` of values.

    Arrays of that size that the host makes for a GPU are copied to it and freed before edges are read.
    """
    per_vertex = bound.value.itemsize * arrays + VERTEX_SETS * (8 / WORD + 1 / BLOCK)
    if not bound.reports_values and bound.reports.itemsize != bound.value.itemsize:
        per_vertex += bound.reports.itemsize
    per_vertex += PARENT_BYTES * bound.finds_parents
    data = 0 if bound.vertex_data is None else bound.vertex_data.nbytes
    if OUT_WEIGHTS in graph._arrays.derived:
        data += 8 * graph.n
    return int(graph.n * per_vertex) + graph.nbytes + graph.ids.nbytes + data


def sum_bytes(bound: BoundProgram, graph: Graph) -> int:
    """Bytes of the vertices' sums."""
    return graph.n * bound.accumulator.itemsize


def tile_bytes(bound: BoundProgram, graph: Graph) -> int:
    """Bytes of the tiles, of the tables needed to make them, and of the sums in a pull by tiles."""
    values = graph.edge_dtype if bound.reads_edge_values else None
    per_edge, blocks = 4 + (0 if values is None else values.itemsize), -(-graph.n >> BITS)
    bounds = destination_bounds(graph._arrays.in_edges.offsets)
    per_row = TILE_TABLES * (blocks + PIECES) + blocks
    tables = 8 * ((len(bounds) - 1) * per_row + 1) + 4 * (graph.n >> granule_bits_of(bounds))
    return graph.m * per_edge + tables + sum_bytes(bound, graph)


def check_tiles(bound: BoundProgram, graph: Graph) -> None:
    """Raise `GraphError` if a graph in memory has no tiles yet, and tiles would not fit in the graph's memory limit."""
    if graph.on_disk or graph._arrays.has_tiles(bound.reads_edge_values):
        return
    reversing = graph._arrays.bytes_to_reverse if bound.reads_edge_values else 0
    tiles, rest = tile_bytes(bound, graph) + reversing, vertex_bytes(bound, graph, arrays=2)
    takes = f"the run takes {show_bytes(tiles)} of memory for tiles of the edges and {show_bytes(rest)}"
    check_run(graph, tiles + rest, takes, "choose another mode")
