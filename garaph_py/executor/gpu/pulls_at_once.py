"""Pulls of several GPUs, each of which has all edges of its part: the host launches those of all, then waits for all.

One thread launches: several would wait for Python's lock, and for their start. No GPU has to wait until all pages of
the GPU before it are launched.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...pages.layout import Page
from ..results import PageResult
from ..state import State
from .buffers import Buffer
from .exchange import OnAll
from .timeline import TO_GPUS

if TYPE_CHECKING:
    from .executor import GpuExecutor

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
        """Launch the pulls of all GPUs, and the copies to the other ones, then wait for all; if a `state` is given,
        GPUs have yet to get ready for it."""
        gpus, works = self._gpus, [gpu.page_work() for gpu in self._gpus]

        def begin(k: int) -> None:
            if state is not None:
                gpus[k].ready(state)
            self._events[k][0].record(gpus[k].streams.compute[0])
            gpus[k].streams.launch(pieces[k][:1], works[k])

        def go_on(k: int) -> None:
            gpu, (_, ended), peers = gpus[k], self._events[k], gpus[k].peers
            gpu.streams.launch(pieces[k][1:], works[k])
            assert peers is not None
            began = time.perf_counter_ns()
            peers.send_frontier(gpu.streams.back_early)
            gpu.streams.mark("frontier", began, gpu.streams.back_early, TO_GPUS)
            ended.record(gpu.streams.back_early)

        def collect(k: int) -> tuple[list[PageResult], float]:
            results, (began, ended) = gpus[k].results(own[k], works[k]), self._events[k]
            return results, float(began.time_till(ended)) / 1e3

        self._on_all(begin)
        self._on_all(go_on)
        found = self._on_all(collect)
        self.note([seconds for _, seconds in found])
        return [result for results, _ in found for result in results]

    def note(self, seconds: Sequence[float]) -> None:
        """Note how many seconds a pull has taken each GPU."""
        self.seconds = list(map(min, self.seconds, seconds))
