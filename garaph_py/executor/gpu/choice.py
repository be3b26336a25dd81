"""Chooses the codec, raw or packed, in which a graph's edges are copied to the GPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from ...codec.arrays import PACKED, RAW
from ...errors import DeviceMemoryError
from ...graph.adjacency import Adjacency
from ...graph.arrays import GraphArrays
from ...native.threads import ThreadPool, available_cores
from ...system.memory import available_memory
from .edges import ArraysOnDevice, EdgeLayout, PackedOnDevice, RawOnDevice, with_raw_values
from .gather import AUTO
from .launch import Launcher
from .memory import DeviceMemory
from .packing import STAGING_BYTES, Packing
from .streams import Streams

Array = npt.NDArray[Any]

CPU_PACKS = 2e8
"""Edges per second that one CPU thread packs: 16 threads packed 2.9e9 to 3.2e9 (docs/results/gpu.md, "Packed
edges")."""
UNBOUNDED = 20
"""Iterations that `choose` expects of a run without a limit. A guess: BFS over R-MAT has five, PageRank some dozens."""
WORTH_MEASURING = 3
"""Iterations below which `choose` does not consider packing, because the pass that measures it would not pay."""
FAR_RUNS = 32
"""Runs over a directed graph that push along raw out-edges in host memory, after which packing the edges, so that the
GPU's memory has room for all, has paid for itself. Over R-MAT 22 it takes some 25 ms (67 M edges, `CPU_PACKS` and two
passes over the link), and such a BFS takes 0.6 to 0.8 ms longer than pushes in the GPU's memory
(docs/results/gpu.md)."""
HOST_SHARE = 0.5
"""The share of the host's available memory that packed edges may take beside raw ones: the other half stays free for
other arrays and processes. Not measured."""


@dataclass(frozen=True)
class Choice:
    """The codec and the memory layout of a run's edges.

    Attributes
    ----------
    edges : Adjacency
        The edges on the host, in memory or on disk.
    arrays : EdgeLayout
        Their layout in device memory.
    records : ndarray of RECORD or None
        If the GPU packs raw edges: the records of the packed sources. All pages must then be resident.
    """

    edges: Adjacency
    arrays: EdgeLayout
    records: Array | None = None

    @property
    def packs(self) -> bool:
        """Whether the GPU packs the edges."""
        return self.records is not None

    def with_offsets(self) -> Choice:
        """The same with the 16-bit offset of each edge's destination (`offset_pages`)."""
        assert isinstance(self.arrays, ArraysOnDevice)
        return replace(self, arrays=replace(self.arrays, offsets=RawOnDevice(2)))

    def pack(self, streams: Streams, launcher: Launcher, memory: DeviceMemory, starts: int) -> None:
        """Pack the raw sources into the pages, all of which are resident; `starts` is the address of ``starts``."""
        edges, arrays, records = self.edges, self.arrays, self.records
        assert records is not None
        packing = Packing(edges.neighbours, launcher, memory, starts)
        streams.buffers.fill_by(lambda page, places: packing.fill(page, arrays, records, places, edges.values))
        packing.close()


def as_given(arrays: GraphArrays, reads_values: bool) -> Choice:
    """The edges in the codec that they have."""
    return Choice(arrays.in_edges, ArraysOnDevice.of(arrays.in_edges, reads_values))


def packed_on_cpu(arrays: GraphArrays, reads_values: bool, threads: int | None) -> Choice:
    """The edges packed by the CPU, once for the graph."""
    with ThreadPool(threads) as pool:
        edges = arrays.packed_in_edges(pool)
    return Choice(edges, ArraysOnDevice.of(edges, reads_values))


def choose(
    arrays: GraphArrays,
    value_bytes: int,
    gather: str,
    left: int,
    measure: Callable[[], tuple[Array, float]],
    iterations: int | None,
    threads: int | None,
) -> Choice:
    """Choose the codec for a run.

    Raw edges that fit into device memory stay raw, because the gather is as fast over raw edges as over packed ones.
    If they do not fit, packed edges halve the bytes to copy in each iteration. That pays for packing within about ten
    iterations.

    Parameters
    ----------
    arrays : GraphArrays
    value_bytes : int
        Bytes of an edge value; 0 if the program reads none.
    gather : {"auto", "replicated", "segmented", "packed"}
    left : int
        Bytes of device memory that are left for edges.
    measure : callable
        Computes the records of the packed sources on the device, in one pass over the raw ones; returns them and the
        seconds that this took.
    iterations : int or None
        Bound on the run's iterations; None if there is none.
    threads : int or None
        CPU threads; None for one per available core.
    """
    edges, reads_values = arrays.in_edges, value_bytes > 0
    given = as_given(arrays, reads_values)
    if edges.on_disk or edges.encoding != RAW:
        return given
    raw_bytes = arrays.m * given.arrays.width
    expected = UNBOUNDED if iterations is None else iterations
    if gather not in (AUTO, PACKED) or (gather == AUTO and (raw_bytes <= left or expected < WORTH_MEASURING)):
        return given
    if not arrays.has_packed_in_edges:
        try:
            records, seconds = measure()
        except DeviceMemoryError:
            if gather == AUTO:
                return given
        else:
            layout = with_raw_values(PackedOnDevice(records), value_bytes)
            packed_bytes = arrays.m * layout.width
            fits = packed_bytes + STAGING_BYTES <= left
            cost = seconds if fits else arrays.m / (CPU_PACKS * (threads or available_cores()))
            saved = max(raw_bytes - left, 0) - max(packed_bytes - left, 0)  # bytes an iteration
            gain = saved * seconds / max(4 * arrays.m, 1) * expected
            too_large = not fits and packed_bytes > HOST_SHARE * available_memory()
            if gather == AUTO and (gain <= cost or too_large):
                return given
            if fits:
                return Choice(edges, layout, records)
    return packed_on_cpu(arrays, reads_values, threads)


def packs_out_edges(arrays: GraphArrays, valued: bool, into: Choice) -> bool:
    """Whether pushes read packed out-edges of a directed graph, with their values if `valued`.

    They do if packed ones are there, or if the in-edges are packed, as `into` says: packing the out-edges takes as
    long, and a push then moves half of the bytes.
    """
    if arrays.has_packed_out_edges(valued):
        return True
    return into.arrays.encoding == PACKED and arrays.m * into.arrays.width <= HOST_SHARE * available_memory()


def packed_lists_bytes(
    arrays: GraphArrays, value_bytes: int, left: int, runs: int, measure: Callable[[], tuple[Array, float]],
    within: Callable[[int], Choice], threads: int | None,
) -> int:  # fmt: skip
    """Bytes of the packed out-edges of a directed graph, if these are worth room in the device's memory; 0 if not.

    They are if all in-edges fit beside them, raw or packed as `choose` decides, but raw out-edges would not; and if
    they are there, or `runs` have read raw ones in host memory. Then this packs them.

    Parameters
    ----------
    arrays, value_bytes, left, measure, threads
        As for `choose`.
    runs : int
        As `DeviceGraph.far_runs`.
    within : callable
        What `choose` decides for in-edges that have so many bytes.
    """
    raw_bytes, valued = arrays.m * (4 + value_bytes), value_bytes > 0
    if arrays.encoding != RAW or not raw_bytes <= left < 2 * raw_bytes or (valued and arrays.bytes_to_reverse):
        return 0

    def fit(nbytes: float) -> bool:
        if nbytes + min(raw_bytes, nbytes + STAGING_BYTES) > left:
            return False
        beside = left - math.ceil(nbytes)
        into = within(beside)
        return arrays.m * into.arrays.width + STAGING_BYTES * into.packs <= beside

    if not arrays.has_packed_out_edges(valued):
        if runs < FAR_RUNS:
            return 0
        try:
            nbytes = arrays.m * with_raw_values(PackedOnDevice(measure()[0]), value_bytes).width
        except DeviceMemoryError:
            return 0
        if not fit(nbytes) or nbytes > HOST_SHARE * available_memory():
            return 0
    with ThreadPool(threads) as pool:
        nbytes = arrays.packed_out_edges(valued, pool).edge_bytes
    return nbytes if fit(nbytes) else 0
