"""The graph in memory: CSC for incoming edges, CSR for outgoing ones (Garaph section 2.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ..codec.format import LISTS, NUMBERS, Packed
from ..codec.pack import pack, unpack
from ..native.threads import ThreadPool
from .ids import VertexIds
from .stored import StoredAdjacency

if TYPE_CHECKING:
    from .tiles import Tiles

Array = npt.NDArray[Any]
_making = RLock()

RAW, PACKED = "raw", "packed"
ENCODINGS = (RAW, PACKED)
EDGE_DTYPES = tuple(map(np.dtype, (np.int32, np.uint32, np.int64, np.float32, np.float64)))


@dataclass(frozen=True)
class Adjacency:
    """Edges grouped by one endpoint.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Edges of vertex v stand at ``offsets[v]`` to ``offsets[v + 1]``.
    neighbours : ndarray of uint32, shape (m,)
        The other endpoint, ascending within a vertex.
    values : ndarray, shape (m,), optional
        Edge values (one of `EDGE_DTYPES`).
    """

    offsets: Array
    neighbours: Array
    values: Array | None = None

    @property
    def encoding(self) -> str:
        return RAW

    @property
    def has_packed_values(self) -> bool:
        return False

    @property
    def value_dtype(self) -> np.dtype[Any] | None:
        return None if self.values is None else self.values.dtype

    @property
    def least_value(self) -> Any:
        """The least edge value; of edges that there are, with values."""
        assert self.values is not None
        return self.values.min()

    def with_values(self, values: Array, pool: ThreadPool) -> Adjacency:
        """The same edges with these values."""
        return replace(self, values=values)

    @property
    def nbytes(self) -> int:
        values = 0 if self.values is None else self.values.nbytes
        return int(self.offsets.nbytes + self.neighbours.nbytes + values)


@dataclass(frozen=True)
class PackedAdjacency:
    """Edges grouped by one endpoint, the other endpoint packed: about 2 bytes an edge instead of 4.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    packed : Packed
        The other endpoints, as `LISTS`.
    packed_values : Packed or ndarray or None
        Edge values: integers packed as `NUMBERS` where they fit, others as they are.
    """

    offsets: Array
    packed: Packed
    packed_values: Packed | Array | None = None

    @property
    def encoding(self) -> str:
        return PACKED

    @property
    def has_packed_values(self) -> bool:
        return isinstance(self.packed_values, Packed)

    @property
    def value_dtype(self) -> np.dtype[Any] | None:
        return None if self.packed_values is None else self.packed_values.dtype

    @property
    def least_value(self) -> Any:
        """The least edge value; of edges that there are, with values."""
        values = self.packed_values
        assert values is not None
        return values.least if isinstance(values, Packed) else values.min()

    @classmethod
    def of(cls, edges: Adjacency | StoredAdjacency, pool: ThreadPool) -> PackedAdjacency:
        """`edges` packed."""
        packed = pack(edges.neighbours, LISTS, pool, edges.offsets)
        assert packed is not None  # neighbours have 32 bits
        plain = cls(edges.offsets, packed)
        return plain if edges.values is None else plain.with_values(edges.values, pool)

    def with_values(self, values: Array, pool: ThreadPool) -> PackedAdjacency:
        """The same edges with these values, packed if they fit."""
        packed = pack(values, NUMBERS, pool)
        return replace(self, packed_values=values if packed is None else packed)

    def unpacked(self, pool: ThreadPool) -> Adjacency:
        """The same edges as they are."""
        values = self.packed_values
        if isinstance(values, Packed):
            values = unpack(values, NUMBERS, pool)
        return Adjacency(self.offsets, unpack(self.packed, LISTS, pool, self.offsets), values)

    @property
    def neighbours(self) -> Array:
        """The other endpoints unpacked anew: uint32, shape (m,)."""
        with ThreadPool() as pool:
            return unpack(self.packed, LISTS, pool, self.offsets)

    @property
    def values(self) -> Array | None:
        """Edge values, unpacked anew if they are packed."""
        if not isinstance(self.packed_values, Packed):
            return self.packed_values
        with ThreadPool() as pool:
            return unpack(self.packed_values, NUMBERS, pool)

    @property
    def nbytes(self) -> int:
        values = 0 if self.packed_values is None else self.packed_values.nbytes
        return int(self.offsets.nbytes + self.packed.nbytes + values)


Edges = Adjacency | PackedAdjacency | StoredAdjacency


def reversing_bytes(m: int, n: int, dtype: np.dtype[Any], encoding: str) -> int:
    """Bytes that values of `m` out-edges take while they are made, beside the graph: packed ones twice."""
    return m * dtype.itemsize * (2 if encoding == PACKED else 1) + 8 * n


@dataclass(frozen=True)
class Graph:
    """A graph, immutable; made by `read`, `open`, `from_edges`, `from_scipy`, `from_networkx` or a generator.

    Attributes
    ----------
    in_edges : Adjacency, PackedAdjacency or StoredAdjacency
        CSC: for each vertex its sources, with edge values.
    out_edges : Adjacency, PackedAdjacency or StoredAdjacency
        CSR: for each vertex its targets, without values where it only serves to notify (section 2.1). An undirected
        graph stores its adjacency once, and this is `in_edges` itself.
    directed : bool
        False when every edge stands in both directions.
    ids : VertexIds
        The user's ids.
    memory : int or None
        Bytes that its arrays may take, also those made when a run needs them; None if nobody bounded them.
    directory : str or None
        What the directory that it was opened from has alone, to be known again by; not that of other edges.
    """

    in_edges: Edges
    out_edges: Edges
    directed: bool
    ids: VertexIds
    memory: int | None = None
    directory: str | None = None

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
        return isinstance(self.in_edges, StoredAdjacency)

    @property
    def k(self) -> float:
        """Sequential over random read speed of where the edges are (Garaph section 4.2); 1 in memory."""
        return self.in_edges.k if isinstance(self.in_edges, StoredAdjacency) else 1.0

    @property
    def edge_dtype(self) -> np.dtype[Any] | None:
        """Type of the edge values, or None when the graph has none."""
        return self.in_edges.value_dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory."""
        shared = self.out_edges is self.in_edges
        return self.in_edges.nbytes + (0 if shared else self.out_edges.nbytes)

    @cached_property
    def in_degrees(self) -> Array:
        return np.diff(self.in_edges.offsets)

    @cached_property
    def out_degrees(self) -> Array:
        return np.diff(self.out_edges.offsets)

    @cached_property
    def least_value(self) -> Any:
        """The least edge value, NaN if one is; of a graph that has values and edges.

        In a directory those of out-edges stand by themselves, and nothing but this says that they are the same.
        """
        sides = [self.in_edges] if self.out_edges is self.in_edges else [self.in_edges, self.out_edges]
        return np.array([edges.least_value for edges in sides if edges.value_dtype is not None]).min()

    @property
    def raw_bytes(self) -> int:
        """What `nbytes` would be with raw edges in memory, and what it takes to make values of out-edges."""
        sides, dtype = 1 + self.directed, self.edge_dtype
        values = 0 if dtype is None else self.m * dtype.itemsize
        made = reversing_bytes(self.m, self.n, dtype, RAW) if dtype is not None and self.directed else 0
        return sides * (self.in_edges.offsets.nbytes + 4 * self.m) + values + made

    @property
    def has_valued_out_edges(self) -> bool:
        """Whether `valued_out_edges` have them, if the graph has any: not on disk, if it was saved without, nor in
        memory, if to make them takes more than it may."""
        if self.on_disk:
            return self.edge_dtype is None or self.out_edges.value_dtype is not None
        made = self.bytes_to_reverse
        return not made or self.memory is None or self.nbytes + self.ids.nbytes + made <= self.memory

    @property
    def bytes_to_reverse(self) -> int:
        """Bytes that it takes to make the values of `valued_out_edges`; 0 if nobody has to, or can."""
        dtype = self.edge_dtype
        known = self.out_edges.value_dtype is not None or "_valued_out_edges" in self.__dict__
        return 0 if dtype is None or known or self.on_disk else reversing_bytes(self.m, self.n, dtype, self.encoding)

    def valued_out_edges(self, pool: ThreadPool) -> Edges:
        """`out_edges` with their values, for whom the CSR does not only serve to notify; in memory made once."""
        out = self.out_edges
        if isinstance(out, StoredAdjacency) or self.edge_dtype is None or out.value_dtype is not None:
            return out
        from .build import reversed_values

        with _making:
            if "_valued_out_edges" not in self.__dict__:
                values = reversed_values(self.in_edges, out.offsets, pool)
                self.__dict__["_valued_out_edges"] = out.with_values(values, pool)
        return cast(Edges, self.__dict__["_valued_out_edges"])

    def has_tiles(self, weighted: bool) -> bool:
        """Whether `tiles` have been made, with edge values or without."""
        return weighted in self.__dict__.get("_tiles", ())

    def tiles(self, weighted: bool, make: Callable[[], Tiles]) -> Tiles:
        """The in-edges by tiles, made once: 4 bytes an edge more, and if `weighted` the edge values once more."""
        with _making:
            made: dict[bool, Tiles] = self.__dict__.setdefault("_tiles", {})
            if weighted not in made:
                made[weighted] = make()
        return made[weighted]

    @property
    def has_packed_in_edges(self) -> bool:
        """Whether `packed_in_edges` have been made."""
        return "_packed_in_edges" in self.__dict__

    def packed_in_edges(self, pool: ThreadPool) -> PackedAdjacency:
        """The in-edges packed, beside the raw ones; made once."""
        edges = self.in_edges
        if isinstance(edges, PackedAdjacency):
            return edges
        with _making:
            if not self.has_packed_in_edges:
                self.__dict__["_packed_in_edges"] = PackedAdjacency.of(edges, pool)
        return cast(PackedAdjacency, self.__dict__["_packed_in_edges"])

    def packed(self, threads: int | None = None) -> Graph:
        """The same graph with its edges packed: 1.3 to 2.4 bytes each instead of 4, and integer edge values likewise.

        Half the bytes to read from memory, over a link or from a disk, for some work of the processor. Values that are
        no integers, or span more than 32 bits, stay as they are.

        Parameters
        ----------
        threads : int, optional
            By default every core this process may use.

        Returns
        -------
        Graph
            With arrays of its own, but for offsets and ids; this graph, if it is packed.

        Raises
        ------
        GraphError
            If the edges of a vertex do not ascend.
        """

        def packed(edges: Edges, pool: ThreadPool) -> Edges:
            if edges is self.in_edges and self.has_packed_in_edges:
                return self.packed_in_edges(pool)
            return edges if isinstance(edges, PackedAdjacency) else PackedAdjacency.of(edges, pool)

        return self._with(packed, threads)

    def unpacked(self, threads: int | None = None) -> Graph:
        """The same graph with every edge 4 bytes and its value.

        Parameters
        ----------
        threads : int, optional

        Returns
        -------
        Graph
            With arrays of its own, but for offsets and ids; this graph, if it is raw.
        """

        def unpacked(edges: Edges, pool: ThreadPool) -> Edges:
            return edges if isinstance(edges, Adjacency) else edges.unpacked(pool)

        return self._with(unpacked, threads)

    def _with(self, other: Callable[[Edges, ThreadPool], Edges], threads: int | None) -> Graph:
        """The graph with `other` edges, or itself if they are the same."""
        with ThreadPool(threads) as pool:
            into = other(self.in_edges, pool)
            out = into if self.out_edges is self.in_edges else other(self.out_edges, pool)
        same = into is self.in_edges and out is self.out_edges
        return self if same else replace(self, in_edges=into, out_edges=out)

    def symmetrized(self, threads: int | None = None) -> Graph:
        """The undirected graph with every edge in both directions, for programs that gather over ``both``.

        An edge between two vertices then stands in both lists with its value; a self-loop once. Edges that were there
        in both directions become parallel ones.
        """
        from .build import symmetrize

        return self if not self.directed else symmetrize(self, threads)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weights = "" if self.edge_dtype is None else f", {self.edge_dtype} values"
        return f"<Graph: {self.n:,} vertices, {self.m:,} {kind} edges{weights}>"
