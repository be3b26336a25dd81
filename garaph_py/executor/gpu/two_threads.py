"""Drives the streams of a GPU by two threads, as Garaph does (section 5.2): one transmits pages, one computes.

The transmission thread looks for an idle stream, and puts the copy of a page on it. The computation thread looks for a
page that has been transferred, and launches its kernels on the page's stream. A page goes from the first to the second
through a queue, and its buffer, with the stream, comes back through another. Each thread looks again every `PERIOD`.
"""

from __future__ import annotations

import contextlib
import queue as queues
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from ...pages.layout import Page
from ...pages.queue import PageQueue
from ...pages.source import PageSource
from ...system import interrupts
from ...system.threads import start
from .buffers import Buffer
from .pipeline import MAX_COPIES, MAX_LAUNCHED
from .settings import Settings
from .streams import Awaited, Streams, Work
from .thread_time import ThreadTime

PERIOD = 5e-5
"""Seconds for which an idle thread sleeps. The paper gives no number. Copying and launching a page takes Python about
as long (docs/decisions/gpu.md); with longer sleeps, one thread would delay the other."""
TRANSMISSION = "garaph-transmission"
"""The name of the transmission thread."""

Sent = tuple[Page, Buffer]
"""A page and the buffer to which its edges are copied."""


class Pause:
    """A period in which a thread has nothing to do; it is awaited like an event of the GPU."""

    def __init__(self) -> None:
        self._ends = time.perf_counter() + PERIOD

    def query(self) -> bool:
        return time.perf_counter() >= self._ends

    def synchronize(self) -> None:
        time.sleep(PERIOD)


class TwoThreadStreams(Streams):
    """`Streams` on which two threads put work: the one that calls `process` computes, and a second one transmits.

    The second one is there for one call of `process`, and uses the page source alone. With one thread, a page's kernels
    are put on its stream behind its copy; here they are launched when the copy has ended.

    Attributes
    ----------
    transmission : ThreadTime
        How the transmission thread spends its time.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.transmission = ThreadTime("GPU's transmission thread")

    @property
    def heartbeats(self) -> list[ThreadTime]:
        return [*super().heartbeats, self.transmission]

    def _drive(self, queue: PageQueue[Buffer], source: PageSource, work: Work) -> Iterator[Awaited]:
        idle = queues.SimpleQueue[Buffer]()
        for buffer in self.buffers.free:
            idle.put(buffer)
        self.buffers.free.clear()
        transmission = Transmission(self, queue, source, idle)
        try:
            yield from self._compute(queue, work, transmission)
        finally:
            transmission.end()
            with contextlib.suppress(queues.Empty):
                while True:
                    self.buffers.free.append(idle.get_nowait())

    def _compute(self, queue: PageQueue[Buffer], work: Work, transmission: Transmission) -> Iterator[Awaited]:
        """Launch pages that are there, and report those that have ended, until none is left."""
        coming = deque[Sent]()
        on_device, streamed = deque[Sent](), deque[Sent]()  # launched, in this order
        while True:
            interrupts.check()
            is_over = transmission.receive(coming)
            did_work = self._report(on_device, work, transmission) | self._report(streamed, work, transmission)
            if coming and coming[0][1].copied.query():
                streamed.append(coming.popleft())
                self._launch(*streamed[-1], work, self.back)
            elif len(on_device) < MAX_LAUNCHED and (taken := queue.pop_on_device()):
                on_device.append(taken)
                self._launch_on_device(*taken, work)
            elif is_over and not (coming or on_device or streamed):
                return
            elif not did_work:
                yield Pause(), "pages", *(page.number for page, _ in (*coming, *on_device, *streamed))

    def _report(self, launched: deque[Sent], work: Work, transmission: Transmission) -> bool:
        """Report the first of the `launched` pages that have ended, and hand their streams back; whether there were
        any."""
        count = len(launched)
        while launched and launched[0][1].idle.query():
            page, buffer = launched.popleft()
            self._complete(page, buffer, work)
            if self.buffers.of(page) is None:
                transmission.idle.put(buffer)
        return len(launched) < count


class Transmission:
    """The transmission thread of one call of `TwoThreadStreams.process`. `end` it.

    Parameters
    ----------
    streams : TwoThreadStreams
    queue : PageQueue
        The pages; this thread takes those that have to be copied.
    source : PageSource
        Their edges on the host.
    idle : SimpleQueue of Buffer
        The buffers whose streams are idle.
    """

    def __init__(
        self, streams: TwoThreadStreams, queue: PageQueue[Buffer], source: PageSource, idle: queues.SimpleQueue[Buffer]
    ) -> None:
        self.idle = idle
        self._streams, self._queue, self._source = streams, queue, source
        self._most = min(MAX_COPIES, source.max_in_flight)
        self._sent = queues.SimpleQueue[Sent | BaseException | None]()  # None: no more pages
        self._copying = deque[Sent]()
        self._is_over, self._ends = False, threading.Event()
        self._thread = start(TRANSMISSION, self._run)

    def receive(self, coming: deque[Sent]) -> bool:
        """Append the pages whose copies have been started since the last call; whether there will be no more.

        Raises
        ------
        BaseException
            What has ended the thread.
        """
        with contextlib.suppress(queues.Empty):
            while True:
                sent = self._sent.get_nowait()
                if isinstance(sent, BaseException):
                    raise sent
                if sent is None:
                    self._is_over = True
                else:
                    coming.append(sent)
        return self._is_over

    def end(self) -> None:
        """Start no more copies, and wait for the thread."""
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        """Transmit all pages, in this thread; whatever goes wrong is raised in the other one, by `receive`."""
        time_of = self._streams.transmission
        try:
            with self._streams.device, time_of.running():
                self._transmit(time_of)
            self._sent.put(None)
        except BaseException as error:
            self._sent.put(error)
        finally:
            time_of.doing = ("idle",)

    def _transmit(self, time_of: ThreadTime) -> None:
        """Start copies until no page is left to copy; end the use of a page's edges on the host once it is copied."""
        while not self._ends.is_set():
            while self._copying and self._copying[0][1].copied.query():
                page, _ = self._copying.popleft()
                self._source.release(page)
                self._queue.arrived(page)
            if len(self._copying) < self._most and (taken := self._next()) is not None:
                page, buffer = taken
                time_of.doing = ("copying page", page.number)
                self._streams.copy(page, buffer, self._source)
                self._copying.append(taken)
                self._sent.put(taken)
            elif not self._copying and self._queue.peek_streamed() is None:
                return
            else:
                with time_of.waiting("an idle stream"):
                    time.sleep(PERIOD)

    def _next(self) -> Sent | None:
        """The next page to copy, and where to; None if there is no such page or no idle stream."""
        if (page := self._queue.peek_streamed()) is None:
            return None
        place = self._streams.buffers.of(page)
        try:
            buffer = place or self.idle.get_nowait()
        except queues.Empty:
            return None
        if (page := self._queue.pop_streamed()) is not None:
            return page, buffer
        if place is None:  # another thread stole the page
            self.idle.put(buffer)
        return None


def streams_for(settings: Settings) -> type[Streams]:
    """The streams for a run with these settings."""
    return TwoThreadStreams if settings.two_threads else Streams
