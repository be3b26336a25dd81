"""The out-edges as pushes read them: with their values, if the program reads these."""

from __future__ import annotations

from functools import cached_property

from ...graph.adjacency import Adjacency
from ...graph.arrays import GraphArrays
from ...native.threads import ThreadPool
from ...pages.memory_source import MemoryPageSource
from ...pages.source import PageSource
from ...program import BoundProgram
from .edges import Reader, reader_of


class OutEdges:
    """The out-edges of a graph, for the pushes of one program.

    Parameters
    ----------
    bound : BoundProgram
    arrays : GraphArrays
    pool : ThreadPool
    """

    def __init__(self, bound: BoundProgram, arrays: GraphArrays, pool: ThreadPool) -> None:
        self._arrays, self._pool = arrays, pool
        self._edge = bound.edge if bound.reads_edge_values else None

    @cached_property
    def edges(self) -> Adjacency:
        """The out-edges, with values if the program reads them; valued ones of a directed graph are made only once."""
        return self._arrays.out_edges if self._edge is None else self._arrays.valued_out_edges(self._pool)

    @cached_property
    def reader(self) -> Reader:
        return reader_of(self.edges, self._edge)

    def source(self, out_source: PageSource) -> PageSource:
        """Pages of the out-edges, with values if the program reads them; on disk, `out_source` has the values, too."""
        if self._arrays.on_disk or self.edges is self._arrays.out_edges:
            return out_source
        return MemoryPageSource(self.edges, pages=out_source.pages)
