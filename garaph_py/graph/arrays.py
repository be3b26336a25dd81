"""The arrays of a graph: CSC for incoming edges, CSR for outgoing ones (Garaph section 2.1), and derived ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..codec.arrays import PACKED, RAW
from ..codec.codecs import Limits, in_memory, limits_of, merged
from ..native.threads import ThreadPool
from .adjacency import Adjacency
from .derived import Derived
from .ids import VertexIds
from .loops import self_loops
from .place import Place
from .tiles import Tiles
from .transpose import reversed_values

Array = npt.NDArray[Any]

IN_DEGREES, OUT_DEGREES, OUT_WEIGHTS = "in-degrees", "out-degrees", "sums of the values of out-edges"
PACKED_IN_EDGES = "packed in-edges"
PACKED_OUT_EDGES = {False: "packed out-edges", True: "packed out-edges with values"}
VALUED_OUT_EDGES = "values of out-edges"
REVERSED = {False: "the reversed graph without edge values", True: "the reversed graph"}
TILES = {False: "tiles", True: "tiles with values"}
"""Names in `GraphArrays.derived`."""


def reversing_bytes(m: int, n: int, dtype: np.dtype[Any], encoding: str) -> int:
    """Bytes of memory, beside the graph, that it takes to make the values of `m` out-edges.

    Values that are then encoded count twice.
    """
    return m * dtype.itemsize * (1 if encoding == RAW else 2) + 8 * n


@dataclass(frozen=True)
class GraphArrays:
    """What a `Graph` consists of. The package works with these arrays; users see the graph.

    Attributes
    ----------
    in_edges : Adjacency
        CSC: for each vertex its sources, with edge values.
    out_edges : Adjacency
        CSR: for each vertex its targets, usually without values, because it only serves to notify (section 2.1). An
        undirected graph stores its adjacency once, and this is `in_edges` itself.
    ids : VertexIds
        The user's ids.
    memory : int or None
        Bytes of memory that all arrays may take, see `Graph.memory`; None if there is no bound.
    place : Place or None
        If this is a part of a graph: what the undivided one knows of its vertices.
    reserved : int
        Bytes of `memory` that the caller of runs keeps for vectors of its own.
    derived : Derived
        Arrays that were made from these and are kept.
    """

    in_edges: Adjacency
    out_edges: Adjacency
    ids: VertexIds
    memory: int | None = None
    place: Place | None = None
    reserved: int = 0
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    @cached_property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.in_edges.offsets) - 1

    @cached_property
    def m(self) -> int:
        """Number of stored edges."""
        return int(self.in_edges.offsets[-1])

    @property
    def own(self) -> tuple[int, int]:
        """First and last of the vertices that runs update: all, but in a part of a graph the part's own."""
        return (0, self.n) if self.place is None else self.place.own

    @property
    def directed(self) -> bool:
        """Whether in-edges and out-edges differ."""
        return self.out_edges is not self.in_edges

    @property
    def encoding(self) -> str:
        """The codec of the edges: ``"raw"`` or ``"packed"``."""
        return self.in_edges.encoding

    @property
    def on_disk(self) -> bool:
        """Whether the edges are read from disk when they are needed."""
        return self.in_edges.on_disk

    @property
    def edge_dtype(self) -> np.dtype[Any] | None:
        """Type of the edge values, or None if there are none."""
        return self.in_edges.value_dtype

    @property
    def nbytes(self) -> int:
        """Bytes of both adjacencies in memory."""
        return self.in_edges.nbytes + (self.out_edges.nbytes if self.directed else 0)

    @property
    def raw_bytes(self) -> int:
        """Bytes that raw edges in memory would take (`nbytes`), plus what it takes to make the values of out-edges."""
        sides, dtype = 1 + self.directed, self.edge_dtype
        values = 0 if dtype is None else self.m * dtype.itemsize
        made = reversing_bytes(self.m, self.n, dtype, RAW) if dtype is not None and self.directed else 0
        return sides * (self.in_edges.offsets.nbytes + 4 * self.m) + values + made

    @cached_property
    def self_loops(self) -> int:
        """Number of self-loops; the edges must be in memory."""
        in_memory(self.in_edges.neighbour_array)
        with ThreadPool(None) as pool:
            return self_loops(self.in_edges, pool)

    @cached_property
    def value_limits(self) -> Limits:
        """The limits of the edge values; there must be edges, and they must have values.

        A graph directory stores the values of in-edges and of out-edges separately. Nothing guarantees that they are
        the same, so this reads both.
        """
        sides = [self.in_edges, self.out_edges] if self.directed else [self.in_edges]
        with ThreadPool() as pool:
            return merged([limits_of(edges.value_array, pool) for edges in sides if edges.value_array is not None])

    @property
    def in_degrees(self) -> Array:
        """The number of in-edges of each vertex: int64, shape (n,)."""
        return self.derived.get(IN_DEGREES, lambda: np.diff(self.in_edges.offsets), array_bytes)

    @property
    def out_degrees(self) -> Array:
        """The number of out-edges of each vertex: int64, shape (n,)."""
        return self.derived.get(OUT_DEGREES, lambda: np.diff(self.out_edges.offsets), array_bytes)

    @property
    def degree_offsets(self) -> Array:
        """Sums of out-degrees before each vertex: int64, shape (n + 1,); in a part, those of the undivided graph."""
        return self.out_edges.offsets if self.place is None else self.place.degree_offsets

    @property
    def largest_offset(self) -> int:
        """The largest of the offsets of in-edges and the `degree_offsets`, which in a part may exceed `m`."""
        return max(self.m, int(self.degree_offsets[-1]))

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

        In memory the values are made once, or read from the graph's directory, and kept in `derived`. On disk this is
        `out_edges` itself.
        """
        out = self.out_edges
        if out.on_disk or self.edge_dtype is None or out.value_dtype is not None:
            return out

        def make() -> Adjacency:
            read = self.derived.stored.get(VALUED_OUT_EDGES)
            values = None if read is None else read(pool)
            if values is None:
                values = reversed_values(self.in_edges, out.offsets, pool)
            return out.with_values(values, pool)

        return self.derived.get(VALUED_OUT_EDGES, make, lambda valued: valued.nbytes - out.nbytes)

    def reversed(self, valued: bool) -> GraphArrays:
        """The arrays of the graph with every edge turned round: CSC and CSR change places, and nothing is copied.

        If `valued`, edges have their values, which must be there or must fit (`has_valued_out_edges`).
        """

        def make() -> GraphArrays:
            if not valued:
                plain = self.without_values()
                return GraphArrays(plain.out_edges, plain.in_edges, self.ids, self.memory, reserved=self.reserved)
            with ThreadPool() as pool:
                return GraphArrays(
                    self.valued_out_edges(pool), self.in_edges, self.ids, self.memory, reserved=self.reserved
                )

        return self.derived.get(REVERSED[valued], make, lambda arrays: 0) if self.directed else self

    def without_values(self) -> GraphArrays:
        """The same edges without values."""
        into = self.in_edges.without_values()
        return GraphArrays(
            into,
            self.out_edges.without_values() if self.directed else into,
            self.ids,
            self.memory,
            reserved=self.reserved,
        )

    def has_tiles(self, weighted: bool) -> bool:
        """Whether `tiles` have been made, with edge values or without."""
        return TILES[bool(weighted)] in self.derived

    def made_tiles(self, weighted: bool) -> Tiles | None:
        """The `tiles`; None if they have not been made."""
        return cast("Tiles | None", self.derived.find(TILES[bool(weighted)]))

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

    def has_packed_out_edges(self, valued: bool) -> bool:
        """Whether `packed_out_edges` have been made, or the graph's edges are packed."""
        return self.encoding == PACKED or PACKED_OUT_EDGES[valued] in self.derived

    def packed_out_edges(self, valued: bool, pool: ThreadPool) -> Adjacency:
        """The out-edges, packed, with the edges' values if `valued`; made as `packed_in_edges` are."""
        edges = self.valued_out_edges(pool) if valued else self.out_edges
        if edges.encoding == PACKED:
            return edges
        name = PACKED_OUT_EDGES[valued]
        return self.derived.get(name, lambda: edges.encoded(PACKED, pool), lambda packed: packed.edge_bytes)

    def encoded(self, codec: str, pool: ThreadPool) -> GraphArrays:
        """The same arrays with edges in `codec`; this object if they are in it.

        Raises
        ------
        GraphError
            As in `Adjacency.encoded`.
        """
        made = codec == PACKED and self.has_packed_in_edges
        into = self.packed_in_edges(pool) if made else self.in_edges.encoded(codec, pool)
        out = self.out_edges.encoded(codec, pool) if self.directed else into
        same = into is self.in_edges and out is self.out_edges
        return self if same else replace(self, in_edges=into, out_edges=out)


def array_bytes(array: Array) -> int:
    return array.nbytes
