"""What a processor promises: it takes pages and updates the state. The CPU and the GPU implement it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from ..pages.layout import Page
from ..pages.source import PageSource
from .state import State

Array = npt.NDArray[Any]


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
        Nobody in the page was notified.
    to_device, from_device : int
        Bytes copied to the GPU's memory and back.
    """

    edges: int
    active: int
    active_edges: int
    changeable: int
    partials: Array | None
    skipped: bool = False
    to_device: int = 0
    from_device: int = 0


def merged(results: list[PageResult]) -> PageResult:
    """What the parts of a page did, as the page's."""
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


class Executor(Protocol):
    """One processor running one bound program over one graph.

    Attributes
    ----------
    name : str
        ``"cpu"`` or ``"gpu"``.
    """

    name: ClassVar[str]

    @property
    def modes(self) -> tuple[str, ...]:
        """Those it knows, for this graph."""

    def initialize(self, synchronous: bool) -> State:
        """Initial values, first frontier, first total."""

    def adopt(self, state: State) -> None:
        """Take over a state that somebody else has left after an iteration: its values, active set and total."""

    def begin(self, state: State, mode: str) -> int:
        """Before an iteration: `prepare`, and in notify-pull the notification; out-edges followed."""

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        """Update the vertices of each page, at least the notified ones in notify-pull; results in the pages' order.

        Push and pull-tiled are not done by pages: one result for the whole graph.
        """

    def commit(self, state: State, mode: str) -> None:
        """After a synchronous iteration: make the new values the current ones."""

    def report(self, state: State) -> Array:
        """The reported values, shape (n,); may overwrite the state's arrays."""


class Pages(Protocol):
    """Pages that an accelerator has not taken yet."""

    @property
    def edges(self) -> int:
        """Of those that have yet to be copied, or are being copied."""

    def steal(self, most: int | None) -> Page | None:
        """For another processor, the last pages to be copied or the end of them, in one piece of `most` edges at most.

        None if there are none. Where `most` is None, any whole page.
        """

    def clear(self) -> None:
        """Nobody is to take any of them."""


class DeviceExecutor(Executor, Protocol):
    """A processor with memory of its own, that works beside another."""

    @property
    def load(self) -> tuple[int, int, float]:
        """Edges of the graph, those that every iteration copies, and bytes an edge."""

    def has(self, page: Page) -> bool:
        """Whether a page's edges are in its memory, or on their way there."""

    def ready(self, state: State) -> None:
        """Before an iteration: as `begin`, without finding whom to notify."""

    def offer(self, pages: list[Page], state: State, mode: str, shared: bool) -> Pages:
        """The pages to process; whether others may take some."""

    def work(self, waiting: Any, source: PageSource, state: State, tell: Callable[[Page, PageResult], None]) -> None:
        """Process those that wait until none is left; `tell` what each did, or what was left of it.

        It is told when the page's new values are in ``state.pending``, also before a failure.
        """

    def receive(self, pages: Iterable[Page], state: State) -> None:
        """Take over the new values of pages that another processor had."""

    def refresh(self, state: State, values: bool) -> None:
        """Take over who is active, and all current `values` if they changed elsewhere."""

    def settle(self, state: State) -> None:
        """Make new values the current ones in its memory, where every page has some."""


class HostExecutor(Executor, Protocol):
    """A processor in whose memory the state is, and that works in turns with another.

    Attributes
    ----------
    is_relaxation : bool
        In synchronous runs it takes both arrays of values to be equal when an iteration begins; in asynchronous ones
        any of a vertex's values that was new once may be seen.
    """

    is_relaxation: bool

    def sync_buffers(self, state: State) -> None:
        """Make both arrays equal, after they were swapped: they differ in the values of active vertices at most."""

    def activate_page(self, page: Page, done: PageResult, state: State) -> PageResult:
        """Make all vertices of a page active, whichever of them changed when this was `done`; what is to be said."""

    def forget(self) -> None:
        """The other has done a superstep: what is known from the last one no longer holds."""

    def notified_edges(self, pages: Iterable[Page], state: State) -> Array | None:
        """About how many in-edges the notified vertices of each page have; None if all vertices of a page change."""


class SupportsPriority(Executor, Protocol):
    """A processor that can push, and so let changed vertices wait for their turn."""

    def advance(self, state: State) -> Any:
        """Make active those of ``state.later`` between ``state.limits``; the least priority of the others, or None."""


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
