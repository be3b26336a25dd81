"""The records of packed edges that pushes read in host memory: the device's memory has a copy of these.

Kernels look at a run's record for each edge that they decode. A record takes 48 bytes for 1024 edges, so that all
records take a fortieth of what the words do, which stay in host memory.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from . import staging
from .device_graph import DeviceGraph
from .mapped import MappedEdges
from .pinned import Pinned
from .pinned_pool import PinnedPool


class MappedRecords:
    """The records of mapped edges, for one run.

    Parameters
    ----------
    mapped : MappedEdges
    kept : DeviceGraph
        Keeps the records for later runs.
    threads : int or None
        CPU threads that copy them; None for one per available core.

    Attributes
    ----------
    mapped : MappedEdges
        The edges with the addresses of these records, once they are allocated.
    contents : dict of str to hashable
        The allocations by name, and what each holds.
    nbytes : int
        Bytes of these allocations; 0 if no array is packed.
    """

    def __init__(self, mapped: MappedEdges, kept: DeviceGraph, threads: int | None) -> None:
        self.mapped, self._kept, self._threads = replace(mapped, addresses=list(mapped.addresses)), kept, threads
        self._arrays = mapped.layout.records
        self.contents: dict[str, Hashable] = {name_of(k): len(records) for k, records in self._arrays.items()}
        self.nbytes = sum(records.nbytes for records in self._arrays.values())

    def allocate(self, pool: PinnedPool | Pinned) -> None:
        """Allocate and fill the memory, unless it holds the records already.

        Copies go by way of memory of the `pool`. The device's context must be current.
        """
        for k, records in self._arrays.items():
            name, what = name_of(k), len(records)
            self.mapped.addresses[k], is_there = self._kept.place(name, records.nbytes, what)
            if not is_there:
                staging.copy(records, self.mapped.addresses[k], self._kept, pool, self._threads)
                self._kept.keep(name, what)


def name_of(buffer: int) -> str:
    """The name of the allocation for the records in this buffer of the edges."""
    return f"records of buffer {buffer}"
