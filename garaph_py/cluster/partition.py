"""Partitions: makes one, which is a graph on disk in parts, and has each worker open its own parts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import ClusterError, GraphError
from ..graph import Graph
from ..graph.graph import TURNED
from ..io.bulk.partition import write_partition
from ..program import BoundProgram
from ..storage.directory import read_graph
from ..storage.fit import AUTO, check_encoding, memory_limit
from ..storage.partition import Partition, read_partition
from ..storage.partitioned_edges import PartitionedEdges
from ..storage.remote import origin
from ..system.sizes import show_bytes
from .cuts import cut
from .memory import LIMIT_SHARE, PROCESS, needs, parameter_bytes
from .reading import Where

Array = npt.NDArray[Any]


class PartitionedParts:
    """The parts of a partition; a `placing.Parts`.

    Parameters
    ----------
    path : str
        The directory of the partition.
    partition : Partition
    bound : BoundProgram
    """

    def __init__(self, path: str, partition: Partition, bound: BoundProgram) -> None:
        self.count, self._path, self.partition = len(partition.parts), path, partition
        self._bytes = bound.value.itemsize, parameter_bytes(bound)

    @property
    def edges(self) -> list[int]:
        """How many edges each part has."""
        return [part.edges for part in self.partition.parts]

    def arrays(self, part: int) -> dict[str, Array]:
        """No part has to be sent."""
        raise GraphError("the graph is on disk, where workers open their parts")

    def where(self, part: int) -> Where:
        """Where a worker finds a part."""
        return Where(origin(self._path), self.partition.id, part, *self._bytes)

    def needs(self) -> list[int]:
        """The least bytes that each part takes in a worker."""
        whole = self.partition
        edges, vertices = np.array([(part.edges, part.vertices) for part in whole.parts], np.int64).T
        least: list[int] = needs(edges, vertices, whole.vertices, whole.edge_dtype, *self._bytes).opened.tolist()
        return least

    def check_memory(self, workers: Sequence[int], limits: Sequence[int]) -> None:
        """Refuse workers that are too small.

        Parameters
        ----------
        workers : sequence of int
            The number of the worker that gets each part.
        limits : sequence of int
            The memory limit of each worker in bytes, 0 for none.

        Raises
        ------
        ClusterError
        """
        needed = np.bincount(workers, self.needs(), len(limits)) + PROCESS
        for worker, limit in enumerate(limits):
            if limit and needed[worker] > limit * LIMIT_SHARE:
                count = list(workers).count(worker)
                what = f"{count} parts of {self._path} take" if count > 1 else f"a part of {self._path} takes"
                advice = f"take {self.count} workers, one for each part" if count > 1 else "partition into more parts"
                raise ClusterError(
                    f"{what} {show_bytes(int(needed[worker]), up=True)} in a worker, even with edges on disk, which "
                    f"may use {show_bytes(int(limit * LIMIT_SHARE))} before Dask pauses it; {advice}, or give each "
                    "more memory (memory_limit)"
                )


def parts_of(graph: Graph, bound: BoundProgram) -> PartitionedParts | None:
    """The parts of a graph that is a partition; None of any other graph.

    Raises
    ------
    GraphError
        If the program gathers over out-edges: parts have in-edges.
    """
    edges = graph._arrays.in_edges.neighbour_array
    if not isinstance(edges, PartitionedEdges):
        return None
    if graph.directory is None or graph.directory.endswith(TURNED):
        raise GraphError(
            f"{bound.name} gathers over out-edges, and the parts of {edges.path} have in-edges; give the undivided "
            "graph, in a directory that all workers see"
        )
    found = PartitionedParts(edges.path, read_partition(edges.path), bound)
    if found.partition.id != graph.directory:
        raise GraphError(f"{edges.path} has been partitioned anew since it was opened; open it again")
    return found


# wide: what a command may give
def partition(
    path: str | os.PathLike[str], out: str | os.PathLike[str], parts: int, *, encoding: str = AUTO,
    memory: int | str | None = None, threads: int | None = None, on_event: events.Listener = events.ignore,
) -> Partition:  # fmt: skip
    """Cut the graph in the directory `path` into parts, and write these to the new directory `out`, out of core.

    Raises
    ------
    ParameterError
        If `parts` is no number of parts, or `out` exists already or cannot be written.
    GraphError
        If the graph's vertices take more than `memory`.
    FormatError
        If there is no graph directory at `path`, or it is damaged.
    """
    limit = memory_limit(memory)
    check_encoding(encoding)
    graph = read_graph(path, AUTO, limit, threads, on_event, on_disk=True)
    return write_partition(
        graph, path, out, cut(graph, parts), limit, encoding=encoding, threads=threads, on_event=on_event
    )
