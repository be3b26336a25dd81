"""Raw or packed: the codec in which a graph's edges come to the GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...codec.arrays import PACKED, RAW
from ...errors import DeviceMemoryError
from ...graph import Graph
from ...graph.adjacency import Adjacency
from ...native.threads import ThreadPool, available_cores
from ...system.memory import available_memory
from .edges import ArraysOnDevice, EdgeLayout, PackedOnDevice, with_raw_values
from .gather import AUTO
from .packing import STAGING_BYTES

Array = npt.NDArray[Any]

CPU_PACKS = 2e8
"""Edges that one thread of the CPU packs in a second."""
UNBOUNDED = 20
"""The number of iterations that are expected of a run without a bound."""
WORTH_MEASURING = 3
"""With fewer iterations, packing would not even pay for the pass that measures how long it takes."""
HOST_SHARE = 0.5
"""The share of the host's available memory that packed edges may take beside raw ones."""


@dataclass(frozen=True)
class Choice:
    """How edges come to the GPU.

    Attributes
    ----------
    edges : Adjacency
        The edges on the host, in memory or on disk.
    arrays : EdgeLayout
        How they lie in device memory.
    records : ndarray of RECORD or None
        If the GPU packs raw edges: the records of the packed sources. All pages then have to stay in device memory.
    """

    edges: Adjacency
    arrays: EdgeLayout
    records: Array | None = None

    @property
    def packs(self) -> bool:
        """Whether the GPU packs the edges."""
        return self.records is not None


def packed_on_cpu(graph: Graph, reads_values: bool, threads: int | None) -> Choice:
    """The edges packed by the CPU, once for the graph."""
    with ThreadPool(threads) as pool:
        edges = graph.packed_in_edges(pool)
    return Choice(edges, ArraysOnDevice.of(edges, reads_values))


def choose(
    graph: Graph,
    value_bytes: int,
    gather: str,
    left: int,
    measure: Callable[[], tuple[Array, float]],
    iterations: int | None,
    threads: int | None,
) -> Choice:
    """Choose the codec for a run.

    Raw edges that fit into device memory stay raw, because the gather is as fast over either codec. Where they do not
    fit, packed edges are half the bytes to copy in each iteration, which pays for packing within some ten iterations.

    Parameters
    ----------
    graph : Graph
    value_bytes : int
        Bytes of an edge value; 0 if the program reads none.
    gather : {"auto", "replicated", "segmented", "packed"}
    left : int
        Bytes of device memory that are left for edges.
    measure : callable
        Makes the records of the packed sources on the device, in a pass over the raw ones; returns them and how many
        seconds that took.
    iterations : int or None
        The most iterations that the run may have.
    threads : int or None
        Threads of the CPU.
    """
    edges, reads_values = graph.in_edges, value_bytes > 0
    given = Choice(edges, ArraysOnDevice.of(edges, reads_values))
    if edges.on_disk or edges.encoding != RAW:
        return given
    raw_bytes = graph.m * given.arrays.width
    expected = UNBOUNDED if iterations is None else iterations
    if gather not in (AUTO, PACKED) or (gather == AUTO and (raw_bytes <= left or expected < WORTH_MEASURING)):
        return given
    if not graph.has_packed_in_edges:
        try:
            records, seconds = measure()
        except DeviceMemoryError:
            if gather == AUTO:
                return given
        else:
            arrays = with_raw_values(PackedOnDevice(records), value_bytes)
            packed_bytes = graph.m * arrays.width
            fits = packed_bytes + STAGING_BYTES <= left
            cost = seconds if fits else graph.m / (CPU_PACKS * (threads or available_cores()))
            saved = max(raw_bytes - left, 0) - max(packed_bytes - left, 0)  # bytes an iteration
            gain = saved * seconds / max(4 * graph.m, 1) * expected
            too_large = not fits and packed_bytes > HOST_SHARE * available_memory()
            if gather == AUTO and (gain <= cost or too_large):
                return given
            if fits:
                return Choice(edges, arrays, records)
    return packed_on_cpu(graph, reads_values, threads)
