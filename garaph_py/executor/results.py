"""What an executor has done in an iteration: the whole of it, a page of it, and several supersteps at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from ..pages.layout import Page
from .decision import PageDecision, Sharing
from .partitions import PartitionCounts

Array = npt.NDArray[Any]


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
    pages : list of list of PageResult, or None
        The results of each, without partial sums; None if it did all edges in one way.
    """

    active: Array
    active_edges: Array
    seconds: Array
    followed: Array
    pulled: Array
    push: PageDecision
    pull: PageDecision
    waited: Array | None = None
    pages: list[list[PageResult]] | None = None

    def __len__(self) -> int:
        return len(self.active)


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
class PageResult:
    """What one page did, or several that were processed alike.

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
    pages : int
        The number of these pages.
    has_converged : bool
        The program's `converged` was asked after the last of several supersteps, and has ended the run.
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
    pages: int = 1
    has_converged: bool = False


OnComplete = Callable[[Page, PageResult], None]
"""``on_complete(page, result)`` is told of each page, or part of one, that a device has processed."""


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

    @property
    def page_count(self) -> int:
        return sum(page.pages for page in self.pages)

    @property
    def pages_skipped(self) -> int:
        return sum(page.pages for page in self.pages if page.skipped)
