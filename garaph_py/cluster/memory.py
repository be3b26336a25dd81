"""How much memory a worker needs for a part, and whether the workers of a cluster have it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError
from ..graph import Graph
from ..graph.part import Cuts
from ..program import BoundProgram
from ..system.sizes import show_bytes
from .cuts import MOST_PARTS, cut
from .mirrors import mirror_counts
from .worker import KEPT

Array = npt.NDArray[Any]

LIMIT_SHARE = 0.8
"""The share of its memory limit at which Dask pauses a worker (`distributed.worker.memory.pause`)."""
PROCESS = 300 << 20
"""Bytes of a worker's process beside its part: Python, Dask, Numba and compiled functions, and what messages take for a
moment. A worker had 125 MiB after runs of three programs over a small graph (2026-11-26)."""
PLACE_BYTES = 4 + 8 + 8
"""Bytes that a part keeps for each of its vertices beside edges and values: its number and its two degrees."""
STATE_ARRAYS = 2
"""Arrays of values in a synchronous run."""
COPIES = 2 * KEPT
"""Copies in a worker's memory: those of its own part, and those of a neighbour's."""
WHOLE_PARAMETERS = 2
"""Arrays in a worker of the parameters that have a number for each vertex of the undivided graph: as they came, and as
structures while the program is bound."""


def part_bytes(graph: Graph, cuts: Cuts, bound: BoundProgram) -> Array:
    """Bytes that each part takes in a worker: edges in both directions, values, copies, messages and parameters."""
    arrays = graph._arrays.in_edges
    edge = 4 + (0 if arrays.values is None else arrays.values.itemsize)
    edges, vertices = np.diff(arrays.offsets[cuts.vertices]), np.diff(cuts.vertices) + mirror_counts(graph, cuts)
    of_vertex = 2 * 8 + PLACE_BYTES + (STATE_ARRAYS + COPIES + 1) * bound.value.itemsize
    given = 0 if bound.vertex_data is None else bound.vertex_data.itemsize
    needed: Array = 2 * edges * edge + vertices * (of_vertex + given) + WHOLE_PARAMETERS * graph.n * given
    return needed


def check_memory(graph: Graph, cuts: Cuts, bound: BoundProgram, limits: Collection[int]) -> None:
    """Refuse workers that are too small; `limits` are their memory limits in bytes, 0 for none.

    Raises
    ------
    ClusterError
        It says how many workers with as much memory would do.
    """
    bounded = [limit for limit in limits if limit]
    if not bounded:
        return
    room = int(min(bounded) * LIMIT_SHARE)
    needed = int(part_bytes(graph, cuts, bound).max()) + PROCESS
    if needed <= room:
        return
    parts = cuts.parts
    while parts < MOST_PARTS:
        parts = min(MOST_PARTS, max(parts + 1, parts * 5 // 4))
        if int(part_bytes(graph, cut(graph, parts), bound).max()) + PROCESS <= room:
            break
    else:
        parts = 0
    advice = f"{parts} workers like these would do" if parts else "no number of workers like these would do"
    raise ClusterError(
        f"a part takes {show_bytes(needed)} in a worker, which may use {show_bytes(room)} before Dask pauses it; "
        f"{advice}, or give each more memory (memory_limit)"
    )
