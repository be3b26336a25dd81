"""How much memory a run takes beside the edges."""

from __future__ import annotations

from ..graph import Graph
from ..program import BoundProgram
from ..state import BLOCK, WORD

SETS = 4
"""Of vertices: `State`."""


def vertex_bytes(bound: BoundProgram, graph: Graph, synchronous: bool) -> int:
    """Bytes of ids, offsets, values, sets of vertices and what the program reports, for a run on the CPU."""
    a_vertex = bound.value.itemsize * (1 + synchronous) + SETS * (8 / WORD + 1 / BLOCK)
    if "result" in bound.arguments and bound.reports.itemsize != bound.value.itemsize:
        a_vertex += bound.reports.itemsize
    data = 0 if bound.vertex_data is None else bound.vertex_data.nbytes
    return int(graph.n * a_vertex) + graph.nbytes + graph.ids.nbytes + data
