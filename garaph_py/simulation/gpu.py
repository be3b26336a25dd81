"""A model of a GPU and its link in one iteration: the link does one copy at a time, the GPU one kernel at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ..pages.layout import Page
from .clock import Channel, Clock, Event


@dataclass
class BufferModel:
    """A buffer for a page's edges in the GPU's memory.

    Attributes
    ----------
    page : Page or None
        The page whose edges are in the buffer, or being copied there.
    is_copied : bool
        The copy of the edges is complete.
    is_idle : bool
        The page's kernel has ended, and its new values are on the host.
    """

    page: Page | None = None
    is_copied: bool = True
    is_idle: bool = True


class LinkModel:
    """The copies to the GPU, one after the other.

    Parameters
    ----------
    clock : Clock
    channel : Channel
    share : callable
        ``share()``: the share of the channel's rate for a copy that begins now.
    """

    def __init__(self, clock: Clock, channel: Channel, share: Callable[[], float]) -> None:
        self._clock, self._channel, self._share = clock, channel, share
        self._copies = deque[_Copy]()  # the first one is in flight

    def copy(self, nbytes: float, ready: float, on_end: Event) -> None:
        """Queue a copy. It begins after the earlier copies, and not before `ready`, when its bytes are on the host."""
        self._queue(_Copy(nbytes, ready, on_end))

    def read(self, nbytes: float, share: float, on_end: Event) -> None:
        """Queue what a kernel reads in host memory, at a share of the rate of copies; it is no call of the driver."""
        self._queue(_Copy(nbytes, self._clock.now, on_end, share, 0))

    def _queue(self, copy: _Copy) -> None:
        self._copies.append(copy)
        if len(self._copies) == 1:
            self._clock.at(max(self._clock.now, copy.ready), self._begin)

    def _begin(self) -> None:
        copy, now = self._copies[0], self._clock.now
        self._clock.at(self._channel.transfer(copy.nbytes, now, copy.share * self._share(), copy.calls), self._end)

    def _end(self) -> None:
        ended = self._copies.popleft()
        if self._copies:
            self._clock.at(max(self._clock.now, self._copies[0].ready), self._begin)
        ended.on_end()


class _Copy(NamedTuple):
    """A copy to the GPU, or what one of its kernels reads in host memory."""

    nbytes: float
    ready: float
    on_end: Event
    share: float = 1.0
    calls: int = 1


class GpuModel:
    """The kernels of pages, each followed by the copy of the page's new values to the host.

    Pages that were copied are processed before resident pages.

    Parameters
    ----------
    clock : Clock
    kernel_seconds : callable
        ``kernel_seconds(page)``.
    from_device : Channel
    back_bytes : float
        Bytes that a page sends back for each of its vertices.
    """

    def __init__(
        self, clock: Clock, kernel_seconds: Callable[[Page], float], from_device: Channel, back_bytes: float
    ) -> None:
        self._clock, self._kernel_seconds = clock, kernel_seconds
        self._from_device, self._back_bytes = from_device, back_bytes
        self._copied, self._on_device = deque[tuple[Page, BufferModel]](), deque[tuple[Page, BufferModel]]()
        self._is_busy = False

    def arrived(self, page: Page, buffer: BufferModel) -> None:
        """A page has been copied, or read in host memory: run its kernel, which was launched behind the copy. The model
        has a kernel read all edges before it computes, so that it can do so while others compute."""
        buffer.is_copied = True
        self._copied.append((page, buffer))
        self._run_next()

    def launch(self, page: Page, buffer: BufferModel) -> None:
        """Launch the kernel of a resident page."""
        buffer.is_idle = False
        self._on_device.append((page, buffer))
        self._run_next()

    def _run_next(self) -> None:
        if self._is_busy or not (self._copied or self._on_device):
            return
        page, buffer = (self._copied or self._on_device).popleft()
        self._is_busy = True
        self._clock.at(self._clock.now + self._kernel_seconds(page), partial(self._end_kernel, page, buffer))

    def _end_kernel(self, page: Page, buffer: BufferModel) -> None:
        self._is_busy = False
        back = self._from_device.transfer(page.vertices * self._back_bytes, self._clock.now)
        self._clock.at(back, partial(setattr, buffer, "is_idle", True))
        self._run_next()
