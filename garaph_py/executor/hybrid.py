"""A host and its devices in one run (Garaph section 5.1): an idle processor takes the next page, and new values are
copied in both directions (section 4.1).

A device takes pages from the front of its page queue, which begins with the pages that are resident on the device. The
host steals pages from the back, in ever smaller parts, so that both finish at the same time (`Sharing.steal`). When a
page is complete, its new values are copied to the other processors; a synchronous run commits them at the end of the
iteration. If the host would not help, a device works as in a run on the device alone, and keeps the new values. After
the host has notified, the devices pull the pages that they finish sooner than the host would (`Sharing.divide`).
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import DeviceError
from ..graph import Graph
from ..native.compiling import work_clock
from ..pages.layout import Page, within
from ..pages.provider import SourceFactory
from ..pages.source import HostSource, PageSource
from ..system.watchdog import Heartbeat
from .decision import Decision, PageDecision
from .modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PUSH
from .protocol import Array, Capabilities, DeviceExecutor, HostExecutor, OpenPlan
from .results import PageResult, StepResult, Supersteps
from .shared import Member, SharedPages, merged, missing
from .state import HOST, OnPage, State, Values

log = logging.getLogger("garaph_py")

ACTIVE, ANYWHERE = "active", "anywhere"
"""Where the host's two arrays of values may differ: at active vertices only, or at all vertices."""


@dataclass
class Assigned:
    """The pages of an iteration that only the host processes, and those that are offered to each device."""

    host: list[Page]
    devices: list[tuple[Member, list[Page]]]


class HybridExecutor:
    """A host and its devices as one `Executor`.

    Parameters
    ----------
    graph : Graph
    host : HostExecutor
    devices : list of DeviceExecutor
        Each device holds the values of all vertices, and its part of the pages.

    Attributes
    ----------
    device : {"cpu", "gpu", "both"}
        The processors that work in the current iteration.
    failure : str or None
        Why a device failed, if one did.
    heartbeat : Heartbeat
        What the calling thread is doing.
    on_page : callable or None
        See `OnPage`. Nobody is told any more once a device has failed: some of its values may not count as changed.
    """

    name: ClassVar[str] = "hybrid"
    _host_source: HostSource

    def __init__(self, graph: Graph, host: HostExecutor, devices: list[DeviceExecutor]) -> None:
        self._graph, self._host = graph, host
        self._members = [Member(device, f"gpu {k}") for k, device in enumerate(devices)]
        self.device = CPU
        self.failure: str | None = None
        self.on_page: OnPage | None = None
        self.heartbeat = Heartbeat("CPU and GPU")
        self._host_helps, self._pushes = True, True
        self._shares = False  # the decision is that host and devices share the iteration
        self._differ: str | None = None  # where the host's two arrays of values differ; `_make_equal` before it works
        self._landing: Array | None = None  # staging buffer for a device's new values in asynchronous runs, if needed

    @property
    def capabilities(self) -> Capabilities:
        can = self._host.capabilities
        of_devices = [member.executor.capabilities.modes for member in self._members]
        has = {PUSH: self._pushes, COMPONENTS: all(COMPONENTS in modes for modes in of_devices)}
        modes = tuple(mode for mode in can.modes if has.get(mode, True))
        loads = tuple(member.executor.load_of for member in self._members)
        first = self._members[0].executor.capabilities
        return Capabilities(
            CPU, modes, threads=can.threads, loads=loads, devices_push=PUSH in first.modes,
            push_cost=first.push_cost, pulls_end_early=first.pulls_end_early,
            reads_disk=self._graph.on_disk, transfers=first.transfers if len(loads) == 1 else (),
        )  # fmt: skip

    @property
    def source(self) -> PageSource:
        """The pages of the first device."""
        return self._members[0].executor.source

    @property
    def note(self) -> str | None:
        """Why a device failed, and who goes on; None if none has failed."""
        rest = "the other GPUs go on" if self._working else "the CPU goes on alone"
        return None if self.failure is None else f"the GPU failed, {rest}: {self.failure}"

    @property
    def _working(self) -> list[Member]:
        """The devices that have not failed."""
        return [member for member in self._members if not member.is_lost]

    @property
    def _shares_pages(self) -> bool:
        """Whether the processors may share an iteration; otherwise one of them does it alone."""
        return self._host_source.can_be_shared and all(member.executor.shares_pages for member in self._working)

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        needs = plan.memory.both
        self._pushes = needs.pushes
        sources.divide(needs)
        first, *_ = [member.executor.initialize(plan.synchronous, sources) for member in self._members]
        if len(self._members) > 1 and not all(member.executor.shares_pages for member in self._members):
            raise ValueError("several devices share pages, so each must number vertices as the user does")
        reference = list(self.source.pages)
        for member in self._members:
            member.has_reference_layout = list(member.executor.source.pages) == reference
        self._host_source = sources.of_host(self.source)
        self._host.assist(sources, self._host_source)
        return self.start(first, state)

    def start(self, first: State, left: State | None = None) -> State:
        """Start from a device's `first` state, or from the state that another executor has `left`."""
        state = first if left is None else left
        if not state.synchronous:
            self._landing = None if self._host.is_relaxation else np.empty(self._graph.n, state.thresholds.dtype)
            if state.is_on_host("values", "next_values"):
                state.next_values = state.values
        if left is None:
            state.holders.wrote(*([HOST] * state.is_on_host("values")), *(member.name for member in self._members))
            self._differ = ANYWHERE
        else:
            self.load(state)
        return state

    def load(self, state: State) -> None:
        self._host_source.give_back()
        state.holders.wrote(HOST)
        self._differ = ANYWHERE

    def step(self, state: State, decision: Decision) -> StepResult:
        """Do one iteration; if a device fails, the host processes the device's remaining pages."""
        self.device, self._host_helps = decision.device, decision.device != GPU
        self._shares = decision.device == BOTH
        for member, sharing in zip(self._working, decision.sharing, strict=True):
            member.sharing = sharing
            member.executor.order = decision.order if member.has_reference_layout else None
            member.executor.named = decision.pages or {} if member.has_reference_layout else {}
        if self.device == GPU and len(self._working) > 1 and decision.mode not in (PUSH, COMPONENTS):
            self.device = BOTH  # several devices share the pages; the host takes none
        elif self.device == BOTH and not self._shares_pages:
            self.device = GPU
        if decision.ahead is not None and decision.ahead.repeats:  # what pulls take has to be measured
            decision = decision._replace(ahead=None)
        if self.device == GPU:
            if len(self._working) > 1 and decision.ahead is not None:  # the devices would share its pulls
                decision = decision._replace(ahead=decision.ahead._replace(pulls=False))
            return self._step_on_device(self._working[0], state, decision)
        followed = self.begin(state, decision.mode)
        pages = self._process(state, decision)
        self.commit(state, decision.mode)
        device = GPU if self.device == BOTH and not self._host_helps else self.device
        return StepResult(pages, followed, device, tuple(member.rates for member in self._working))

    def _step_on_device(self, member: Member, state: State, decision: Decision) -> StepResult:
        """Do an iteration on one device, which keeps the new values; it may take only 0.1 ms.

        Raises
        ------
        DeviceError
            If the device fails.
        """
        send_values(member, state)
        self._host.invalidate_cache()
        started = work_clock()
        done = member.executor.step(state, decision)
        self._differ = ANYWHERE
        took = work_clock() - started
        chained = done.pages[0].supersteps if done.pages else None
        if chained is not None:
            measure_chain(member, chained)
        else:
            measure(member, done.pages, took if decision.mode in (PULL, NOTIFY_PULL) else None)
        return StepResult(done.pages, done.followed, GPU, (member.rates,))

    def begin(self, state: State, mode: str) -> int:
        """Get the processors of this iteration ready; return the number of out-edges followed to notify."""
        self._host_source.give_back()
        state.to_host()
        if self.device == CPU or mode == NOTIFY_PULL:
            state.frontier.tighten()
        self._make_equal(state)
        if self.device == CPU:
            return self._host.begin(state, mode)
        for member in self._working:
            try:
                send_values(member, state)
            except DeviceError as error:
                if len(self._working) == 1:
                    raise
                self._lose(member, error)
        self._host.invalidate_cache()
        followed = self._host.begin(state, mode)
        for member in self._working:
            try:
                member.executor.ready(state)
            except DeviceError as error:
                self._lose(member, error)
        if not self._working:
            self._leave_to_host(state)
        return followed

    def _make_equal(self, state: State) -> None:
        """Give both of the host's arrays the same values, if the host requires that."""
        if state.synchronous and self._host.is_relaxation and self._differ is not None:
            self._host.sync_buffers(state, self._differ == ANYWHERE)
        self._differ = None

    def _leave_to_host(self, state: State) -> None:
        """Let the host do the current iteration alone, which it has already begun; all devices have failed."""
        state.next_frontier.mark()
        self.device = CPU

    def _process(self, state: State, decision: Decision) -> list[PageResult]:
        mode = decision.mode
        if self.device == CPU:
            assigned = self._divide(state) if mode == NOTIFY_PULL else Assigned([], [])
        else:
            assigned = self._assign(decision)
        if self.device == CPU:
            return self._process_on_host(state, mode)
        return self._process_on_all(assigned, state, mode)

    def _process_on_host(self, state: State, mode: str) -> list[PageResult]:
        """Do an iteration on the host alone."""
        started = work_clock()
        pages = within(self._host_source.pages, *self._graph._arrays.own)
        done = self._host.process(pages, self._host_source, state, mode)
        seconds, edges = work_clock() - started, sum(result.edges for result in done)
        for member in self._working:
            member.sharing = member.rates.without_gpu(mode, state.active_count, state.active_edges, edges, seconds)
        return done

    def _process_on_all(self, assigned: Assigned, state: State, mode: str) -> list[PageResult]:
        """Do an iteration in which pages are assigned to devices; the host may steal some of them."""
        shared: list[SharedPages] = []
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(self._host_source.shared())
            for member, pages in assigned.devices:
                shared.append(SharedPages(member, pages, state, self._landing, self.heartbeat, self.on_page))
                stack.callback(shared[-1].end)
            done = self._take(shared, assigned.host, source, state, mode)
            for part in shared:
                part.wait()
        for part in shared:
            done |= part.results
            state.next_frontier.loosen()  # only the bits come from the device
            if mode == NOTIFY_PULL:  # a device updates all vertices of its pages
                for page in part.results:
                    state.notified.put(page.first_vertex, page.last_vertex)
        if mode == PULL and len(shared) > 1:
            exchange(shared)
        for part in shared:
            if part.error is not None:
                self._lose(part.member, part.error)
            else:
                measure(part.member, part.results.values(), part.seconds if mode == PULL or self._shares else None)
        if len(shared) > 1 or shared[0].error is not None:
            return self._redo(self.source.pages, done, state, mode)
        return list(done.values())

    def _assign(self, decision: Decision) -> Assigned:
        """Assign pages to devices: as the decision says for single pages, all others by the devices' speed."""
        working, named = self._working, decision.pages or {}
        if len(working) == 1 and not named:
            return Assigned([], [(working[0], list(working[0].executor.source.pages))])
        assigned, first, given = Assigned([], []), 0, set[Page]()
        for member, end in zip(working, edge_bounds(working, self._graph.m), strict=True):
            pages = []
            for page in member.executor.source.pages:
                how = named.get(page.number) if member.has_reference_layout else None
                if how is None:
                    takes = page.first_vertex >= first and page.first_edge < end
                else:
                    takes = how.processor in (member.name, GPU)
                if takes and page not in given:
                    pages.append(page)
            first = max([first, *(page.last_vertex for page in pages)])
            given.update(pages)
            assigned.devices.append((member, pages))
        if named:  # a device's pages need not be those of the run's first device
            assigned.host.extend(missing(self.source.pages, sorted(given, key=lambda page: page.first_vertex)))
        return assigned

    def _divide(self, state: State) -> Assigned:
        """Assign pages to devices in an iteration for which the host has notified; often the devices get none."""
        assigned = Assigned(list(self.source.pages), [])
        for member in self._working if self._shares_pages else ():
            if not member.has_reference_layout or not member.rates.worth_dividing(state.active_edges):
                continue
            notified = self._host.notified_edges(assigned.host, state)
            if notified is None:
                break
            value_bytes = (not state.holders.has(member.name)) * state.values.nbytes
            pages = member.rates.divide(assigned.host, notified, member.executor.has, value_bytes)
            if pages and self._begin_on(member, state):
                given = set(pages)
                assigned.host = [page for page in assigned.host if page not in given]
                assigned.devices.append((member, pages))
        if assigned.devices:
            self.device = BOTH
        return assigned

    def _begin_on(self, member: Member, state: State) -> bool:
        """Let a device join an iteration that the host has begun; return whether it could."""
        try:
            send_values(member, state)
            member.executor.ready(state)
        except DeviceError as error:
            self._lose(member, error)
            self._leave_to_host(state)
        return not member.is_lost

    def _take(
        self, shared: list[SharedPages], own: list[Page], source: PageSource, state: State, mode: str
    ) -> dict[Page, PageResult]:
        """Process the host's `own` pages on the host; then steal pages of the devices, or parts, while it pays off."""
        results: dict[Page, PageResult] = {}
        if own:
            started, parts = work_clock(), [part for page in own for part in source.parts(page)]
            results |= zip(parts, self._host.process(parts, source, state, mode), strict=True)
            edges, seconds = sum(result.edges for result in results.values()), work_clock() - started
            for member in self._working:
                rates = member.rates
                member.sharing = rates.measured(edges, seconds) if mode == PULL else rates.gathered(edges, seconds)
            if mode == PULL and not state.synchronous:
                send_all(shared, results)
        while self._host_helps and (page := next(filter(None, (part.steal() for part in shared)), None)) is not None:
            started = work_clock()
            results[page] = self._alone(page, source, state, mode)
            if mode == PULL or self._shares:
                seconds, gathered = work_clock() - started, page.edges if mode == PULL else results[page].edges
                for member in self._working:
                    member.sharing = member.rates.paged(page.edges, gathered, seconds)
            if mode == PULL and not state.synchronous:
                send_all(shared, [page])
        if mode == PULL and state.synchronous:  # no device reads them before the iteration ends
            send_all(shared, results)
        how = PageDecision(mode, CPU)
        for result in results.values():
            result.how = how
        return results

    def _alone(self, page: Page, source: PageSource, state: State, mode: str) -> PageResult:
        """Process a page, or a part of one, on the host."""
        return merged(self._host.process(source.parts(page), source, state, mode))

    def _lose(self, member: Member, error: DeviceError) -> None:
        """Mark a failed device as lost, and log it; the run goes on without the device."""
        member.is_lost = True
        self.on_page = self._host.on_page = None
        self.failure = str(error)
        log.warning("%s", self.note)

    def _redo(self, pages: Iterable[Page], done: dict[Page, PageResult], state: State, mode: str) -> list[PageResult]:
        """Process on the host those parts of `pages` that are not in `done`; return the results of all parts."""
        for rest in list(missing(pages, sorted(done, key=lambda part: part.first_vertex))):
            if state.synchronous:
                run = slice(rest.first_vertex, rest.last_vertex)
                state.next_values[run] = state.values[run]
            state.next_frontier.bits[rest.words] = 0
            done[rest] = self._alone(rest, self._host_source, state, mode)
            if not state.synchronous and self._landing is None:  # the failed device may have copied some of its values
                done[rest] = self._host.activate_page(rest, done[rest], state)
            for member in self._working if mode == PULL else ():
                try:
                    member.executor.receive([rest], state)
                except DeviceError as error:
                    self._lose(member, error)
        state.next_frontier.mark()
        return list(done.values())

    def commit(self, state: State, mode: str) -> None:
        """Make the new values the current ones, on the host and on the devices that have them."""
        if self.device != CPU and mode == PULL and self._swap_devices(state):
            if state.synchronous:
                state.swap_values()
                self._differ = ACTIVE
            state.holders.wrote(HOST, *(member.name for member in self._working))
        else:
            self._differ = None
            state.holders.wrote(HOST)
            self._host.commit(state, mode)

    def _swap_devices(self, state: State) -> bool:
        """Make the new values the current ones on the devices; return whether any device still works."""
        for member in self._working:
            try:
                member.executor.swap(state)
            except DeviceError as error:
                self._lose(member, error)
                state.next_frontier.mark()
        return bool(self._working)

    def report(self, state: State) -> Values:
        for member in self._working:
            if not state.is_on_host("values") and state.holders.has(member.name):
                return member.executor.report(state)
        return self._host.report(state, self._host_source)

    def start_copy(self) -> Any:
        """Start to copy values and frontier of the device that works alone to the host (`DeviceState.start_copy`)."""
        return self._working[0].executor.start_copy()

    def close(self) -> None:
        for member in self._members:
            member.executor.close()
        self._host.close()


def send_values(member: Member, state: State) -> None:
    """Copy the frontier to a device, and all values if other memories have newer ones."""
    member.executor.refresh(state, not state.holders.has(member.name))
    state.holders.copied(member.name)


def send_all(shared: list[SharedPages], pages: Iterable[Page]) -> None:
    """Send the new values of the host's pages to all devices."""
    for part in shared:
        part.send(pages)


def exchange(shared: list[SharedPages]) -> None:
    """Send the new values of each device's pages to the other devices."""
    for part in shared:
        for other in shared:
            if other is not part:
                other.send(part.results)


def measure(member: Member, results: Collection[PageResult], seconds: float | None) -> None:
    """Update a device's rates from the pages that it has pulled; not if `seconds` is None."""
    if seconds is not None:
        edges = sum(result.edges for result in results)
        copied = sum(result.edges for result in results if result.to_device)
        member.sharing = member.rates.measured(gpu_edges=edges, gpu_seconds=seconds, copied_edges=copied)


def measure_chain(member: Member, steps: Supersteps) -> None:
    """The same from the pulls among several supersteps, without the last superstep; no edges were copied."""
    pulled = steps.pulled[:-1]
    if seconds := float(steps.seconds[:-1][pulled].sum()):
        edges = int(steps.followed[:-1][pulled].sum())
        member.sharing = member.rates.measured(gpu_edges=edges, gpu_seconds=seconds)


def edge_bounds(members: list[Member], edges: int) -> list[float]:
    """For each device, the edge at which its part of all `edges` ends; parts are proportional to the devices' speed."""
    speeds = np.cumsum([member.rates.gpu for member in members])
    return [*(edges * speeds[:-1] / speeds[-1]), math.inf]
