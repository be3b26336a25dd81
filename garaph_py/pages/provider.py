"""`SourceFactory` makes a run's page sources: from arrays in memory, or from disks within a memory budget."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from threading import Lock
from typing import Any

import numpy.typing as npt

from ..events import Span
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..native import Kernel
from ..storage.disks import Disk
from ..storage.reader import ArrayReader
from .disk_source import DiskPageSource, OnBuffer, ignore
from .layout import Page, part_layout
from .memory import EdgeMemory, MemoryNeeds, arrays_on_disk
from .memory_source import MemoryPageSource, in_edges_of, out_edges_of
from .part_source import PartSource
from .source import HostSource, PageSource

Array = npt.NDArray[Any]

dividing = Lock()
"""A lock, held while a thread counts the users of arrays, and makes these keep records and checksums or give them
up."""


class SourceFactory:
    """Makes the page sources of a run. Use it in ``with``. If edges are on disk, call `divide` first.

    Parameters
    ----------
    graph : Graph
    reads_values : bool
        Whether the program reads edge values.
    spans : list of Span, optional
        The disks' threads append a span for each read; None when tracing is off.

    Attributes
    ----------
    disks : list of Disk
        Empty if the edges are in memory.
    """

    def __init__(self, graph: Graph, reads_values: bool, spans: list[Span] | None = None) -> None:
        self._arrays, self._reads_values, self._stack = graph._arrays, reads_values, ExitStack()
        self._open: list[DiskPageSource] = []
        self._memory: EdgeMemory | None = None
        self.disks: list[Disk] = []
        if graph.on_disk:
            for path in arrays_on_disk(graph._arrays.in_edges)[0].reader.paths:
                self.disks.append(Disk(str(path.parent), spans))
                self._stack.callback(self.disks[-1].close)
            for array in self._stored_arrays:
                self._stack.callback(array.users.discard, self)

    @property
    def room(self) -> int:
        """Bytes of memory for in-edges on disk; 0 if the edges are in memory."""
        return 0 if self._memory is None else self._memory.into

    @property
    def page_edges(self) -> int | None:
        """The bound on the in-edges of a page from disk that does not stay; None if the edges are in memory."""
        return None if self._memory is None else self._memory.page_edges

    @property
    def has_out(self) -> bool:
        """Whether `out` may be called: edges on disk have memory for out-edges only if iterations follow them."""
        return self._memory is None or self._memory.needs.follows_out

    @property
    def has_lists(self) -> bool:
        """Whether pushes may read lists of out-edges, with the values that the program reads: edges on disk have memory
        for that only if the run may push."""
        return self.has_out and (self._memory is None or self._memory.needs.pushes)

    @property
    def kernels(self) -> list[Kernel]:
        """The compiled functions that check edges from disk."""
        return list(dict.fromkeys(kernel for array in self._stored_arrays for kernel in array.kernels))

    @property
    def _stored_arrays(self) -> list[ArrayReader]:
        """The arrays of edges on disk, with those of out-edges and of values; none if edges are in memory."""
        sides = (self._arrays.in_edges, self._arrays.out_edges) if self._arrays.on_disk else ()
        return list(dict.fromkeys(array for edges in sides for array in arrays_on_disk(edges, True)))

    def divide(self, needs: MemoryNeeds) -> None:
        """Close all sources, and divide the graph's memory again for the sources that are made afterwards.

        Raises
        ------
        GraphError
            If nothing is left for edges.
        """
        self._close()
        if self._arrays.on_disk:
            self._memory = EdgeMemory(self._arrays, self._reads_values, needs)
            self._keep_parts(self._memory)

    def _keep_parts(self, memory: EdgeMemory) -> None:
        """Make the arrays keep the records and checksums for reading parts, or give them up, as `memory` says.

        Those that another run may use stay until a later run gives them up.
        """
        kept, summed = set(memory.parts), set(memory.summed)
        with dividing:
            for array in self._stored_arrays:
                array.users.add(self)
                if len(array.users) == 1 or not array.keeps_parts:
                    array.keep_parts(array in kept | summed, records=array in kept)

    def into(
        self, page_edges: int | None = None, pages: Sequence[Page] | None = None, elsewhere: int = 0,
        on_allocate: OnBuffer = ignore, on_free: OnBuffer = ignore, edges: Adjacency | None = None,
    ) -> PageSource:  # fmt: skip
        """Make a page source of the in-edges.

        Parameters
        ----------
        page_edges : int, optional
            Bound on a page's edges.
        pages : sequence of Page, optional
            The pages; if edges are on disk, those of a GPU, which are parts of what is read (`PartSource`).
        elsewhere : int
            The number of first `pages` that the GPU keeps in its own memory, if edges are on disk.
        on_allocate, on_free
            As for `DiskPageSource`.
        edges : Adjacency, optional
            Other edges in memory to use instead of the graph's own, such as packed ones.

        Raises
        ------
        GraphError
            If the memory is too little for a page.
        """
        into, memory = self._arrays.in_edges, self._memory
        if not into.on_disk:
            if (place := self._arrays.place) is not None and pages is None:
                pages = part_layout(into.offsets, place.pieces)
            if page_edges is None and pages is None and edges is None:
                return in_edges_of(self._arrays)
            return MemoryPageSource(into if edges is None else edges, page_edges, pages)
        assert memory is not None
        layout = memory.in_layout(page_edges, pages, elsewhere)
        self._keep_parts(memory)
        source = DiskPageSource(memory.in_arrays(), self._arrays.m, layout, self.disks, on_allocate, on_free)
        self._open.append(source)
        return source if pages is None else PartSource(source, pages)

    def of_host(self, source: PageSource) -> HostSource:
        """The source with which the CPU takes its turn beside a GPU, whose source of in-edges is given.

        Edges on disk are read by the GPU's source, to the same frames.
        """
        return source.whole if isinstance(source, PartSource) else in_edges_of(self._arrays)

    def out(self, own: PageSource | None, page_edges: int | None = None) -> PageSource:
        """Make a page source of the out-edges; on disk, with at most `page_edges` edges per page.

        If the graph is undirected and out-edges have no memory of their own, return `own`, the source of in-edges of
        the same thread.
        """
        out, memory = self._arrays.out_edges, self._memory
        if not out.on_disk:
            return out_edges_of(self._arrays)
        assert memory is not None
        assert self.has_out or memory.needs.tiles
        if own is not None and not memory.apart:
            return own.whole if isinstance(own, PartSource) else own
        layout = memory.out_layout(page_edges)
        self._open.append(DiskPageSource(memory.out_arrays(), self._arrays.m, layout, self.disks))
        return self._open[-1]

    def _close(self) -> None:
        for source in self._open:
            source.close()
        self._open.clear()

    def __enter__(self) -> SourceFactory:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._close()
