"""The graph in memory: CSC for incoming edges, CSR for outgoing ones (Garaph section 2.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import PACKED, RAW
from ..codec.codecs import Limits, limits_of, merged
from ..native.threads import ThreadPool
from . import group
from .adjacency import Adjacency
from .compress import compress
from .derived import Derived
from .ids import VertexIds
from .tiles import Tiles
from .transpose import reversed_values

Array = npt.NDArray[Any]

IN_DEGREES, OUT_DEGREES = "in-degrees", "out-degrees"
PACKED_IN_EDGES = "packed in-edges"
VALUED_OUT_EDGES = "values of out-edges"
TILES = {False: "tiles", True: "tiles with values"}
"""Names in `Graph.derived`."""


def reversing_bytes(m: int, n: int, dtype: np.dtype[Any], encoding: str) -> int:
    """Bytes of memory, beside the graph, that it takes to make the values of `m` out-edges.

    Values that are then encoded count twice.
    """
    return m * dtype.itemsize * (1 if encoding == RAW else 2) + 8 * n


@dataclass(frozen=True)
class Graph:
    """An immutable graph, made by `read`, `open`, `from_edges`, `from_scipy`, `from_networkx` or a generator.

    Attributes
    ----------
    in_edges : Adjacency
        CSC: for each vertex its sources, with edge values.
    out_edges : Adjacency
        CSR: for each vertex its targets, usually without values, because it only serves to notify (section 2.1). An
        undirected graph stores its adjacency once, and this is `in_edges` itself.
    directed : bool
        False if every edge is stored in both directions.
    ids : VertexIds
        The user's ids.
    memory : int or None
        Bytes of memory that its arrays may take, including those that a run makes when it needs them; None if there is
        no bound. If edges are on disk, a run takes at most this much in total.
    directory : str or None
        The id of the graph directory from which it was opened; None for any other graph.
    derived : Derived
        Arrays that were made from these and are kept. ``graph.derived.release()`` frees them.
    """

    in_edges: Adjacency
    out_edges: Adjacency
    directed: bool
    ids: VertexIds
    memory: int | None = None
    directory: str | None = None
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.in_edges.offsets) - 1

    @property
    def m(self) -> int:
        """Number of stored edges: an undirected edge between two vertices counts twice."""
        return int(self.in_edges.offsets[-1])

    @property
    def encoding(self) -> str:
        """``"raw"``, or ``"packed"``: see `packed`."""
        return self.in_edges.encoding

    @property
    def on_disk(self) -> bool:
        """Whether the edges are read from disk as a run needs them: see `garaph_py.open`."""
        return self.in_edges.on_disk

    @property
    def k(self) -> float:
        """Ratio of sequential to random read speed of the edges' location (Garaph section 4.2); 1 in memory."""
        return self.in_edges.k

    @property
    def edge_dtype(self) -> np.dtype[Any] | None:
        """Type of the edge values, or None when the graph has none."""
        return self.in_edges.value_dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory, without those in `derived`."""
        shared = self.out_edges is self.in_edges
        return self.in_edges.nbytes + (0 if shared else self.out_edges.nbytes)

    @property
    def in_degrees(self) -> Array:
        """The number of in-edges of each vertex: int64, shape (n,)."""
        return self.derived.get(IN_DEGREES, lambda: np.diff(self.in_edges.offsets), array_bytes)

    @property
    def out_degrees(self) -> Array:
        """The number of out-edges of each vertex: int64, shape (n,)."""
        return self.derived.get(OUT_DEGREES, lambda: np.diff(self.out_edges.offsets), array_bytes)

    @cached_property
    def value_limits(self) -> Limits:
        """The limits of the edge values; there must be edges, and they must have values.

        A graph directory stores the values of in-edges and of out-edges separately. Nothing guarantees that they are
        the same, so this reads both.
        """
        sides = [self.in_edges] if self.out_edges is self.in_edges else [self.in_edges, self.out_edges]
        with ThreadPool() as pool:
            return merged([limits_of(edges.value_array, pool) for edges in sides if edges.value_array is not None])

    @property
    def raw_bytes(self) -> int:
        """Bytes that raw edges in memory would take (`nbytes`), plus what it takes to make the values of out-edges."""
        sides, dtype = 1 + self.directed, self.edge_dtype
        values = 0 if dtype is None else self.m * dtype.itemsize
        made = reversing_bytes(self.m, self.n, dtype, RAW) if dtype is not None and self.directed else 0
        return sides * (self.in_edges.offsets.nbytes + 4 * self.m) + values + made

    @property
    def has_valued_out_edges(self) -> bool:
        """Whether `valued_out_edges` has the edges' values, if the graph has any.

        It does not if the graph is on disk and was saved without them, or if making them takes more memory than the
        graph may use.
        """
        if self.on_disk:
            return self.edge_dtype is None or self.out_edges.value_dtype is not None
        made = self.bytes_to_reverse
        return not made or self.memory is None or self.nbytes + self.ids.nbytes + made <= self.memory

    @property
    def bytes_to_reverse(self) -> int:
        """Bytes that it takes to make the values of `valued_out_edges`; 0 if these exist or cannot be made."""
        dtype = self.edge_dtype
        known = self.out_edges.value_dtype is not None or VALUED_OUT_EDGES in self.derived
        return 0 if dtype is None or known or self.on_disk else reversing_bytes(self.m, self.n, dtype, self.encoding)

    def valued_out_edges(self, pool: ThreadPool) -> Adjacency:
        """`out_edges` with the edges' values, which push needs.

        In memory the values are made once, and kept in `derived`. On disk this is `out_edges` itself.
        """
        out = self.out_edges
        if out.on_disk or self.edge_dtype is None or out.value_dtype is not None:
            return out
        return self.derived.get(
            VALUED_OUT_EDGES,
            lambda: out.with_values(reversed_values(self.in_edges, out.offsets, pool), pool),
            lambda valued: valued.nbytes - out.nbytes,
        )

    def has_tiles(self, weighted: bool) -> bool:
        """Whether `tiles` have been made, with edge values or without."""
        return TILES[bool(weighted)] in self.derived

    def tiles(self, weighted: bool, make: Callable[[], Tiles]) -> Tiles:
        """The in-edges in tiles, made once and kept in `derived`.

        They take 4 bytes per edge, plus a copy of the edge values if `weighted`.
        """
        return self.derived.get(TILES[bool(weighted)], make, lambda tiles: tiles.nbytes)

    @property
    def has_packed_in_edges(self) -> bool:
        """Whether `packed_in_edges` have been made."""
        return PACKED_IN_EDGES in self.derived

    def packed_in_edges(self, pool: ThreadPool) -> Adjacency:
        """The in-edges, packed. If the graph's are raw, packed ones are made once and kept in `derived`."""
        edges = self.in_edges
        if edges.encoding == PACKED:
            return edges
        return self.derived.get(PACKED_IN_EDGES, lambda: edges.encoded(PACKED, pool), lambda packed: packed.edge_bytes)

    def packed(self, threads: int | None = None) -> Graph:
        """The same graph with its edges packed: 1.3 to 2.4 bytes each instead of 4; integer edge values are packed too.

        Packing halves the bytes to read from memory, over a link or from a disk, but the processor has to decode them.
        Values that are not integers, or span more than 32 bits, stay raw.

        Parameters
        ----------
        threads : int, optional
            By default every core that this process may use.

        Returns
        -------
        Graph
            A graph with its own arrays except offsets and ids; this graph itself if it is packed already.

        Raises
        ------
        GraphError
            If the edges of a vertex do not ascend.
        """

        def packed(edges: Adjacency, pool: ThreadPool) -> Adjacency:
            if edges is self.in_edges and self.has_packed_in_edges:
                return self.packed_in_edges(pool)
            return edges.encoded(PACKED, pool)

        return self._with(packed, threads)

    def unpacked(self, threads: int | None = None) -> Graph:
        """The same graph with raw edges: 4 bytes each, plus the edge value.

        Parameters
        ----------
        threads : int, optional

        Returns
        -------
        Graph
            A graph with its own arrays except offsets and ids; this graph itself if it is raw already.
        """
        return self._with(lambda edges, pool: edges.encoded(RAW, pool), threads)

    def _with(self, other: Callable[[Adjacency, ThreadPool], Adjacency], threads: int | None) -> Graph:
        """The graph with `other` edges, or itself if they are the same."""
        with ThreadPool(threads) as pool:
            into = other(self.in_edges, pool)
            out = into if self.out_edges is self.in_edges else other(self.out_edges, pool)
        same = into is self.in_edges and out is self.out_edges
        return self if same else replace(self, in_edges=into, out_edges=out)

    def symmetrized(self, threads: int | None = None) -> Graph:
        """The undirected graph with every edge in both directions, for programs that gather over ``both``.

        An edge between two vertices is then in the lists of both, with its value; a self-loop is in the list once.
        Edges that existed in both directions become parallel edges.
        """
        if not self.directed:
            return self
        with ThreadPool(threads) as pool:
            targets = group.expand(self.in_edges.offsets, pool)
        columns = [self.in_edges.neighbours, targets, self.in_edges.values]
        edges, _, ids = compress(columns, self.ids, directed=False, threads=threads)
        return Graph(edges, edges, False, ids)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weights = "" if self.edge_dtype is None else f", {self.edge_dtype} values"
        return f"<Graph: {self.n:,} vertices, {self.m:,} {kind} edges{weights}>"


def array_bytes(array: Array) -> int:
    return array.nbytes
