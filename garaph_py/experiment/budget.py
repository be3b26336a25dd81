"""The memory of the GPU as a share of a graph: `gpu_memory = "1/4"` in a spec."""

from __future__ import annotations

import re
from typing import Any

from ..executor.partitions import EDGE_BYTES
from ..graph import Graph
from ..program import VertexProgram, bind

GPU_MEMORY = "gpu_memory"
SHARE = re.compile(r"1/([1-9][0-9]{0,5})")
"""A share of the bytes of a graph's edges."""
VERTEX_BYTES = 48
"""GPU memory for a vertex beside edges: values, sums, offsets and bitmaps of any engine."""


def read_bytes(program: VertexProgram, graph: Graph) -> int:
    """The bytes of the raw edges, with their values if the program reads them."""
    return graph.m * (EDGE_BYTES + bind(program, graph).edge_value_bytes)


def is_share(given: dict[str, Any]) -> bool:
    """Whether settings give the GPU's memory as a share of the graph."""
    return isinstance(text := given.get(GPU_MEMORY), str) and SHARE.fullmatch(text) is not None


def sized(given: dict[str, Any], program: VertexProgram, graph: Graph) -> dict[str, Any]:
    """The settings with the GPU's memory in bytes: a share of the edges that the program reads, and all vertices."""
    if not is_share(given):
        return given
    parts = int(given[GPU_MEMORY].removeprefix("1/"))
    return given | {GPU_MEMORY: read_bytes(program, graph) // parts + VERTEX_BYTES * graph.n}


def without_share(given: dict[str, Any]) -> dict[str, Any]:
    """The settings without a share, which has no size before the graph is there."""
    return {name: value for name, value in given.items() if name != GPU_MEMORY} if is_share(given) else given
