"""The work of an iteration on a page on the GPU: launch its kernels, and copy results to the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...graph.vertex_set import VertexSet
from ...pages.layout import Page
from ..decision import PageDecision
from ..modes import GPU, PULL
from ..results import OnComplete, PageResult
from ..state import OnPage, State
from ..step import tell
from .buffers import Buffer
from .gather import Gather
from .peers import Peers
from .timeline import TO_GPUS, TO_HOST

Array = npt.NDArray[Any]

SKIPPED = PageResult(0, 0, 0, 0, None, skipped=True)
"""The result of a page that the GPU did not process."""
PULLING = "gather and apply"
"""What the kernels of a pull do."""
Launch = Callable[[Page, Any, Array], None]
"""``launch(page, stream, task)`` launches a kernel over a page."""


@dataclass
class KernelWork:
    """The `streams.Work` that launches one kernel for each page that has edges; new values stay on the device.

    `done` has the pages that were processed, and the bytes of edges that were copied to the device for each.
    """

    kernel: Launch
    task_of: Callable[[Page, Buffer], Array]
    done: dict[Page, int] = field(default_factory=dict)

    def launch(self, page: Page, buffer: Buffer) -> None:
        if page.edges:
            self.kernel(page, buffer.stream, self.task_of(page, buffer))

    @property
    def name(self) -> str:
        function: Any = getattr(self.kernel, "func", self.kernel)  # of a partial one
        return str(function.__name__).strip("_").replace("_", " ")

    @property
    def copies_to(self) -> str | None:
        return None

    def copy_back(self, page: Page, stream: Any) -> None:
        """Copy nothing."""

    def on_complete(self, page: Page, copied: int) -> None:
        self.done[page] = copied


@dataclass
class PageWork:
    """The `streams.Work` of an iteration that the device does alone: new values and the frontier stay there.

    Parameters
    ----------
    gather : Gather
    task_of : callable
        ``task_of(page, buffer)``: the arguments of a kernel.
    tallies : ndarray, shape (pages,)
        For each page, the counts of its kernels, on the host.
    has_total : bool
        Whether the program aggregates a total.
    way_of : callable
        ``way_of(page, copied)``: how a page's edges reached the GPU (`Streams.way_of`).
    peers : Peers or None
        The other GPUs that get the new values of each page, if there are any.

    Attributes
    ----------
    done : dict of Page to int
        The pages that were processed, and the bytes of edges that were copied to the device for each.
    ways : dict of str to list of int
        For each way in which edges reached the GPU: the number of these pages, their edges, and the bytes copied.
    """

    gather: Gather
    task_of: Callable[[Page, Buffer], Array]
    tallies: Array
    has_total: bool
    way_of: Callable[[Page, int], str]
    peers: Peers | None = None
    done: dict[Page, int] = field(default_factory=dict)
    ways: dict[str, list[int]] = field(default_factory=dict)
    name: ClassVar[str] = PULLING

    def launch(self, page: Page, buffer: Buffer) -> None:
        self.gather.launch(page, self.task_of(page, buffer), buffer.stream)

    @property
    def copies_to(self) -> str | None:
        return None if self.peers is None else TO_GPUS

    def copy_back(self, page: Page, stream: Any) -> None:
        """Copy nothing to the host."""
        if self.peers is not None:
            self.peers.send_values([page], stream)

    def on_complete(self, page: Page, copied: int) -> None:
        """Count a page now, while others are computed: after the last one, the GPU would have to wait."""
        self.done[page] = copied
        way = self.ways.setdefault(self.way_of(page, copied), [0, 0, 0])
        way[0], way[1], way[2] = way[0] + 1, way[1] + page.edges, way[2] + copied

    def results(self, skipped: int) -> list[PageResult]:
        """The results of all pages, of which so many were `skipped`: one for all whose edges reached the GPU in the
        same way. The first has the counts of all, and their partial totals in the order of the pages."""
        tallies, size = self.tallies, self.tallies.itemsize
        found = [
            PageResult(edges, 0, 0, 0, None, False, copied, size * count, PageDecision(PULL, GPU, way), pages=count)
            for way, (count, edges, copied) in self.ways.items()
        ]
        if skipped:
            found.append(replace(SKIPPED, pages=skipped))
        if found:
            first = found[0]
            first.active, first.active_edges = int(tallies["active"].sum()), int(tallies["active_edges"].sum())
            first.changeable = first.active
            if self.has_total:
                first.partials = tallies["partial"][sorted(page.number for page in self.done)]
        return found

    def result(self, page: Page, back: int = 0) -> PageResult:
        """The result of a page of which `back` bytes of values and frontier, and its tally, were copied to the host."""
        result, copied = result_of(page, self.tallies, self.has_total), self.done[page]
        result.to_device, result.from_device = copied, back + self.tallies.itemsize
        result.how = PageDecision(PULL, GPU, self.way_of(page, copied))
        return result


@dataclass
class SharedWork:
    """The `streams.Work` of an iteration that the host shares: the host gets each page's new values.

    Parameters
    ----------
    alone : PageWork
    copy : callable
        ``copy(array, address, stream)`` copies from the device to a host array.
    places : tuple of int
        Addresses on the device of the new values, the next frontier and the tallies.
    state : State
        The state on the host.
    listener : callable
        ``listener(page, result)`` is called when all results of a page are on the host.
    """

    alone: PageWork
    copy: Callable[[Array, int, Any], None]
    places: tuple[int, int, int]
    state: State
    listener: OnComplete

    @property
    def done(self) -> dict[Page, int]:
        """As of `alone`."""
        return self.alone.done

    name: ClassVar[str] = PULLING

    @property
    def copies_to(self) -> str | None:
        return TO_HOST

    def launch(self, page: Page, buffer: Buffer) -> None:
        self.alone.launch(page, buffer)

    def copy_back(self, page: Page, stream: Any) -> None:
        self.alone.copy_back(page, stream)
        values, frontier, tallies = self.places
        if page.last_vertex > page.first_vertex:
            vertices = slice(page.first_vertex, page.last_vertex)
            self._copy_part(self.state.next_values, values, vertices, stream)
            self._copy_part(self.state.next_frontier.bits, frontier, page.words, stream)
        self._copy_part(self.alone.tallies, tallies, slice(page.number, page.number + 1), stream)

    def _copy_part(self, array: Array, address: int, part: slice, stream: Any) -> None:
        """Copy a part of `array` to the host; the whole array is at `address` on the device."""
        self.copy(array[part].view(np.uint8), address + part.start * array.itemsize, stream)

    def on_complete(self, page: Page, copied: int) -> None:
        self.alone.on_complete(page, copied)
        back = page.vertices * (self.state.next_values.itemsize * 8 + 1) // 8
        self.listener(page, self.alone.result(page, back))


def work_and_tell(work: Callable[[State, OnComplete], None], landing: Array, on_page: OnPage) -> dict[Page, PageResult]:
    """Do an asynchronous iteration by ``work(state, on_complete)``, and report each page when it is complete.

    The host gets new values in the array `landing`, as in an iteration that it shares.
    """
    done: dict[Page, PageResult] = {}
    state = State.empty(len(landing), landing, landing, False, VertexSet.empty(len(landing)))

    def on_complete(page: Page, result: PageResult) -> None:
        done[page] = result
        tell(on_page, page, state)

    work(state, on_complete)
    return done


def result_of(page: Page, tallies: Array, has_total: bool) -> PageResult:
    """The result of a page, from its tally."""
    edges, active = (int(tallies[name][page.number]) for name in ("active_edges", "active"))
    partials = tallies["partial"][page.number : page.number + 1].copy() if has_total else None
    return PageResult(page.edges, active, edges, active, partials)
