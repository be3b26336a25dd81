"""`Arrangement`: which worker has each part; and `place`: which worker gets the part of a lost worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ..errors import ClusterError
from ..system.sizes import show_bytes
from .memory import rooms

Array = npt.NDArray[Any]


class WorkerFacts(NamedTuple):
    """A worker, as the scheduler knows it.

    Attributes
    ----------
    memory : int
        Its memory limit in bytes; 0 if it has none.
    threads : int
    """

    memory: int
    threads: int


class Parts(Protocol):
    """The parts of the graph, as the client can send them."""

    count: int

    def arrays(self, part: int) -> dict[str, Array]:
        """The arrays of a part."""

    def where(self, part: int) -> Sequence[Any] | None:
        """Where a worker finds the part by itself; None if it has to be sent."""

    def needs(self) -> list[int]:
        """The least bytes that each part takes in a worker."""


class Arrangement(NamedTuple):
    """Parts, and where they are.

    Attributes
    ----------
    parts : Parts
    addresses : list of str
        The worker of each part.
    costs : list of int
        What each part costs in a superstep over all edges, in any unit.
    edges : list of int
        How many edges each part has.
    prepared : dict
        What each worker gets first, by name, that depends on the parts.
    is_fixed : bool
        Every arrangement has these parts, which stay where they are unless they move to another worker.
    """

    parts: Parts
    addresses: list[str]
    costs: list[int]
    edges: list[int]
    prepared: dict[str, Any]
    is_fixed: bool = False


def place(addresses: Sequence[str], workers: Mapping[str, WorkerFacts], needs: Sequence[int]) -> list[str]:
    """Give each part whose worker is lost to the worker with the fewest parts per thread among those with room for it.

    Parameters
    ----------
    addresses : sequence of str
        The worker of each part.
    workers : dict
        The present workers, by address.
    needs : sequence of int
        Bytes that each part takes in a worker.

    Raises
    ------
    ClusterError
        If none has room. It says how much is missing.
    """
    placed = list(addresses)
    load = {one: placed.count(one) / facts.threads for one, facts in workers.items()}
    room = dict(zip(workers, rooms(facts.memory for facts in workers.values()), strict=True))
    for part, address in enumerate(placed):
        if address in room:
            room[address] -= needs[part]
    for part, address in enumerate(placed):
        if address in workers:
            continue
        fitting = [one for one in workers if room[one] >= needs[part]]
        if not fitting:
            most = int(max(0, *room.values()))
            raise ClusterError(
                f"a part has to move, and takes {show_bytes(needs[part])} in a worker; the worker with most room has "
                f"{show_bytes(most)}, so {show_bytes(needs[part] - most)} are missing; "
                "start another worker, or give each more memory (memory_limit), and run again"
            )
        placed[part] = least = min(fitting, key=lambda one: load[one])
        load[least] += 1 / workers[least].threads
        room[least] -= needs[part]
    return placed
