"""The executor on a GPU: GlobalVertices in device memory, pages resident or streamed (Garaph sections 3.1 and 5.2)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import DeviceMemoryError
from ...graph import Graph
from ...pages.layout import Page, commit_plan, cut
from ...pages.provider import SourceFactory
from ...pages.queue import PageQueue
from ...pages.source import PageSource
from ...program import BoundProgram
from ..decision import Ahead, Decision, PageDecision
from ..modes import COMPONENTS, GPU, NOTIFY_PULL, PULL, PUSH
from ..partials import total_of
from ..protocol import Capabilities, Notifier, OpenPlan
from ..repeat import may_repeat, repeat
from ..results import OnComplete, PageResult, StepResult
from ..state import OnPage, State, Values
from ..step import StepByParts
from . import staging
from .buffers import Buffer
from .chain import Chain
from .choice import Choice
from .components import Components
from .device import Device, failing
from .device_graph import DeviceGraph, KeptBytes, budget_of, kind_of_run, make_room
from .device_state import DeviceState, StateCopy
from .edges import page_bytes, pinned_arrays
from .gather import SEGMENTED, UNTIL_DONE, Gather, kind_of
from .launch import launcher_for
from .launches import Launches
from .levels import DeviceLevels
from .memory_plan import FREE_SHARE, can_push
from .page_tasks import PageTasks
from .page_transfers import transfers_of
from .parents import Parents
from .peers import Peers
from .pinned import PageBuffers, Pinned
from .pinned_pool import PinnedPool, pool_of
from .placement import Placer
from .pulls_ahead import PullsAhead
from .push_cost import far_lists, push_cost
from .push_from_lists import move_ahead
from .pushes import push
from .reorder import DevicePages, HubEdges
from .residency import VERTICES, Residency
from .run_arrays import RunArrays
from .settings import Settings
from .streams import Streams
from .two_threads import streams_for
from .work import SKIPPED, PageWork, SharedWork, work_and_tell

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")


class GpuExecutor(StepByParts):
    """Runs one bound program on a GPU. `close` it, or use it in ``with``.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    device : Device
    settings : Settings
    host : Notifier, optional
        The CPU, which notifies for the GPU; without it, iterations only pull.
    listener : callable
        Receives the progress of compilation.

    Attributes
    ----------
    residency : Residency
        The pages, and which of them are resident. Set by `initialize`, as the next five are.
    edges : Choice
        The codec and layout of the edges.
    source : PageSource
        The pages' edges on the host, which are copied to the device.
    streams : Streams
    state : DeviceState
    levels : DeviceLevels
    launches : Launches
    spans : list of Span or None
        If this is a list before `initialize`, each copy and each computation on the GPU appends a span.
    memory_name : str
        The name of the device's memory in `State.holders`.
    kept_bytes : KeptBytes
        Bytes of the graph that the device keeps after `close`.
    placing : dict of str to float
        Seconds that it took to have edge lists where they are pushed from, by what was done (`EdgeLists`).
    on_page : callable or None
        See `OnPage`.
    peers : Peers or None
        The other GPUs that get this one's new values, if several share the graph.
    """

    name: ClassVar[str] = GPU
    modes: ClassVar[tuple[str, ...]] = (PULL, NOTIFY_PULL)
    residency: Residency
    edges: Choice
    streams: Streams
    state: DeviceState
    spans: list[events.Span] | None = None
    memory_name: str = "gpu 0"
    kept_bytes: KeptBytes = KeptBytes()
    placing: dict[str, float]
    on_page: OnPage | None = None
    peers: Peers | None = None

    def __init__(
        self, bound: BoundProgram, graph: Graph, device: Device, settings: Settings, host: Notifier | None = None,
        listener: events.Listener = events.ignore,
    ) -> None:  # fmt: skip
        self.bound, self.graph, self.device = bound, graph, device
        self._sources = SourceFactory(graph, bound.reads_edge_values)
        self._host = host
        self._processed: list[Page] = []
        self._pinned = Pinned()
        # A graph whose memory is bounded leaves none of it in the pool.
        self._pool: PinnedPool | Pinned = pool_of(device) if graph.memory is None else self._pinned
        self._kept = DeviceGraph.take(graph._arrays, device)
        try:
            with device, failing(device.driver):
                self.launcher = launcher_for(bound, device, listener)
                self.use(settings)
        except BaseException:
            self.close()
            raise

    def use(self, settings: Settings) -> None:
        """Use the device in this way, unless it is initialized already."""
        self.settings = settings
        self._hub = HubEdges(self.bound, self.graph, settings, self._kept)
        self.placer = Placer(self.bound, self.graph, settings, self._kept, self._hub, self.launcher, self._host)

    @property
    def capabilities(self) -> Capabilities:
        pushes = self._placed.keeps_sums or (can_push(self.bound, self.graph) and self._placed.reaches_all)
        modes = self.modes * (not self._placed.lists) + (PUSH,) * pushes + (COMPONENTS,) * self.settings.components
        late = self.bound.ends_late or self._placed.pushes_from_disk  # the disk reads all the same
        return Capabilities(
            GPU, modes, reads_disk=self._placed.on_disk and not all(map(self.has, self.residency.pages)),
            push_cost=push_cost(self._placed), pulls_end_early=self.gather.kind == UNTIL_DONE and not late,
            pushes_deltas=self._placed.keeps_sums, far_lists=far_lists(self._placed, self.settings.threads),
            transfers=transfers_of(self._placed, self.settings),
        )  # fmt: skip

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        sources.divide(plan.memory.gpu)
        found = self.initialize(plan.synchronous, sources)
        if self._host is not None:
            self._host.assist(sources, self.source)
        if state is not None:
            self.load(found := state)
        move_ahead(self.launches, found)
        return found

    def initialize(self, synchronous: bool, sources: SourceFactory | None = None) -> State:
        """Lay out pages, allocate and fill device memory; compute initial values, first frontier and first total.

        `sources` makes the page sources; by default this executor makes them from its graph.
        """
        self._sources = sources or self._sources
        budget = self.budget()
        self._lay_out(synchronous, budget)
        try:
            state = self._start(synchronous, budget)
            if self._reorder(budget):
                self._lay_out(synchronous, budget)
                state = self._start(synchronous, budget)
            return state
        except DeviceMemoryError:
            self._release()
            less = int(FREE_SHARE * min(budget, self.budget()))
            log.info("the GPU could not allocate within a budget of %d bytes; trying again with %d", budget, less)
            self._lay_out(synchronous, less)
            return self._start(synchronous, less)

    @property
    def load_of(self) -> tuple[int, int, float]:
        """Edges of the graph, edges of its streamed pages, and mean bytes per edge."""
        return self.graph.m, sum(page.edges for page in self.residency.elsewhere), self.edges.arrays.width

    def budget(self) -> int:
        """Bytes of device memory that this run may use."""
        return budget_of(self.settings, self.device, self._kept)

    def _release(self) -> None:
        with self.device, failing(self.device.driver):
            self._kept.clear()
            self._pinned.close()
            make_room(self.device, self._kept, 0)
        if hasattr(self, "source"):
            self.source.close()

    @property
    def shares_pages(self) -> bool:
        return self._numbering.order is None

    def _lay_out(self, synchronous: bool, budget: int) -> None:
        """Decide what is where in the device's memory (`Placer.place`)."""
        self._placed = self.placer.place(self._sources, synchronous, budget)
        self._numbering, self._plan, self.edges, self.residency, *_ = self._placed
        self.placing, self._offsets = self._placed.placing, self._numbering.ranks.offsets
        self._arrays = RunArrays(self.bound, self._numbering, self.launcher)

    def _reorder(self, budget: int) -> bool:
        """Make the edges in hub order from the resident ones, if they are wanted; return whether they were made."""
        if not self._placed.has_all_raw or not self._hub.are_wanted(budget):
            return False
        with self.device, failing(self.device.driver):
            make_room(self.device, self._kept, budget - self._kept.memory.used - self._hub.nbytes)
            self.streams.buffers.keep(self._kept)
            tasks = [self.task_of(page, self.streams.buffers.staying[page.number]) for page in self.residency.pages]
            self._hub.make(tasks, self.launcher)
        return True

    def _start(self, synchronous: bool, budget: int) -> State:
        """Allocate and fill everything, and compute initial values."""
        graph, bound, pages = self.graph, self.bound, self.residency.pages
        with self.device, failing(self.device.driver):
            self._kept.make_room(self._placed.contents(self._hub), self.residency.used, budget)
            self._kept.begin()
            self._arrays.allocate(self._plan.arrays, self._kept, self.settings.threads, self._pool)
            self._placed.allocate_lists(self._arrays, self._pool)
            hub, layout = None if self.shares_pages else self._hub.found(), self.edges.arrays
            self.streams = streams_for(self.settings)(
                self.device, self.residency, layout, self._kept, self.spans, self.settings.transfer,
                hub or self._placed.far,
            )  # fmt: skip
            self._allocate_tallies(len(pages))
            kind = SEGMENTED if hub else kind_of(bound, self.settings, layout.encoding, synchronous)
            self.gather = Gather(bound, self.launcher, self._kept, self._numbering.ranks, pages, kind, self.settings)
            once = isinstance(self._pool, PinnedPool) and self.residency.resident == len(pages) and not self.edges.packs
            if not once and not self._placed.lists and not all(map(self.has, pages)):
                for array in pinned_arrays(self.edges.edges):
                    self._kept.pinned.pin(array)
            buffers, staying = PageBuffers(self.device, self._pinned), self.residency.resident
            self.source = DevicePages(self.edges.edges, pages=pages) if hub else self._sources.into(
                self.settings.page_edges, pages, staying, buffers.pin, buffers.unpin, self.edges.edges
            )  # fmt: skip
            if self.settings.offsets:
                self.source = self.gather.offset_pages(self.edges.edges, pages, self._pool)
            if self.edges.packs:
                self.edges.pack(self.streams, self.launcher, self._kept.memory, self.address("starts"))
            elif not graph.on_disk:
                missing = sum(page_bytes(page, layout) for page in pages if not self.has(page))
                staging.prefetch(
                    self.streams, self.source, missing, once, self._kept, self._pool, self.settings.threads
                )
            self._arrays.divide_values(synchronous)
            self.state = DeviceState(
                bound, self._numbering, self._arrays, self._kept, self.launcher, self._pool, self.settings
            )
            self.levels = DeviceLevels(self.state, self._arrays, self._kept, self.launcher)
            state = self.state.made(synchronous)
            self.state.leave(state, self.memory_name)
            every = Page(0, 0, graph.n, 0, graph.m)
            self._tasks = PageTasks(self._arrays, layout, self.streams, self.gather, pages, every, self._tally_address)
            self.launches = Launches(
                self.launcher, self._arrays, self.streams, self._tasks, self.source, self._placed, self._tallies,
                self._kept.memory,
            )  # fmt: skip
            self._chain = Chain.of(self.launches, self.gather)
            self._pulls = PullsAhead(
                bound, self.launches, self.gather, self._kept, self._hub if self.shares_pages else None,
                self.settings.deterministic,
            )  # fmt: skip
            result = self.launches.initial_values(every, self.state.place_of_found(), bound.total is not None)
            self.state.read_found()
            self._kept.has_begun(kind_of_run(bound, self.settings.gpus, self.settings.memory), layout.width)
        state.advance(result.active, result.active_edges, result.active)
        if result.partials is not None:
            assert bound.total is not None
            state.total = total_of([result.partials], bound.total)
        return state

    def _allocate_tallies(self, pages: int) -> None:
        """Allocate tallies for so many pages, and for those that the device may steal (`Thief`)."""
        part = self.settings.part
        stolen = 0 if part is None else min(pages, part.most_others(self.graph.n))
        self._tallies = self._pool.empty(max(pages + stolen, 1), self.launcher.layouts.tally)
        self._tally_address = self._kept.memory.allocate("tallies", self._tallies.nbytes)

    def fill(self, listener: events.Listener) -> None:
        """Copy the resident pages that `initialize` leaves to the first iteration; wait until all are on the device."""
        with self.device, failing(self.device.driver):
            self.streams.fill(self.source, listener)
            self.launches.fill_out_edges()

    def load(self, state: State) -> None:
        state.has_sums = False
        self.refresh(state, True)

    def has(self, page: Page) -> bool:
        return self.streams.buffers.has(page)

    def step(self, state: State, decision: Decision) -> StepResult:
        """One iteration, or several if the decision allows them and the caller need not see the state in between."""
        pages: list[PageResult] = []
        self.follow(decision)
        self._placed.choose_way(decision)
        self._arrays.divide_values(state.synchronous or self._placed.leaves_sums(decision))
        if (ahead := decision.ahead) is not None and self.settings.chains and self.spans is None:
            with self.device, failing(self.device.driver):
                if ahead.repeats:
                    pages = self._pulls(state, ahead.most) or self._repeated_pulls(state, ahead)
                elif ahead.most is None:  # it cannot tell beforehand how many supersteps it will do
                    pages = self._chain(state, decision.mode, ahead)
        if not pages:
            return super().step(state, decision)
        state.has_sums = self._placed.keeps_sums
        self.state.leave(state, self.memory_name)
        return StepResult(pages, 0, self.name, decision.sharing)

    def _repeated_pulls(self, state: State, ahead: Ahead) -> list[PageResult]:
        """Pulls that all do the same; none if the run does not allow them."""
        will_be_there = self._placed.is_resident and self.launches.streams.buffers.there(self.launches.pages) is None
        if will_be_there or not may_repeat(self.bound, self.graph, state, ahead):
            return []  # once all edges are there, pulls may be launched together
        pull, swap = partial(self.pull, state), partial(self.swap, state)
        return repeat(pull, swap, self.bound, self.graph, state, PageDecision(PULL, GPU), ahead.most)

    def begin(self, state: State, mode: str) -> int:
        self.ready(state)
        if mode in (PULL, PUSH, COMPONENTS):
            return 0
        if self._host is None:
            raise ValueError("notify-pull on a GPU without a host that notifies")
        state.frontier.tighten()
        return self._host.notify(state)

    def ready(self, state: State) -> None:
        """Prepare the device for an iteration: copy the total, clear the next frontier and the tallies, run `prepare`.

        This work goes to the default stream; the streams of copies and kernels wait for it.
        """
        driver = self.device.driver
        if not self.settings.chains:  # else nobody sees the state between supersteps, nor changes them
            self._arrays.read_parameters()
        with self.device, failing(driver):
            if state.total is not None:
                driver.memcpy_htod(self.address("total"), state.total.view(np.uint8))
            part, size = self.settings.part, self._kept.memory.size("next_frontier")
            begin, nbytes = (0, size) if part is None else part.bits
            driver.memset_d8(self.address("next_frontier") + begin, 0, nbytes)
            driver.memset_d8(self._tally_address, 0, self._tallies.nbytes)
            if "prepare" in self.bound.arguments:
                task = self._arrays.task_of_range(0, self.graph.n)
                self.launcher.on_threads("prepare_values", self.graph.n, None, task)

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        if mode in (PUSH, COMPONENTS):
            return self._alone(state, mode)
        every, work = list(pages), self.page_work()
        if self.on_page is not None and not state.synchronous:
            pull = partial(self.work, self.offer(every, state, mode, False), source)
            self._processed = list(done := work_and_tell(pull, np.empty(self.graph.n, self.bound.value), self.on_page))
            return [done.get(page, SKIPPED) for page in every]
        with self.device, failing(self.device.driver):
            if mode == PULL and (whole := self.launches.in_one_launch(self.gather, every)):
                work.launch(*whole)
                work.on_complete(whole[0], 0)
                return self.results(every, work)
            self.streams.process(self.offer(every, state, mode, False), source, work)
            return self.results_of_pages(every, work)

    def results(self, pages: list[Page], work: PageWork) -> list[PageResult]:
        """Wait for the launches of `work`, which pull `pages`; their results. The context must be current."""
        self.launches.read_tallies()
        self._processed = pages
        return work.results(0)

    def results_of_pages(self, pages: list[Page], work: PageWork) -> list[PageResult]:
        """The results of `pages`, of which `work` has processed some. The device's context must be current."""
        tallies, self._processed = self.launches.read_tallies(), list(work.done)
        results = work.results(len(pages) - len(work.done))
        if self.shares_pages:
            self._hub.count(sum(result.edges for result in results))
        if self._placed.uses is not None:
            self._placed.uses.count(self._processed, tallies["active"].astype(np.int64))
        return results

    def _alone(self, state: State, mode: str) -> list[PageResult]:
        """Push or find components, which replace values in place."""
        self._processed = []
        with self.device, failing(self.device.driver):
            return Components(self.launches)() if mode == COMPONENTS else push(self.launches, state)

    def page_work(self, sends: bool = True) -> PageWork:
        """The work on each page of a pull that the device does alone; it `sends` a page's new values to `peers`."""
        tallies, has_total, peers = self._tallies, self.bound.total is not None, self.peers if sends else None
        return PageWork(self.gather, self.task_of, tallies, has_total, self.streams.way_of, peers)

    def offer(self, pages: list[Page], state: State, mode: str, shared: bool) -> PageQueue[Buffer]:
        """The queue of the pages to process: in notify-pull, those with a notified vertex. See `DeviceExecutor`."""
        if shared and not self.shares_pages:
            raise ValueError("pages in hub order cannot be shared: no other processor has them")
        # A program with `prepare` has rewritten the values of every page, so no page may be skipped.
        skips = mode == NOTIFY_PULL and "prepare" not in self.bound.arguments and self.shares_pages
        chosen = [page for page in pages if not skips or state.notified.bits[page.words].any()]
        split = partial(cut, self._offsets, multiple=VERTICES) if self.gather.takes_parts else None
        return self.streams.order(chosen, shared or self.graph.on_disk, split, self.order, self.named)

    def work(self, queue: PageQueue[Buffer], source: PageSource, state: State, on_complete: OnComplete) -> None:
        with self.device, failing(self.device.driver):
            self.streams.process(queue, source, self.shared_work(state, on_complete))

    def shared_work(self, state: State, on_complete: OnComplete, sends: bool = True) -> SharedWork:
        """The work on each page of an iteration whose new values the host gets. See `page_work`."""
        places = self.address("next_values"), self.address("next_frontier"), self._tally_address
        return SharedWork(self.page_work(sends), self.device.driver.memcpy_dtoh_async, places, state, on_complete)

    def receive(self, pages: Iterable[Page], state: State) -> None:
        self.state.receive(pages, state, self.streams.forth)

    def refresh(self, state: State, values: bool) -> None:
        self.state.refresh(state, values)

    def address(self, name: str) -> int:
        """The current device address of one of the run's arrays."""
        return self._arrays.address(name)

    def task_of(self, page: Page, buffer: Buffer) -> Array:
        """The argument of a kernel over `page`, whose edges are in `buffer`."""
        return self._tasks.of(page, buffer)

    def commit(self, state: State, mode: str) -> None:
        self.commit_pages(state, *commit_plan(*self.taken))
        state.has_sums = self._placed.keeps_sums and self._arrays.are_values_divided and mode in (PULL, PUSH)
        self.state.leave(state, self.memory_name)

    @property
    def taken(self) -> tuple[list[Page], list[Page]]:
        """The pages that the last iteration has processed, and those that it has skipped."""
        if len(self._processed) == len(self.residency.pages):
            return self._processed, []
        processed = {page.number for page in self._processed}
        return self._processed, [page for page in self.residency.pages if page.number not in processed]

    def swap(self, state: State) -> None:
        self.commit_pages(state, (), True)

    def commit_pages(self, state: State, copied: Sequence[Page], swaps: bool) -> None:
        """Make the new values the current ones (`DeviceState.commit`)."""
        with self.device, failing(self.device.driver):
            self.streams.forth.synchronize()  # the host will overwrite the values that `receive` copies from
            self.state.commit(copied, swaps)

    def start_copy(self) -> StateCopy:
        return self.state.start_copy()

    def report(self, state: State) -> Values:
        finds = self.bound.finds_parents
        return self.state.report(state, Parents(self.launches, self.bound)(state.synchronous) if finds else None)

    def close(self) -> None:
        """Free all memory, even after the device has failed; unless it has, the graph's part is kept for later runs.

        PyCUDA can destroy a stream, an event or a module only where the device's context is current, or in the thread
        that found the device. So this method drops all of them while the context is current.
        """
        with contextlib.suppress(Exception), self.device:
            is_whole = False
            with contextlib.suppress(Exception):
                self.device.driver.Context.synchronize()
                is_whole = True
                self.streams.write_spans()
            with contextlib.suppress(Exception):
                self.streams.buffers.keep(self._kept)
            with contextlib.suppress(Exception):
                self.kept_bytes = self._kept.give_back(is_whole)
            with contextlib.suppress(Exception):
                self._pinned.close()
            with contextlib.suppress(Exception):
                self.source.close()
            with contextlib.suppress(AttributeError):  # the run may have failed before it was made
                self.state.close()
            parts = "streams", "gather", "launcher", "state", "levels", "_pulls", "_chain"
            for name in (*parts, "_arrays", "_kept", "_hub", "placer", "_placed", "_tasks", "launches"):
                self.__dict__.pop(name, None)

    def __enter__(self) -> GpuExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
