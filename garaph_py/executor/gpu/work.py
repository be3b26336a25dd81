"""What one iteration does with a page on the GPU: its kernels, and what they change comes to the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...pages.layout import Page
from ..protocol import PageResult
from ..state import State
from .gather import Gather
from .streams import Buffer

Array = npt.NDArray[Any]


@dataclass
class PageWork:
    """`streams.Work` on a state.

    Parameters
    ----------
    gather : Gather
    task_of : callable
        ``task_of(page, buffer)``: a kernel's arguments.
    copy : callable
        ``copy(array, address, stream)`` from the device.
    context : ndarray
        Addresses of the run's arrays.
    state : State
        On the host.
    tallies : ndarray, shape (pages,)
        What pages did, on the host; `tally_address`: the same on the device.
    has_total : bool
        The program aggregates a total.
    tell : callable
        ``tell(page, result)``: the page is done, and all it changed is on the host.
    """

    gather: Gather
    task_of: Callable[[Page, Buffer], Array]
    copy: Callable[[Array, int, Any], None]
    context: Array
    state: State
    tallies: Array
    tally_address: int
    has_total: bool
    tell: Callable[[Page, PageResult], None]

    def __post_init__(self) -> None:
        self._pending, self._activated = (int(self.context[name][0]) for name in ("pending", "activated"))

    def compute(self, page: Page, buffer: Buffer) -> None:
        self.gather.launch(page, self.task_of(page, buffer), buffer.stream)

    def bring(self, page: Page, stream: Any) -> None:
        state, number = self.state, page.number
        if page.last_vertex > page.first_vertex:
            vertices = slice(page.first_vertex, page.last_vertex)
            self._bring(state.next_values, self._pending, vertices, stream)
            self._bring(state.next_frontier.bits, self._activated, page.words, stream)
        self._bring(self.tallies, self.tally_address, slice(number, number + 1), stream)

    def _bring(self, array: Array, address: int, run: slice, stream: Any) -> None:
        self.copy(array[run].view(np.uint8), address + run.start * array.itemsize, stream)

    def landed(self, page: Page, copied: int) -> None:
        back = page.vertices * (self.state.next_values.itemsize * 8 + 1) // 8
        result = result_of(page, self.tallies, self.has_total)
        result.to_device, result.from_device = copied, back + self.tallies.itemsize
        self.tell(page, result)


def result_of(page: Page, tallies: Array, has_total: bool) -> PageResult:
    """What a page did, as its tally says."""
    edges, active, *_ = tallies[page.number].item()
    partials = tallies["partial"][page.number : page.number + 1].copy() if has_total else None
    return PageResult(page.edges, active, edges, active, partials)
