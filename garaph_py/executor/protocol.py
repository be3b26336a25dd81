"""The interface between the dispatcher and the executors: decisions, results, and the executors' contracts.

The dispatcher (dispatch/loop.py) gives an executor a `Decision` for each iteration, and gets a `StepResult` back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ..graph.vertex_set import VertexSet
from ..pages.layout import Page
from ..pages.provider import SourceFactory
from ..pages.source import PageSource
from .costs import EXPECTED
from .edge_list import EdgeBuffers
from .far_lists import FarLists
from .memory import MemoryPlan
from .modes import CPU
from .partitions import PartitionCounts
from .state import OnPage, State, Values

Array = npt.NDArray[Any]


class PageDecision(NamedTuple):
    """How one page is processed: direction, processor, and how its edges reach the processor (constants of `modes`)."""

    direction: str
    processor: str
    transfer: str | None = None


class Sharing(Protocol):
    """Divides the pages of an iteration between the host and one device; immutable (dispatch/rates.py)."""

    @property
    def gpu(self) -> float:
        """Edges per second that the device pulls."""

    @property
    def ratio(self) -> float:
        """T_pull / T_GPU: the device's speed at pulling, in multiples of the host's."""

    @property
    def seen(self) -> dict[str, Any]:
        """The measured costs that an observation records in addition to `ratio`."""

    def moving(self, nbytes: int) -> float:
        """Time to copy so many bytes over the link, in units of the time that the device takes to pull all pages."""

    def steal(self, queue: Pages) -> Page | None:
        """Take the next page, or a part of one, for the host; None if the device should process the rest."""

    def worth_dividing(self, active_edges: int) -> bool:
        """Whether `divide` may pay off in a notify-pull iteration whose frontier has `active_edges` out-edges."""

    def divide(
        self, pages: Iterable[Page], notified: Iterable[int], stays: Callable[[Page], bool], value_bytes: int
    ) -> list[Page]:
        """The pages that the device pulls, while the host gathers for the notified vertices of all other pages."""

    def measured(
        self, cpu_edges: int = 0, cpu_seconds: float = 0.0, gpu_edges: int = 0, gpu_seconds: float = 0.0,
        copied_edges: int = 0,
    ) -> Sharing:  # fmt: skip
        """A copy updated with the measured times of pages that the host and the device have pulled."""

    def gathered(self, edges: int, seconds: float) -> Sharing:
        """A copy updated after the host gathered `edges` edges for notified vertices in `seconds`."""

    def at(self, f: float) -> Sharing:
        """A copy for an iteration that updates a share `f` of the vertices."""

    def paged(self, edges: int, gathered: int, seconds: float) -> Sharing:
        """A copy updated after the host did a page beside the device, and gathered so many of the page's `edges`."""

    def without_gpu(self, mode: str, active: int, active_edges: int, edges: int, seconds: float) -> Sharing:
        """A copy updated after an iteration that the host did alone."""


class Ahead(NamedTuple):
    """How a processor that works alone may go on after the iteration, without a decision on each one.

    Attributes
    ----------
    push_edges : int
        It pushes if at most so many edges lead from active vertices; otherwise it pulls.
    pulls : bool
        Whether it may pull; if not, it stops there.
    repeats : bool
        Every iteration goes as the decision says: `push_edges` is not asked.
    step : number, optional
        In buckets: how far the next ones reach beyond the least priority; None before the first one.
    most : int, optional
        How many iterations it may do, if there is a limit.
    """

    push_edges: int
    pulls: bool
    step: Any = None
    most: int | None = None
    repeats: bool = False


class Decision(NamedTuple):
    """What to do in one iteration.

    Attributes
    ----------
    mode : str
        Direction of all pages that `pages` does not list.
    why : str
        The reason for the decision, as the trace reports it.
    device : {"cpu", "gpu", "both"}
        The processor of all pages that `pages` does not list; ``"both"`` divide the pages by `sharing`.
    alpha : float or None
        Expected T_CPU / T_GPU (Garaph equation 3) in hybrid runs; below 1 the CPU alone is faster.
    pages : mapping of int to PageDecision, optional
        Decisions for single pages, by page number.
    order : sequence of int, optional
        The numbers of all pages, in the order in which they are processed; None leaves it to the executor.
    sharing : tuple of Sharing
        How the host shares the pages with each of the devices that still work.
    keeps_sums : bool
        A pull keeps the vertices' sums, so that the next iteration may push deltas (`State.has_sums`).
    ahead : Ahead, optional
        How the processor may go on without a decision on each iteration.
    reenters : bool
        A push on the CPU uses reentry: a page's vertices push until none of them is active.
    compacts : bool
        A push on the GPU uses an edge list that the host writes, where lists are in host memory.
    """

    mode: str
    why: str
    device: str = CPU
    alpha: float | None = None
    pages: Mapping[int, PageDecision] | None = None
    order: Sequence[int] | None = None
    sharing: tuple[Sharing, ...] = ()
    keeps_sums: bool = False
    ahead: Ahead | None = None
    reenters: bool = False
    compacts: bool = False


@dataclass
class Supersteps:
    """Several supersteps that an executor did at once: each array has one element for each of them, in order.

    Attributes
    ----------
    active, active_edges : ndarray of int64
        Number of vertices that were active at its end, and the sum of their out-degrees.
    seconds : ndarray of float64
        The last one's is 0: the executor has not measured it.
    followed : ndarray of int64
        Out-edges followed: those of the vertices that were active at its beginning, unless some of these had to wait
        for others of smaller priority; in a pull, all edges.
    pulled : ndarray of bool
        Whether it pulled.
    push, pull : PageDecision
        How edges were processed in those that pushed, and in those that pulled.
    waited : ndarray of int64 or None
        Vertices that waited for later buckets and were looked at, to open the next one; None if that was not counted.
    """

    active: Array
    active_edges: Array
    seconds: Array
    followed: Array
    pulled: Array
    push: PageDecision
    pull: PageDecision
    waited: Array | None = None

    def __len__(self) -> int:
        return len(self.active)


@dataclass
class PageResult:
    """What one page did.

    Attributes
    ----------
    edges : int
        In-edges gathered, or out-edges followed.
    active, active_edges, changeable : int
        Number of vertices activated, the sum of their out-degrees, and how many of them may change again.
    partials : ndarray or None
        Partial sums of the program's `aggregate`, in a fixed order.
    skipped : bool
        No vertex of the page was notified.
    to_device, from_device : int
        Bytes copied to the GPU's memory and back.
    how : PageDecision or None
        How the page was processed; None if it was processed as the decision says for all pages.
    supersteps : Supersteps or None
        If the executor did several at once: all of them. The rest of this result is then about the last one.
    bucket : OpenBucket or None
        If it opened buckets on the way: the last one.
    counts : PartitionCounts or None
        What was known of all partitions before, if the engine chose how the edges of each reach the GPU.
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
    supersteps: Supersteps | None = None
    bucket: OpenBucket | None = None
    counts: PartitionCounts | None = None


OnComplete = Callable[[Page, PageResult], None]
"""``on_complete(page, result)`` is told of each page, or part of one, that a device has processed."""


class OpenBucket(NamedTuple):
    """The bucket that is open (dispatch/buckets.py).

    Attributes
    ----------
    step : number
        How far it reaches beyond the least priority.
    edges, followed : int
        Edges that led from its vertices when it was opened, and edges that have been followed since.
    """

    step: Any
    edges: int
    followed: int


@dataclass
class StepResult:
    """What an iteration did.

    Attributes
    ----------
    pages : list of PageResult
    followed : int
        Out-edges followed to find the vertices to update.
    device : {"cpu", "gpu", "both"}
        The processors that did the work; after a device failure they differ from the decision's.
    sharing : tuple of Sharing
        The decision's `sharing`, updated with this iteration's measurements; failed devices are left out.
    """

    pages: list[PageResult]
    followed: int
    device: str
    sharing: tuple[Sharing, ...] = ()


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


class Pages(Protocol):
    """A device's page queue: the pages of an iteration that it has not begun yet."""

    @property
    def edges(self) -> int:
        """Edges of the pages whose copy to the device is still to be made or in flight."""

    def steal(self, most: int | None) -> Page | None:
        """Remove work from the end of the queue for another processor: one contiguous piece of at most `most` edges, or
        any whole page if `most` is None; None if nothing is left."""

    def clear(self) -> None:
        """Empty the queue."""


class DeviceExecutor(Executor, Protocol):
    """An executor with its own memory, which can share an iteration with the host, page by page.

    After a `step`, which it does alone, the new values and the frontier are in its memory only (`State.leave_on`).

    Attributes
    ----------
    order : sequence of int or None
        The decision's `order`, if its pages are those that the decision numbers.
    """

    order: Sequence[int] | None

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
