"""CPU and GPU on one job (Garaph section 5.1): a page goes to whoever is free, values go both ways (section 4.1).

The GPU takes pages from the front, where those stand that need not be copied; the CPU those from the back, in ever
smaller parts, so that both end together (`Rates.share`). New values of the GPU's pages reach the host as each page
ends, those of the CPU's the GPU likewise; both are committed at the iteration's end, where the run is synchronous.
Where the CPU would not help, the GPU works as it does alone. Where the CPU has notified, the GPU pulls those pages that
it has done sooner (`Rates.divide`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..dispatch.rates import Rates
from ..errors import DeviceError
from ..native.threads import start
from ..pages.layout import Page
from ..pages.source import PageSource
from ..system import interrupts
from ..system.watchdog import Heartbeat
from .modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL
from .protocol import DeviceExecutor, HostExecutor, PageResult, merged
from .state import State

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

PROMPTNESS = 0.1
"""Seconds between looks for an interrupt, while the CPU waits for the GPU."""


class HybridExecutor:
    """The `Executor` of both processors.

    Parameters
    ----------
    cpu : Companion
    gpu : Accelerator
    open_source : callable
        Gives the `PageSource` that the CPU reads, once the GPU is ready.
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
    part : Part
        What the calling thread is doing.
    """

    rates: Rates
    _cpu_source: PageSource

    name: ClassVar[str] = "hybrid"

    def __init__(
        self,
        cpu: HostExecutor,
        gpu: DeviceExecutor,
        open_source: Callable[[], PageSource],
        threads: int,
        reactive: bool,
    ) -> None:
        self._cpu, self._gpu, self._open_source = cpu, gpu, open_source
        self._threads, self._reactive = threads, reactive
        self.device = CPU
        self.note: str | None = None
        self._stale = False  # the device has not got the values of the last iteration
        self._apart = False  # the two arrays of values are not equal, though the CPU counts on it
        self._unmarked = False  # blocks of the active set say more than the bits do
        self._lost = False
        self.part = Heartbeat("CPU and GPU")
        self._landing: Array | None = None  # where an asynchronous run's values come from the device, if not in place

    @property
    def modes(self) -> tuple[str, ...]:
        return self._cpu.modes

    @property
    def seen(self) -> dict[str, Any]:
        """What `decide.Observation` says of both; that the CPU is alone, once the GPU is lost."""
        return {"ratio": None if self._lost else self.rates.ratio, **self.rates.seen}

    def initialize(self, synchronous: bool) -> State:
        state = self._gpu.initialize(synchronous)
        self._cpu_source = self._open_source()
        state.active.mark()
        self.rates = Rates.expected(self._threads, *self._gpu.load, self._reactive)
        if not synchronous:
            self._landing, state.pending = None if self._cpu.is_relaxation else state.pending, state.values
        self._equal(state)
        return state

    def adopt(self, state: State) -> None:
        self._stale = True
        self._equal(state)

    def _equal(self, state: State) -> None:
        """Give both arrays the same values, where the CPU counts on that."""
        if state.synchronous and self._cpu.is_relaxation:
            state.pending[:] = state.values

    def begin(self, state: State, mode: str) -> int:
        if self.device == CPU and self._unmarked:
            state.active.mark()
            self._unmarked = False
        if self.device != GPU and self._apart:  # as long as the GPU works alone nobody reads the second array
            self._cpu.sync_buffers(state)
            self._apart = False
        if self.device == CPU:
            return self._cpu.begin(state, mode)
        self._send_values(state)
        self._cpu.forget()
        followed = self._cpu.begin(state, mode) if self.device == BOTH else 0
        try:
            self._gpu.ready(state)
        except DeviceError as error:
            if self.device == GPU:
                raise
            self._stay_with_cpu(error, state)
        return followed

    def _send_values(self, state: State) -> None:
        """The values of iterations that the CPU did alone, to the GPU."""
        self._gpu.refresh(state, self._stale)
        self._stale = False

    def _stay_with_cpu(self, error: DeviceError, state: State) -> None:
        """The CPU has begun: it goes on with this very iteration, without the GPU."""
        self._lose(error)
        state.activated.mark()
        self.device = CPU

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        every = list(pages)
        if self.device == GPU:
            return self._process_on_gpu(every, source, state, mode)
        theirs = every
        if self.device == CPU and mode == NOTIFY_PULL:
            theirs = self._divide(every, state)
        if self.device == CPU:
            return self._process_on_cpu(state, mode)
        return self._process_on_both(every, theirs, source, state, mode)

    def _process_on_cpu(self, state: State, mode: str) -> list[PageResult]:
        """An iteration of the CPU's."""
        started = time.perf_counter()
        done = self._cpu.process(self._cpu_source.pages, self._cpu_source, state, mode)
        seconds, edges = time.perf_counter() - started, sum(result.edges for result in done)
        self.rates = self.rates.without_gpu(mode, state.active_count, state.active_edges, edges, seconds)
        return done

    def _process_on_gpu(self, pages: list[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        """An iteration of the GPU's, with no more ado than without a CPU: it may take a tenth of a millisecond."""
        done = dict[Page, PageResult]()
        into = state if self._landing is None else replace(state, pending=self._landing)
        started = time.perf_counter()
        try:
            self._gpu.work(self._gpu.offer(pages, state, mode, shared=False), source, into, done.__setitem__)
        except DeviceError as error:
            self._lose(error)
            return self._redo(pages, done, state, mode)
        seconds = time.perf_counter() - started
        if self._landing is not None:
            state.values, self._landing = self._landing, state.values
            state.pending = state.values
        self._pulled(done.values(), seconds, state)
        return list(done.values())

    def _process_on_both(
        self, pages: list[Page], theirs: list[Page], source: PageSource, state: State, mode: str
    ) -> list[PageResult]:
        """An iteration of which the pages `theirs` are the GPU's, though the CPU may take some in pull."""
        gpu, given = _Shared(self._gpu, source, theirs, state, self._landing, self.part), set(theirs)
        try:
            own = self._take(gpu, [page for page in pages if page not in given], state, mode)
            gpu.wait()
        finally:
            gpu.end()
        if mode == NOTIFY_PULL:  # the GPU's pages are new as a whole
            for page in gpu.results:
                state.notified.put(page.first_vertex, page.last_vertex)
        if gpu.error is not None:
            self._lose(gpu.error)
            return self._redo(theirs, gpu.results | own, state, mode)
        self._pulled(gpu.results.values(), gpu.seconds if mode == PULL else None, state)
        return [*gpu.results.values(), *own.values()]

    def _pulled(self, results: Collection[PageResult], seconds: float | None, state: State) -> None:
        """The GPU has pulled over pages; `seconds` that says how fast it is: a few pages do not."""
        state.activated.blocks[:] = 1
        self._unmarked = True
        if seconds is not None:
            edges = sum(result.edges for result in results)
            copied = sum(result.edges for result in results if result.to_device)
            self.rates = self.rates.measured(gpu_edges=edges, gpu_seconds=seconds, copied_edges=copied)

    def _divide(self, pages: list[Page], state: State) -> list[Page]:
        """The pages for the GPU, which is made ready, in an iteration for which the CPU has notified; often none."""
        if self._lost or not self.rates.worth_dividing(state.active_edges):
            return []
        notified = self._cpu.notified_edges(pages, state)
        if notified is None:
            return []
        theirs = self.rates.divide(pages, notified, self._gpu.has, self._stale * state.values.nbytes)
        if theirs:
            self.device = BOTH
            try:
                self._send_values(state)
                self._gpu.ready(state)
            except DeviceError as error:
                self._stay_with_cpu(error, state)
        return theirs

    def _take(self, shared: _Shared, own: list[Page], state: State, mode: str) -> dict[Page, PageResult]:
        """Process the CPU's `own` pages, then those of the GPU, or the ends of them, while some are worth it; what each
        did.
        """
        results: dict[Page, PageResult] = {}
        if own:
            started, parts = time.perf_counter(), [part for page in own for part in self._cpu_source.parts(page)]
            results |= zip(parts, self._cpu.process(parts, self._cpu_source, state, mode), strict=True)
            edges = sum(result.edges for result in results.values())
            self.rates = self.rates.gathered(edges, time.perf_counter() - started)
        while (page := shared.steal(self.rates)) is not None:
            started = time.perf_counter()
            results[page] = self._alone(page, state, mode)
            if mode == PULL:
                self.rates = self.rates.measured(cpu_edges=page.edges, cpu_seconds=time.perf_counter() - started)
                if not state.synchronous:
                    shared.send([page])
        if mode == PULL and state.synchronous:  # nobody reads them before
            shared.send(results)
        return results

    def _alone(self, page: Page, state: State, mode: str) -> PageResult:
        """What the CPU does with a page, or a part of one."""
        return merged(self._cpu.process(self._cpu_source.parts(page), self._cpu_source, state, mode))

    def _lose(self, error: DeviceError) -> None:
        """Go on without the GPU."""
        self._lost, self.note = True, f"the GPU failed, the CPU goes on alone: {error}"
        log.warning("%s", self.note)

    def _redo(self, pages: list[Page], done: dict[Page, PageResult], state: State, mode: str) -> list[PageResult]:
        """Process on the CPU what of the GPU's `pages` neither it nor the GPU has `done` to the end; what all did."""
        if self.device == GPU:
            bits = {page: state.activated.bits[page.words].copy() for page in done}
            self._cpu.begin(state, PULL)
            for page, words in bits.items():
                state.activated.bits[page.words] = words
                land(page, state, self._landing)
        for rest in missing(pages, sorted(done, key=lambda part: part.first_vertex)):
            if state.synchronous:
                run = slice(rest.first_vertex, rest.last_vertex)
                state.pending[run] = state.values[run]
            state.activated.bits[rest.words] = 0
            done[rest] = self._alone(rest, state, mode)
            if not state.synchronous and self._landing is None:  # some of its values may have come, nobody knows which
                done[rest] = self._cpu.activate_page(rest, done[rest], state)
        state.activated.mark()
        return list(done.values())

    def commit(self, state: State, mode: str) -> None:
        if self.device != CPU and mode == PULL and self._settled(state):
            if state.synchronous:
                state.values, state.pending = state.pending, state.values
                self._apart = self._cpu.is_relaxation
        else:
            self._stale, self._apart = True, False
            self._cpu.commit(state, mode)

    def _settled(self, state: State) -> bool:
        """Whether new values are the current ones on the device: not if it is lost."""
        if not self._lost:
            try:
                self._gpu.settle(state)
            except DeviceError as error:
                self._lose(error)
                state.activated.mark()
        return not self._lost

    def report(self, state: State) -> Array:
        return self._cpu.report(state)


class _Shared:
    """The pages of an iteration that the GPU is offered; a thread of its own works on them till `end`.

    Parameters
    ----------
    landing : ndarray, shape (n,), or None
        Where an asynchronous run's values come to from the device, if half a copy must not be seen.
    """

    def __init__(
        self,
        gpu: DeviceExecutor,
        source: PageSource,
        pages: list[Page],
        state: State,
        landing: Array | None,
        part: Heartbeat,
    ) -> None:
        self.results: dict[Page, PageResult] = {}
        self.error: DeviceError | None = None
        self.seconds = 0.0
        self._failure: BaseException | None = None
        self._gpu, self._source, self._state, self._part = gpu, source, state, part
        self._landing = landing
        self._waiting = gpu.offer(pages, state, PULL, shared=True)
        self._thread: threading.Thread | None = None
        part.doing = ("sharing pages with the GPU",)
        try:
            self._thread = start("garaph-gpu", self._work)
        except DeviceError as error:
            self.error = error

    def _work(self) -> None:
        started = time.perf_counter()
        into = self._state if self._landing is None else replace(self._state, pending=self._landing)
        try:
            self._gpu.work(self._waiting, self._source, into, self._tell)
        except DeviceError as error:
            self.error = error
        except BaseException as error:
            self._failure = error
        self.seconds = time.perf_counter() - started

    def _tell(self, page: Page, result: PageResult) -> None:
        land(page, self._state, self._landing)
        self.results[page] = result

    def steal(self, rates: Rates) -> Page | None:
        """The next page for the CPU, or part of one, while the GPU works."""
        if self._thread is None or not self._thread.is_alive():
            return None
        return rates.steal(self._waiting)

    def send(self, pages: Iterable[Page]) -> None:
        """The CPU's values of pages, to the GPU."""
        if self.error is None:
            try:
                self._gpu.receive(pages, self._state)
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


def land(page: Page, state: State, landing: Array | None) -> None:
    """Make visible what has come of a page to `landing`, if it was not at once."""
    if landing is not None:
        run = slice(page.first_vertex, page.last_vertex)
        state.values[run].view(np.uint8)[:] = landing[run].view(np.uint8)


def missing(pages: Iterable[Page], done: list[Page]) -> Iterator[Page]:
    """What of the `pages` is not `done`, which are pages, parts and whole runs of them, in their order."""
    for page in pages:
        rest = page
        for part in done:
            if part.last_vertex > rest.first_vertex and part.first_vertex < page.last_vertex:
                if part.first_vertex > rest.first_vertex:
                    yield replace(rest, last_vertex=part.first_vertex, last_edge=part.first_edge)
                rest = replace(rest, first_vertex=part.last_vertex, first_edge=part.last_edge)
        if rest.first_vertex < page.last_vertex:
            yield rest
