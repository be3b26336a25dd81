"""The page queue: a device takes pages from its front, and other processors and devices steal pages from its back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from .layout import Page

Slot = TypeVar("Slot")
"""The type of the memory of a page's edges on the device. The queue only passes slots on."""
Split = Callable[[Page, int], tuple[Page | None, Page]]
"""``split(page, edges)`` cuts a page in two; the last part has about `edges` edges (`pages.layout.cut`)."""


class Others(Protocol):
    """Pages that other devices have to copy. A device steals some of them once it has begun all of its own."""

    def peek(self, copying: int) -> Page | None:
        """The next page to steal, if there is one, by a device to which `copying` edges are being copied; the page
        stays where it is."""

    def pop(self, copying: int) -> Page | None:
        """Steal the next page, if there is one."""


@dataclass
class PageQueue(Generic[Slot]):
    """The pages of one iteration that no processor has taken yet. Any thread may call its methods.

    Attributes
    ----------
    buffered : deque of (Page, Slot)
        Pages whose edges are still in the buffer of a stream. Streamed pages wait for these buffers, so the device
        takes buffered pages first, and no other processor may steal them.
    resident : deque of (Page, Slot)
        Pages whose edges stay on the device.
    streamed : deque of Page
        Pages whose edges have to be copied to the device.
    split : callable or None
        See `Split`. None if the device cannot process a part of a page.
    own : frozenset of int
        Numbers of the pages that no other processor may steal.
    copying : int
        Edges of the pages that are being copied.
    others : Others or None
        What the device takes once it has begun all of `streamed`.
    """

    buffered: deque[tuple[Page, Slot]]
    resident: deque[tuple[Page, Slot]]
    streamed: deque[Page]
    split: Split | None
    own: frozenset[int] = frozenset()
    copying: int = 0
    others: Others | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(
        cls, pages: Iterable[Page], buffered: Mapping[Page, Slot], resident: Mapping[Page, Slot],
        split: Split | None = None, own: frozenset[int] = frozenset(),
    ) -> PageQueue[Slot]:  # fmt: skip
        """A queue of `pages` in the given order; the mappings hold the slots of the pages that are on the device."""
        queue = cls(deque(), deque(), deque(), split, own)
        for page in pages:
            if page in resident:
                queue.resident.append((page, resident[page]))
            elif page in buffered:
                queue.buffered.append((page, buffered[page]))
            else:
                queue.streamed.append(page)
        return queue

    @property
    def is_empty(self) -> bool:
        return not (self.buffered or self.resident or self.streamed or (self.others and self.others.peek(0)))

    @property
    def edges(self) -> int:
        """Edges of the pages that have to be copied or are being copied."""
        with self.lock:
            return self.copying + sum(page.edges for page in self.streamed)

    @property
    def waiting(self) -> int:
        """Edges of the pages whose copies have not begun."""
        with self.lock:
            return sum(page.edges for page in self.streamed)

    def pop_on_device(self) -> tuple[Page, Slot] | None:
        """Take the next page that is on the device, if there is one."""
        with self.lock:
            pages = self.buffered or self.resident
            return pages.popleft() if pages else None

    def peek_streamed(self) -> Page | None:
        """The next page to copy, if there is one; the page stays in the queue.

        Before the caller takes it, another thread can steal it: one of the device's own only if it is the last one.
        """
        with self.lock:
            if self.streamed:
                return self.streamed[0]
        return self.others.peek(self.copying) if self.others else None

    def pop_streamed(self, own_only: bool = False) -> Page | None:
        """Take the next page to copy, if there is one; its edges count as `copying` until `arrived` is called.

        With `own_only` it takes no page of another device.
        """
        with self.lock:
            if self.streamed:
                page = self.streamed.popleft()
                self.copying += page.edges
                return page
        stolen = None if own_only or self.others is None else self.others.pop(self.copying)
        if stolen is not None:
            with self.lock:
                self.copying += stolen.edges
        return stolen

    def arrived(self, page: Page) -> None:
        """Record that the copy of a page has ended."""
        with self.lock:
            self.copying -= page.edges

    def arrange(self, order: Callable[[Iterable[Page]], list[Page]]) -> None:
        """Bring the pages to copy into another order."""
        with self.lock:
            self.streamed = deque(order(self.streamed))

    def streamed_pages(self) -> list[Page]:
        """The pages to copy, in order."""
        with self.lock:
            return list(self.streamed)

    def steal(self, most: int | None) -> Page | None:
        """Take the last page to copy, or the end of it, for another processor; None if there is nothing to steal.

        Parameters
        ----------
        most : int or None
            Bound on the edges. The method takes about half as many, so that the rest can be shared again. The result
            may span several adjacent pages. If `most` is None, it is one whole page; a resident one if no streamed page
            is left.
        """
        with self.lock:
            if most is None:
                return self._pop_last_page()
            taken = None
            while (at := self._last(reversed(self.streamed))) is not None:
                if (left := most // 2 - (taken.edges if taken else 0)) <= 0:
                    break
                page, rest = self.streamed[at], None
                if taken is not None and page.last_vertex != taken.first_vertex:
                    break
                if self.split is not None and page.edges > left:
                    rest, page = self.split(page, left)
                if page.edges > left + most // 2:
                    break
                if rest is None:
                    del self.streamed[at]
                else:  # replace in place: a thread that reads `is_empty` without the lock must not see an empty queue
                    self.streamed[at] = rest
                taken = (
                    page if taken is None else replace(page, last_vertex=taken.last_vertex, last_edge=taken.last_edge)
                )
            return taken

    def _pop_last_page(self) -> Page | None:
        """Take the last page that may be stolen, if there is one; a resident one if no such page is streamed."""
        if (at := self._last(reversed(self.streamed))) is not None:
            page = self.streamed[at]
            del self.streamed[at]
        elif (at := self._last(page for page, _ in reversed(self.resident))) is not None:
            page, _ = self.resident[at]
            del self.resident[at]
        else:
            return None
        return page

    def _last(self, backwards: Iterable[Page]) -> int | None:
        """The place, counted from the end as -1, -2, ..., of the last page that may be stolen; None if none may."""
        return next((-k for k, page in enumerate(backwards, 1) if page.number not in self.own), None)

    def last(self, fits: Callable[[Page], bool]) -> Page | None:
        """The last page to copy that may be stolen and `fits`, if there is one; it stays in the queue."""
        with self.lock:
            return next((page for page in reversed(self.streamed) if page.number not in self.own and fits(page)), None)

    def remove(self, page: Page) -> bool:
        """Steal this page to copy, if it may be stolen and nobody has taken it or a part of it; return whether it was
        there."""
        with self.lock:
            is_there = page.number not in self.own and page in self.streamed
            if is_there:
                self.streamed.remove(page)
            return is_there

    def clear(self) -> None:
        """Drop all pages, so that no processor takes them."""
        with self.lock:
            for pages in (self.buffered, self.resident, self.streamed):
                pages.clear()


class HoldsPage(Protocol):
    """A buffer that keeps the edges of a page until another page's are copied to it."""

    page: Page | None


PageBuffer = TypeVar("PageBuffer", bound=HoldsPage)


def take_buffered(free: deque[PageBuffer], wanted: Container[Page]) -> dict[Page, PageBuffer]:
    """Remove from `free` the buffers that hold a wanted page, and return them."""
    buffered: dict[Page, PageBuffer] = {}
    for _ in range(len(free)):
        buffer = free.popleft()
        if buffer.page is not None and buffer.page in wanted and buffer.page not in buffered:
            buffered[buffer.page] = buffer
        else:
            free.append(buffer)
    return buffered


def in_order(pages: Iterable[Page], order: Sequence[int]) -> list[Page]:
    """`pages`, or parts of pages, in the `order` of their numbers."""
    places = {number: place for place, number in enumerate(order)}
    return sorted(pages, key=lambda page: places[page.number])


def device_order(pages: Iterable[Page], shared: bool, order: Sequence[int] | None = None) -> list[Page]:
    """The order in which a device takes `pages`: the `order` of their numbers, if a policy has decided on one.

    Otherwise, the page with the most vertices comes first, so that the copy of its new values to the host overlaps with
    the following pages. If the pages are `shared`, they keep the order of their vertices, so that other processors
    steal adjacent pages.
    """
    if order is not None:
        return in_order(pages, order)
    return sorted(pages, key=lambda page: page.number if shared else page.first_vertex - page.last_vertex)
