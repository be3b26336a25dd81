"""Several pulls that the host launches together: over a small graph, a pull takes the GPU less time than the host needs
between two pulls.

In a program that updates all vertices, every iteration does the same work. The host launches the kernels of several
iterations one after the other, and waits once. The kernel `end_pull` makes the total of each pull the one that the next
pull reads. Afterwards the host asks the program's `converged` about each total in turn. If the run should have ended
before the last pull, the GPU restores the first values, and does the pulls up to that end again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...pages.layout import Page
from ...program import BoundProgram
from ...program.converged import iterations_until
from ..decision import PageDecision
from ..modes import GPU, PULL
from ..partials import is_finite
from ..results import PageResult, Supersteps
from ..state import State
from .buffers import Buffer
from .device_graph import DeviceGraph
from .gather import Gather
from .header import MOST_PULLS
from .launches import Launches
from .reorder import HubEdges

Array = npt.NDArray[Any]

COPY = "values before pulls"
"""Name of the device memory with the counts of pulls, and a copy of the values."""
LEAST_PULLS = 4
"""Fewest pulls of which `MOST_EDGES` must have room for all edges; otherwise the host launches one at a time, because
its time is then small beside the GPU's (docs/decisions/gpu.md, "Pulls of small graphs are launched ahead")."""
MOST_EDGES = 1 << 28
"""Most edges that all pulls launched together gather, which takes an H200 some 2 ms. If the program converges before
the last of them, so much work is in vain (docs/results/gpu.md, "Pulls launched ahead")."""


@dataclass
class PullsAhead:
    """Does pulls of a program that updates all vertices. The device's context must be current.

    Parameters
    ----------
    bound : BoundProgram
    launches : Launches
    gather : Gather
    kept : DeviceGraph
        Says whether there is memory for a copy of the values.
    hub : HubEdges or None
        Counts the edges that are gathered; None if these are in hub order already.
    deterministic : bool
        The bits of totals must not depend on which pulls are launched together, so several pages are not pulled as one.
    """

    bound: BoundProgram
    launches: Launches
    gather: Gather
    kept: DeviceGraph
    hub: HubEdges | None
    deterministic: bool

    def __call__(self, state: State, most: int | None) -> list[PageResult]:
        """Do several pulls, at most so many, and make the last one's values and frontier the current ones.

        Returns
        -------
        list of PageResult
            One result, with all pulls; none if they cannot be launched together.
        """
        memory, width = self.launches.memory, self.launches.launcher.layouts.tally.itemsize
        most = at_once(sum(page.edges for page in self.launches.pages), most)
        whole = self._whole(state) if most else None
        counts = (1 + most) * width
        nbytes = counts + self._value_bytes
        if whole is None or not self.kept.has_room(nbytes):
            return []
        try:
            place = memory.allocate(COPY, nbytes, clear=False)
        except DeviceMemoryError:  # other programs use the GPU's memory
            return []
        try:
            return [self._pull(state, whole, most, (place, place + counts))]
        finally:
            memory.free(COPY)  # copies of the state and answers may need this room

    def _whole(self, state: State) -> tuple[Page, Buffer] | None:
        """All pages as one, if this run may do pulls ahead, and all edges are on the device."""
        pages, placed, total = self.launches.pages, self.launches.placed, state.total
        suits = self.gather.writes_whole_frontier and placed.is_resident
        may = self.bound.repeats_itself and state.synchronous and suits
        if not may or total is None or not is_finite(total) or (self.deterministic and len(pages) > 1):
            return None
        return self.launches.streams.buffers.in_one_piece(pages)

    @property
    def _value_bytes(self) -> int:
        """Bytes of the values of all vertices."""
        return self.launches.arrays.n * self.bound.value.itemsize

    def _pull(self, state: State, whole: tuple[Page, Buffer], most: int, places: tuple[int, int]) -> PageResult:
        """Do the pulls; at the `places` in the device's memory is room for their counts, and for a copy of the
        values."""
        began, arrays, driver = time.perf_counter(), self.launches.arrays, self.launches.driver
        self.launches.streams.forth.synchronize()  # the host may overwrite what the device copies from there
        (counts, copy), values = places, arrays.address("values")
        driver.memcpy_dtod(copy, values, self._value_bytes)
        rows = self._run(state, whole, most, counts)
        count, has_converged = self._count(rows)
        if count < most:
            driver.memcpy_dtod(values, copy, self._value_bytes)
            rows = self._run(state, whole, count, counts)
        if count % 2:
            arrays.swap("values", "next_values")
        arrays.swap("frontier", "next_frontier")
        if self.hub is not None:
            self.hub.count(count * whole[0].edges)
        result = self._result(rows, whole[0], time.perf_counter() - began)
        result.has_converged = has_converged
        return result

    def _run(self, state: State, whole: tuple[Page, Buffer], count: int, tallies: int) -> Array:
        """Do so many pulls, the first from the array `values` to `next_values`, the second back; return their counts,
        which the device has at the address `tallies`.

        Row 0 has no counts, only the time at which the first pull began.
        """
        launcher, driver, stream = self.launches.launcher, self.launches.driver, self.launches.streams.compute[0]
        rows = np.zeros(1 + count, launcher.layouts.tally)
        driver.memcpy_htod(tallies, rows.view(np.uint8))
        assert state.total is not None
        driver.memcpy_htod(self.launches.arrays.address("total"), state.total.view(np.uint8))
        task = self.launches.tasks.of(*whole)
        tasks = np.frombuffer(bytearray(2 * task.tobytes()), task.dtype)  # two copies, made as by `task.copy_of`
        context, page = tasks["context"], tasks["page"]
        context["values"][1], context["next_values"][1] = context["next_values"][0], context["values"][0]
        blocks, page["blocks"][0], page["tally"][0] = int(page["blocks"][0]), 0, tallies
        launcher.on_few("end_pull", 1, 1, stream, tasks[:1])
        page["blocks"][0] = blocks
        for k in range(count):
            task = tasks[k % 2 : k % 2 + 1]
            page["tally"][k % 2] = tallies + (k + 1) * rows.itemsize
            self.gather.launch(whole[0], task, stream)
            launcher.on_few("end_pull", 1, 1, stream, task)
        driver.memcpy_dtoh(rows.view(np.uint8), tallies)
        return rows

    def _count(self, rows: Array) -> tuple[int, bool]:
        """The number of pulls in `rows` after which the run ends, and whether it has converged then; all of them if
        none before the last ends it, about which the caller asks `converged`.
        """
        totals = rows["partial"][1:].astype(self.bound.total)
        goes_on = (rows["active"][1:] > 0) & finite(totals)
        last = len(totals) if goes_on.all() else int(goes_on.argmin()) + 1
        count = iterations_until(self.bound.program, totals[:last], self.launches.arrays.n)
        return count, count < last

    def _result(self, rows: Array, whole: Page, seconds: float) -> PageResult:
        """The result of the pulls in `rows`, which took so many seconds in all."""
        last, pulled = rows[-1], np.ones(len(rows) - 1, np.bool_)
        how = PageDecision(PULL, GPU, self.launches.streams.way_of(whole, 0))
        active, active_edges = (rows[name][1:].astype(np.int64) for name in ("active", "active_edges"))
        on_gpu = np.diff(rows["since"].astype(np.int64)) / 1e9
        of_host = max(seconds - on_gpu.sum(), 0.0)
        each = on_gpu + of_host / len(on_gpu)
        each[-1] = 0.0
        counts = int(last["active"]), int(last["active_edges"]), int(last["active"])
        result = PageResult(whole.edges, *counts, rows["partial"][-1:].copy())
        followed = np.full(len(pulled), whole.edges, np.int64)
        result.how, result.from_device = how, rows.nbytes
        result.supersteps = (
            Supersteps(active, active_edges, each, followed, pulled, how, how) if len(pulled) > 1 else None
        )
        return result


def at_once(edges: int, most: int | None) -> int:
    """How many pulls along so many edges are launched together, at most `most`; 0 if they are launched one by one."""
    if edges * LEAST_PULLS > MOST_EDGES:
        return 0
    count = min(most or MOST_PULLS, MOST_PULLS, MOST_EDGES // max(edges, 1))
    return count if count > 1 else 0


def finite(totals: Array) -> Array:
    """Which of `totals` have only finite numbers."""
    names = totals.dtype.names
    columns = [totals[name] for name in names] if names else [totals]
    found: Array = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return found
