"""`MemoryPlan`: the host memory that a run needs in addition to the edges. Pure functions of sizes.

`pages.memory` divides the remaining memory among edges on disk; `executor.gpu.memory_plan` plans the GPU's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

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


@dataclass(frozen=True)
class MemoryPlan:
    """The host memory that a run needs in addition to the edges, by executor.

    Attributes
    ----------
    cpu : MemoryNeeds
        For a run on the CPU alone.
    gpu : MemoryNeeds
        For a run on one GPU: the CPU only notifies, and reads the lists from disk along which the GPU pushes.
    both : MemoryNeeds
        For a run on the CPU and one GPU.
    """

    cpu: MemoryNeeds
    gpu: MemoryNeeds
    both: MemoryNeeds

    @classmethod
    def of(
        cls, bound: BoundProgram, graph: Graph, synchronous: bool, pushes: bool, is_tiled: bool,
        components: bool = False, deltas: bool = False,
    ) -> MemoryPlan:  # fmt: skip
        """The plan of a run.

        Parameters
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
        """
        # Values that a GPU sends need a second array, unless they may be written in place; it is lent until then.
        second = synchronous or not bound.is_relaxation
        alone, on_gpu, together = (vertex_bytes(bound, graph, arrays) for arrays in (1 + synchronous, 1, 1 + second))
        lists = buffer_bytes(edges_of_buffer(graph.m, True), bound.edge_value_bytes) * (pushes and graph.on_disk)
        on_gpu, together = on_gpu + lists, together + lists
        tiles = tile_bytes(bound, graph) if is_tiled and graph.on_disk else 0
        parents = PARENT_BYTES * graph.n * components
        alone, together = alone + parents + sum_bytes(bound, graph) * deltas, together + parents
        searches = not bound.updates_all_vertices
        needs = partial(MemoryNeeds, follows_out=True, searches=searches)
        return cls(
            needs(alone, pushes=pushes or tiles > 0, tiles=tiles),
            needs(on_gpu, whole_pages=True, pushes=pushes),
            needs(together, lent=graph.n * bound.value.itemsize * second, pushes=pushes),
        )

    def pulling(self) -> MemoryPlan:
        """The same for a run that follows no out-edges: its iterations only pull, or find components."""
        return MemoryPlan(*(replace(needs, follows_out=False) for needs in (self.cpu, self.gpu, self.both)))


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
