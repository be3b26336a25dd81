"""The work of an iteration on a page on the GPU: launch its kernels, and copy their results to the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...pages.layout import Page
from ..modes import COPIED, GPU, PULL, RESIDENT
from ..protocol import PageDecision, PageResult
from ..state import State
from .gather import Gather
from .streams import Buffer

Array = npt.NDArray[Any]

ON_DEVICE = PageDecision(PULL, GPU, RESIDENT)
"""The decision that is reported for a page whose edges were already on the device."""


@dataclass
class PageWork:
    """The `streams.Work` of one iteration.

    Parameters
    ----------
    gather : Gather
    task_of : callable
        ``task_of(page, buffer)``: the arguments of a kernel.
    copy : callable
        ``copy(array, address, stream)`` copies from the device to a host array.
    context : ndarray
        Addresses of the run's arrays on the device.
    state : State
        The state on the host.
    tallies : ndarray, shape (pages,)
        For each page, the counts of its kernels, copied to the host.
    tally_address : int
        Address of the same array on the device.
    has_total : bool
        Whether the program aggregates a total.
    listener : callable
        ``listener(page, result)`` is called when all results of a page are on the host.
    transfer : str
        How the edges of streamed pages get to the device.
    """

    gather: Gather
    task_of: Callable[[Page, Buffer], Array]
    copy: Callable[[Array, int, Any], None]
    context: Array
    state: State
    tallies: Array
    tally_address: int
    has_total: bool
    listener: Callable[[Page, PageResult], None]
    transfer: str = COPIED

    def __post_init__(self) -> None:
        self._streamed = PageDecision(PULL, GPU, self.transfer)
        self._next_values, self._next_frontier = (
            int(self.context[name][0]) for name in ("next_values", "next_frontier")
        )

    def launch(self, page: Page, buffer: Buffer) -> None:
        self.gather.launch(page, self.task_of(page, buffer), buffer.stream)

    def copy_back(self, page: Page, stream: Any) -> None:
        state, number = self.state, page.number
        if page.last_vertex > page.first_vertex:
            vertices = slice(page.first_vertex, page.last_vertex)
            self._copy_part(state.next_values, self._next_values, vertices, stream)
            self._copy_part(state.next_frontier.bits, self._next_frontier, page.words, stream)
        self._copy_part(self.tallies, self.tally_address, slice(number, number + 1), stream)

    def _copy_part(self, array: Array, address: int, part: slice, stream: Any) -> None:
        """Copy a part of `array` to the host; the whole array is at `address` on the device."""
        self.copy(array[part].view(np.uint8), address + part.start * array.itemsize, stream)

    def on_complete(self, page: Page, copied: int) -> None:
        back = page.vertices * (self.state.next_values.itemsize * 8 + 1) // 8
        result = result_of(page, self.tallies, self.has_total)
        result.to_device, result.from_device = copied, back + self.tallies.itemsize
        result.how = self._streamed if copied else ON_DEVICE
        self.listener(page, result)


def result_of(page: Page, tallies: Array, has_total: bool) -> PageResult:
    """The result of a page, from its tally."""
    edges, active, *_ = tallies[page.number].item()
    partials = tallies["partial"][page.number : page.number + 1].copy() if has_total else None
    return PageResult(page.edges, active, edges, active, partials)
