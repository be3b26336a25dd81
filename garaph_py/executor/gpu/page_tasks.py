"""The arguments of kernels over pages, most of which are the same in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from ...pages.layout import Page
from .buffers import Buffer
from .edges import EdgeLayout
from .gather import Gather
from .run_arrays import RunArrays
from .streams import Streams

Array = npt.NDArray[Any]


class PageTasks:
    """Makes the arguments of kernels over pages.

    Parameters
    ----------
    arrays : RunArrays
    edges : EdgeLayout
    streams : Streams
    gather : Gather
    pages : list of Page
        All pages. Others may have greater numbers: those that the GPU takes from another one (`stealing`).
    every : Page
        All of `pages` as one.
    tallies : int
        The address of the pages' counts.

    Attributes
    ----------
    of_every : ndarray
        The arguments of `every`, without in-edges.
    """

    def __init__(
        self, arrays: RunArrays, edges: EdgeLayout, streams: Streams, gather: Gather, pages: list[Page], every: Page,
        tallies: int,
    ) -> None:  # fmt: skip
        self._arrays, self._edges, self._streams, self._gather = arrays, edges, streams, gather
        self._pages, self.tallies = pages, tallies
        self._known: dict[tuple[Page, int], bytes] = {}
        self._every, bases = every, self._base([*pages, every])
        self._bases, self.of_every = bases[: len(pages)], bases[len(pages) :]

    def of(self, page: Page, buffer: Buffer) -> Array:
        """The argument of a kernel over `page`, whose edges are in `buffer`."""
        key = page, buffer.addresses[0]
        arguments = self._known.get(key)
        if arguments is None:
            arguments = self._made(page, buffer)
            whole = self._pages[page.number] if page.number < len(self._pages) else page
            if page.first_edge == whole.first_edge and page.last_edge >= whole.last_edge:  # a part is unlikely to recur
                self._known[key] = arguments
        return self._arrays.task_of(arguments)

    def of_all(self) -> Array:
        """The argument of a kernel over all vertices, without in-edges."""
        return self._arrays.task_of(self.of_every.tobytes())

    def _made(self, page: Page, buffer: Buffer) -> bytes:
        """The bytes of a page's arguments."""
        if page == self._every:
            arguments = self.of_every.copy()
        else:
            is_whole = page.number < len(self._pages) and page == self._pages[page.number]
            arguments = self._bases[[page.number]] if is_whole else self._base([page])
        if buffer.rest is None:
            self._edges.write_args(arguments, page, self._streams.buffers.places(page, buffer))
            return arguments.tobytes()
        mapped, here = buffer.rest
        mapped.layout.write_args(arguments, here or page, buffer.addresses)
        if here is not None:
            mapped.layout.write_mapped(arguments, here, mapped.addresses)
        return arguments.tobytes()

    def _base(self, pages: Sequence[Page]) -> Array:
        """The arguments of pages, without the addresses of their edges."""
        arguments = self._arrays.page_arguments(pages, self.tallies)
        self._gather.write_args(arguments, pages)
        return arguments
