"""The page queue of a device in an iteration that the host shares; a thread per device works on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..errors import DeviceError
from ..pages.layout import Page
from ..system import interrupts
from ..system.threads import start
from ..system.watchdog import Heartbeat
from .decision import Sharing
from .modes import PULL
from .protocol import Array, DeviceExecutor
from .results import PageResult
from .state import OnPage, State
from .step import tell

POLL_SECONDS = 0.1
"""Interval (s) at which the host checks for an interrupt while it waits for a device."""


@dataclass
class Member:
    """A device of a hybrid run.

    Attributes
    ----------
    executor : DeviceExecutor
    name : str
        Name of the device's memory in `State.holders`, and of the device in a `PageDecision`.
    sharing : Sharing or None
        How the device shares pages with the host; None before the first iteration.
    has_reference_layout : bool
        The device has the same pages as the run's first device.
    is_lost : bool
        The device has failed, and gets no more work.
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
    """The pages that a device is offered in an iteration; the device's thread works on them until `end`.

    Parameters
    ----------
    member : Member
    pages : list of Page
    state : State
    landing : ndarray, shape (n,), or None
        Staging buffer for the device's new values in an asynchronous run; None if the device may copy them to
        `State.values` directly.
    heartbeat : Heartbeat
    on_page : callable or None
        See `OnPage`.

    Attributes
    ----------
    results : dict of Page to PageResult
        Results of the pages that the device has completed.
    error : DeviceError or None
        Why the device failed, if it did.
    seconds : float
        How long the device's thread has worked.
    """

    def __init__(
        self, member: Member, pages: list[Page], state: State, landing: Array | None, heartbeat: Heartbeat,
        on_page: OnPage | None,
    ) -> None:  # fmt: skip
        self.member = member
        self.results: dict[Page, PageResult] = {}
        self.error: DeviceError | None = None
        self.seconds = 0.0
        self._failure: BaseException | None = None
        self._device, self._state, self._heartbeat = member.executor, state, heartbeat
        self._landing, self._on_page = landing, on_page
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
        tell(self._on_page, page, self._state)
        self.results[page] = result

    def steal(self) -> Page | None:
        """Take the next page, or a part of one, for the host; None if the device's thread no longer works."""
        if self._thread is None or not self._thread.is_alive():
            return None
        return self.member.rates.steal(self._queue)

    def send(self, pages: Iterable[Page]) -> None:
        """Copy the new values of pages that another processor has processed to the device."""
        if self.error is None:
            try:
                self._device.receive(pages, self._state)
            except DeviceError as error:
                self.error = error

    def wait(self) -> None:
        """Wait until the device has processed all pages; an interrupt ends the wait."""
        self._heartbeat.doing = ("waiting for the GPU's thread",)
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(POLL_SECONDS)
            interrupts.check()

    def end(self) -> None:
        """Empty the queue, and wait for the pages that the device has already begun.

        Raises
        ------
        BaseException
            The exception that ended the device's thread, unless it is a `DeviceError`.
        """
        self._queue.clear()
        if self._thread is not None:
            self._thread.join()
        self._heartbeat.doing = ("idle",)
        if self._failure is not None:
            raise self._failure


def copy_landed(page: Page, state: State, landing: Array | None) -> None:
    """Copy a page's new values from the staging buffer `landing` to ``state.values``; nothing to do without one."""
    if landing is not None:
        run = slice(page.first_vertex, page.last_vertex)
        state.values[run].view(np.uint8)[:] = landing[run].view(np.uint8)


def missing(pages: Iterable[Page], done: list[Page]) -> Iterator[Page]:
    """The parts of `pages` that `done` does not cover. Items of `done` are pages, parts of a page or runs of several
    pages, in ascending order."""
    for page in pages:
        rest = page
        for part in done:
            if part.last_vertex > rest.first_vertex and part.first_vertex < page.last_vertex:
                if part.first_vertex > rest.first_vertex:
                    yield replace(rest, last_vertex=part.first_vertex, last_edge=part.first_edge)
                rest = replace(rest, first_vertex=part.last_vertex, first_edge=part.last_edge)
        if rest.first_vertex < page.last_vertex:
            yield rest


def merged(results: list[PageResult]) -> PageResult:
    """Merge the results of a page's parts into the result of the page."""
    if len(results) == 1:
        return results[0]
    partials = [result.partials for result in results if result.partials is not None]
    return PageResult(
        sum(result.edges for result in results),
        sum(result.active for result in results),
        sum(result.active_edges for result in results),
        sum(result.changeable for result in results),
        np.concatenate(partials) if partials else None,
    )
