"""Where a run's pages come from: the graph's memory, or disks and a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, cast

import numpy.typing as npt

from ..codec.arrays import PACKED
from ..errors import GraphError
from ..events import Span
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..storage.disks import Disk, checkers_of_disk
from ..storage.fit import check_run
from ..storage.reader import ArrayReader
from ..system.sizes import show_bytes
from .disk_source import DiskPageSource, RoomError, least_room
from .layout import Page
from .memory_source import MemoryPageSource
from .source import PageSource

Array = npt.NDArray[Any]

OUT_SHARE = 5
"""Out-edges that only serve to notify and to push have this part of the memory for edges, and their values as much."""
AT_HAND = 1 << 22
"""Bytes that are needed for anything else."""
BLOCKS_AT_HAND = 2
"""That a thread takes to check a packed block that it has read for the first time."""


class SourceFactory:
    """A graph's pages, for whoever works on them in a run; in ``with``. Where edges stay on disk, `divide` comes first.

    Parameters
    ----------
    graph : Graph
    reads_values : bool
        Edge values are of interest.
    spans : list of Span, optional
        Where to tell when a disk read.

    Attributes
    ----------
    disks : list of Disk
        None where the edges are in memory.
    readers : int
        Who shares the pages of in-edges.
    room : int
        Bytes of memory for these, where edges stay on disk.
    """

    room = 0

    def __init__(self, graph: Graph, reads_values: bool, spans: list[Span] | None = None) -> None:
        self._graph, self._reads_values, self._stack = graph, reads_values, ExitStack()
        self._open: list[DiskPageSource] = []
        self.disks: list[Disk] = []
        self.readers = 1
        into = graph.in_edges
        if into.on_disk:
            for path in self._arrays(into)[0].reader.paths:
                self.disks.append(Disk(str(path.parent), spans))
                self._stack.callback(self.disks[-1].close)
        self._stack.callback(self._close)

    def divide(
        self, vertices: int, readers: int = 1, apart: bool = False, pushes: bool = False, tiles: int = 0,
        verifies: bool = False,
    ) -> None:  # fmt: skip
        """Divide the graph's memory anew among those who read from now on; sources that there were are closed.

        Parameters
        ----------
        vertices : int
            Bytes of memory that the run takes beside edges.
        readers : int
            Processors that need pages: 1, or 2 where CPU and GPU share a run.
        apart : bool
            Out-edges have pages of their own, also where they are the in-edges.
        pushes : bool
            Edge values are of interest with out-edges too.
        tiles : int
            Bytes of memory that tiles take; out-edges are read to make them, and no others.
        verifies : bool
            It is the answer that is verified, as an error says.

        Raises
        ------
        GraphError
            If nothing is left for edges.
        """
        self._close()
        self.readers, into = readers, self._graph.in_edges
        if not into.on_disk:
            return
        arrays = self._arrays(into)
        taken = vertices + AT_HAND
        if into.encoding == PACKED:
            checkers = len(arrays[0].reader.paths) * max(checkers_of_disk(), 1)
            taken += checkers * BLOCKS_AT_HAND * arrays[0].array.block_bytes
        self._taken, self._tiles, self._verifies = taken, tiles, verifies
        self._apart, self._pushes = apart or self._graph.directed, pushes
        parts = len(self._out_arrays()) if self._apart else 0
        self._parts = (0, OUT_SHARE) if tiles else (OUT_SHARE - parts, parts)
        room = self._memory - taken - tiles
        if room <= 0:
            raise self._too_little()
        self._out_room = room * self._parts[1] // OUT_SHARE
        self.room = room if tiles else room - self._out_room

    def require(self, vertices: int) -> None:
        """Raise `GraphError` if a pass over the in-edges has no room beside so many bytes; sources are closed.

        These are all that graph and pass take, where the edges are in memory.
        """
        self.divide(vertices, verifies=True)
        into = self._graph.in_edges
        if not into.on_disk:
            takes = f"to verify the answer takes {show_bytes(vertices)} of memory"
            check_run(self._graph, vertices, takes, "leave the answer unverified")
        elif self.room < least_room(self._arrays(into, self._reads_values), into.offsets):
            raise self._too_little()

    @property
    def _memory(self) -> int:
        """Bytes that the run may take in all, where edges stay on disk."""
        return self._graph.memory or 0

    def _too_little(self, into_needs: int = 0) -> GraphError:
        """An error that says with how much memory the run can begin, where in-edges take so many bytes at least."""
        into, out = self._graph.in_edges, self._graph.out_edges
        needs = [0, 0]
        if self._parts[0]:
            needs[0] = max(into_needs, least_room(self._arrays(into, self._reads_values), into.offsets, self.readers))
        if self._parts[1]:
            needs[1] = least_room(self._out_arrays(), out.offsets)
        least = max(-(-bytes_ * OUT_SHARE // max(part, 1)) for bytes_, part in zip(needs, self._parts, strict=True))
        vertices = f"{show_bytes(self._taken)} of memory for the vertices"
        if self._tiles:
            tiles = f"{show_bytes(self._tiles)} of memory for tiles of the edges"
            vertices = f"{tiles}, {show_bytes(self._taken)} for the vertices"
        least_in_all = self._taken + self._tiles + least
        if self._tiles:  # for with so much memory the edges may no longer stay on disk
            least_in_all += max(self._graph.raw_bytes - self._graph.nbytes, 0)
        whole = show_bytes(least_in_all, up=True)
        what, otherwise = "the run", ""
        if self._tiles:
            otherwise = ", with which its edges are in memory too, or choose another mode"
        if self._verifies:
            what, otherwise = "to verify the answer", ", or leave the answer unverified"
        return GraphError(
            f"{what} takes {vertices} and {show_bytes(least)} for edges at hand, and may take "
            f"{show_bytes(self._memory)}; allow {whole} when the graph is opened (memory, --memory){otherwise}"
        )

    def _arrays(self, edges: Adjacency, values: bool = False) -> list[ArrayReader]:
        return cast(list[ArrayReader], edges.arrays(values))

    def _out_arrays(self) -> list[ArrayReader]:
        out = self._graph.out_edges
        return self._arrays(out, self._reads_values and self._pushes)

    def into(
        self, page_edges: int | None = None, pages: Sequence[Page] | None = None, elsewhere: int = 0,
        on_allocate: Callable[[Array], None] = lambda array: None, edges: Adjacency | None = None,
    ) -> PageSource:  # fmt: skip
        """The in-edges, by pages: see `DiskPageSource`; those in memory are ``edges``, if not the graph's."""
        into = self._graph.in_edges
        if not into.on_disk:
            return MemoryPageSource(into if edges is None else edges, page_edges, pages)
        arrays = self._arrays(into, self._reads_values)
        try:
            source = DiskPageSource(
                arrays, into.offsets, self.room, self.disks, page_edges, pages, elsewhere, on_allocate, self.readers
            )
        except RoomError as error:
            raise self._too_little(error.least) from None
        self._open.append(source)
        return source

    def clone_for_thread(self, own: PageSource) -> PageSource:
        """The in-edges for another thread than that of `own`; from disk, by the same pages."""
        if not isinstance(own, DiskPageSource):
            return self.into()
        self._open.append(own.clone_for_thread())
        return self._open[-1]

    def out(self, own: PageSource | None, page_edges: int | None = None) -> PageSource:
        """The out-edges, by pages, on disk of `page_edges` at most; those of `own`, which reads in-edges in the same
        thread, if they are the same."""
        out = self._graph.out_edges
        if not out.on_disk:
            return MemoryPageSource(out, pages=[Page(0, 0, self._graph.n, 0, self._graph.m)])
        if own is not None and not self._apart:
            return own
        try:
            source = DiskPageSource(self._out_arrays(), out.offsets, self._out_room, self.disks, page_edges)
        except RoomError:
            raise self._too_little() from None
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
