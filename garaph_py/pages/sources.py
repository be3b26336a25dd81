"""Where a run's pages come from: the graph's memory, or disks and a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy.typing as npt

from ..errors import GraphError
from ..events import Span
from ..graph import Graph, StoredAdjacency
from ..graph.graph import PACKED, Edges
from ..sizes import show_bytes
from .disks import Disk, threads_of_disk
from .layout import Page
from .memory import MemorySource
from .source import PageSource
from .stored import StoredSource
from .stored_blocks import StoredBlocks

Array = npt.NDArray[Any]

OUT_SHARE = 5
"""Out-edges that only serve to notify have this part of the memory for edges."""
AT_HAND = 1 << 22
"""Bytes that are needed for anything else."""
BLOCKS_AT_HAND = 2
"""That each thread of a disk takes to check a packed block that it has read for the first time."""


class Sources:
    """A graph's pages, for whoever works on them in a run; in ``with``.

    Parameters
    ----------
    graph : Graph
    reads_values : bool
        Edge values are of interest.
    vertices : int
        Bytes of memory that the run takes beside edges.
    workers : int
        Processors that each need pages of their own: 1, or 2 where CPU and GPU share a run.
    apart : bool
        Out-edges have pages of their own, also where they are the in-edges.
    spans : list of Span, optional
        Where to tell when a disk read.

    Attributes
    ----------
    disks : list of Disk
        None where the edges are in memory.

    Raises
    ------
    GraphError
        If what the graph's memory leaves for edges is too little.
    """

    def __init__(
        self, graph: Graph, reads_values: bool, vertices: int, workers: int = 1, apart: bool = False,
        spans: list[Span] | None = None,
    ) -> None:  # fmt: skip
        self._graph, self._reads_values, self._stack = graph, reads_values, ExitStack()
        self.disks: list[Disk] = []
        into = graph.in_edges
        if not isinstance(into, StoredAdjacency):
            return
        arrays = self._arrays(into)
        taken = vertices + AT_HAND
        if into.encoding == PACKED:
            taken += len(arrays[0].reader.paths) * threads_of_disk() * BLOCKS_AT_HAND * arrays[0].array.block_bytes
        room = into.memory - taken
        if room <= 0:
            raise GraphError(
                f"the run takes {show_bytes(taken)} of memory for the vertices alone, and may take "
                f"{show_bytes(into.memory)}; allow more when the graph is opened (memory, --memory)"
            )
        self._apart = apart or graph.directed
        self._out_room = room // OUT_SHARE
        self.room = (room - self._out_room if self._apart else room) // workers
        for path in arrays[0].reader.paths:
            self.disks.append(Disk(str(path.parent), spans))
            self._stack.callback(self.disks[-1].close)

    def _arrays(self, edges: StoredAdjacency, values: bool = False) -> list[StoredBlocks]:
        return [array for array in edges.arrays(values) if isinstance(array, StoredBlocks)]

    def into(
        self, page_edges: int | None = None, pages: Sequence[Page] | None = None, elsewhere: int = 0,
        made: Callable[[Array], None] = lambda array: None, edges: Edges | None = None,
    ) -> PageSource:  # fmt: skip
        """The in-edges, by pages: see `StoredSource`; those in memory are ``edges``, if not the graph's."""
        into = self._graph.in_edges
        if not isinstance(into, StoredAdjacency):
            return MemorySource(into if edges is None else edges, page_edges, pages)
        arrays = self._arrays(into, self._reads_values)
        source = StoredSource(arrays, into.offsets, self.room, self.disks, into.k, page_edges, pages, elsewhere, made)
        self._stack.callback(source.close)
        return source

    def out(self, own: PageSource | None) -> PageSource:
        """The out-edges, by pages; those of `own`, which reads in-edges in the same thread, if they are the same."""
        out = self._graph.out_edges
        if not isinstance(out, StoredAdjacency):
            return MemorySource(out, pages=[Page(0, 0, self._graph.n, 0, self._graph.m)])
        if own is not None and not self._apart:
            return own
        source = StoredSource(self._arrays(out), out.offsets, self._out_room, self.disks, out.k)
        self._stack.callback(source.close)
        return source

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
