"""Raw or packed: in which form a graph's edges come to the GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...graph import Graph, PackedAdjacency, StoredAdjacency
from ...graph.graph import PACKED, Edges
from ...native.threads import ThreadPool, available_cores
from ...system.memory import available_memory
from .edges import EdgeArrays, PackedArrays, RawArrays, arrays_on_disk
from .gather import AUTO
from .packing import STAGING_BYTES

Array = npt.NDArray[Any]

CPU_PACKS = 2e8
"""Edges a second that a thread of the CPU packs."""
UNBOUNDED = 20
"""Iterations to expect where nobody bounds them."""
WORTH_MEASURING = 3
"""Fewer iterations do not even pay for the pass that measures."""
HOST_SHARE = 0.5
"""Of the host's memory that is available: what packed edges beside raw ones may take."""


@dataclass(frozen=True)
class Choice:
    """How edges come to the GPU.

    Attributes
    ----------
    edges : Adjacency, PackedAdjacency or StoredAdjacency
        In the host's memory, or on disk.
    arrays : EdgeArrays
        On the device.
    packs : bool
        The device packs what is raw on the host; all of it has to stay.
    """

    edges: Edges
    arrays: EdgeArrays
    packs: bool = False


def packed_on_cpu(graph: Graph, reads_values: bool, threads: int | None) -> Choice:
    """The edges packed by the CPU, once for the graph."""
    with ThreadPool(threads) as pool:
        edges = graph.packed_in_edges(pool)
    return Choice(edges, PackedArrays.of(edges, reads_values))


def choose(
    graph: Graph,
    value_bytes: int,
    gather: str,
    left: int,
    measure: Callable[[], tuple[Array, float]],
    iterations: int | None,
    threads: int | None,
) -> Choice:
    """The form for a run.

    Raw edges that fit stay raw, for the gather is as fast over either. Where they do not, half the bytes an iteration
    pay for packing within some ten iterations.

    Parameters
    ----------
    graph : Graph
    value_bytes : int
        Of an edge value that the program reads, else 0.
    gather : {"auto", "replicated", "segmented", "packed"}
    left : int
        Bytes of device memory for edges.
    measure : callable
        Makes the records of the packed sources on the device, in a pass over the raw ones, and says how long that took.
    iterations : int or None
        At most so many there will be.
    threads : int or None
        Of the CPU.
    """
    edges = graph.in_edges
    if isinstance(edges, StoredAdjacency):
        return Choice(edges, arrays_on_disk(edges, value_bytes))
    if isinstance(edges, PackedAdjacency):
        return Choice(edges, PackedArrays.of(edges, value_bytes > 0))
    raw = Choice(edges, RawArrays(value_bytes))
    raw_bytes = graph.m * raw.arrays.width
    expected = UNBOUNDED if iterations is None else iterations
    if gather not in (AUTO, PACKED) or (gather == AUTO and (raw_bytes <= left or expected < WORTH_MEASURING)):
        return raw
    if not graph.has_packed_in_edges:
        try:
            records, seconds = measure()
        except DeviceMemoryError:
            if gather == AUTO:
                return raw
        else:
            arrays = PackedArrays(records, None, value_bytes)
            packed_bytes = graph.m * arrays.width
            fits = packed_bytes + STAGING_BYTES <= left
            cost = seconds if fits else graph.m / (CPU_PACKS * (threads or available_cores()))
            saved = max(raw_bytes - left, 0) - max(packed_bytes - left, 0)  # bytes an iteration
            gain = saved * seconds / max(4 * graph.m, 1) * expected
            too_large = not fits and packed_bytes > HOST_SHARE * available_memory()
            if gather == AUTO and (gain <= cost or too_large):
                return raw
            if fits:
                return Choice(edges, arrays, packs=True)
    return packed_on_cpu(graph, value_bytes > 0, threads)
