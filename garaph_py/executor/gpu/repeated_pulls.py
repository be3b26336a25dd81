"""Several pulls of one or more GPUs in one step, if all of them do the same.

`PullsAhead` launches pulls of small graphs together. Here the host waits for each pull: of a larger graph, of one whose
edges are streamed, or of several GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from ...events import Span
from ...graph import Graph
from ...pages.layout import Page
from ...pages.source import PageSource
from ...program import BoundProgram
from ...program.converged import has_converged
from ..decision import Ahead, PageDecision
from ..modes import GPU, PULL
from ..repeat import repeat
from ..results import PageResult
from ..state import State


class OneGpu(Protocol):
    """What is needed of a `GpuExecutor`."""

    bound: BoundProgram
    graph: Graph
    source: PageSource
    spans: list[Span] | None

    @property
    def pages(self) -> Sequence[Page]: ...

    def ready(self, state: State) -> None: ...

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]: ...

    def swap(self, state: State) -> None: ...


def may_repeat(gpu: OneGpu, state: State, ahead: Ahead | None) -> bool:
    """Whether every iteration does the same, and nobody wants a record of each copy."""
    is_allowed = ahead is not None and ahead.repeats and state.synchronous
    return is_allowed and gpu.bound.repeats_itself and gpu.spans is None and not gpu.graph.on_disk


def pull_and_commit(gpu: OneGpu, state: State) -> list[PageResult]:
    """Pull all pages once, and make new values the current ones."""
    gpu.ready(state)
    results = gpu.process(gpu.pages, gpu.source, state, PULL)
    gpu.swap(state)
    return results


def repeat_pulls(
    gpu: OneGpu, iterate: Callable[[], list[PageResult]], state: State, most: int | None
) -> list[PageResult]:
    """Pull several times, at most so often; ``iterate()`` pulls all pages once, and makes new values the current ones.
    If there are several GPUs, `gpu` is the first of them."""
    converged = partial(has_converged, gpu.bound.program, vertices=gpu.graph.n)
    return repeat(iterate, converged, state, PageDecision(PULL, GPU), most)
