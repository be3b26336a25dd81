"""What the dispatcher tells an executor to do in an iteration, and how host and devices divide its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..pages.layout import Page
from .modes import CPU


class PageDecision(NamedTuple):
    """How one page is processed: direction, processor, and how its edges reach the processor (constants of `modes`).

    In a decision, `transfer` is one of the page's `Observation.transfers`, or None, which leaves it to the executor. A
    page that is ``"copied"`` is copied in this iteration, also if its edges are still on the GPU since the last one.
    """

    direction: str
    processor: str
    transfer: str | None = None


class Transfers(NamedTuple):
    """How the edges of a page may reach a GPU in a pull.

    Attributes
    ----------
    ways : tuple of str
        Constants of `modes`; the first is the way that the executor chooses.
    why : str
        Why there is only one; empty if there are several.
    """

    ways: tuple[str, ...]
    why: str = ""


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
        How many iterations it may do, if there is a limit. A GPU then does several only if they repeat.
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
        The reason for the decision, as the trace reports it; by default none.
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
    why: str = ""
    device: str = CPU
    alpha: float | None = None
    pages: Mapping[int, PageDecision] | None = None
    order: Sequence[int] | None = None
    sharing: tuple[Sharing, ...] = ()
    keeps_sums: bool = False
    ahead: Ahead | None = None
    reenters: bool = False
    compacts: bool = False
