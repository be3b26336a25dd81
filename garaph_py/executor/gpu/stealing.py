"""Work stealing between several GPUs: one that has begun all its streamed pages takes pages that another has not begun.

Every GPU has the values of all vertices, and the host's edges are pinned for all, so any GPU can process any page. What
it computes reaches the others, and the GPU that has the page's vertices, in the same way as for its own pages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ...pages.layout import Page
from ...pages.queue import PageQueue, take_buffered
from ..results import PageResult
from .buffers import Buffer
from .edges import page_bytes
from .work import PageWork

if TYPE_CHECKING:
    from .executor import GpuExecutor

Queue = PageQueue[Buffer]


class Thief:
    """Steals pages for one GPU (`pages.queue.Others`).

    It takes the last page of the GPU that has most left to begin, while that is more than is being copied to its own:
    else the other GPU would soon begin the page itself. So a GPU with a slow link does not take a last page that it
    would finish later.

    A page that it has stolen has a number behind those of the GPU's own pages, the same in all pulls of the run. There
    are as many such numbers as the GPU has tallies for. While the page is in one of the GPU's buffers, the GPU takes it
    in the next pull, too: otherwise it would be copied again, as would the page of its own that it has displaced.

    Parameters
    ----------
    gpu : GpuExecutor
    first : int
        How many pages the GPUs before it have.
    pages : sequence of Page
        Those of all GPUs.

    Attributes
    ----------
    victims : list of (PageQueue, int)
        The queues of the other GPUs, and how many pages the GPUs before each have.
    """

    def __init__(self, gpu: GpuExecutor, first: int, pages: Sequence[Page]) -> None:
        self._sizes, self._room, self._pages = gpu.edges.arrays, gpu.residency.buffer_bytes, pages
        self._first, self._own = first, len(gpu.residency.pages)
        self._most = len(gpu.launches.tallies) - self._own
        self._stolen: dict[int, int] = {}  # the numbers that it gives to stolen pages, by those among all pages
        self._originals: list[int] = []  # those among all pages, in the order of the numbers that it gives
        self.victims: list[tuple[Queue, int]] = []

    def peek(self, copying: int) -> Page | None:
        found = self._next(copying)
        return None if found is None else self._numbered(*found[1:])

    def pop(self, copying: int) -> Page | None:
        while (found := self._next(copying)) is not None:
            queue, first, page = found
            if queue.remove(page):
                stolen = self._numbered(first, page)
                if page.number + first not in self._stolen:
                    self._stolen[page.number + first] = stolen.number
                    self._originals.append(page.number + first)
                return stolen
        return None

    def keep(self, queue: Queue, free: deque[Buffer]) -> None:
        """Move stolen pages that are in the `free` buffers of streams to the GPU's own `queue`."""
        held = {buffer.page for buffer in free if buffer.page is not None and self.is_stolen(buffer.page)}
        taken = {page for page in held if self._take(page)}
        queue.buffered.extend(take_buffered(free, taken).items())

    def _take(self, stolen: Page) -> bool:
        """Take a page that the GPU has stolen before, if its own GPU would copy it; return whether it would."""
        page = self.of_all(stolen)
        return any(queue.remove(replace(page, number=page.number - first)) for queue, first in self.victims)

    def _next(self, copying: int) -> tuple[Queue, int, Page] | None:
        """The next page, with the number that its GPU gives it, and this GPU's queue and first page."""
        for queue, first in sorted(self.victims, key=lambda victim: -victim[0].waiting):
            if queue.waiting <= copying:
                return None
            page = queue.last(partial(self._fits, first))
            if page is not None:
                return queue, first, page
        return None

    def _fits(self, first: int, page: Page) -> bool:
        """Whether a page, of the GPU whose first page is number `first`, is whole and fits in a buffer."""
        number = page.number + first
        is_whole = replace(page, number=number) == self._pages[number]
        has_number = number in self._stolen or len(self._stolen) < self._most
        return is_whole and has_number and self._room > 0 and page_bytes(page, self._sizes) <= self._room

    def _numbered(self, first: int, page: Page) -> Page:
        """The page with the number that it has, or will have, if this GPU steals it."""
        return replace(page, number=self._stolen.get(page.number + first, self._own + len(self._stolen)))

    def is_stolen(self, page: Page) -> bool:
        """Whether the GPU has stolen this one of the pages that it processes."""
        return page.number >= self._own

    def divided(self, pages: Iterable[Page]) -> tuple[list[Page], list[Page]]:
        """The GPU's own ones of the pages that it has processed, and those that it has stolen."""
        own, stolen = list[Page](), list[Page]()
        for page in pages:
            (stolen if self.is_stolen(page) else own).append(page)
        return own, stolen

    def of_all(self, page: Page) -> Page:
        """A page, or a part of one, that the GPU processes, with its number among those of all GPUs."""
        if not self.is_stolen(page):
            return replace(page, number=page.number + self._first)
        return self._pages[self._originals[page.number - self._own]]


class Stealing:
    """The thieves of several GPUs that are initialized.

    Parameters
    ----------
    gpus : sequence of GpuExecutor
    firsts : sequence of int
        How many pages the GPUs before each have.
    pages : sequence of Page
        Those of all.
    """

    def __init__(self, gpus: Sequence[GpuExecutor], firsts: Sequence[int], pages: Sequence[Page]) -> None:
        self.thieves = [Thief(gpu, first, pages) for gpu, first in zip(gpus, firsts, strict=True)]
        self._firsts, self._gpus = firsts, gpus

    def allow(self, queues: Sequence[Queue]) -> None:
        """Let the GPUs with these queues steal pages from each other, if their gathers take any page."""
        if not all(gpu.gather.takes_parts for gpu in self._gpus):
            return
        for k, (queue, thief, gpu) in enumerate(zip(queues, self.thieves, self._gpus, strict=True)):
            thief.victims = [(other, self._firsts[j]) for j, other in enumerate(queues) if j != k]
            queue.others = thief
            if gpu.residency.keeps:
                thief.keep(queue, gpu.streams.buffers.free)

    def seconds_of_own(self, seconds: Sequence[float], works: Sequence[PageWork]) -> list[float]:
        """How long each GPU would have taken for its own pages alone; its work, stolen pages included, took so many
        `seconds`."""
        pulled = [sum(edges for _, edges, _ in work.ways.values()) for work in works]
        every = zip(seconds, self._gpus, pulled, strict=True)
        return [took * gpu.residency.edges / edges if edges else np.inf for took, gpu, edges in every]

    def in_order(self, found: Sequence[list[PageResult]], works: Sequence[PageWork]) -> list[PageResult]:
        """The results of all GPUs; partial totals are in the order of the pages, whoever has processed these."""
        results = list(chain.from_iterable(found))
        if works[0].has_total and any(map(self._any_stolen, self.thieves, works)):
            pages = sorted((page.first_vertex, k, page.number) for k, work in enumerate(works) for page in work.done)
            for result in results:
                result.partials = None
            partials = [works[k].tallies["partial"][number : number + 1] for _, k, number in pages]
            results[0].partials = np.concatenate(partials)
        return results

    def _any_stolen(self, thief: Thief, work: PageWork) -> bool:
        return any(map(thief.is_stolen, work.done))
