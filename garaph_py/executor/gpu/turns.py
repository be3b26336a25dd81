"""One thread drives the streams of several GPUs: it goes on with each in turn, and waits only if none can go on.

With a thread for each GPU, all of them would wait for Python's lock at every call of the driver. The thread asks
without a GPU's context whether that GPU can go on, because to make it current takes 4 microseconds.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...errors import DeviceError
from ...pages.queue import PageQueue
from ...pages.source import PageSource
from .buffers import Buffer
from .device import Device, failing
from .streams import Streams, Work


class Turns:
    """The steps of one GPU (`Streams.steps`), which a thread takes when it is this GPU's turn.

    Parameters
    ----------
    streams : Streams
    queue : PageQueue
    source : PageSource
    work : Work
        As of `Streams.process`.

    Attributes
    ----------
    has_ended : bool
    """

    def __init__(self, streams: Streams, queue: PageQueue[Buffer], source: PageSource, work: Work) -> None:
        self._streams, self._queue, self._steps = streams, queue, streams.steps(queue, source, work)
        self._device: Device = streams.device
        self._event: Any = None
        self.has_ended = False

    def can_go_on(self) -> bool:
        """Whether the GPU has done what the next step waits for. Any GPU's context may be current.

        If the GPU has failed, `go_on` says so.
        """
        try:
            return self._event is None or bool(self._event.query())
        except self._device.driver.Error:
            return True

    def go_on(self) -> None:
        """Wait for what the next step waits for, if anything, and take this step."""
        with self._device, failing(self._device.driver):
            if self._event is not None:
                self._event.synchronize()
            try:
                self._event, *what = next(self._steps)
            except StopIteration:
                self.has_ended = True
            else:
                if self._event is not None:
                    self._streams.thread.doing = "waiting for", *what

    def close(self) -> None:
        """Take no more steps; if some are left, even if none was taken, drop the pages and wait for the GPU."""
        with contextlib.suppress(DeviceError), self._device:
            self._steps.close()
            if not self.has_ended:
                self._streams.stop(self._queue)


def take(every: Sequence[Turns], noting: Callable[[int, Callable[[], Any]], Any], ended: Callable[[int], None]) -> None:
    """Take all steps of all GPUs.

    Parameters
    ----------
    every : sequence of Turns
    noting : callable
        ``noting(k, act)`` calls ``act()``, which is for GPU `k`, and returns what it returns.
    ended : callable
        ``ended(k)`` is called when GPU `k` has ended.
    """
    left = deque(range(len(every)))
    try:
        while left:
            ready = [k for k in left if every[k].can_go_on()]
            if not ready:
                ready = [left[0]]
                left.rotate(-1)  # another GPU has waited longer then
            for k in ready:
                noting(k, every[k].go_on)
                if every[k].has_ended:
                    left.remove(k)
                    noting(k, partial(ended, k))
    finally:
        for each in every:
            each.close()
