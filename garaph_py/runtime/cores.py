"""How many cores a run on the CPU computes on, if the user does not say. Pure: the caller describes the machine."""

from __future__ import annotations

from ..executor.memory import MemoryPlan
from ..executor.modes import CPU
from ..graph import Graph
from ..pages.memory import bytes_on_disk
from ..program import BoundProgram
from .options import HYBRID, RunOptions

SPARED_CORES = 2
"""Cores that the CPU's threads leave free in a hybrid run: one for the GPU thread and one for a thread of the driver. A
machine with at most twice this number of cores leaves none free."""
DISK_PART, DISK_CORES = 4, 8
"""A run from disk leaves one core in so many to the threads that read edges and check them, on a machine with at least
so many cores. On 16, the first iteration of PageRank took 1.25 times as long as reading alone with 16 threads, and 1.11
with 12 (docs/results/ssd.md)."""


def threads_of(
    bound: BoundProgram, graph: Graph, options: RunOptions, executor: str, cores: int, memory: MemoryPlan
) -> int | None:
    """Number of CPU threads of a run on a machine with `cores` cores; None for one on each."""
    if options.threads is not None:
        return options.threads
    if executor == HYBRID:
        return cores_beside_gpu(cores)
    # A deterministic answer may depend on the number of threads, and must not on the memory.
    if executor == CPU and not options.deterministic and reads_most(bound, graph, memory):
        return cores_beside_disk(cores)
    return None


def reads_most(bound: BoundProgram, graph: Graph, memory: MemoryPlan) -> bool:
    """Whether an iteration over all edges reads at least half of them from disk, so that the disk is what limits it."""
    if not graph.on_disk:
        return False
    room = (graph.memory or 0) - memory.cpu.vertices
    return bytes_on_disk(graph._arrays.in_edges, bound.reads_edge_values) > 2 * room


def cores_beside_gpu(cores: int) -> int:
    """Number of CPU threads in a hybrid run on a machine with `cores` cores."""
    return cores - SPARED_CORES if cores > 2 * SPARED_CORES else cores


def cores_beside_disk(cores: int) -> int:
    """Number of CPU threads in a run on the CPU that reads most edges from disk, on a machine with `cores` cores."""
    return cores - cores // DISK_PART if cores >= DISK_CORES else cores
