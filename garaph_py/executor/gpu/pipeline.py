"""Decides what the GPU thread does next: which page it copies or launches, and for which page it waits.

The GPU thread asks `Pipeline.next` for a step and does it. It calls `arrived` when a copy has ended, and `ended` when a
page has been processed. The pipeline itself copies and launches nothing, reads no clock and starts no thread. So
`Streams` can drive it with the CUDA driver, and `simulation` with a model of a machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Generic

from ...pages.layout import Page
from ...pages.queue import PageQueue, Slot

MAX_COPIES = 3
"""Maximal number of copies in flight: enough to keep the copy engine busy. It is small because other processors can
steal a page only before its copy starts."""
MAX_LAUNCHED = 4
"""Maximal number of resident pages in flight: enough to keep the multiprocessors busy."""


class Action(Enum):
    """What to do with a page and its slot."""

    COPY_AND_LAUNCH = auto()
    LAUNCH = auto()
    AWAIT_COPY = auto()
    AWAIT_END = auto()


COPY_AND_LAUNCH, LAUNCH, AWAIT_COPY, AWAIT_END = Action


class Pipeline(Generic[Slot]):
    """The pages of one iteration that are queued for a device or in flight on it. Only the GPU thread uses it.

    Parameters
    ----------
    queue : PageQueue
        The pages to process; other threads may steal from it.
    place : callable
        ``place(page)``: the slot that a page has for itself; None if it is streamed.
    free : deque of Slot
        Free buffers for streamed pages. The pipeline takes buffers from it and returns them.
    max_copies : int
        Bound on the copies in flight.

    Attributes
    ----------
    copies : deque of (Page, Slot)
        Pages whose copies are in flight, in the order in which they were started.
    on_device : deque of (Page, Slot)
        Pages in flight that needed no copy, in the order in which they were launched.
    streamed : deque of (Page, Slot)
        Pages in flight that were launched behind their copies, in the order in which they were launched.
    """

    def __init__(
        self, queue: PageQueue[Slot], place: Callable[[Page], Slot | None], free: deque[Slot],
        max_copies: int = MAX_COPIES,
    ) -> None:  # fmt: skip
        self._queue, self._place, self._free, self._max_copies = queue, place, free, max_copies
        self.copies: deque[tuple[Page, Slot]] = deque()
        self.on_device: deque[tuple[Page, Slot]] = deque()
        self.streamed: deque[tuple[Page, Slot]] = deque()

    def next(self) -> tuple[Action, Page, Slot] | None:
        """The next action, its page and its slot; None if no page is left to launch.

        The pipeline counts a copy or a launch as done when it returns it. It repeats a wait until the caller reports
        that the page has arrived or ended.
        """
        if len(self.copies) < self._max_copies and (taken := self._next_copy()):
            self.copies.append(taken)
            self.streamed.append(taken)
            return COPY_AND_LAUNCH, *taken
        if len(self.on_device) < MAX_LAUNCHED and (taken := self._queue.pop_on_device()):
            self.on_device.append(taken)
            return LAUNCH, *taken
        if self._queue.is_empty:
            return None
        if self.on_device:
            return AWAIT_END, *self.on_device[0]
        # A page may have ended before its copy is reported; then only the copy is left to wait for.
        if len(self.copies) == self._max_copies or not self.streamed:
            return AWAIT_COPY, *self.copies[0]
        return AWAIT_END, *self.streamed[0]

    def _next_copy(self) -> tuple[Page, Slot] | None:
        """The next page to copy and its slot; None if there is no such page or no free buffer for it."""
        page = self._queue.peek_streamed()
        if page is None or (self._place(page) is None and not self._free):
            return None
        page = self._queue.pop_streamed(own_only=not self._free)  # another device's page needs a buffer
        if page is None:  # another thread stole it
            return None
        slot = self._place(page)
        return page, self._free.popleft() if slot is None else slot

    def arrived(self) -> Page:
        """Record that the first of `copies` has ended; return its page."""
        page, _ = self.copies.popleft()
        self._queue.arrived(page)
        return page

    def ended(self, launched: deque[tuple[Page, Slot]]) -> None:
        """Record that the first page of `launched` has ended, and free its buffer.

        `launched` is `on_device` or `streamed`.
        """
        page, slot = launched.popleft()
        if self._place(page) is None:
            self._free.append(slot)
