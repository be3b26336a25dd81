"""How much of the host's memory a run takes beside the edges."""

from __future__ import annotations

from ..graph import Graph
from ..graph.tiles import BITS
from ..graph.vertex_set import BLOCK, WORD
from ..program import BoundProgram
from ..storage.fit import check_run
from ..system.sizes import show_bytes

SETS = 4
"""Of vertices: `State`."""
TABLES = 3
"""Of a number for each tile, while tiles are made."""
RANK_BYTES = 4
"""Of a destination's number: the GPU's `Ranks`."""


def vertex_bytes(bound: BoundProgram, graph: Graph, synchronous: bool, gpu: bool = False) -> int:
    """Bytes of ids, offsets, the program's data, values, sets of vertices and what the program reports.

    The CPU alone takes a second array of values where the run is synchronous. With a `gpu`, alone or beside the CPU,
    there always are two, for new values land in one of them, and the host keeps the ranks of destinations. (Whatever
    else it makes of that size goes to the device, and is gone before edges come.)
    """
    a_vertex = bound.value.itemsize * (1 + (synchronous or gpu)) + SETS * (8 / WORD + 1 / BLOCK) + RANK_BYTES * gpu
    if "result" in bound.arguments and bound.reports.itemsize != bound.value.itemsize:
        a_vertex += bound.reports.itemsize
    data = 0 if bound.vertex_data is None else bound.vertex_data.nbytes
    return int(graph.n * a_vertex) + graph.nbytes + graph.ids.nbytes + data


def tile_bytes(bound: BoundProgram, graph: Graph) -> int:
    """Bytes of tiles, of what they are made with beside edges, and of the sums that a pull by them takes."""
    values = graph.edge_dtype if bound.reads_edge_values else None
    an_edge, blocks = 4 + (0 if values is None else values.itemsize), -(-graph.n >> BITS)
    return graph.m * an_edge + 8 * (TABLES * blocks**2 + 1) + graph.n * bound.accumulator.itemsize


def check_tiles(bound: BoundProgram, graph: Graph) -> None:
    """Raise `GraphError` if a graph in memory has no tiles, and they would not fit what it may take."""
    if graph.on_disk or graph.has_tiles(bound.reads_edge_values):
        return
    reversing = graph.bytes_to_reverse if bound.reads_edge_values else 0
    tiles, rest = tile_bytes(bound, graph) + reversing, vertex_bytes(bound, graph, synchronous=True)
    takes = f"the run takes {show_bytes(tiles)} of memory for tiles of the edges and {show_bytes(rest)}"
    check_run(graph, tiles + rest, takes, "choose another mode")
