"""The pages of an iteration that a host and a device share: the device's queue, worked on by a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import DeviceError
from ..native.threads import start
from ..pages.layout import Page
from ..system import interrupts
from ..system.watchdog import Heartbeat
from .modes import PULL
from .protocol import Array, DeviceExecutor, PageResult, Sharing
from .state import State

POLL_SECONDS = 0.1
"""Time between looks for an interrupt, while the host waits for a device."""


@dataclass
class Member:
    """A device of a hybrid run.

    Attributes
    ----------
    executor : DeviceExecutor
    name : str
        Of its memory, in `State.holders`, and of the device in a `PageDecision`.
    sharing : Sharing or None
        How it shares pages with the host; None before the first iteration.
    has_reference_layout : bool
        Its pages are those of the run's first device.
    is_lost : bool
        It has failed, and gets no more work.
    """

    executor: DeviceExecutor
    name: str
    sharing: Sharing | None = None
    has_reference_layout: bool = True
    is_lost: bool = False

    @property
    def rates(self) -> Sharing:
        assert self.sharing is not None
        return self.sharing


class SharedPages:
    """The pages that a device is offered in an iteration; a thread of its own works on them until `end`.

    Parameters
    ----------
    member : Member
    pages : list of Page
    state : State
    landing : ndarray, shape (n,), or None
        Where an asynchronous run's values come from the device, if nobody may see half a copy.
    heartbeat : Heartbeat

    Attributes
    ----------
    results : dict of Page to PageResult
        What the device has done.
    error : DeviceError or None
        Why it failed.
    seconds : float
        How long its thread has worked.
    """

    def __init__(
        self, member: Member, pages: list[Page], state: State, landing: Array | None, heartbeat: Heartbeat
    ) -> None:
        self.member = member
        self.results: dict[Page, PageResult] = {}
        self.error: DeviceError | None = None
        self.seconds = 0.0
        self._failure: BaseException | None = None
        self._device, self._state, self._heartbeat = member.executor, state, heartbeat
        self._landing = landing
        self._queue = self._device.offer(pages, state, PULL, shared=True)
        self._thread: threading.Thread | None = None
        heartbeat.doing = ("sharing pages with the GPU",)
        try:
            self._thread = start("garaph-gpu", self._work)
        except DeviceError as error:
            self.error = error

    def _work(self) -> None:
        started = time.perf_counter()
        into = self._state if self._landing is None else replace(self._state, next_values=self._landing)
        try:
            self._device.work(self._queue, self._device.source, into, self._on_complete)
        except DeviceError as error:
            self.error = error
        except BaseException as error:
            self._failure = error
        self.seconds = time.perf_counter() - started

    def _on_complete(self, page: Page, result: PageResult) -> None:
        copy_landed(page, self._state, self._landing)
        self.results[page] = result

    def steal(self) -> Page | None:
        """The next page for the host, or part of one, while the device works."""
        if self._thread is None or not self._thread.is_alive():
            return None
        return self.member.rates.steal(self._queue)

    def send(self, pages: Iterable[Page]) -> None:
        """Copy the values of pages that another processor had to the device."""
        if self.error is None:
            try:
                self._device.receive(pages, self._state)
            except DeviceError as error:
                self.error = error

    def wait(self) -> None:
        """Wait until the device has processed all pages, or an interrupt comes."""
        self._heartbeat.doing = ("waiting for the GPU's thread",)
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(POLL_SECONDS)
            interrupts.check()

    def end(self) -> None:
        """Wait for the pages that the device has begun; it begins no others.

        Raises
        ------
        BaseException
            What ended the device's thread, if that was no failure of the device.
        """
        self._queue.clear()
        if self._thread is not None:
            self._thread.join()
        self._heartbeat.doing = ("idle",)
        if self._failure is not None:
            raise self._failure


def copy_landed(page: Page, state: State, landing: Array | None) -> None:
    """Copy a page's new values from `landing` to where everybody sees them, if they have not come there at once."""
    if landing is not None:
        run = slice(page.first_vertex, page.last_vertex)
        state.values[run].view(np.uint8)[:] = landing[run].view(np.uint8)


def missing(pages: Iterable[Page], done: list[Page]) -> Iterator[Page]:
    """What of the `pages` is not `done`; these are pages, parts and whole runs of them, in their order."""
    for page in pages:
        rest = page
        for part in done:
            if part.last_vertex > rest.first_vertex and part.first_vertex < page.last_vertex:
                if part.first_vertex > rest.first_vertex:
                    yield replace(rest, last_vertex=part.first_vertex, last_edge=part.first_edge)
                rest = replace(rest, first_vertex=part.last_vertex, first_edge=part.last_edge)
        if rest.first_vertex < page.last_vertex:
            yield rest
