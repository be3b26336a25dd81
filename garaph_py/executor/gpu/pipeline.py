"""What the thread that serves a device does next: which page it copies or launches, and what it waits for.

The thread asks `Pipeline.next` for a step and does it; it reports what has ended with `arrived` and `ended`. The
pipeline itself copies and launches nothing, reads no clock and starts no thread. So `Streams` can drive it with the
CUDA driver, and `simulation` with a model of a machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum, auto
from typing import Generic

from ...pages.layout import Page
from ...pages.queue import PageQueue, Slot

MAX_COPIES = 3
"""Copies that are started and have not ended: enough to keep the copy engine busy. Other processors can steal the pages
whose copies are not started."""
MAX_LAUNCHED = 4
"""Pages on the device that are launched and have not ended: enough to keep the multiprocessors busy."""


class Action(Enum):
    """What to do with a page and its slot."""

    COPY_AND_LAUNCH = auto()
    LAUNCH = auto()
    AWAIT_COPY = auto()
    AWAIT_END = auto()


COPY_AND_LAUNCH, LAUNCH, AWAIT_COPY, AWAIT_END = Action


class Pipeline(Generic[Slot]):
    """The pages of one iteration on their way through a device. One thread uses it.

    Parameters
    ----------
    queue : PageQueue
        The pages to process; other threads may steal from it.
    resident : sequence of Slot
        Slots of the pages that stay on the device: page k has slot k, and pages from ``len(resident)`` on are streamed.
    free : deque of Slot
        The buffers of streamed pages that no page uses. The pipeline takes buffers from it and returns them.
    max_copies : int
        Bound on the copies that are started and have not ended.

    Attributes
    ----------
    copies : deque of (Page, Slot)
        Pages whose copies have not ended, in the order in which they were started.
    on_device : deque of (Page, Slot)
        Pages that were launched without a copy and have not ended, in the order in which they were launched.
    streamed : deque of (Page, Slot)
        Pages that were launched behind their copies and have not ended, likewise.
    """

    def __init__(
        self, queue: PageQueue[Slot], resident: Sequence[Slot], free: deque[Slot], max_copies: int = MAX_COPIES
    ) -> None:
        self._queue, self._resident, self._free, self._max_copies = queue, resident, free, max_copies
        self.copies: deque[tuple[Page, Slot]] = deque()
        self.on_device: deque[tuple[Page, Slot]] = deque()
        self.streamed: deque[tuple[Page, Slot]] = deque()

    def next(self) -> tuple[Action, Page, Slot] | None:
        """The next step: what to do with which page; None if no page is left to launch.

        A step to copy or launch counts as done; a step to wait is repeated until its page has arrived or ended.
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
        if len(self.copies) == self._max_copies:
            return AWAIT_COPY, *self.copies[0]
        return AWAIT_END, *self.streamed[0]

    def _next_copy(self) -> tuple[Page, Slot] | None:
        """The next page to copy and its slot, if there is a page, and a slot for it."""
        page, resident = self._queue.peek_streamed(), len(self._resident)
        if page is None or (page.number >= resident and not self._free):
            return None
        page = self._queue.pop_streamed()
        if page is None:  # another thread stole it
            return None
        return page, self._resident[page.number] if page.number < resident else self._free.popleft()

    def arrived(self) -> Page:
        """The first of `copies` has ended; its page."""
        page, _ = self.copies.popleft()
        self._queue.arrived(page)
        return page

    def ended(self, launched: deque[tuple[Page, Slot]]) -> None:
        """The first page of `launched`, which is `on_device` or `streamed`, has ended; its buffer is free."""
        page, slot = launched.popleft()
        if page.number >= len(self._resident):
            self._free.append(slot)
