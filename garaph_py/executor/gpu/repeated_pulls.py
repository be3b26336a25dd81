"""Several pulls of one or more GPUs in one step, if all of them do the same.

`PullsAhead` launches pulls of small graphs together. Here the host waits for each pull: of a larger graph, of one whose
edges are streamed, or of several GPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...program.converged import has_converged
from ..decision import Ahead, PageDecision
from ..modes import GPU, PULL
from ..repeat import repeat
from ..results import PageResult
from ..state import State

if TYPE_CHECKING:
    from .executor import GpuExecutor


def may_repeat(gpu: GpuExecutor, state: State, ahead: Ahead | None) -> bool:
    """Whether every iteration does the same, and nobody wants a record of each copy."""
    is_allowed = ahead is not None and ahead.repeats and state.synchronous
    return is_allowed and gpu.bound.repeats_itself and gpu.spans is None and not gpu.graph.on_disk


def pull_and_commit(gpu: GpuExecutor, state: State) -> list[PageResult]:
    """Pull all pages once, and make new values the current ones."""
    gpu.ready(state)
    results = gpu.process(gpu.pages, gpu.source, state, PULL)
    gpu.swap(state)
    return results


def repeat_pulls(
    gpu: GpuExecutor, iterate: Callable[[], list[PageResult]], state: State, most: int | None
) -> list[PageResult]:
    """Pull several times, at most so often; ``iterate()`` pulls all pages once, and makes new values the current ones.
    If there are several GPUs, `gpu` is the first of them."""
    converged = partial(has_converged, gpu.bound.program, vertices=gpu.graph.n)
    return repeat(iterate, converged, state, PageDecision(PULL, GPU), most)
