"""`MemoryPlan`: how much of the host's memory a run takes beside edges. Pure: sizes in, sizes or an error out.

`pages.memory` divides what is left for edges on disk; `executor.gpu.memory_plan` is about the GPU's memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..graph import Graph
from ..graph.tiles import BITS
from ..graph.vertex_set import BLOCK, WORD
from ..pages.memory import MemoryNeeds
from ..program import BoundProgram
from ..storage.fit import check_run
from ..system.sizes import show_bytes

VERTEX_SETS = 4
"""Sets of vertices in a `State`."""
TILE_TABLES = 3
"""Tables with a number for each tile, while tiles are made."""
RANK_BYTES = 4
"""Bytes of the number of a destination among those with in-edges (the GPU's `Ranks`)."""


@dataclass(frozen=True)
class MemoryPlan:
    """What a run takes of the host's memory beside edges, by who runs it.

    Attributes
    ----------
    cpu : MemoryNeeds
        The CPU alone.
    gpu : MemoryNeeds
        A GPU alone: the CPU only notifies.
    """

    cpu: MemoryNeeds
    gpu: MemoryNeeds

    @classmethod
    def of(cls, bound: BoundProgram, graph: Graph, synchronous: bool, pushes: bool, is_tiled: bool) -> MemoryPlan:
        """The plan of a run.

        Parameters
        ----------
        bound : BoundProgram
        graph : Graph
        synchronous : bool
        pushes : bool
            The CPU may push.
        is_tiled : bool
            Every iteration pulls by tiles.
        """
        alone, with_gpu = (vertex_bytes(bound, graph, synchronous, gpu) for gpu in (False, True))
        tiles = tile_bytes(bound, graph) if is_tiled and graph.on_disk else 0
        return cls(
            MemoryNeeds(alone, pushes=pushes or tiles > 0, tiles=tiles),
            MemoryNeeds(with_gpu, apart=True),
        )

    def hybrid(self, devices: int) -> MemoryNeeds:
        """The needs of a run on the CPU and so many devices together."""
        return replace(self.gpu, readers=1 + devices, pushes=self.cpu.pushes)


def vertex_bytes(bound: BoundProgram, graph: Graph, synchronous: bool, gpu: bool = False) -> int:
    """Bytes of ids, offsets, the program's data, values, sets of vertices and the reported values.

    The CPU alone has a second array of values in synchronous runs. A run with a `gpu` always has two, for the GPU's new
    values are copied into the second one, and the host keeps the destinations' ranks. (Other arrays of that size that
    the host makes for the GPU are copied there and freed before edges are read.)
    """
    per_vertex = bound.value.itemsize * (1 + (synchronous or gpu)) + VERTEX_SETS * (8 / WORD + 1 / BLOCK)
    per_vertex += RANK_BYTES * gpu
    if "result" in bound.arguments and bound.reports.itemsize != bound.value.itemsize:
        per_vertex += bound.reports.itemsize
    data = 0 if bound.vertex_data is None else bound.vertex_data.nbytes
    return int(graph.n * per_vertex) + graph.nbytes + graph.ids.nbytes + data


def tile_bytes(bound: BoundProgram, graph: Graph) -> int:
    """Bytes of tiles, of what is needed to make them beside edges, and of the sums in a pull by tiles."""
    values = graph.edge_dtype if bound.reads_edge_values else None
    per_edge, blocks = 4 + (0 if values is None else values.itemsize), -(-graph.n >> BITS)
    return graph.m * per_edge + 8 * (TILE_TABLES * blocks**2 + 1) + graph.n * bound.accumulator.itemsize


def check_tiles(bound: BoundProgram, graph: Graph) -> None:
    """Raise `GraphError` if a graph in memory has no tiles, and they would not fit the memory that it may take."""
    if graph.on_disk or graph.has_tiles(bound.reads_edge_values):
        return
    reversing = graph.bytes_to_reverse if bound.reads_edge_values else 0
    tiles, rest = tile_bytes(bound, graph) + reversing, vertex_bytes(bound, graph, synchronous=True)
    takes = f"the run takes {show_bytes(tiles)} of memory for tiles of the edges and {show_bytes(rest)}"
    check_run(graph, tiles + rest, takes, "choose another mode")
