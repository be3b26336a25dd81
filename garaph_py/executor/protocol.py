"""What the dispatcher can ask of executors: what each can do, and the executors' contracts.

The dispatcher (dispatch/loop.py) gives an executor a `Decision` for each iteration, and gets a `StepResult` back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from ..graph.vertex_set import VertexSet
from ..pages.layout import Page
from ..pages.provider import SourceFactory
from ..pages.source import PageSource
from .costs import EXPECTED
from .decision import Decision, PageDecision, Pages, Transfers
from .edge_list import EdgeBuffers
from .far_lists import FarLists
from .memory import MemoryPlan
from .results import OnComplete, PageResult, StepResult
from .state import OnPage, State, Values

Array = npt.NDArray[Any]


@dataclass
class Capabilities:
    """What an executor can do for its program and graph.

    Attributes
    ----------
    name : str
        The processor in iterations whose decision is not ``"both"``: ``"cpu"`` or ``"gpu"``.
    modes : tuple of str
        Directions that the executor supports.
    has_priorities : bool
        The executor can keep changed vertices pending until their bucket is opened (`SupportsPriority`).
    threads : int
        Number of host threads.
    loads : tuple of (int, int, float)
        For each device that shares pages with the host: edges, edges copied in every iteration, and bytes per edge.
    reads_disk : bool
        The pages copied to devices come from disk: sharing iterations makes none shorter, and a push reads lists there.
    devices_push : bool
        A device that shares pages with the host can push if it works alone.
    push_cost : float
        The cost of an active vertex's out-edge in a push on the device, in multiples of an edge's in a pull.
    pulls_end_early : bool
        When the device pulls, it ends a vertex's gather where the program's `done` says so.
    pushes_deltas : bool
        It keeps the sum of each vertex, so that it may push deltas after a pull (`State.has_sums`).
    far_lists : FarLists, optional
        The lists in host memory, along which it may push in two ways.
    transfers : tuple of Transfers
        How the edges of each page may reach the GPU; empty if there is none, or if several GPUs have parts of them.
    """

    name: str
    modes: tuple[str, ...]
    has_priorities: bool = False
    threads: int = 1
    loads: tuple[tuple[int, int, float], ...] = ()
    reads_disk: bool = False
    devices_push: bool = False
    push_cost: float = EXPECTED.push_edge
    pulls_end_early: bool = False
    pushes_deltas: bool = False
    far_lists: FarLists | None = None
    transfers: tuple[Transfers, ...] = ()


class OpenPlan(Protocol):
    """What an executor is opened with (`runtime.plan.RunPlan`)."""

    @property
    def synchronous(self) -> bool:
        """Whether new values become visible in the next iteration only."""

    @property
    def page_edges(self) -> int | None:
        """Upper bound on the in-edges of a page, if the user gave one."""

    @property
    def memory(self) -> MemoryPlan:
        """Host memory that the run needs in addition to the edges."""

    @property
    def deltas(self) -> bool:
        """Whether active vertices may push deltas, so that the sums of vertices are to be kept."""

    @property
    def chains(self) -> bool:
        """Whether a processor that works alone may do several iterations at once: nobody looks at each."""


class Executor(Protocol):
    """One program over one graph, on one or more processors."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""

    @property
    def source(self) -> PageSource:
        """The pages that an iteration goes through, once it is open."""

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        """Allocate memory and open the pages; return the state with initial values, first frontier and first total.

        If a `state` is given, which another executor left after an iteration, load and return that one instead.
        """

    def step(self, state: State, decision: Decision) -> StepResult:
        """Do one iteration over all pages, and make the new values the current ones."""

    def load(self, state: State) -> None:
        """Continue from a state that another executor or process left after an iteration."""

    def report(self, state: State) -> Values:
        """Return the reported values, shape (n,); this may overwrite the state's arrays."""

    def close(self) -> None:
        """Release memory, pages and threads; also called after a failure."""


class HostExecutor(Executor, Protocol):
    """The executor whose memory holds the state; it can share an iteration with devices, page by page.

    Attributes
    ----------
    is_relaxation : bool
        Only active vertices contribute. Synchronous runs require that both arrays of values are equal when an iteration
        begins; in asynchronous runs a gather may read any earlier value of a vertex.
    """

    is_relaxation: bool
    on_page: OnPage | None

    def begin(self, state: State, mode: str) -> int:
        """Begin an iteration: run `prepare` and, in notify-pull, notify; return the number of out-edges followed."""

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        """Update the vertices of each page (in notify-pull, at least the notified ones); results in the pages' order.

        Push and pull-tiled do not work page by page: they return one result for the whole graph.
        """

    def commit(self, state: State, mode: str) -> None:
        """End a synchronous iteration: make the new values the current ones."""

    def report(self, state: State, source: PageSource | None = None) -> Array:
        """As of any executor; `source` has the pages if the executor's own are not open."""

    def sync_buffers(self, state: State, everywhere: bool = False) -> None:
        """Copy the values to the second array: those of all vertices, or of active ones if no others can differ."""

    def activate_page(self, page: Page, done: PageResult, state: State) -> PageResult:
        """Activate all vertices of a page, also those that did not change, and return its result `done`, corrected."""

    def invalidate_cache(self) -> None:
        """Drop what the host cached in its own last iteration: a device has done one since."""

    def assist(self, sources: SourceFactory, own: PageSource) -> None:
        """Get ready to notify on behalf of devices, and to process pages in turns with them, or beside them; `own` is
        the source of in-edges and, in an undirected graph, of out-edges."""

    def notified_edges(self, pages: Iterable[Page], state: State) -> Array | None:
        """Estimated in-edges of each page's notified vertices; None if `prepare` has rewritten the values of all
        vertices."""


class DeviceExecutor(Executor, Protocol):
    """An executor with its own memory, which can share an iteration with the host, page by page.

    After a `step`, which it does alone, the new values and the frontier are in its memory only (`State.leave_on`).

    Attributes
    ----------
    order : sequence of int or None
        The decision's `order`, if its pages are those that the decision numbers.
    named : mapping of int to PageDecision
        Likewise, the decision's `pages`. Other processors may not steal those that it names for the device.
    """

    order: Sequence[int] | None
    named: Mapping[int, PageDecision]

    def initialize(self, synchronous: bool, sources: SourceFactory) -> State:
        """Like `open`, but the caller has already divided the host's memory (``sources.divide``)."""

    @property
    def load_of(self) -> tuple[int, int, float]:
        """Edges of the graph, edges copied to the device in every iteration, and bytes per edge."""

    @property
    def shares_pages(self) -> bool:
        """Whether other processors may share an iteration: the device numbers vertices as they do (once open)."""

    def has(self, page: Page) -> bool:
        """Whether a page's edges are in the device's memory, or being copied there."""

    def ready(self, state: State) -> None:
        """Begin an iteration: like `HostExecutor.begin`, without notifying."""

    def offer(self, pages: list[Page], state: State, mode: str, shared: bool) -> Pages:
        """Make the queue of the pages to process; if `shared`, other processors may steal from it."""

    def work(self, queue: Any, source: PageSource, state: State, on_complete: OnComplete) -> None:
        """Process the pages of a queue until it is empty.

        Calls `on_complete` for each page, or for the part of it that was not stolen, once its new values are in
        ``state.next_values``; also for the pages completed before a failure.
        """

    def receive(self, pages: Iterable[Page], state: State) -> None:
        """Copy the new values of pages that another processor has processed to the device."""

    def refresh(self, state: State, values: bool) -> None:
        """Copy the frontier to the device and, if `values`, all current values too."""

    def swap(self, state: State) -> None:
        """Make the new values the current ones on the device, once every page has new values."""

    def start_copy(self) -> Any:
        """Start to copy values and frontier to the host, beside the next iterations (`safety.Copying`)."""


class SupportsPriority(Executor, Protocol):
    """An executor that can push, and keep changed vertices pending until their bucket is opened."""

    def open_bucket(self, state: State) -> Any:
        """Move the vertices of ``state.pending`` whose priority is between ``state.thresholds`` to the frontier.

        Returns
        -------
        The least priority of the vertices that stay pending; None if no vertex stays pending.
        """


class Notifier(Protocol):
    """The part of the CPU that notifies for a GPU (Garaph section 2.2), and reads lists on disk for its pushes."""

    def assist(self, sources: SourceFactory, own: PageSource) -> None:
        """Get ready to do so. In an undirected graph, `own` has the out-edges too."""

    def notify(self, state: State) -> int:
        """Find the vertices that active vertices notify; return the number of out-edges followed."""

    def list_edges(self, vertices: VertexSet, to: EdgeBuffers) -> int:
        """List all out-edges of `vertices`, and send them buffer by buffer; return their number."""
