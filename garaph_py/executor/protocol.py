"""What the dispatcher and an executor say to each other, and what executors promise.

An executor carries out iterations: on the CPU, on a GPU, or on a host and its devices together. The dispatcher
(dispatch/loop.py) gives it a `Decision` for each iteration and gets a `StepResult` back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..pages.layout import Page
from ..pages.provider import SourceFactory
from ..pages.source import PageSource
from .memory import MemoryPlan
from .modes import CPU
from .state import State

Array = npt.NDArray[Any]


class PageDecision(NamedTuple):
    """How one page is processed: direction, processor, and how its edges get there (`modes`)."""

    direction: str
    processor: str
    transfer: str | None = None


class Sharing(Protocol):
    """Who takes which page of an iteration that a host and its devices share; immutable (dispatch/rates.py)."""

    @property
    def gpu(self) -> float:
        """Edges a second that the device pulls."""

    @property
    def ratio(self) -> float:
        """T_pull / T_GPU: how many times as fast as the host the device pulls."""

    @property
    def seen(self) -> dict[str, Any]:
        """What an observation says of the costs, beside the ratio."""

    def steal(self, queue: Pages) -> Page | None:
        """The next page for the host, or a part of one; None if the device should have the rest."""

    def worth_dividing(self, active_edges: int) -> bool:
        """Whether `divide` may pay in a notify-pull iteration with so many out-edges of active vertices."""

    def divide(
        self, pages: Iterable[Page], notified: Iterable[int], stays: Callable[[Page], bool], value_bytes: int
    ) -> list[Page]:
        """The pages that the device pulls while the host gathers for the notified vertices of the others."""

    def measured(
        self, cpu_edges: int = 0, cpu_seconds: float = 0.0, gpu_edges: int = 0, gpu_seconds: float = 0.0,
        copied_edges: int = 0,
    ) -> Sharing:  # fmt: skip
        """The same after pages that host and device have pulled."""

    def gathered(self, edges: int, seconds: float) -> Sharing:
        """The same after the host gathered so many edges for notified vertices."""

    def without_gpu(self, mode: str, active: int, active_edges: int, edges: int, seconds: float) -> Sharing:
        """The same after an iteration of the host alone."""


class Decision(NamedTuple):
    """What to do in one iteration.

    Attributes
    ----------
    mode : str
        Direction of all pages that `pages` does not name.
    why : str
        The reason, for the record.
    device : {"cpu", "gpu", "both"}
        Who processes them; ``"both"`` share them by `sharing`.
    alpha : float or None
        T_CPU / T_GPU as expected (Garaph equation 3), in runs of both: below 1 the CPU is faster alone.
    pages : mapping of int to PageDecision, optional
        Page by page, by the page's number.
    sharing : tuple of Sharing
        How the host shares the pages with each of the devices that still work.
    """

    mode: str
    why: str
    device: str = CPU
    alpha: float | None = None
    pages: Mapping[int, PageDecision] | None = None
    sharing: tuple[Sharing, ...] = ()


@dataclass
class PageResult:
    """What one page did.

    Attributes
    ----------
    edges : int
        In-edges gathered, or out-edges followed.
    active, active_edges, changeable : int
        Vertices activated, the sum of their out-degrees, and how many may change again.
    partials : ndarray or None
        Partial sums of the program's `aggregate`, in a fixed order.
    skipped : bool
        No vertex of the page was notified.
    to_device, from_device : int
        Bytes copied to the GPU's memory and back.
    how : PageDecision or None
        How the page was processed, where that is not as the decision says of all pages.
    """

    edges: int
    active: int
    active_edges: int
    changeable: int
    partials: Array | None
    skipped: bool = False
    to_device: int = 0
    from_device: int = 0
    how: PageDecision | None = None


@dataclass
class StepResult:
    """What an iteration did.

    Attributes
    ----------
    pages : list of PageResult
    followed : int
        Out-edges followed to find the vertices to update.
    device : {"cpu", "gpu", "both"}
        Who did it: after a failure not who was to.
    sharing : tuple of Sharing
        The decision's, after what this iteration has measured; without those of devices that have failed.
    """

    pages: list[PageResult]
    followed: int
    device: str
    sharing: tuple[Sharing, ...] = ()


@dataclass(frozen=True)
class Capabilities:
    """What an executor can do for its program and graph.

    Attributes
    ----------
    name : str
        Who works where a decision does not name both: ``"cpu"`` or ``"gpu"``.
    modes : tuple of str
        Directions it knows.
    has_priorities : bool
        It can let changed vertices wait for their bucket (`SupportsPriority`).
    skips_pages : bool
        In notify-pull it leaves out whole pages, so notifying pays only where it spares many.
    threads : int
        Of the host.
    loads : tuple of (int, int, float)
        Of each device that shares pages with the host: edges of the graph, edges that every iteration copies to it, and
        bytes an edge.
    """

    name: str
    modes: tuple[str, ...]
    has_priorities: bool = False
    skips_pages: bool = False
    threads: int = 1
    loads: tuple[tuple[int, int, float], ...] = ()


class OpenPlan(Protocol):
    """What an executor is opened with (`runtime.plan.RunPlan`)."""

    @property
    def synchronous(self) -> bool:
        """New values are seen in the next iteration."""

    @property
    def page_edges(self) -> int | None:
        """Bound on the in-edges of a page, if the user gave one."""

    @property
    def memory(self) -> MemoryPlan:
        """What the run takes of the host's memory beside edges."""


class Executor(Protocol):
    """One program over one graph, on one or more processors."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""

    @property
    def source(self) -> PageSource:
        """The pages that an iteration goes through, once it is open."""

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        """Take memory and pages; initial values, first frontier, first total.

        Where another executor has left a `state` after an iteration, that is loaded and returned.
        """

    def step(self, state: State, decision: Decision) -> StepResult:
        """One iteration over all pages; afterwards the new values are the current ones."""

    def load(self, state: State) -> None:
        """Go on from a state that another executor or process has left after an iteration."""

    def report(self, state: State) -> Array:
        """The reported values, shape (n,); may overwrite the state's arrays."""

    def close(self) -> None:
        """Give back memory, pages and threads; also after a failure."""


class HostExecutor(Executor, Protocol):
    """The executor in whose memory the state is, and that can do an iteration beside a device, part by part.

    Attributes
    ----------
    is_relaxation : bool
        Only active vertices contribute. In synchronous runs both arrays of values have to be equal when an iteration
        begins; in asynchronous ones a gather may read any value that a vertex had before.
    """

    is_relaxation: bool

    def begin(self, state: State, mode: str) -> int:
        """Before an iteration: `prepare`, and in notify-pull the notification; out-edges followed."""

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        """Update the vertices of each page, in notify-pull at least the notified ones; results in the pages' order.

        Push and pull-tiled do not go by pages: they give one result for the whole graph.
        """

    def commit(self, state: State, mode: str) -> None:
        """After a synchronous iteration: make the new values the current ones."""

    def sync_buffers(self, state: State) -> None:
        """Make both arrays equal after they were swapped: they differ in the values of active vertices at most."""

    def activate_page(self, page: Page, done: PageResult, state: State) -> PageResult:
        """Make all vertices of a page active, whichever of them changed when this was `done`; the corrected result."""

    def invalidate_cache(self) -> None:
        """A device has done an iteration: what the host remembers of its own last one no longer holds."""

    def assist(self, sources: SourceFactory) -> None:
        """Get ready to notify for a device, and to take pages beside it."""

    def notified_edges(self, pages: Iterable[Page], state: State) -> Array | None:
        """About how many in-edges the notified vertices of each page have; None if all vertices of a page change."""


class Pages(Protocol):
    """Pages of an iteration that a device has not taken yet."""

    @property
    def edges(self) -> int:
        """Edges of the pages that have yet to be copied, or are being copied."""

    def steal(self, most: int | None) -> Page | None:
        """For another processor, the last pages to be copied or the end of them, in one piece of `most` edges at most.

        None if there are none. Where `most` is None, any whole page.
        """

    def clear(self) -> None:
        """Take all pages out."""


class DeviceExecutor(Executor, Protocol):
    """An executor with memory of its own, which can do an iteration beside a host, part by part."""

    def initialize(self, synchronous: bool, sources: SourceFactory) -> State:
        """Take memory and pages, of memory that is divided already; initial values, first frontier, first total."""

    @property
    def load_of(self) -> tuple[int, int, float]:
        """Edges of the graph, those that every iteration copies, and bytes an edge."""

    def has(self, page: Page) -> bool:
        """Whether a page's edges are in its memory, or on their way there."""

    def ready(self, state: State) -> None:
        """Before an iteration: as `begin`, without the notification."""

    def offer(self, pages: list[Page], state: State, mode: str, shared: bool) -> Pages:
        """The queue of the pages to process; with `shared` others may take some from it."""

    def work(
        self, queue: Any, source: PageSource, state: State, on_complete: Callable[[Page, PageResult], None]
    ) -> None:
        """Process the pages of a queue until it is empty; `on_complete` gets each page, or what was left of it.

        It is called when the page's new values are in ``state.next_values``, also before a failure.
        """

    def receive(self, pages: Iterable[Page], state: State) -> None:
        """Copy the new values of pages that another processor had to the device."""

    def refresh(self, state: State, values: bool) -> None:
        """Copy the frontier to the device, and all current `values` if they changed elsewhere."""

    def swap(self, state: State) -> None:
        """Make new values the current ones on the device, where every page has some."""


class SupportsPriority(Executor, Protocol):
    """An executor that can push, and so let changed vertices wait for their bucket."""

    def open_bucket(self, state: State) -> Any:
        """Move the vertices of ``state.pending`` between ``state.thresholds`` to the frontier.

        Returns
        -------
        The least priority of the vertices that stay pending, or None.
        """


def merged(results: list[PageResult]) -> PageResult:
    """The results of a page's parts as the page's."""
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


def sum_partials(partials: list[Array], dtype: np.dtype[Any]) -> Array:
    """The total of all partial sums, shape (1,), added one by one in the given order: the same bits every time."""
    if len(partials) == 1 and len(partials[0]) == 1:
        return partials[0]
    total = np.zeros(1, dtype)
    column = np.concatenate(partials)
    if not dtype.names:
        total[0] = np.cumsum(column)[-1]
        return total
    for name in dtype.names:
        total[name] = np.cumsum(column[name])[-1]
    return total
