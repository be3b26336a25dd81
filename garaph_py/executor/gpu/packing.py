"""Packs raw sources on the GPU, chunk by chunk, into resident pages (docs/packed.md)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.format import RECORD
from ...graph.arrays import GraphArrays
from ...pages.layout import Page
from ...system import interrupts
from .device import Device, failing
from .edges import EdgeLayout
from .launch import Launcher
from .memory import DeviceMemory
from .offsets import begins_of
from .pinned import Pinned
from .ranks import RUN, run_range, starts_bytes
from .task import copy_of

Array = npt.NDArray[Any]

CHUNK_RUNS = 1 << 13
"""Runs of edges per chunk: 32 MiB of sources, which take half a millisecond to copy at 64 GB/s."""
SLOTS = 2
"""Staging buffers in device memory: while the GPU packs one chunk, the next is copied."""
STAGING_BYTES = SLOTS * ((CHUNK_RUNS + 1) * RUN * 4 + CHUNK_RUNS * RECORD.itemsize)
"""Bytes of device memory that the staging buffers take."""


@dataclass(frozen=True)
class Slot:
    """A staging buffer: device memory for a chunk of sources with the run before it, and for their records.

    Attributes
    ----------
    sources, records : int
        Device addresses.
    stream : object
        The stream that copies and packs the chunk.
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
        The device address of the bitmap of edges at which a destination's list begins.
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
        """Compute the records of all runs, in one pass over the sources. The result is in pinned memory."""
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
            The layout of packed sources, and of raw values if the program reads edge values.
        records : ndarray of RECORD
            The records of the whole graph.
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
        """Wait for the copies and kernels that were started, and free the staging buffers."""
        self._wait()
        for k in range(SLOTS):
            self._memory.free(f"chunk {k}")
            self._memory.free(f"chunk records {k}")

    def _copy(self, runs: range) -> tuple[Slot, Array]:
        """Start to copy the sources of `runs` to the next slot; return the slot and a kernel's argument for it."""
        interrupts.check()
        slot, self._next = self._slots[self._next], (self._next + 1) % SLOTS
        slot.stream.synchronize()
        first, last = runs.start * RUN, min(runs.stop * RUN, len(self._sources))
        before = first - RUN  # the first gap needs the source before it; a whole run keeps the copy aligned
        part = self._sources[max(before, 0) : last]
        place = slot.sources + 4 * (max(before, 0) - before)
        self._driver.memcpy_htod_async(place, part.view(np.uint8), slot.stream)
        task = copy_of(self._task)
        args = task["page"]
        args["first_edge"], args["last_edge"], args["base_edge"], args["sources"] = first, last, before, slot.sources
        return slot, task

    def _wait(self) -> None:
        for slot in self._slots:
            slot.stream.synchronize()


def measured(
    arrays: GraphArrays, launcher: Launcher, device: Device, budget: int, pinned: Pinned
) -> tuple[Array, float]:
    """The records that a raw graph's sources would have if packed, and the seconds that it took to compute them.

    Raises
    ------
    DeviceMemoryError
        If the computation needs more than `budget` bytes of device memory.
    """
    started = time.perf_counter()
    with device, failing(device.driver):
        memory = DeviceMemory(device, budget)
        try:
            begins = memory.upload("in_begins", begins_of(arrays.in_edges.offsets, None))
            starts = memory.allocate("starts", starts_bytes(arrays.m))
            launcher.mark_starts(begins, arrays.n, arrays.m, starts, None)
            sources = arrays.in_edges.neighbours
            pinned.pin(sources)
            return Packing(sources, launcher, memory, starts).records(pinned), time.perf_counter() - started
        finally:
            memory.close()


def chunks(runs: range) -> list[range]:
    """`runs` cut into pieces of `CHUNK_RUNS`."""
    return [runs[k : k + CHUNK_RUNS] for k in range(0, len(runs), CHUNK_RUNS)]
