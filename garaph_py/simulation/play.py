"""One iteration over pages, event by event: link, GPU, CPU and disks each do one thing at a time.

As `gpu/streams.py` has it, copies are put on the link as buffers become free, kernels run when their page's copy has
ended, values go back while others are computed; as `dispatch/together.py` has it, the CPU takes pages
from the back. No clock is read: time is what the events add up to.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ..executor.gpu.pipeline import MAX_COPIES, MAX_LAUNCHED
from ..executor.gpu.streams import Buffer
from ..executor.modes import CPU, GPU
from ..pages.layout import Page
from ..pages.queue import PageQueue

Event = Callable[[float], None]
"""What happens at a time, which it is told."""


@dataclass
class Channel:
    """What bytes pass through, one transfer after the other.

    Attributes
    ----------
    rate : float
        Bytes a second.
    free : float
        When all that was asked for will be through.
    nbytes : float
        Asked for so far.
    """

    rate: float
    free: float = 0.0
    nbytes: float = 0.0

    def serve(self, nbytes: float, now: float, slowed: float = 1.0) -> float:
        """When so many bytes, asked for now, are through."""
        if nbytes:
            self.free = max(self.free, now) + nbytes / (self.rate * slowed)
            self.nbytes += nbytes
        return max(self.free, now) if nbytes else now


@dataclass
class Costs:
    """Seconds and bytes of a page.

    Attributes
    ----------
    cpu, gpu : callable
        Seconds of computing ``page`` there.
    edge_bytes, value_bytes, back_bytes : float
        Of an edge over link and disks; of a vertex's value, and of all that the GPU sends back for a vertex.
    beside_cpu : float
        Share of the link that is left while the CPU computes.
    landing : float
        Seconds for a vertex in which the thread that serves the GPU copies its value, and does nothing else.
    handing : float
        Seconds in which the CPU comes by a page, which nobody counts as work on it.
    on_disk : callable
        Whether ``page`` has to be read from there.
    """

    cpu: Callable[[Page], float]
    gpu: Callable[[Page], float]
    edge_bytes: float
    value_bytes: float
    back_bytes: float
    beside_cpu: float
    landing: float
    handing: float
    on_disk: Callable[[Page], bool]


@dataclass
class Play:
    """One iteration, played by `run`.

    Attributes
    ----------
    waiting : Waiting
        The GPU's pages; none is left at the end.
    free : deque of Buffer
        Those in which no page is held.
    resident : dict of int to Buffer
        Buffers of pages that stay.
    to_device, from_device, disks : Channel
    costs : Costs
    steal : callable
        ``steal(waiting)``: the next page for the CPU, or None, after which it takes no more.
    took : callable
        ``took(edges, seconds)`` hears what each of them took.
    done : dict of Page to str
        Who processed each page, or part of one.
    copied : int
        Edges copied to the GPU.
    cpu_seconds, gpu_seconds : float
        When each had ended.
    """

    waiting: PageQueue[Buffer]
    free: deque[Buffer]
    resident: dict[int, Buffer]
    to_device: Channel
    from_device: Channel
    disks: Channel
    costs: Costs
    steal: Callable[[PageQueue[Buffer]], Page | None] | None
    took: Callable[[int, float], None] = lambda edges, seconds: None
    done: dict[Page, str] = field(default_factory=dict)
    copied: int = 0
    edges: dict[str, int] = field(default_factory=lambda: {CPU: 0, GPU: 0})
    cpu_seconds: float = 0.0
    gpu_seconds: float = 0.0

    def run(self) -> None:
        self._events: list[tuple[float, int, Event]] = []
        self._arrived: deque[tuple[Page, Buffer]] = deque()
        self._launched: deque[tuple[Page, Buffer]] = deque()
        self._copies: deque[tuple[float, float, Event]] = deque()  # the first is under way
        self._computing, self._ahead = False, 0  # pages that stay, launched and not ended
        self._cpu_until, self._thread_until, self._planned = 0.0, 0.0, 0
        for actor in (self._transmit, self._compute, *([self._take] if self.steal else [])):
            self._at(0.0, actor)
        while self._events:
            now, _, event = heapq.heappop(self._events)
            event(now)

    def _at(self, when: float, event: Event) -> None:
        """Events of one moment happen in the order in which they were planned."""
        self._planned += 1
        heapq.heappush(self._events, (when, self._planned, event))

    def _read(self, page: Page, now: float) -> float:
        """When a page is in the host's memory."""
        return self.disks.serve(page.edges * self.costs.edge_bytes if self.costs.on_disk(page) else 0, now)

    def _transmit(self, now: float) -> None:
        """Ask for copies of pages while there is room for them, unless values are landing: then once they have."""
        if now < self._thread_until:
            return
        while len(self._copies) < MAX_COPIES and (first := self.waiting.peek_streamed()) is not None:
            buffer = self.resident.get(first.number)
            if buffer is None and not self.free:
                return
            page = self.waiting.pop_streamed()
            assert page == first
            buffer = self.free.popleft() if buffer is None else buffer
            buffer.page = page
            self.copied += page.edges
            arrives = partial(self._arrive, page, buffer)
            self._copy(page.edges * self.costs.edge_bytes, self._read(page, now), arrives, now)

    def _copy(self, nbytes: float, ready: float, then: Event, now: float) -> None:
        """Put a copy to the device behind those that were asked for."""
        self._copies.append((nbytes, ready, then))
        if len(self._copies) == 1:
            self._at(max(now, ready), self._begin_copy)

    def _begin_copy(self, now: float) -> None:
        slowed = self.costs.beside_cpu if self._cpu_until > now else 1.0
        self._at(self.to_device.serve(self._copies[0][0], now, slowed), self._end_copy)

    def _end_copy(self, now: float) -> None:
        _, _, then = self._copies.popleft()
        if self._copies:
            self._at(max(now, self._copies[0][1]), self._begin_copy)
        then(now)

    def _arrive(self, page: Page, buffer: Buffer, now: float) -> None:
        self.waiting.arrived(page)
        self._arrived.append((page, buffer))
        self._transmit(now)
        self._compute(now)

    def _compute(self, now: float) -> None:
        """Let the GPU begin with the next page, if it is idle."""
        while (
            now >= self._thread_until
            and self._ahead < MAX_LAUNCHED
            and (taken := self.waiting.pop_on_device()) is not None
        ):
            self._launched.append(taken)
            self._ahead += 1
        if self._computing or not (self._arrived or self._launched):
            return
        stays = not self._arrived
        page, buffer = (self._launched if stays else self._arrived).popleft()
        self._computing = True
        self.edges[GPU] += page.edges
        self.done[page] = GPU
        self._at(now + self.costs.gpu(page), partial(self._computed, page, buffer, stays))

    def _computed(self, page: Page, buffer: Buffer, stays: bool, now: float) -> None:
        self._computing = False
        back = self.from_device.serve(page.vertices * self.costs.back_bytes, now)
        self._at(back, partial(self._back, page, buffer, stays))
        self._compute(now)

    def _back(self, page: Page, buffer: Buffer, stays: bool, now: float) -> None:
        """A page's values are on the host."""
        landing = page.vertices * self.costs.landing
        self.gpu_seconds = self._thread_until = max(self._thread_until, now) + landing
        self._at(self.gpu_seconds, partial(self._ended, page, buffer, stays))

    def _ended(self, page: Page, buffer: Buffer, stays: bool, now: float) -> None:
        self._ahead -= stays
        if page.number not in self.resident:
            self.free.append(buffer)
        self._transmit(now)
        self._compute(now)

    def _take(self, now: float) -> None:
        """Let the CPU take a page; of pages that are read it takes the next one as it begins to compute one."""
        assert self.steal is not None
        page = self.steal(self.waiting)
        if page is None:
            return
        ready, seconds = max(self._read(page, now), self._cpu_until, now), self.costs.cpu(page) + self.costs.handing
        self._cpu_until = ready + seconds
        self.edges[CPU] += page.edges
        self.done[page] = CPU
        self.cpu_seconds = self._cpu_until
        self._at(self._cpu_until, partial(self._send, page, seconds))
        self._at(ready if self.costs.on_disk(page) else self._cpu_until, self._take)

    def _send(self, page: Page, seconds: float, now: float) -> None:
        """The CPU's values of a page, to the GPU."""
        self.took(page.edges, seconds - self.costs.handing)
        nbytes = page.vertices * self.costs.value_bytes
        self._copy(nbytes, now, lambda now: None, now)
