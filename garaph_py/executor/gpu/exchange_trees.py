"""Connected components on several GPUs, each of which has the edges of one part of the vertices.

Each GPU links the first edges of its part. Then the GPUs exchange their trees: each joins its own trees by the parents
that the others have found, so that all have the same trees. They leave out the edges of vertices in the largest one,
and link the other edges of their parts. An edge between a vertex of this tree and another vertex is also in the other's
list; if both GPUs have left it out, both ends were in this tree by then. At the end they exchange their trees again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from ..components import NO_VERTEX
from ..results import PageResult
from . import peers
from .components import Components
from .exchange import OnAll
from .timeline import TO_GPUS


def find(every: Sequence[Components], on_all: OnAll) -> list[list[PageResult]]:
    """Find the components with all GPUs, whose edges are resident; the results of the pages of each."""

    def begin(k: int) -> None:
        launches = every[k].launches
        frontier = launches.arrays.address("next_frontier")
        launches.driver.memset_d8(frontier, 0, launches.memory.size("next_frontier"))
        every[k].plant()

    on_all(begin)
    copied = on_all(lambda k: every[k].link_first(every[k].launches.pages))
    exchange(every, on_all)
    on_all(lambda k: find_largest(every) if k == 0 else None)
    on_all(lambda k: copied[k].update(every[k].link_others(every[k].launches.pages)))
    exchange(every, on_all)
    found: list[list[PageResult]] = on_all(lambda k: every[k].sum(copied[k]))
    return found


def exchange(every: Sequence[Components], on_all: OnAll) -> None:
    """Let each GPU join its trees by the parents of every other one.

    Parents that change meanwhile do no harm: any ancestor is right. The host waits for all GPUs: one that waited for
    another's event would wait for ever if that one failed.
    """
    wait(every, on_all)
    for distance in range(1, len(every)):
        others = [*every[distance:], *every[:distance]]
        on_all(partial(send, every, others))
        wait(every, on_all)
        on_all(lambda k: every[k].on_vertices("link_received"))
        wait(every, on_all)


def send(every: Sequence[Components], others: Sequence[Components], k: int) -> None:
    """Start to copy the parents of GPU `k` of `every` to the queue of that of the `others`."""
    copy(every[k], "parents", others[k], "queue", NO_VERTEX.nbytes * every[k].launches.arrays.n)


def find_largest(every: Sequence[Components]) -> None:
    """Let the first GPU find the largest tree, and tell the others: of several so large, all must leave out the same.
    The context of the first GPU must be current."""
    every[0].find_largest()
    every[0].launches.driver.Context.synchronize()
    for other in every[1:]:
        copy(every[0], "largest", other, "largest", NO_VERTEX.nbytes)
    every[0].launches.driver.Context.synchronize()


def copy(one: Components, name: str, other: Components, place: str, nbytes: int) -> None:
    """Start to copy an array of `one` to an array of the `other`. The context of `one` must be current."""
    of, to, began = one.launches, other.launches, time.perf_counter_ns()
    devices = to.launcher.device, of.launcher.device
    address, source = to.arrays.address(place), of.arrays.address(name)
    peers.copy(devices[0], address, devices[1], source, nbytes, of.streams.compute[0])
    of.streams.mark(name, began, of.streams.compute[0], TO_GPUS)


def wait(every: Sequence[Components], on_all: OnAll) -> None:
    """Wait for the copies and kernels that have been started on all GPUs."""
    on_all(lambda k: every[k].launches.driver.Context.synchronize())
