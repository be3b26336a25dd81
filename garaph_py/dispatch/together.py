"""CPU and GPU on one job (Garaph section 5.1): a page goes to whoever is free, values go both ways (section 4.1).

The GPU takes pages from the front, where those stand that need not be copied; the CPU those from the back, in ever
smaller parts, so that both end together (`Rates.share`). New values of the GPU's pages reach the host as each page
ends, those of the CPU's the GPU likewise; both are committed at the iteration's end, where the run is synchronous.
Where the CPU would not help, the GPU works as it does alone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy.typing as npt

from ..errors import DeviceError
from ..kernel import BOTH, CPU, GPU, PULL, Accelerator, PageKernel, PageResult
from ..pages.layout import Page
from ..pages.source import PageSource
from ..program.monoids import largest
from ..state import State
from .rates import Rates

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")


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
    device : {"cpu", "gpu", "both"}
        Who works in the iteration that is under way.
    note : str or None
        Why the GPU no longer does.
    rates : Rates
        After `initialize`.
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
        self.device = CPU
        self.note: str | None = None
        self._stale = False  # the device has not got the values of the last iteration
        self._unmarked = False  # blocks of the active set say more than the bits do
        self._lost = False

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

    @property
    def cpu_helps(self) -> bool:
        """Whether the CPU should take pages where the GPU does."""
        return self._reactive or self.rates.cpu_helps

    def initialize(self, synchronous: bool) -> State:
        state = self._gpu.initialize(synchronous)
        state.active.mark()
        self.rates = Rates.expected(self._threads, *self._gpu.load)
        if synchronous:
            state.pending[:] = state.values
        else:
            state.pending = state.values  # what the GPU sends is visible at once
            if not state.limits.dtype.names:
                state.limits[:] = largest(state.limits.dtype)  # nobody waits for a turn
        return state

    def begin(self, state: State, mode: str) -> int:
        if self.device != CPU:
            self._gpu.refresh(state, self._stale)
            self._stale = False
            self._gpu.ready(state)
        elif self._unmarked:
            state.active.mark()
            self._unmarked = False
        return 0 if self.device == GPU else self._cpu.begin(state, mode)

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        started = time.perf_counter()
        if self.device == CPU:
            done = self._cpu.process(self._cpu_source.pages, self._cpu_source, state, mode)
            if mode != PULL:
                self.rates = self.rates.alone(state.active_edges, time.perf_counter() - started)
            return done
        gpu = _Shared(self._gpu, source, state, alone=self.device == GPU)
        own: dict[Page, PageResult] = {}
        try:
            if self.device == BOTH:
                own = self._take(gpu, state)
        finally:
            gpu.end()
        if gpu.error is not None:
            if self.device == GPU:
                self._cpu.begin(state, PULL)
            return self._lose(gpu.error, gpu.pages, state, own)
        state.activated.blocks[:] = 1
        self._unmarked = True
        results = gpu.results.values()
        edges, copied = (
            sum(result.edges for result in results if every or result.to_device) for every in (True, False)
        )
        self.rates = self.rates.measured(gpu_edges=edges, gpu_seconds=gpu.seconds, copied_edges=copied).tried(
            bool(own), sum(page.edges for page in gpu.pages), time.perf_counter() - started
        )
        return [*results, *own.values()]

    def _take(self, shared: _Shared, state: State) -> dict[Page, PageResult]:
        """Process pages, or the ends of pages, while some are worth it; what each did."""
        results: dict[Page, PageResult] = {}
        edges, started = 0, time.perf_counter()
        while (page := shared.steal(None if self._reactive else self.rates)) is not None:
            results[page] = self._cpu.process([page], self._cpu_source, state, PULL)[0]
            edges += page.edges
            if not state.synchronous:
                shared.send([page])
        self.rates = self.rates.measured(cpu_edges=edges, cpu_seconds=time.perf_counter() - started)
        if state.synchronous:  # nobody reads them before
            shared.send(results)
        return results

    def _lose(
        self, error: DeviceError, pages: list[Page], state: State, own: dict[Page, PageResult]
    ) -> list[PageResult]:
        """Go on without the GPU: what it had of the pages, or half had, is processed anew; what all did."""
        self._lost, self.note = True, f"the GPU failed, the CPU goes on alone: {error}"
        log.warning("%s", self.note)
        results = list(own.values())
        for page in pages:
            taken = min(
                (part for part in own if part.number == page.number), key=lambda part: part.first_vertex, default=None
            )
            rest = page if taken is None else replace(page, last_vertex=taken.first_vertex, last_edge=taken.first_edge)
            if rest.first_vertex == rest.last_vertex:
                continue
            if state.synchronous:
                run = slice(rest.first_vertex, rest.last_vertex)
                state.pending[run] = state.values[run]
            state.activated.bits[rest.words] = 0
            results += self._cpu.process([rest], self._cpu_source, state, PULL)
        state.activated.mark()
        return results

    def commit(self, state: State, mode: str) -> None:
        if self.device != CPU and not self._lost:
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
    """One iteration's pages; the GPU's thread, or if it works `alone` the calling one, works on them till `end`."""

    def __init__(self, gpu: Accelerator, source: PageSource, state: State, alone: bool) -> None:
        self.pages = list(source.pages)
        self.results: dict[Page, PageResult] = {}
        self.error: DeviceError | None = None
        self.seconds = 0.0
        self._failure: BaseException | None = None
        self._gpu, self._source, self._state = gpu, source, state
        self._waiting = gpu.offer(self.pages, state, PULL)
        self._thread = threading.Thread(target=self._work, name="garaph-gpu", daemon=True)
        if alone:
            self._work()
        else:
            self._thread.start()

    def _work(self) -> None:
        started = time.perf_counter()
        try:
            self.results = self._gpu.work(self._waiting, self._source, self._state)
        except DeviceError as error:
            self.error = error
        except BaseException as error:
            self._failure = error
        self.seconds = time.perf_counter() - started

    def steal(self, rates: Rates | None) -> Page | None:
        """The next page for the CPU, or part of one, if there is any and, by `rates`, it is worth it."""
        if not self._thread.is_alive():
            return None
        most = None if rates is None else rates.share(self._waiting.edges)
        page: Page | None = None if most == 0 else self._waiting.steal(most)
        return page

    def send(self, pages: Iterable[Page]) -> None:
        """The CPU's values of pages, to the GPU."""
        if self.error is None:
            try:
                self._gpu.receive(pages, self._state)
            except DeviceError as error:
                self.error = error

    def end(self) -> None:
        """Wait for the GPU; on an error of the CPU what waits is left."""
        if self._thread.ident is not None:
            self._thread.join()
        if self._failure is not None:
            raise self._failure
