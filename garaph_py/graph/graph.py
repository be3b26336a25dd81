"""The graph in memory: CSC for incoming edges, CSR for outgoing ones (Garaph section 2.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import PACKED, RAW
from ..codec.codecs import Limits, in_memory, limits_of, merged
from ..errors import GraphError, ParameterError
from ..native.threads import ThreadPool
from .adjacency import Adjacency
from .compress import compress
from .derived import Derived
from .edges import Batch, edge_batches, edge_schema, record_batch
from .ids import VertexIds
from .loops import self_loops
from .symmetrize import symmetrized
from .tiles import Tiles
from .transpose import reversed_values

Array = npt.NDArray[Any]

IN_DEGREES, OUT_DEGREES, OUT_WEIGHTS = "in-degrees", "out-degrees", "sums of the values of out-edges"
PACKED_IN_EDGES = "packed in-edges"
VALUED_OUT_EDGES = "values of out-edges"
TILES = {False: "tiles", True: "tiles with values"}
"""Names in `Graph.derived`."""

ROWS = 1 << 18
"""Edges of a batch: their sources fill a block of a graph directory, which is thus read once."""


def reversing_bytes(m: int, n: int, dtype: np.dtype[Any], encoding: str) -> int:
    """Bytes of memory, beside the graph, that it takes to make the values of `m` out-edges.

    Values that are then encoded count twice.
    """
    return m * dtype.itemsize * (1 if encoding == RAW else 2) + 8 * n


@dataclass(frozen=True)
class Graph:
    """An immutable graph, made by `read`, `open`, `from_edges` and other functions ``from_...``, or a generator.

    ``len(graph)`` is the number of vertices, and ``id in graph`` says whether a vertex is there. What needs the edges
    of one vertex or all (`neighbors`, `edge_batches`, `subgraph`) works too if they are packed or on disk.

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

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1, 5, 2])
    >>> graph
    <Graph: 3 vertices, 3 directed edges, int64 values>
    >>> len(graph), "a" in graph, "d" in graph
    (3, True, False)
    >>> list(graph.neighbors("a"))
    ['b', 'c']
    >>> graph.edges().to_pydict()
    {'source': ['a', 'a', 'b'], 'target': ['b', 'c', 'c'], 'weight': [1, 5, 2]}
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
        """Number of stored edges: an undirected edge between two vertices counts twice; see `number_of_edges`."""
        return int(self.in_edges.offsets[-1])

    def number_of_edges(self) -> int:
        """Number of edges as NetworkX counts them: an undirected edge and a self-loop once, parallel edges each.

        The first call on an undirected graph goes over the edges, to count the self-loops.

        Raises
        ------
        GraphError
            If the graph is undirected and its edges are on disk: only `m` is known.
        """
        return self.m if self.directed else (self.m + self._self_loops) // 2

    @cached_property
    def _self_loops(self) -> int:
        in_memory(self.in_edges.neighbour_array)
        with ThreadPool(None) as pool:
            return self_loops(self.in_edges, pool)

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
        """The number of in-edges of each vertex: int64, shape (n,), in the order of `ids`."""
        return self.derived.get(IN_DEGREES, lambda: np.diff(self.in_edges.offsets), array_bytes)

    @property
    def out_degrees(self) -> Array:
        """The number of out-edges of each vertex: int64, shape (n,), in the order of `ids`."""
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

        Two edges u -> v and v -> u become one undirected edge if they have equal values, or none; if their values
        differ, both stay, as parallel edges. Of k parallel edges u -> v and l edges v -> u with equal values, max(k, l)
        remain. A self-loop stays as it is. Parallel edges are then in the order of the bits of their values.
        """
        if not self.directed:
            return self
        with ThreadPool(threads) as pool:
            edges = symmetrized(self.in_edges, self.out_edges, pool)
        return Graph(edges, edges, False, self.ids)

    def subgraph(self, ids: Any, threads: int | None = None) -> Graph:
        """The graph of some vertices and of all edges between them, with their values.

        It is a graph in memory with raw edges and its own arrays. If the edges of this graph are on disk, it reads them
        once.

        Parameters
        ----------
        ids : array-like or iterable
            The vertices by the user's ids, in any order. An id may be there twice.
        threads : int, optional
            By default every core that this process may use.

        Raises
        ------
        UnknownVertexError
            If a vertex is not in the graph.
        GraphError
            If `ids` is no collection of integers or of strings.

        Examples
        --------
        >>> graph = gp.from_edges([10, 10, 20], [20, 30, 30])
        >>> graph.subgraph([10, 30]).edges().to_pydict()
        {'source': [10], 'target': [30]}
        """
        kept = np.unique(self.ids.indices(ids))
        among, numbers = np.zeros(self.n, np.bool_), np.zeros(self.n, np.uint32)
        among[kept], numbers[kept] = True, np.arange(len(kept), dtype=np.uint32)
        none = np.zeros(0, np.uint32)
        parts = [Batch(none, none, None if self.edge_dtype is None else np.zeros(0, self.edge_dtype))]
        for batch in edge_batches(self.in_edges, self.directed, ROWS):
            found = batch.select(among[batch.sources] & among[batch.targets])
            parts.append(Batch(numbers[found.sources], numbers[found.targets], found.values))
        columns = [None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)]
        into, out, names = compress(columns, self.ids.reordered(kept), directed=self.directed, threads=threads)
        return Graph(into, out, self.directed, names)

    def neighbors(self, id: Any) -> Array:
        """The targets of a vertex's out-edges, by the user's ids, one for each edge; of all edges if undirected.

        NetworkX gives each neighbour once, this function as often as there are parallel edges.

        Raises
        ------
        UnknownVertexError
            If the graph has no such vertex.

        Examples
        --------
        >>> graph = gp.from_edges([10, 10, 20], [20, 30, 30])
        >>> graph.neighbors(10)
        array([20, 30])
        >>> graph.predecessors(30)
        array([10, 20])
        """
        return self._others(self.out_edges, id)

    def predecessors(self, id: Any) -> Array:
        """The sources of a vertex's in-edges, as `neighbors`."""
        return self._others(self.in_edges, id)

    def _others(self, edges: Adjacency, id: Any) -> Array:
        place = self.ids.index(id)
        others, _ = edges.without_values().part(*edges.offsets[place : place + 2].tolist())
        return self.ids.take(others)

    def degree(self, id: Any) -> int:
        """The number of a vertex's edges: in-edges and out-edges, as in NetworkX, or the edges if undirected.

        A self-loop counts twice if the graph is directed, else once.

        Raises
        ------
        UnknownVertexError
            If the graph has no such vertex.

        Examples
        --------
        >>> graph = gp.from_edges([10, 10, 20], [20, 30, 30])
        >>> graph.degree(20), graph.in_degree(20), graph.out_degree(20)
        (2, 1, 1)
        """
        return self.in_degree(id) + (self.out_degree(id) if self.directed else 0)

    def in_degree(self, id: Any) -> int:
        """The number of a vertex's in-edges. `in_degrees` has those of all vertices."""
        return self._degree(self.in_edges, id)

    def out_degree(self, id: Any) -> int:
        """The number of a vertex's out-edges. `out_degrees` has those of all vertices."""
        return self._degree(self.out_edges, id)

    def _degree(self, edges: Adjacency, id: Any) -> int:
        place = self.ids.index(id)
        return int(edges.offsets[place + 1] - edges.offsets[place])

    def edges(self) -> Any:
        """All edges as a table of Arrow, in memory.

        Returns
        -------
        pyarrow.Table
            The columns ``source`` and ``target``, by the user's ids, and ``weight`` if the edges have values; sorted by
            the internal ids of target and source. An undirected edge is there once.

        Raises
        ------
        GraphError
            If the edges are on disk; `edge_batches` reads them part by part.

        Examples
        --------
        >>> graph = gp.from_edges([10, 10, 20], [20, 30, 30])
        >>> graph.edges().to_pandas()
           source  target
        0      10      20
        1      10      30
        2      20      30
        """
        if self.on_disk:
            raise GraphError(
                "the graph's edges stay on disk; read them part by part with edge_batches(), or open the graph with "
                "more memory"
            )
        return self.edge_batches().read_all()

    def edge_batches(self, rows: int = ROWS) -> Any:
        """All edges, as by `edges`, but part by part, in memory or on disk.

        Parameters
        ----------
        rows : int
            Stored edges of a batch. The batches of an undirected graph have about half as many rows.

        Returns
        -------
        pyarrow.RecordBatchReader
            An iterator over record batches. Polars, DuckDB and other libraries read it as a stream.

        Raises
        ------
        ParameterError
            If `rows` is not a positive integer.
        DamagedGraphError
            While it is read, if a disk cannot read the edges, or they fail a check.

        Examples
        --------
        >>> graph = gp.from_edges([10, 10, 20], [20, 30, 30])
        >>> [batch.num_rows for batch in graph.edge_batches(rows=2)]
        [2, 1]
        """
        import pyarrow as pa

        if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1:
            raise ParameterError(f"rows={rows!r}: give a number of edges, 1 or more")
        schema = edge_schema(self.ids, self.edge_dtype)
        batches = edge_batches(self.in_edges, self.directed, int(rows))
        return pa.RecordBatchReader.from_batches(schema, (record_batch(self.ids, one, schema) for one in batches))

    def __len__(self) -> int:
        return self.n

    def __contains__(self, id: Any) -> bool:
        return id in self.ids

    def __repr__(self) -> str:
        count = None if self.on_disk else self.number_of_edges()
        return f"<Graph: {in_words(self.n, self.m, self.directed, self.edge_dtype, count)}>"

    def _repr_html_(self) -> str:
        """What the graph has, as a table for notebooks."""
        edges = f"{self.m:,} stored," if self.on_disk else f"{self.number_of_edges():,}"
        facts = {
            "vertices": f"{self.n:,}",
            "ids": self.ids.kind,
            "edges": f"{edges} {'directed' if self.directed else 'undirected'}",
            "edge values": self.edge_dtype or "none",
            "stored": f"{self.encoding}, {'on disk' if self.on_disk else 'in memory'}",
        }
        rows = "".join(f"<tr><th>{name}</th><td>{fact}</td></tr>" for name, fact in facts.items())
        return f"<table><tbody>{rows}</tbody></table>"


def in_words(n: int, m: int, directed: bool, edge_dtype: np.dtype[Any] | None, edges: int | None = None) -> str:
    """A graph's sizes in a line; `edges` is their number as people count them, None if only the stored are known."""
    count = f"{m:,} directed edges" if directed else f"{m:,} stored edges of an undirected graph"
    if not directed and edges is not None:
        count = f"{edges:,} undirected edges"
    return f"{n:,} vertices, {count}" + ("" if edge_dtype is None else f", {edge_dtype} values")


def array_bytes(array: Array) -> int:
    return array.nbytes
