"""The frontiers of a relaxation over a graph in memory, and each partition's share of them, computed on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dispatch.hytgraph import count_partitions
from ..errors import ParameterError
from ..events import ignore
from ..executor.cpu.executor import CpuExecutor
from ..executor.decision import Decision
from ..executor.gpu.settings import ListPush
from ..executor.modes import CPU, PUSH
from ..executor.partitions import EDGE_BYTES, Partitions
from ..graph import Graph
from ..native.threads import ThreadPool, available_cores
from ..program import BoundProgram
from .workload import Activity, in_order

Array = npt.NDArray[Any]


def frontiers(bound: BoundProgram, graph: Graph) -> Iterator[Array]:
    """The active vertices before each superstep, in ascending order, until none is active.

    Raises
    ------
    ParameterError
        If active vertices of the program cannot push over this graph.
    """
    if not bound.is_relaxation or graph.on_disk:
        raise ParameterError(
            f"the simulation cannot find the frontiers of {bound.name}: it needs a program whose vertices push (a "
            "relaxation), and edges in memory; list the shares of active vertices"
        )
    with ThreadPool(available_cores()) as pool:
        executor = CpuExecutor(bound, graph, pool, ignore)
        executor.source = executor.out_source
        state = executor.initialize(True)
        while state.active_count:
            yield np.flatnonzero(state.frontier.mask(graph.n))
            (done,) = executor.step(state, Decision(PUSH, "", CPU)).pages
            state.advance(done.active, done.active_edges, done.changeable)


def activities(bound: BoundProgram, graph: Graph, lists: ListPush | None = None) -> list[Activity]:
    """The activities of a synchronous run; with what partitions have, if `lists` says how an engine makes these."""
    offsets = graph._arrays.out_edges.offsets
    width = EDGE_BYTES + bound.edge_value_bytes
    bounds = None if lists is None else bounds_of(offsets, lists, width)
    found = []
    for active in frontiers(bound, graph):
        counts = None if bounds is None else count_partitions(bounds, offsets, active, width)
        edges = int((offsets[active + 1] - offsets[active]).sum())
        found.append(Activity(len(active), edges, counts=counts))
    return in_order(found)


def bounds_of(offsets: Array, lists: ListPush, width: int) -> Array:
    """The first vertices of the partitions that an engine makes, and the number of vertices; one if it makes none."""
    if lists.partitions is None:
        return np.array([0, len(offsets) - 1])
    return Partitions.of(offsets, max(lists.partitions.nbytes // width, 1)).bounds
