"""`SourceFactory`: where a run's pages come from, the graph's memory or disks and a budget of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy.typing as npt

from ..events import Span
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..storage.disks import Disk
from .disk_frames import RoomError
from .disk_source import DiskPageSource
from .layout import Page
from .memory import EdgeMemory, MemoryNeeds, arrays_on_disk
from .memory_source import MemoryPageSource
from .source import PageSource

Array = npt.NDArray[Any]


class SourceFactory:
    """Makes the page sources of a run; in ``with``. Where edges stay on disk, `divide` comes first.

    Parameters
    ----------
    graph : Graph
    reads_values : bool
        The program reads edge values.
    spans : list of Span, optional
        Receives when a disk reads.

    Attributes
    ----------
    disks : list of Disk
        Empty where the edges are in memory.
    """

    def __init__(self, graph: Graph, reads_values: bool, spans: list[Span] | None = None) -> None:
        self._graph, self._reads_values, self._stack = graph, reads_values, ExitStack()
        self._open: list[DiskPageSource] = []
        self._memory: EdgeMemory | None = None
        self.disks: list[Disk] = []
        if graph.in_edges.on_disk:
            for path in arrays_on_disk(graph.in_edges)[0].reader.paths:
                self.disks.append(Disk(str(path.parent), spans))
                self._stack.callback(self.disks[-1].close)
        self._stack.callback(self._close)

    @property
    def room(self) -> int:
        """Bytes of memory for in-edges that stay on disk; 0 where edges are in memory."""
        return 0 if self._memory is None else self._memory.into

    @property
    def readers(self) -> int:
        """Threads that share the pages of in-edges."""
        return 1 if self._memory is None else self._memory.needs.readers

    def divide(self, needs: MemoryNeeds) -> None:
        """Divide the graph's memory anew among the sources that are made from now on; earlier sources are closed.

        Raises
        ------
        GraphError
            If nothing is left for edges.
        """
        self._close()
        if self._graph.on_disk:
            self._memory = EdgeMemory(self._graph, self._reads_values, needs)

    def into(
        self, page_edges: int | None = None, pages: Sequence[Page] | None = None, elsewhere: int = 0,
        on_allocate: Callable[[Array], None] = lambda array: None, edges: Adjacency | None = None,
    ) -> PageSource:  # fmt: skip
        """A source of the in-edges, by pages.

        Parameters
        ----------
        page_edges, pages, elsewhere, on_allocate
            See `DiskPageSource`.
        edges : Adjacency, optional
            The edges, if they are in memory and not the graph's own.

        Raises
        ------
        GraphError
            If the memory is too little for a page.
        """
        into, memory = self._graph.in_edges, self._memory
        if not into.on_disk:
            return MemoryPageSource(into if edges is None else edges, page_edges, pages)
        assert memory is not None
        try:
            source = DiskPageSource(
                memory.in_arrays(), into.offsets, memory.into, self.disks, page_edges, pages, elsewhere, on_allocate,
                memory.needs.readers,
            )  # fmt: skip
        except RoomError as error:
            raise memory.too_little(error.least) from None
        self._open.append(source)
        return source

    def clone_for_thread(self, own: PageSource) -> PageSource:
        """A source of the in-edges for another thread than that of `own`; from disk, by the same pages."""
        if not isinstance(own, DiskPageSource):
            return self.into()
        self._open.append(own.clone_for_thread())
        return self._open[-1]

    def out(self, own: PageSource | None, page_edges: int | None = None) -> PageSource:
        """A source of the out-edges, by pages of at most `page_edges` on disk.

        It is `own`, the same thread's source of in-edges, if these are the out-edges too and have one division of the
        memory.
        """
        out, memory = self._graph.out_edges, self._memory
        if not out.on_disk:
            return MemoryPageSource(out, pages=[Page(0, 0, self._graph.n, 0, self._graph.m)])
        assert memory is not None
        if own is not None and not memory.apart:
            return own
        try:
            source = DiskPageSource(memory.out_arrays(), out.offsets, memory.out, self.disks, page_edges)
        except RoomError:
            raise memory.too_little() from None
        self._open.append(source)
        return source

    def _close(self) -> None:
        for source in self._open:
            source.close()
        self._open.clear()

    def __enter__(self) -> SourceFactory:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
