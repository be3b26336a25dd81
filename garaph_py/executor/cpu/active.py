"""Visits the out-edges of all active vertices, page by page: to notify their targets, or to push deltas to these."""

from __future__ import annotations

from typing import Any

from ...graph.vertex_set import BLOCK
from ...pages.source import PageSource
from ..state import State
from .edges import Reader
from .launch import Launcher
from .records import RecordKernel
from .runs import RANDOM_ACCESS_EDGES, Runs


class ActiveLists:
    """Runs a kernel over the out-edges of the active vertices, which are divided equally among its calls.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    """

    def __init__(self, launcher: Launcher, runs: Runs) -> None:
        self._launch, self._runs = launcher, runs

    def visit(self, kernel: RecordKernel, reader: Reader, state: State, source: PageSource, **others: Any) -> int:
        """Run `kernel`, which takes `walk.LISTS`, over the pages of `source`; return the number of out-edges visited.

        Parameters
        ----------
        others
            All arguments of the kernel that neither the state nor the division of the edges provides.
        """
        pages = self._runs.prefetched(state.frontier, source, reader.reads_values)
        for page, prefix in pages.items():
            block, position, start, stop = self._runs.of_set(prefix, "right", RANDOM_ACCESS_EDGES)
            edges = self._launch.edges(reader, source.edges(page), len(start))
            self._launch(
                kernel, len(start), state, edges, first_vertex=page.first_vertex, last_vertex=page.last_vertex,
                block=page.first_vertex // BLOCK + block, position=position, start=start, stop=stop, **others,
            )  # fmt: skip
            source.release(page)
        return sum(int(prefix[-1]) for prefix in pages.values())
