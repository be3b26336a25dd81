"""Several GPUs as one `Executor`: each has the in-edges of a part of the vertices, and the values of all.

In a pull each GPU pulls its part, and sends new values to the others (`peers`): page by page, while it computes the
next pages, or at the end if edges are streamed and the iteration is synchronous. A GPU that has begun all its streamed
pages steals some of the others' (`stealing`). After a push the GPUs exchange what each has changed (`exchange`), and
for components their trees (`exchange_trees`). Values stay in the GPUs' memories. To a host that shares iterations, the
GPUs are one device with one page queue (`SharedQueue`).
"""

from __future__ import annotations

import contextlib
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ...graph import Graph
from ...graph.vertex_set import WORD
from ...pages.layout import Page, commit_plan
from ...pages.memory_source import MemoryPageSource, in_edges_of
from ...pages.provider import SourceFactory
from ...pages.queue import PageQueue
from ...pages.source import PageSource
from ...system import interrupts
from ...system.threads import submit
from ..decision import Decision, PageDecision
from ..modes import COMPONENTS, GPU, NOTIFY_PULL, PULL, PUSH
from ..protocol import Capabilities, Notifier, OpenPlan
from ..repeat import may_repeat, repeat
from ..results import OnComplete, PageResult, StepResult
from ..state import State, Values
from ..step import StepByParts
from . import exchange_trees, speeds
from .buffers import Buffer
from .components import Components
from .device import failing
from .device_state import StateCopy
from .division import divided
from .exchange import Exchange, push
from .executor import GpuExecutor
from .parents import Parents
from .peers import Peers, link
from .pinned_pool import Answer
from .pulls_at_once import PullsAtOnce
from .push_cost import push_cost
from .shared_queue import SharedQueue
from .stealing import Stealing, Thief
from .timeline import TO_GPUS
from .turns import Turns, take
from .work import SKIPPED, PageWork, SharedWork, work_and_tell

Array = npt.NDArray[Any]
T = TypeVar("T")


class Host(Notifier, Protocol):
    """The host's executor, as several GPUs use it."""

    def report(self, state: State, source: PageSource | None = None) -> Array:
        """The reported values; it also finds parents, if not all edges are on the GPUs."""


class MultiGpuExecutor(StepByParts):
    """Runs one bound program on several GPUs. They pull, gather for notified vertices, push in relaxations, and find
    components.

    Parameters
    ----------
    graph : Graph
        Its edges are in memory.
    gpus : list of GpuExecutor
        Not open yet. This object closes them.
    host : Host
        The CPU, which notifies for the GPUs, and finds parents if not all edges are there.

    Attributes
    ----------
    gpus : list of GpuExecutor
    """

    name: ClassVar[str] = GPU
    memory_name: str = "gpu 0"
    source: PageSource
    _at_once: PullsAtOnce
    _stealing: Stealing

    def __init__(self, graph: Graph, gpus: list[GpuExecutor], host: Host) -> None:
        self._graph, self.gpus, self._host = graph, gpus, host
        self._failed: set[int] = set()
        self._is_whole = True  # every GPU has the values before the step
        self._has_pulled = False
        self._threads = ThreadPoolExecutor(max(len(gpus) - 1, 1), "garaph-gpu")
        self._prepares = "prepare" in gpus[0].bound.arguments
        self._exchanges: list[Exchange] = []  # of each GPU, if they push

    @property
    def capabilities(self) -> Capabilities:
        placed = [gpu.launches.placed for gpu in self.gpus]
        finds = bool(self._exchanges) and all(each.has_trees for each in placed)
        modes = PULL, NOTIFY_PULL, *(PUSH,) * bool(self._exchanges), *(COMPONENTS,) * finds
        ends = self.gpus[0].capabilities.pulls_end_early
        return Capabilities(GPU, modes, push_cost=push_cost(*placed), pulls_end_early=ends)

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        sources.divide(plan.memory.gpu)
        found = self.initialize(plan.synchronous, sources)
        self._host.assist(sources, self.source)
        if state is not None:
            found = state
            self.load(found)
        return found

    def initialize(self, synchronous: bool, sources: SourceFactory) -> State:
        """Divide the graph, and initialize every GPU; the state is that of the first."""
        given = [gpu.settings for gpu in self.gpus]
        parts = divided(self.gpus, self._graph._arrays.in_edges.offsets, synchronous, sources)
        link([gpu.device for gpu in self.gpus])
        for gpu, part, settings in zip(self.gpus, parts, given, strict=True):
            gpu.use(settings.of_part(part, len(self.gpus)))
        state, *_ = self._on_each(lambda k: self.gpus[k].initialize(synchronous, sources))
        for k, gpu in enumerate(self.gpus):
            others = [other for other in self.gpus if other is not gpu]
            gpu.peers = Peers(gpu, others, parts[k], gpu.bound.value.itemsize)
        self._at_once = PullsAtOnce(self.gpus, self._in_turn)
        self._prepare_pushes()
        counts = [len(gpu.residency.pages) for gpu in self.gpus]
        self._firsts = list(accumulate(counts[:-1], initial=0))
        self._begins = [part.first for part in parts]
        pages = [
            replace(page, number=page.number + first) for gpu, first in self._each() for page in gpu.residency.pages
        ]
        self._places = [
            (page, k := self._owner(page), replace(page, number=page.number - self._firsts[k])) for page in pages
        ]
        self.source = MemoryPageSource(self._graph._arrays.in_edges, pages=pages)
        self._stealing = Stealing(self.gpus, self._firsts, pages)
        return state

    def _prepare_pushes(self) -> None:
        """Allocate what pushes need, if all GPUs have room for it and can read the lists of their parts: for as many
        vertices at a time as the one with least."""
        rooms = [room for gpu in self.gpus if (room := gpu.launches.placed.exchange) is not None]
        if len(rooms) < len(self.gpus):
            return
        most = min(room.most for room in rooms)
        for gpu, room in zip(self.gpus, rooms, strict=True):
            with gpu.device, failing(gpu.device.driver):
                self._exchanges.append(Exchange(gpu.launches, room._replace(most=most)))

    def _each(self) -> Iterable[tuple[GpuExecutor, int]]:
        """Every GPU, and the number of pages that those before it have."""
        return zip(self.gpus, self._firsts, strict=True)

    @property
    def load_of(self) -> tuple[int, int, float]:
        """Edges of the graph, edges that are copied in every iteration, and an edge's bytes for one link of several."""
        loads = [gpu.load_of for gpu in self.gpus]
        return self._graph.m, sum(streamed for _, streamed, _ in loads), loads[0][2] / len(loads)

    @property
    def shares_pages(self) -> bool:
        return True

    def has(self, page: Page) -> bool:
        _, k, mine = self._places[page.number]
        return self.gpus[k].has(mine)

    def _owner(self, page: Page) -> int:
        """The index of the GPU that has a page's edges. If several parts begin at the same vertex, only the last of
        them is not empty."""
        return bisect_right(self._begins, page.first_vertex) - 1

    def _own(self, pages: Iterable[Page]) -> list[list[Page]]:
        """For each GPU, its share of `pages`, by the GPU's numbers."""
        own: list[list[Page]] = [[] for _ in self.gpus]
        for page in pages:
            whole, k, mine = self._places[page.number]
            own[k].append(mine if page is whole else replace(page, number=mine.number))
        for gpu, first in self._each():
            end = first + len(gpu.residency.pages)
            gpu.order = self.order and [number - first for number in self.order if first <= number < end]
            gpu.named = {number - first: how for number, how in self.named.items() if first <= number < end}
        return own

    def load(self, state: State) -> None:
        state.has_sums = False
        self.refresh(state, True)

    def step(self, state: State, decision: Decision) -> StepResult:
        try:
            several = self._several(state, decision)
            return super().step(state, decision) if several is None else several
        except DeviceError:
            self._save(state)
            raise

    def _several(self, state: State, decision: Decision) -> StepResult | None:
        """Do several pulls that all do the same; None if the decision or the run do not allow them."""
        first, ahead = self.gpus[0], decision.ahead
        if ahead is None or first.spans is not None or not may_repeat(first.bound, self._graph, state, ahead):
            return None
        self.follow(decision)

        def swap() -> None:
            self._is_whole = False  # from now on, values are not those before the step
            for k, gpu in enumerate(self.gpus):
                self._noting(k, partial(gpu.swap, state))

        pull, how = partial(self._pull, self._own(self.pages), state), PageDecision(PULL, GPU)
        pages = repeat(pull, swap, first.bound, self._graph, state, how, ahead.most)
        self._is_whole = True
        first.state.leave(state, self.memory_name)
        return StepResult(pages, 0, self.name, decision.sharing)

    def begin(self, state: State, mode: str) -> int:
        if mode in (PULL, PUSH, COMPONENTS):
            return 0
        state.frontier.tighten()
        return self._host.notify(state)

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        interrupts.check()
        if mode in (PUSH, COMPONENTS):
            return self._in_place(state, mode)
        every = list(pages)
        if self.gpus[0].on_page is not None and not state.synchronous:
            self.ready(state)
            pull = partial(self.work, self.offer(every, state, mode, False), source)
            done = work_and_tell(pull, np.empty(self._graph.n, self.gpus[0].bound.value), self.gpus[0].on_page)
            return [done.get(page, SKIPPED) for page in every]
        return self._pull(self._own(every), state, mode)

    def _pull(self, own: list[list[Page]], state: State, mode: str = PULL) -> list[PageResult]:
        """Pull its `own` pages on each GPU."""
        begins_first = self._prepares and not state.synchronous  # else prepare would rewrite what others have sent
        if begins_first:
            self.ready(state)
        if mode == PULL and (pieces := self._at_once.pieces(own)) is not None:
            return self._at_once(own, pieces, None if begins_first else state)
        if not begins_first:
            for k, gpu in enumerate(self.gpus):
                self._noting(k, partial(gpu.ready, state))
        works = [gpu.page_work(not state.synchronous) for gpu in self.gpus]
        seconds = self._drive(self._queues(own, state, mode, False), works, state)
        if mode == PULL:  # which skips no page
            own = [list(work.done) for work in works]
            if self._has_pulled:  # the first pull copies edges
                self._at_once.note(self._stealing.seconds_of_own(seconds, works))
        self._has_pulled = True
        return self._stealing.in_order(self._in_turn(lambda k: self.gpus[k].results_of_pages(own[k], works[k])), works)

    def _queues(self, own: list[list[Page]], state: State, mode: str, shared: bool) -> list[PageQueue[Buffer]]:
        """The queues of the `own` pages of each GPU."""
        queues = [gpu.offer(pages, state, mode, shared) for gpu, pages in zip(self.gpus, own, strict=True)]
        if mode == PULL:
            self._stealing.allow(queues)
        return queues

    def _in_place(self, state: State, mode: str) -> list[PageResult]:
        """Push in one superstep, or find components: new values replace the old ones."""
        self._is_whole = False
        for k, gpu in enumerate(self.gpus):
            self._noting(k, partial(gpu.begin, state, mode))
        if mode == PUSH:
            are_there = all(each.is_filled for each in self._exchanges)
            copied = 0 if are_there else sum(self._on_each(lambda k: self._exchanges[k].fill()))
            result = push(self._exchanges, state, self._in_turn)
            result.to_device += copied
            return [result]
        found = exchange_trees.find([Components(gpu.launches) for gpu in self.gpus], self._in_turn)
        return [result for results in found for result in results]

    def _drive(
        self, queues: Sequence[PageQueue[Buffer]], works: Sequence[PageWork | SharedWork], state: State
    ) -> list[float]:
        """Do the `works` of all GPUs in this thread, and send all frontiers; how many seconds each GPU took.

        In a synchronous iteration nobody reads new values before its end, so a GPU sends them then: a copy for each
        page would take the thread a fifth of its time. Other `works` send those of each page. What a GPU has stolen, it
        sends when all GPUs have ended: before, the one that has these vertices might yet clear its next frontier.
        """
        began, seconds, stolen = time.perf_counter(), [math.inf] * len(self.gpus), list[tuple[int, list[Page]]]()

        def end(k: int) -> None:
            seconds[k] = time.perf_counter() - began
            own, others = self._stealing.thieves[k].divided(works[k].done)
            send(k, own, own if queues[k].others else None)
            stolen.append((k, others))

        def send(k: int, pages: list[Page], of_frontier: list[Page] | None) -> None:
            gpu, starts = self.gpus[k], time.perf_counter_ns()
            assert gpu.peers is not None
            with gpu.device, failing(gpu.device.driver):
                if state.synchronous:
                    gpu.peers.send_values(pages, gpu.streams.back)
                gpu.peers.send_frontier(gpu.streams.back, of_frontier)
                gpu.streams.mark(
                    "values and frontier" if state.synchronous else "frontier", starts, gpu.streams.back, TO_GPUS
                )

        take([
            Turns(gpu.streams, queue, gpu.source, work)
            for gpu, queue, work in zip(self.gpus, queues, works, strict=True)
        ], self._noting, end)  # fmt: skip
        for k, pages in stolen:
            if pages:
                self._noting(k, partial(send, k, pages, pages))
        self._in_turn(lambda k: self.gpus[k].streams.back.synchronize())
        return seconds

    def commit(self, state: State, mode: str) -> None:
        self._is_whole = False
        plan: tuple[Sequence[Page], bool] = (), mode == PULL  # pushes and components have replaced values
        if mode == NOTIFY_PULL:
            taken = [gpu.taken for gpu in self.gpus]
            plan = commit_plan(*([page for each in taken for page in each[k]] for k in range(2)))
        for k, gpu in enumerate(self.gpus):
            self._noting(k, partial(gpu.commit_pages, state, *plan))
        self._is_whole = True
        self.gpus[0].state.leave(state, self.memory_name)

    def ready(self, state: State) -> None:
        """Begin an iteration on every GPU, and wait until all have begun it."""

        def begin(k: int) -> None:
            device = self.gpus[k].device
            self.gpus[k].ready(state)
            with device, failing(device.driver):
                device.driver.Context.synchronize()

        self._on_each(begin)

    def offer(self, pages: list[Page], state: State, mode: str, shared: bool) -> SharedQueue:
        return SharedQueue(self._queues(self._own(pages), state, mode, shared), self._firsts)

    def work(self, queue: SharedQueue, source: PageSource, state: State, on_complete: OnComplete) -> None:
        def tell(thief: Thief, page: Page, result: PageResult) -> None:
            on_complete(thief.of_all(page), result)

        sends, both = not state.synchronous, zip(self.gpus, self._stealing.thieves, strict=True)
        works = [gpu.shared_work(state, partial(tell, thief), sends) for gpu, thief in both]
        self._drive(queue.queues, works, state)

    def receive(self, pages: Iterable[Page], state: State) -> None:
        every = list(pages)
        self._on_each(lambda k: self.gpus[k].receive(every, state))

    def refresh(self, state: State, values: bool) -> None:
        if values:
            _ = state.values  # if another memory has them, one thread copies them to the host
        on_all = self._on_each if values else self._in_turn  # a frontier is copied sooner than a thread starts
        on_all(lambda k: self.gpus[k].refresh(state, values))

    def swap(self, state: State) -> None:
        self._on_each(lambda k: self.gpus[k].swap(state))

    def start_copy(self) -> StateCopy:
        return self.gpus[0].start_copy()

    def report(self, state: State) -> Values:
        """The reported values. Each GPU reports those of its part if parents are asked for, which it finds; otherwise
        as many as any other."""
        first, finds = self.gpus[0], self.gpus[0].bound.finds_parents
        if first.bound.reports_values:
            return first.report(state)
        if finds and any(gpu.residency.pages and gpu.launches.within_reach() is None for gpu in self.gpus):
            return self._host.report(state, in_edges_of(self._graph._arrays))
        to = first.state.answer(first.bound.reports)
        bounds = [*self._begins, self._graph.n] if finds else shared(self._graph.n, len(self.gpus))
        parts = list(pairwise(bounds))
        self._on_each(lambda k: report_part(self.gpus[k], to, parts[k], state.synchronous))
        return to.array

    def _on_each(self, act: Callable[[int], T]) -> list[T]:
        """Call ``act(k)`` for every GPU, each in a thread of its own; the first GPU's is this one.

        Raises
        ------
        DeviceError
            If a GPU fails, once all other calls have ended.
        """
        futures = []
        try:
            for k in range(1, len(self.gpus)):
                futures.append(submit(self._threads, self._noting, k, partial(act, k)))
            first = self._noting(0, partial(act, 0))
        finally:
            wait(futures)
        return [first, *(future.result() for future in futures)]

    def _in_turn(self, act: Callable[[int], T]) -> list[T]:
        """Call ``act(k)`` for every GPU, whose context is current, in this thread."""

        def acting(k: int) -> T:
            with self.gpus[k].device, failing(self.gpus[k].device.driver):
                return act(k)

        return [self._noting(k, partial(acting, k)) for k in range(len(self.gpus))]

    def _noting(self, k: int, act: Callable[[], T]) -> T:
        """Call ``act()``, which is for GPU `k`, and record a failure of this GPU."""
        try:
            return act()
        except DeviceError:
            self._failed.add(k)
            raise

    def _save(self, state: State) -> None:
        """After a failure, copy the values before the iteration from a GPU that still works."""
        lost = self.lost()
        left = [gpu for gpu in self.gpus if gpu.device.number not in lost]
        if left and state.synchronous and self._is_whole and not self._prepares:
            with contextlib.suppress(DeviceError):
                left[0].state.replace_in(state)
                state.next_values = state.values
                _ = state.frontier

    def lost(self) -> list[int]:
        """The numbers of the GPUs that have failed. It asks each GPU, because the first one may have failed while its
        values were copied to the host, and nothing records such a failure.

        A copy to a lost GPU also fails on the GPU that sends. So if any GPU no longer answers, only such GPUs count.
        """
        silent = set()
        for k, gpu in enumerate(self.gpus):
            try:
                with gpu.device, failing(gpu.device.driver):
                    gpu.device.driver.Context.synchronize()
            except DeviceError:
                silent.add(k)
        return [self.gpus[k].device.number for k in sorted(silent or self._failed)]

    def close(self) -> None:
        self._threads.shutdown()
        at_once = self.__dict__.pop("_at_once", None)
        if at_once is not None and not self._failed:
            own = [sum(page.edges for page in gpu.residency.pages) for gpu in self.gpus if hasattr(gpu, "residency")]
            speeds.learn([gpu.device for gpu in self.gpus], own, at_once.seconds)
        del at_once  # whose events can be destroyed only where a GPU's context is current
        self._exchanges.clear()
        for gpu in self.gpus:
            gpu.peers = None  # which refers to the GPU
            gpu.close()


def shared(n: int, count: int) -> list[int]:
    """Where each of `count` parts of `n` vertices begins, about as many each, and `n`."""
    return [*(n * k // count // WORD * WORD for k in range(count)), n]


def report_part(gpu: GpuExecutor, to: Answer, vertices: tuple[int, int], synchronous: bool) -> None:
    """Write the reported values of the `vertices` [first, last) to an array of those of all; with their parents, which
    the GPU finds, if these are asked for."""
    if vertices[0] < vertices[1]:
        look = Parents(gpu.launches, gpu.bound, of_all=False)(synchronous) if gpu.bound.finds_parents else None
        gpu.state.report_part(to, vertices, look)
