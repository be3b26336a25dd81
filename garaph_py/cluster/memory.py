"""How much memory a worker needs for a part, and how much it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.part import Cuts
from ..io.bulk.array_writer import WRITER_BYTES
from ..io.collect import MIN_SORT_BYTES, READER_BYTES
from ..program import BoundProgram
from ..storage.stored_part import TABLE_BYTES
from .cuts import part_edges
from .mirrors import mirror_counts
from .worker import KEPT

Array = npt.NDArray[Any]

LIMIT_SHARE = 0.8
"""The share of its memory limit at which Dask pauses a worker (`distributed.worker.memory.pause`)."""
PROCESS = 300 << 20
"""Bytes of a worker's process besides its part: Python, Dask, Numba, compiled functions, and messages under way. A
worker had 125 MiB after runs of three programs over a small graph (2026-11-26)."""
PLACE_BYTES = 4 + 8 + 8 + 8 + 8
"""Bytes that a part keeps for each of its vertices besides edges and values: the vertex's number, its two degrees, the
sum of the out-degrees before it, and its id."""
STATE_ARRAYS = 2
"""Arrays of values in a synchronous run."""
COPIES = 2 * KEPT
"""Copies in a worker's memory: those of its own part, and those of a neighbour's."""
PARAMETERS = 2
"""Copies in a worker of a parameter that has a number for each vertex: the received array, and the structures."""
SORTING = MIN_SORT_BYTES + READER_BYTES + 2 * WRITER_BYTES
"""The least memory for writing a part's edges to a disk, in bytes."""
READING = 32 << 20
"""The least memory for reading edges from a disk during a run, in bytes: some blocks of 1 MiB, and their checksums."""


class Needs(NamedTuple):
    """Bytes of memory that a part takes in a worker: int64, or arrays with a number for each part.

    Attributes
    ----------
    raw : int64
        While the program runs, with the edges raw in memory, in both directions.
    loading : int64
        The peak before the run, if the worker reads the part from a graph directory.
    on_disk : int64
        The minimum with the edges on the worker's disk, for writing them and for the run.
    opened : int64
        The minimum with the edges in a graph directory already.
    writing, running : int64
        Besides the memory for sorting, while the worker writes the part; and besides the graph on disk, during the run.
    """

    raw: Any
    loading: Any
    on_disk: Any
    opened: Any
    writing: Any
    running: Any


# wide: all sizes on which it depends
def needs(
    edges: Any, vertices: Any, n: int, edge_dtype: np.dtype[Any] | None, value_bytes: int, parameter_bytes: int
) -> Needs:
    """The memory of a part with this many `edges`, and `vertices` including mirrors, of a graph with `n` vertices.

    Edges have values of `edge_dtype`, if any. `parameter_bytes` are those of the program's parameters for one vertex.
    """
    edge_bytes = 4 + (0 if edge_dtype is None else edge_dtype.itemsize)
    offsets, place = 2 * 8 * vertices, PLACE_BYTES * vertices
    state = STATE_ARRAYS * value_bytes * vertices
    beside = ((COPIES + 1) * value_bytes + PARAMETERS * parameter_bytes) * vertices
    raw = 2 * edges * edge_bytes + offsets + place + state + beside
    loading = edges * edge_bytes + TABLE_BYTES * n + offsets + place
    writing, running = place + TABLE_BYTES * n, place + beside
    opened = running + offsets + state + READING
    on_disk = np.maximum(writing + offsets + SORTING, opened)
    return Needs(raw, loading, on_disk, opened, writing, running)


def parameter_bytes(bound: BoundProgram) -> int:
    """Bytes of the program's parameters for one vertex."""
    return 0 if bound.vertex_data is None else bound.vertex_data.itemsize


def rooms(limits: Iterable[int]) -> Array:
    """The bytes that workers with these memory limits have for their parts: float64; infinitely many without a limit,
    which is a limit of 0."""
    return np.array([max(0, int(limit * LIMIT_SHARE) - PROCESS) if limit else np.inf for limit in limits])


def part_needs(graph: Graph, cuts: Cuts, bound: BoundProgram, mirrors: Array | None = None) -> Needs:
    """What each part takes in a worker: arrays of shape (parts,).

    Parameters
    ----------
    mirrors : ndarray, optional
        How many mirrors each part has; by default they are counted, which reads all edges.
    """
    vertices = np.diff(cuts.vertices) + (mirror_counts(graph, cuts) if mirrors is None else mirrors)
    dtype, sizes = graph._arrays.in_edges.value_dtype, (bound.value.itemsize, parameter_bytes(bound))
    return needs(part_edges(graph, cuts), vertices, graph.n, dtype, *sizes)


def part_bytes(graph: Graph, cuts: Cuts, bound: BoundProgram, mirrors: Array | None = None) -> Array:
    """The minimum of bytes that each part takes in a worker, with its values, copies, messages and parameters.

    Edges are raw in memory, in both directions; those of a graph on disk may be on the worker's disk. For `mirrors`
    see `part_needs`.
    """
    need = part_needs(graph, cuts, bound, mirrors)
    least: Array = np.minimum(np.maximum(need.raw, need.loading), need.on_disk) if graph.on_disk else need.raw
    return least


def bytes_at_most(graph: Graph, cuts: Cuts, bound: BoundProgram) -> Array:
    """`part_bytes`, or an upper bound of it for a graph on disk, whose edges are not read to count mirrors."""
    return part_bytes(graph, cuts, bound, most_mirrors(graph, cuts) if graph.on_disk else None)


def most_mirrors(graph: Graph, cuts: Cuts) -> Array:
    """An upper bound on the mirrors of each part, which reads no edges."""
    most: Array = np.minimum(part_edges(graph, cuts), graph.n - np.diff(cuts.vertices))
    return most
