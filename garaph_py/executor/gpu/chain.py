"""Several supersteps that the host launches ahead, because deciding on one takes the host longer than most supersteps
take.

The host launches the kernels of some supersteps one after the other, those of a push as well as those of a pull. Each
superstep has its own counts. Before it, the kernel `choose` reads what the last one has counted, and chooses a
direction by the policy's bound (`Decision.ahead`); kernels of the other direction then end at once. While the frontier
is small, one launch of `push_few`, or `push_few_deltas`, does many supersteps. Nothing is chosen any more once no
vertex is active, where a superstep would pull but may not, or after some time, so that the host can copy the state or
stop the run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ...pages.layout import Page
from ..decision import Ahead, PageDecision
from ..modes import GPU, PULL, PUSH, ZERO_COPY
from ..results import PageResult, Supersteps
from ..state import State
from .buffers import Buffer
from .device import FALLBACK
from .gather import Gather
from .header import CHAIN_LENGTH, FEW_BLOCKS, FEW_THREADS, PULLS, PUSHES, PUSHES_FEW
from .launch import Launcher, decoding
from .launches import Launches
from .push import Lists, list_frontier, lists_of

Array = npt.NDArray[Any]

LEAST_MULTIPROCESSORS = 32
"""Multiprocessors of the smallest GPU on which `FEW_BLOCKS` of them are sure to form a cluster. CUDA does not promise a
cluster of that size on a small part of a GPU (MIG); a whole GPU with clusters has far more than 32."""

LONG_FAR_LISTS = 1 << 11
"""If lists in host memory have more edges than this on the average, the first superstep is left to the usual kernels,
which divide long lists among more warps. A warp of `push_few` waits for the link after every 128 edges: BFS from a hub
of R-MAT 18 took 3.2 to 3.6 ms with it, and 1.1 to 1.2 without (H200; docs/decisions/gpu.md)."""


@dataclass
class Chain:
    """Does supersteps one after the other, of relaxations or of pushes of deltas. The device's context must be current.

    Parameters
    ----------
    launches : Launches
    gather : Gather
        For those that pull.
    tallies : int
        Address of the counts of `CHAIN_LENGTH` + 1 supersteps.
    """

    launches: Launches
    gather: Gather
    tallies: int

    @classmethod
    def of(cls, launches: Launches, gather: Gather) -> Chain:
        """A chain with counts in the device's memory."""
        nbytes = (1 + CHAIN_LENGTH) * launches.launcher.layouts.tally.itemsize
        return cls(launches, gather, launches.memory.allocate("chain", nbytes))

    def __call__(self, state: State, mode: str, ahead: Ahead) -> list[PageResult]:
        """Do some supersteps, and make the new values and the last frontier the current ones.

        Parameters
        ----------
        state : State
        mode : str
            The direction of the first one.
        ahead : Ahead

        Returns
        -------
        list of PageResult
            One result, with all supersteps if there were several; none if the chain could not do even one:
            kernels cannot read all edges, or the first superstep is a pull that may not be in a chain.
        """
        began = time.perf_counter()
        whole = self.launches.in_one_launch(self.gather, self.launches.pages) if ahead.pulls else None
        lists = None if mode == PULL and whole is None else lists_of(self.launches)
        if lists is None:
            return []
        self.launches.streams.forth.synchronize()  # the host may overwrite what the device copies from there
        rows = self._first_rows(state)
        self.launches.driver.memcpy_htod(self.tallies, rows.view(np.uint8))
        preparing = time.perf_counter() - began
        far_and_long = lists.way == ZERO_COPY and state.active_edges > LONG_FAR_LISTS * state.active_count
        self._launch(ahead.push_edges, lists, whole, not far_and_long)
        self.launches.driver.memcpy_dtoh(rows.view(np.uint8), self.tallies)
        done = rows[1 : 1 + np.count_nonzero(rows["chosen"][1:])]
        self._exchange(state, done)
        if not len(done):
            return []
        steps = self._supersteps(done, state.active_edges, lists, whole)
        steps.seconds[0] += preparing
        active = int(steps.active[-1])
        result = PageResult(int(steps.followed[-1]), active, int(steps.active_edges[-1]), active, None)
        pushed = int(steps.followed[~steps.pulled].sum())
        result.how, result.to_device = steps.pull if steps.pulled[-1] else steps.push, lists.moved(pushed)
        result.supersteps = steps if len(steps) > 1 else None
        return [result]

    def _first_rows(self, state: State) -> Array:
        """The initial counts of all supersteps, none of which has been chosen yet, after the one that left the
        `state`."""
        rows = np.zeros(1 + CHAIN_LENGTH, self.launches.launcher.layouts.tally)
        rows["chosen"][0], rows["active"][0], rows["active_edges"][0] = PUSHES, state.active_count, state.active_edges
        return rows

    def _launch(self, push_edges: int, lists: Lists, whole: tuple[Page, Buffer] | None, begins_few: bool) -> None:
        """Launch the kernels of all supersteps. Only if `begins_few` may `push_few` do the first."""
        launcher, stream, adds = self.launches.launcher, lists.stream, self.launches.placed.keeps_sums
        blocks, pushes = few_blocks(launcher), self._tasks(lists.task)
        push, few = ("push_deltas", "push_few_deltas") if adds else ("push_queue", "push_few")
        pulls = None if whole is None else (whole[0], self._tasks(self.launches.tasks.of(*whole)))
        page = pushes["page"]
        page["most_pushed"], page["pulls"], page["few_threads"] = push_edges, pulls is not None, blocks * FEW_THREADS
        page["few_threads"][:1] *= begins_few  # without threads, `choose` leaves a superstep to the other kernels
        for k in range(CHAIN_LENGTH):
            task = pushes[k : k + 1]
            launcher.on_few("choose", 1, 1, stream, task)
            task["page"]["wanted"] = PUSHES | PUSHES_FEW
            list_frontier(self.launches, stream, task)
            if blocks:
                task["page"]["wanted"] = PUSHES_FEW
                launcher.on_few(decoding(few, task), blocks, FEW_THREADS, stream, task)
            task["page"]["wanted"] = PUSHES
            launcher.on_all(decoding(push, task), stream, task)
            if adds:
                launcher.on_blocks("apply_notified", self.launches.arrays.n, stream, task)
            if pulls is not None:
                every, tasks = pulls
                task = tasks[k : k + 1]
                task["page"]["wanted"] = PULLS
                self.gather.launch(every, task, stream)

    def _tasks(self, task: Array) -> Array:
        """The argument `task` for each superstep, with its counts; the frontiers change places after each."""
        tasks, size = np.repeat(task, CHAIN_LENGTH), self.launches.launcher.layouts.tally.itemsize
        page, context = tasks["page"], tasks["context"]
        page["before"] = self.tallies + np.arange(CHAIN_LENGTH) * size
        page["tally"] = page["before"] + size
        for name, other in ("frontier", "next_frontier"), ("next_frontier", "frontier"):
            context[name][1::2] = task["context"][other]
        return tasks

    def _exchange(self, state: State, done: Array) -> None:
        """Make the arrays that the supersteps `done` have written last the current ones."""
        arrays = self.launches.arrays
        if len(done) % 2:
            arrays.swap("frontier", "next_frontier")
        if state.synchronous and np.count_nonzero(done["chosen"] == PULLS) % 2:
            arrays.swap("values", "next_values")

    def _supersteps(self, done: Array, edges: int, lists: Lists, whole: tuple[Page, Buffer] | None) -> Supersteps:
        """The record of each superstep of `done`; `edges` led from the vertices that were active at first."""
        ends = done["supersteps"].tolist()
        logs = [self._log(row, first, end) for row, first, end in zip(done, [0, *ends], ends, strict=False)]
        log, pulled = np.concatenate(logs), np.repeat(done["chosen"] == PULLS, list(map(len, logs)))
        began, active_edges = log["nanoseconds"].astype(np.int64), log["active_edges"].astype(np.int64)
        followed = np.append(edges, active_edges[:-1]) - log["waiting_edges"].astype(np.int64)
        push = PageDecision(PUSH, GPU, lists.way)
        pull = push if whole is None else PageDecision(PULL, GPU, self.launches.streams.way_of(whole[0], 0))
        if whole is not None:
            followed[pulled] = whole[0].edges
        seconds = np.append(np.diff(began), 0) / 1e9
        return Supersteps(log["active"].astype(np.int64), active_edges, seconds, followed, pulled, push, pull)

    def _log(self, row: Any, first: int, end: int) -> Array:
        """The counts of the supersteps [first, end).

        `row` has those of one superstep, or of the last one of a launch that has logged several.
        """
        layout = self.launches.launcher.layouts.superstep
        if row["chosen"] != PUSHES_FEW:
            log = np.zeros(1, layout)
            for name in "active_edges", "active", "nanoseconds":
                log[name] = row[name]
            return log
        if first == end:
            name, queued = self.launches.launcher.device.name, int(row["queued"])
            raise DeviceError(f"{name} has not run a kernel that was launched (push_few, {queued} queued); {FALLBACK}")
        log = np.zeros(end - first, layout)
        place = self.launches.arrays.address("supersteps") + first * log.itemsize
        self.launches.driver.memcpy_dtoh(log.view(np.uint8), place)
        return log


def few_blocks(launcher: Launcher) -> int:
    """Blocks of `push_few`, or of `push_few_deltas`; 0 if there is no such kernel, or the device may be too small for
    the cluster."""
    device = launcher.device
    if not launcher.pushes_few:
        return 0
    if not device.has_clusters:
        return 1
    return FEW_BLOCKS if device.multiprocessors >= LEAST_MULTIPROCESSORS else 0
