"""The GPU packs raw sources while they are copied to where they stay (docs/packed.md)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.format import RECORD
from ...graph import Graph
from ...pages.layout import Page
from ...system import interrupts
from .device import Device, failing
from .edges import EdgeLayout
from .launch import Launcher
from .memory import DeviceMemory
from .pinned import Pinned
from .ranks import RUN, run_range, starts_bytes

Array = npt.NDArray[Any]

CHUNK_RUNS = 1 << 13
"""Runs of edges that are copied at a time: 32 MiB, half a millisecond of the interconnect."""
SLOTS = 2
"""Chunks in device memory: while the GPU works on one, the next is copied."""
STAGING_BYTES = SLOTS * ((CHUNK_RUNS + 1) * RUN * 4 + CHUNK_RUNS * RECORD.itemsize)
"""Bytes of device memory that `Packing` takes."""


@dataclass(frozen=True)
class Slot:
    """Device memory for a chunk of sources with the run before it, and for their records; addresses.

    Attributes
    ----------
    stream : object
        The stream on which the chunk is copied and worked on.
    """

    sources: int
    records: int
    stream: Any


class Packing:
    """Packs raw sources in pinned memory, chunk by chunk. The device's context must be current.

    Parameters
    ----------
    sources : ndarray of uint32
    starts : int
        The device address of the bits that say at which edges a destination's list begins.
    """

    def __init__(self, sources: Array, launcher: Launcher, memory: DeviceMemory, starts: int) -> None:
        self._sources, self._launcher, self._driver, self._memory = sources, launcher, memory.driver, memory
        self._task = np.zeros(1, launcher.layouts.task)
        self._task["context"]["starts"] = starts
        self._slots = [
            Slot(
                memory.allocate(f"chunk {k}", (CHUNK_RUNS + 1) * RUN * 4),
                memory.allocate(f"chunk records {k}", CHUNK_RUNS * RECORD.itemsize),
                memory.driver.Stream(),
            )
            for k in range(SLOTS)
        ]
        self._next = 0

    def records(self, pinned: Pinned) -> Array:
        """The records of all runs, made in one pass over the sources."""
        runs = -(-len(self._sources) // RUN)
        records = pinned.empty(runs, RECORD)
        for chunk in chunks(range(runs)):
            slot, task = self._copy(chunk)
            task["page"]["records"] = slot.records
            self._launcher.on_warps("measure_runs", len(chunk), slot.stream, task)
            part = records[chunk.start : chunk.stop].view(np.uint8).reshape(-1)
            self._driver.memcpy_dtoh_async(part, slot.records, slot.stream)
        self._wait()
        counts = records["first_word"].copy()
        records["first_word"] = np.cumsum(counts) - counts
        return records

    def fill(self, page: Page, layout: EdgeLayout, records: Array, places: list[int], values: Array | None) -> None:
        """Start to fill a page's buffers.

        Parameters
        ----------
        page : Page
        layout : EdgeLayout
            How packed edges, with raw values if the program reads some, lie in device memory.
        records : ndarray of RECORD
            Those of the whole graph.
        places : list of int
            The addresses of the page's buffers.
        values : ndarray or None
            The edge values of the graph.
        """
        runs, own = run_range(page), page.first_edge % RUN
        if values is not None and len(places) > 2:
            part = values[page.first_edge : page.last_edge]
            self._driver.memcpy_htod_async(places[2] + own * part.itemsize, part.view(np.uint8), self._slots[0].stream)
        for chunk in chunks(runs):
            slot, task = self._copy(chunk)
            args, into = task["page"], RECORD.itemsize * (chunk.start - runs.start)
            layout.write_args(args, page, places)
            args["records"] += np.uint64(into)
            part = records[chunk.start : chunk.stop].view(np.uint8).reshape(-1)
            self._driver.memcpy_htod_async(places[0] + into, part, slot.stream)
            self._launcher.on_warps("pack_runs", len(chunk), slot.stream, task)

    def close(self) -> None:
        """Wait for what was started, and free the chunks' memory."""
        self._wait()
        for k in range(SLOTS):
            self._memory.free(f"chunk {k}")
            self._memory.free(f"chunk records {k}")

    def _copy(self, runs: range) -> tuple[Slot, Array]:
        """Start to copy the sources of `runs` to the next slot; return it, and the arguments of a kernel over them."""
        interrupts.check()
        slot, self._next = self._slots[self._next], (self._next + 1) % SLOTS
        slot.stream.synchronize()
        first, last = runs.start * RUN, min(runs.stop * RUN, len(self._sources))
        before = first - RUN  # the first gap needs the source before it, and copies stay aligned
        part = self._sources[max(before, 0) : last]
        place = slot.sources + 4 * (max(before, 0) - before)
        self._driver.memcpy_htod_async(place, part.view(np.uint8), slot.stream)
        task = self._task.copy()
        args = task["page"]
        args["first_edge"], args["last_edge"], args["base_edge"], args["sources"] = first, last, before, slot.sources
        return slot, task

    def _wait(self) -> None:
        for slot in self._slots:
            slot.stream.synchronize()


def measured(graph: Graph, launcher: Launcher, device: Device, budget: int, pinned: Pinned) -> tuple[Array, float]:
    """The records of a raw graph's sources if they were packed, and how many seconds it took to make them.

    Raises
    ------
    DeviceMemoryError
        If this does not fit into `budget` bytes of device memory.
    """
    started = time.perf_counter()
    with device, failing(device.driver):
        memory = DeviceMemory(device, budget)
        try:
            pinned.pin(graph.in_edges.offsets)
            offsets = memory.upload("in_offsets", graph.in_edges.offsets)
            starts = memory.allocate("starts", starts_bytes(graph.m))
            launcher.mark_starts(offsets, graph.n, starts, None)
            sources = graph.in_edges.neighbours
            pinned.pin(sources)
            return Packing(sources, launcher, memory, starts).records(pinned), time.perf_counter() - started
        finally:
            memory.close()


def chunks(runs: range) -> list[range]:
    """`runs` cut into pieces of `CHUNK_RUNS`."""
    return [runs[k : k + CHUNK_RUNS] for k in range(0, len(runs), CHUNK_RUNS)]
