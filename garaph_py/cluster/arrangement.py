"""`arrange`: cuts a graph into parts, and decides which worker gets each part."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError
from ..graph import Graph
from ..graph.part import cut_out
from ..program import BoundProgram
from .cuts import part_costs, part_edges
from .fitting import cut_to_fit, workers_for
from .memory import rooms
from .partition import PartitionedParts, parts_of
from .placing import Arrangement, WorkerFacts, place
from .shared import CutParts, SharedParts

Array = npt.NDArray[Any]

NOWHERE = ""
"""The address of a part that no worker has yet."""


class GraphParts(CutParts):
    """The parts of a graph in memory, each made when it is sent."""

    def arrays(self, part: int) -> dict[str, Array]:
        """The arrays of a part."""
        return cut_out(self._graph, self._cuts, part).arrays()

    def where(self, part: int) -> None:
        """Each part has to be sent."""


def arrange(
    graph: Graph, bound: BoundProgram, workers: Mapping[str, WorkerFacts], shares: Mapping[str, float],
    name: str | None = None,
) -> Arrangement:  # fmt: skip
    """Give each worker a part, with edges in proportion to its share as far as its memory allows.

    If the graph is a partition, it keeps its parts, and a worker gets several, one or none.

    Parameters
    ----------
    workers : dict
        The present workers, by address.
    shares : dict
        The share of the edges that each worker should get, in any unit.
    name : str, optional
        The name under which the workers keep parts of the graph that are sent.

    Raises
    ------
    ClusterError
        If the workers have too little memory.
    """
    addresses, wanted = list(workers), [float(shares[address]) for address in workers]
    limits = [facts.memory for facts in workers.values()]
    if (found := parts_of(graph, bound)) is not None:
        there = spread(found, workers, wanted)
        return Arrangement(found, there, found.edges, found.edges, {"parts": found.count}, is_fixed=True)
    chosen = workers_for(graph, bound, wanted, limits)
    cuts = cut_to_fit(graph, bound, [wanted[each] for each in chosen], [limits[each] for each in chosen])
    parts = SharedParts(graph, cuts, bound) if graph.on_disk else GraphParts(graph, cuts, bound)
    prepared: dict[str, Any] = {"parts": parts.count}
    if name is not None and not graph.on_disk:
        prepared["graph"] = name, hashlib.blake2b(cuts.vertices.tobytes()).hexdigest()
    costs, edges = part_costs(graph, cuts).tolist(), part_edges(graph, cuts).tolist()
    return Arrangement(parts, [addresses[each] for each in chosen], costs, edges, prepared)


def spread(parts: PartitionedParts, workers: Mapping[str, WorkerFacts], shares: Sequence[float]) -> list[str]:
    """The worker of each part. Neighbouring parts go to the same worker, in proportion to the `shares`; a part for
    which that worker lacks memory goes to another one.

    Raises
    ------
    ClusterError
        If no worker has room for a part.
    """
    addresses, costs, needs = list(workers), np.array(parts.edges), parts.needs()
    limits = [facts.memory for facts in workers.values()]
    until, middles = np.cumsum(shares), np.cumsum(costs) - costs / 2
    at: list[int] = np.searchsorted(until[:-1] / until[-1] * costs.sum(), middles, side="right").tolist()
    left, there = rooms(limits), []
    for worker, needed in zip(at, needs, strict=True):
        fits = needed <= left[worker]
        left[worker] -= needed if fits else 0
        there.append(addresses[worker] if fits else NOWHERE)
    try:
        return place(there, workers, needs)
    except ClusterError:
        parts.check_memory(at, limits)
        raise
