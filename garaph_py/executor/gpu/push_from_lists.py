"""A superstep of an engine that pushes along lists, wherever these are (edge_lists.py).

The engines differ in how threads divide the lists. All mark the vertices that change, so that none is in the next
frontier twice: EMOGI and EtaGraph in a bitmap with atomics, and so do Grus and HyTGraph without their byte map. The
frontier is counted afterwards. HyTGraph's superstep is in push_partitions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..modes import ZERO_COPY
from ..results import PageResult
from ..state import State
from .device import failing
from .header import THREADS
from .launch import decoding
from .launches import Launches
from .push import list_frontier, lists_of, result_of
from .push_partitions import push_partitions
from .settings import PARTITIONS, QUEUE, SHADOWS, SHARED, VERTICES

Array = npt.NDArray[Any]

WORD_BYTES = 4
"""Bytes of a word of the frontier, and of a target in shared memory."""


def push_from_lists(launches: Launches, state: State) -> list[PageResult]:
    """Push from the frontier in one superstep; new values replace the old ones. The context must be current."""
    placed, arrays = launches.placed, launches.arrays
    lists, first = placed.lists, placed.keeps_sums and not state.has_sums
    assert lists is not None
    edges = placed.numbering.arrays.m if first else state.active_edges
    if placed.keeps_sums:
        begin_deltas(launches, first)
    if lists.how.division == PARTITIONS:
        return push_partitions(launches, state, first)
    task = launches.tasks.of_all()
    DIVISIONS[lists.how.division](launches, task, state)
    if placed.keeps_sums:
        launches.launcher.on_blocks("apply_notified", arrays.n, None, task)
    elif lists.how.division != SHARED:
        launches.launcher.on_all("scan_updated", None, task)
    read = edges * lists.edge_bytes if lists.how.where == ZERO_COPY else 0
    return [result_of(launches.read_tallies(), edges, lists.how.where, read)]


def move_ahead(launches: Launches, state: State) -> None:
    """Move a part of the lists to the GPU if not all fit there: the one with the first active vertex."""
    lists, n = launches.placed.lists, launches.arrays.n
    if lists is None or not lists.is_partial:
        return
    vertex = int(np.argmax(state.frontier.mask(n)))
    edge = int(launches.placed.numbering.arrays.out_edges.offsets[vertex])
    with launches.launcher.device, failing(launches.driver):
        lists.fill(launches.placed.room, edge, state.active_count == n)


def begin_deltas(launches: Launches, first: bool) -> None:
    """Prepare the sums, and the set of notified vertices. In the `first` superstep, every vertex pushes and is
    notified."""
    arrays, driver = launches.arrays, launches.driver
    arrays.context["pushes_all"] = first
    words = -(-arrays.n // (8 * WORD_BYTES))
    driver.memset_d8(arrays.address("notified"), 0xFF if first else 0, words * WORD_BYTES)
    if first:
        driver.memset_d8(arrays.address("kept_sums"), 0, launches.placed.memory.arrays["kept_sums"])
        everyone = np.full(words, 0xFFFFFFFF, np.uint32)
        if arrays.n % 32:
            everyone[-1] = (1 << arrays.n % 32) - 1
        driver.memcpy_htod(arrays.address("frontier"), everyone.view(np.uint8))


def by_vertices(launches: Launches, task: Array, state: State) -> None:
    """Visit all vertices (EMOGI section 4.3). If pushes overwrite values that others read, push copies of the
    values."""
    arrays = launches.arrays
    if state.synchronous and not launches.placed.keeps_sums:
        nbytes = launches.placed.memory.arrays["values"]
        launches.driver.memcpy_dtod(arrays.address("next_values"), arrays.address("values"), nbytes)
    task["context"]["queue"] = 0  # what refers to places there refers to vertices
    launches.launcher.on_threads("push_vertices", arrays.n, None, task)
    push_pieces(launches, task)


def by_queue(launches: Launches, task: Array, state: State) -> None:
    """A warp takes a vertex of the queue (Grus section 4.2.2)."""
    count = launches.arrays.n if task["context"]["pushes_all"][0] else state.active_count
    list_frontier(launches, None, task)
    task["page"]["last_place"] = count
    launches.launcher.on_warps("push_listed", count, None, task)
    push_pieces(launches, task)


def push_pieces(launches: Launches, task: Array) -> None:
    """A warp takes a piece of a long list, if these are split."""
    if task["context"]["splits"][0]:
        launches.launcher.on_all("push_pieces", None, task)


def by_shared_warps(launches: Launches, task: Array, state: State) -> None:
    """Vertices of the queue with few edges share a warp (push.py)."""
    if launches.placed.is_directed:
        page, context = task["page"], task["context"]
        page["sources"], page["edge_values"] = context["lists"], context["list_values"]
    else:
        lists = lists_of(launches)
        assert lists is not None
        task = lists.task
    list_frontier(launches, None, task)
    kernel = "push_deltas" if launches.placed.keeps_sums else "push_queue"
    launches.launcher.on_all(decoding(kernel, task), None, task)


def by_shadows(launches: Launches, task: Array, state: State) -> None:
    """A thread takes a shadow vertex (EtaGraph sections III to V)."""
    context = task["context"]
    fetched = int(context["prefetches"][0]) * int(context["degree_limit"][0])
    list_frontier(launches, None, task)
    launches.launcher.on_all("cut_degrees", None, task)
    launches.launcher.on_all("push_shadows", None, task, fetched * THREADS * WORD_BYTES)


DIVISIONS: dict[str, Callable[[Launches, Array, State], None]] = {
    VERTICES: by_vertices, QUEUE: by_queue, SHARED: by_shared_warps, SHADOWS: by_shadows,
}  # fmt: skip
