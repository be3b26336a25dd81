"""CPU and GPU on one job (Garaph section 5.1): a page goes to whoever is free, values go both ways (section 4.1).

The GPU takes pages from the front, where those stand that need not be copied; the CPU those from the back, as long as
it would not keep the GPU waiting (`Rates.worth_taking`). New values of the GPU's pages reach the host as each page
ends, those of the CPU's the GPU likewise; both are committed at the iteration's end, where the run is synchronous.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .. import interrupts
from ..errors import DeviceError
from ..kernel import PULL, Accelerator, PageKernel, PageResult
from ..pages.layout import Page
from ..pages.source import PageSource
from ..program.monoids import largest
from ..state import State
from ..threads import start
from ..watchdog import Part
from .rates import Rates

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

PROMPTNESS = 0.1
"""Seconds between looks for an interrupt, while the CPU waits for the GPU."""


class Together:
    """The `PageKernel` of both processors.

    Parameters
    ----------
    cpu : PageKernel
    gpu : Accelerator
    cpu_source : PageSource
        Edges as the CPU reads them, and its own pages.
    threads : int
        Of the CPU.
    reactive : bool
        Whoever is free takes the next page, as the paper has it, worth it or not.

    Attributes
    ----------
    together : bool
        Whether both work in the iteration that is under way.
    note : str or None
        Why the GPU no longer does.
    rates : Rates
        After `initialize`.
    part : Part
        What the calling thread is doing.
    """

    rates: Rates

    name: ClassVar[str] = "hybrid"

    def __init__(
        self,
        cpu: PageKernel,
        gpu: Accelerator,
        cpu_source: PageSource,
        threads: int,
        reactive: bool,
    ) -> None:
        self._cpu, self._gpu, self._cpu_source = cpu, gpu, cpu_source
        self._threads, self._reactive = threads, reactive
        self.together = False
        self.note: str | None = None
        self._stale = False  # the device has not got the values of the last iteration
        self._unmarked = False  # blocks of the active set say more than the bits do
        self._lost = False
        self.part = Part("CPU and GPU")
        self._landing: Array | None = None  # where an asynchronous run's values come from the device

    @property
    def modes(self) -> tuple[str, ...]:
        return self._cpu.modes

    @property
    def ratio(self) -> float | None:
        """T_pull / T_GPU, or None where the CPU is alone for good."""
        return None if self._lost else self.rates.ratio

    @property
    def sparse(self) -> float:
        """The cost of an active vertex's out-edge: the paper's, or as measured."""
        return 2.0 if self._reactive else self.rates.sparse

    def initialize(self, synchronous: bool) -> State:
        state = self._gpu.initialize(synchronous)
        state.active.mark()
        self.rates = Rates.expected(self._threads, *self._gpu.load)
        if synchronous:
            state.pending[:] = state.values
        else:
            self._landing, state.pending = state.pending, state.values
            if not state.limits.dtype.names:
                state.limits[:] = largest(state.limits.dtype)  # nobody waits for a turn
        return state

    def begin(self, state: State, mode: str) -> int:
        if not self.together:
            if self._unmarked:
                state.active.mark()
                self._unmarked = False
            return self._cpu.begin(state, mode)
        self._gpu.refresh(state, self._stale)
        self._stale = False
        followed = self._cpu.begin(state, PULL)
        try:
            self._gpu.ready(state)
        except DeviceError as error:  # the CPU has begun: it goes on with this very iteration
            self._lose(error, [], state, {})
            self.together = False
        return followed

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        started = time.perf_counter()
        if not self.together:
            done = self._cpu.process(self._cpu_source.pages, self._cpu_source, state, mode)
            if mode != PULL:
                self.rates = self.rates.alone(state.active_edges, time.perf_counter() - started)
            return done
        landing = state.pending if self._landing is None else self._landing
        gpu = _Shared(self._gpu, source, state, landing, self.part)
        own: dict[int, PageResult] = {}
        try:
            if self._reactive or self.rates.cpu_helps:
                own = self._take(gpu, state)
            gpu.wait()
        finally:
            gpu.end()
        results = own | gpu.results
        if gpu.error is not None:
            self._lose(gpu.error, [page for page in gpu.pages if page.number not in own], state, results)
        else:
            self._land(gpu.pages, own, state)
            state.activated.blocks[:] = 1
            self._unmarked = True
            edges = sum(result.edges for result in gpu.results.values())
            self.rates = self.rates.measured(gpu_edges=edges, gpu_seconds=gpu.seconds).tried(
                bool(own), sum(result.edges for result in results.values()), time.perf_counter() - started
            )
        return [results[page.number] for page in gpu.pages]

    def _take(self, shared: _Shared, state: State) -> dict[int, PageResult]:
        """Process pages while some are worth it; what each did, by number."""
        results: dict[int, PageResult] = {}
        edges, started = 0, time.perf_counter()
        while (page := shared.steal(self.rates, self._reactive)) is not None:
            results[page.number] = self._cpu.process([page], self._cpu_source, state, PULL)[0]
            shared.send(page)
            edges += page.edges
        if edges:
            self.rates = self.rates.measured(cpu_edges=edges, cpu_seconds=time.perf_counter() - started)
        return results

    def _land(self, pages: list[Page], own: dict[int, PageResult], state: State) -> None:
        """Make visible what an asynchronous run's GPU has brought: it counts when all of it is there, and whole.

        The fewer vertices are copied, the GPU's or the CPU's `own`.
        """
        if self._landing is None:
            return
        ours = [page for page in pages if page.number in own]
        theirs = [page for page in pages if page.number not in own]
        source, target, copied = self._landing, state.values, theirs
        if count(ours) < count(theirs):
            source, target, copied = target, source, ours
        for page in copied:
            run = slice(page.first_vertex, page.last_vertex)
            target[run].view(np.uint8)[:] = source[run].view(np.uint8)
        state.values = state.pending = target
        self._landing = source

    def _lose(self, error: DeviceError, pages: list[Page], state: State, results: dict[int, PageResult]) -> None:
        """Go on without the GPU: the pages that it had, or half had, are processed anew."""
        self._lost, self.note = True, f"the GPU failed, the CPU goes on alone: {error}"
        log.warning("%s", self.note)
        for page in pages:
            if state.synchronous:
                run = slice(page.first_vertex, page.last_vertex)
                state.pending[run] = state.values[run]
            state.activated.bits[page.words] = 0
            results[page.number] = self._cpu.process([page], self._cpu_source, state, PULL)[0]
        state.activated.mark()

    def commit(self, state: State, mode: str) -> None:
        if self.together and not self._lost:
            try:
                self._gpu.settle(state, True)
            except DeviceError as error:
                self._lose(error, [], state, {})
        elif not self._lost:
            self._stale = True
        self._cpu.commit(state, mode)

    def report(self, state: State) -> Array:
        return self._cpu.report(state)


class _Shared:
    """One iteration's pages; the GPU's thread works on them from the beginning to `end`."""

    def __init__(self, gpu: Accelerator, source: PageSource, state: State, landing: Array, part: Part) -> None:
        self.pages = list(source.pages)
        self.results: dict[int, PageResult] = {}
        self.error: DeviceError | None = None
        self.seconds = 0.0
        self._failure: BaseException | None = None
        self._gpu, self._source, self._state, self._part = gpu, source, state, part
        self._landing = replace(state, pending=landing)
        self._waiting = gpu.offer(self.pages, state, PULL)
        self._thread: threading.Thread | None = None
        part.doing = ("sharing pages with the GPU",)
        try:
            self._thread = start("garaph-gpu", self._work)
        except DeviceError as error:
            self.error = error

    def _work(self) -> None:
        started = time.perf_counter()
        try:
            self.results = self._gpu.work(self._waiting, self._source, self._landing)
        except DeviceError as error:
            self.error = error
        except BaseException as error:
            self._failure = error
        self.seconds = time.perf_counter() - started

    def steal(self, rates: Rates, reactive: bool) -> Page | None:
        """The next page for the CPU, if there is one and it is worth it."""
        if self._thread is None or not self._thread.is_alive():
            return None
        last = self._waiting.last(reactive)
        if last is None or not (reactive or rates.worth_taking(last.edges, self._waiting.edges - last.edges)):
            return None
        page: Page | None = self._waiting.steal(reactive)
        return page

    def send(self, page: Page) -> None:
        """The CPU's values of a page, to the GPU."""
        if self.error is None:
            try:
                self._gpu.receive(page, self._state)
            except DeviceError as error:
                self.error = error

    def wait(self) -> None:
        """Wait until the GPU has processed all pages, or an interrupt comes."""
        self._part.doing = ("waiting for the GPU's thread",)
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(PROMPTNESS)
            interrupts.check()

    def end(self) -> None:
        """Wait for the pages that the GPU has, if it has any still; what waits is left."""
        self._waiting.clear()
        if self._thread is not None:
            self._thread.join()
        self._part.doing = ("idle",)
        if self._failure is not None:
            raise self._failure


def count(pages: list[Page]) -> int:
    """Their vertices."""
    return sum(page.last_vertex - page.first_vertex for page in pages)
