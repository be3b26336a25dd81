"""Pulls of several GPUs, each of which has all edges of its part: the host launches those of all, then waits for all.

One thread launches: several would wait for Python's lock, and for their start. No GPU has to wait until all pages of
the GPU before it are launched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...pages.layout import Page
from ...program.converged import has_converged
from ...system import interrupts
from ..decision import PageDecision
from ..modes import GPU, PULL, RESIDENT, ZERO_COPY
from ..repeat import repeat
from ..results import PageResult
from ..state import State
from .buffers import Buffer
from .exchange import OnAll
from .work import PageWork

if TYPE_CHECKING:
    from .executor import GpuExecutor

T = TypeVar("T")
Pieces = list[list[tuple[Page, Buffer]]]
"""For each GPU, what it pulls, one launch after the other."""


class PullsAtOnce:
    """Pulls on several GPUs that are initialized.

    Parameters
    ----------
    gpus : sequence of GpuExecutor
    on_all : callable
        As of `exchange`; all calls are in this thread.

    Attributes
    ----------
    seconds : list of float
        The shortest pull of each GPU.
    """

    def __init__(self, gpus: Sequence[GpuExecutor], on_all: OnAll) -> None:
        self._gpus, self._on_all = gpus, on_all
        self.seconds = [math.inf] * len(gpus)
        self._events = on_all(lambda k: (gpus[k].streams.event(), gpus[k].streams.event()))

    def pieces(self, own: list[list[Page]]) -> Pieces | None:
        """What to launch to pull its `own` pages on each GPU; None if some edges are not on the GPUs yet."""
        found = [gpu.launches.pieces(gpu.gather, pages) for gpu, pages in zip(self._gpus, own, strict=True)]
        pieces = [each for each in found if each is not None]
        return pieces if len(pieces) == len(found) else None

    def __call__(self, own: list[list[Page]], pieces: Pieces, state: State | None) -> list[PageResult]:
        """Pull once; if a `state` is given, GPUs have yet to get ready for it."""
        works = self._launch(pieces, lambda k: self._gpus[k].ready(state) if state is not None else None)
        results = self._collect(lambda k: self._gpus[k].results(own[k], works[k]))
        return [result for each in results for result in each]

    def repeat(self, pieces: Pieces, state: State, most: int | None) -> PageResult:
        """Pull several times, at most so often. All pulls do the same, and write the whole next frontier."""
        gpus, bound, n = self._gpus, self._gpus[0].bound, self._gpus[0].graph.n
        edges, tally = sum(page.edges for each in pieces for page, _ in each), gpus[0].launcher.layouts.tally
        self._on_all(lambda k: gpus[k].streams.forth.synchronize())  # the host may overwrite what is copied from there

        def iterate() -> PageResult:
            interrupts.check()
            self._launch(pieces, lambda k: gpus[k].launches.begin_pull(state.total))
            counts = self._collect(lambda k: gpus[k].launches.read_tallies().view(np.uint8))
            rows = np.concatenate(counts).view(tally)  # as bytes: NumPy is slow to join records
            for gpu in gpus:
                gpu.state.commit((), True)
            active, active_edges = (int(rows[name].sum()) for name in ("active", "active_edges"))
            return PageResult(edges, active, active_edges, active, rows["partial"].copy(), from_device=rows.nbytes)

        ways = {gpu.streams.way_of(page, 0) for gpu, mine in zip(gpus, pieces, strict=True) for page, _ in mine}
        how = PageDecision(PULL, GPU, ZERO_COPY if ZERO_COPY in ways else RESIDENT)
        done = repeat(iterate, partial(has_converged, bound.program, vertices=n), state, how, most)
        done.how = how
        return done

    def _launch(self, pieces: Pieces, begin: Callable[[int], None]) -> list[PageWork]:
        """Launch all pulls, before which ``begin(k)`` is called for each GPU, and the copies to the other GPUs."""
        gpus, works = self._gpus, [gpu.page_work() for gpu in self._gpus]

        def first(k: int) -> None:
            begin(k)
            self._events[k][0].record(gpus[k].streams.compute[0])
            gpus[k].streams.launch(pieces[k][:1], works[k])

        def others(k: int) -> None:
            gpu, (_, ended), peers = gpus[k], self._events[k], gpus[k].peers
            gpu.streams.launch(pieces[k][1:], works[k])
            assert peers is not None
            peers.send_frontier(gpu.streams.back_early)
            ended.record(gpu.streams.back_early)

        self._on_all(first)
        self._on_all(others)
        return works

    def note(self, seconds: Sequence[float]) -> None:
        """Note how many seconds a pull has taken each GPU."""
        self.seconds = list(map(min, self.seconds, seconds))

    def _collect(self, results: Callable[[int], T]) -> list[T]:
        """What ``results(k)`` returns for each GPU, which waits for its pulls; note how long they took."""

        def collect(k: int) -> tuple[T, float]:
            found, (began, ended) = results(k), self._events[k]
            return found, float(began.time_till(ended)) / 1e3

        both = self._on_all(collect)
        self.note([seconds for _, seconds in both])
        return [found for found, _ in both]
