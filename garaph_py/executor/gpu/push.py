"""Push on the GPU: the vertices of the frontier update their neighbours, over the edges that are in its memory.

The graph is undirected, so the in-edges of a vertex are also its out-edges. A warp takes a run of edges, as in a pull,
and skips it if none of the run's vertices is active. So an iteration takes the time of a look at the runs, and that of
the active vertices' runs.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ...pages.layout import Page
from ..modes import GPU, PUSH, RESIDENT
from ..protocol import PageDecision, PageResult
from ..state import State
from .launch import Launcher
from .ranks import runs_of

Array = npt.NDArray[Any]

HOW = PageDecision(PUSH, GPU, RESIDENT)


def push(launcher: Launcher, page: Page, stream: Any, task: Array) -> None:
    """Launch the kernel for one page, or for several that adjoin each other."""
    launcher.on_warps("push_edges", runs_of(page), stream, task)


def result_of(state: State, tallies: Array, copied: int) -> PageResult:
    """The result of an iteration, from the pages' tallies and the bytes that were `copied` to the device."""
    active, edges = int(tallies["active"].sum()), int(tallies["active_edges"].sum())
    return PageResult(state.active_edges, active, edges, active, None, to_device=copied, how=HOW)
