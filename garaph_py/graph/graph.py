"""`Graph`: what users see of a graph. Its arrays are in arrays.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..codec.arrays import PACKED, RAW
from ..errors import GraphError, ParameterError
from ..native import reuse
from ..native.threads import ThreadPool
from ..system.arguments import explained, is_count
from .adjacency import Adjacency
from .arrays import GraphArrays
from .edges import edge_batches, edge_schema, record_batch
from .ids import VertexIds
from .subgraph import induced
from .symmetrize import symmetrized
from .words import in_words

Array = npt.NDArray[Any]

TURNED = ", reversed"
"""The end of `Graph.directory` of a reversed graph."""
ROWS = 1 << 18
"""Edges of a batch: their sources fill a block of a graph directory, which is thus read once."""


@dataclass(frozen=True)
class Graph:
    """An immutable graph, made by `read`, `open`, `from_edges` and other functions ``from_...``, or a generator.

    ``len(graph)`` is the number of vertices, and ``id in graph`` says whether the graph has a vertex. Methods that read
    the edges of one vertex or of all (`neighbors`, `edge_batches`, `subgraph`) also work if the edges are packed or on
    disk.

    Attributes
    ----------
    directory : str or None
        The id of the graph directory from which the graph was opened; None for any other graph.

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

    __networkx_backend__ = "garaph"  # so that NetworkX hands it to networkx_backend/
    _arrays: GraphArrays
    directory: str | None = None

    def _replace(self, **changes: Any) -> Graph:
        """The graph with some of its `GraphArrays` replaced, and without arrays derived from them."""
        return replace(self, _arrays=replace(self._arrays, **changes))

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self._arrays.n

    @property
    def m(self) -> int:
        """Number of stored edges: an undirected edge between two vertices counts twice; see `number_of_edges`."""
        return self._arrays.m

    @property
    def directed(self) -> bool:
        """False if every edge is stored in both directions."""
        return self._arrays.directed

    @property
    def ids(self) -> VertexIds:
        """The user's ids, in the order of all arrays with a number for each vertex, such as `in_degrees`.

        They are a sequence, and NumPy takes them as an array: ``len(graph.ids)``, ``graph.ids[3]``,
        ``graph.ids[graph.out_degrees > 9]``, ``numpy.asarray(graph.ids)``. `Result.ids` is that array. An id is found
        only by one of its type: 0 is neither ``"0"`` nor False.

        Examples
        --------
        >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"])
        >>> list(graph.ids), graph.ids[0]
        (['a', 'b', 'c'], 'a')
        >>> graph.ids[graph.in_degrees == 0]
        array(['a'], dtype=object)
        """
        return self._arrays.ids

    def is_directed(self) -> bool:
        """The same as `directed`, by the name that NetworkX's functions ask for."""
        return self.directed

    def is_multigraph(self) -> bool:
        """False: NetworkX's functions treat it as a simple graph, even if it has parallel edges."""
        return False

    def number_of_edges(self) -> int:
        """Number of edges as NetworkX counts them: an undirected edge once, a self-loop once, and each parallel edge.

        The first call on an undirected graph goes over the edges, to count the self-loops.

        Raises
        ------
        GraphError
            If the graph is undirected and its edges are on disk: only `m` is known.
        """
        return self.m if self.directed else (self.m + self._arrays.self_loops) // 2

    @property
    def encoding(self) -> str:
        """``"raw"``, or ``"packed"``: see `packed`."""
        return self._arrays.encoding

    @property
    def on_disk(self) -> bool:
        """Whether the edges are read from disk as a run needs them: see `garaph_py.open`."""
        return self._arrays.on_disk

    @property
    def edge_dtype(self) -> np.dtype[Any] | None:
        """Type of the edge values, or None when the graph has none."""
        return self._arrays.edge_dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory, without those that `release` frees."""
        return self._arrays.nbytes

    @property
    def memory(self) -> int | None:
        """Bytes of memory that the graph's arrays may take, including those that a run derives from them.

        None if there is no bound. If edges are on disk, a run takes at most this much in total.
        """
        return self._arrays.memory

    def release(self) -> None:
        """Free the arrays that runs have derived from the graph's own, and the memory that they keep for later runs.

        These are degrees, tiles, values of out-edges and their sums, packed edges, and the copy of the graph in a GPU's
        memory. The next run that needs such an array makes it again. A run that is under way keeps the arrays that it
        uses.
        """
        self._arrays.derived.release()
        reuse.release()

    @explained
    def to_device(
        self, program: Any = None, *, gpu_memory: int | str | None = None, on_event: events.Listener = events.ignore
    ) -> Graph:
        """Put the graph into the GPU's memory, so that the next run there copies none of its edges.

        The first run that uses the GPU would do so too; this method does it in advance. The copy stays there until
        `release`, until Python deletes the graph, or until another graph needs the memory. `garaph_py.on_device` frees
        it at the end of a ``with`` block. If this function fails or is interrupted, the GPU's memory keeps nothing of
        the graph.

        It copies sources and values of the edges, as far as they fit; a run streams the others. If another thread's run
        uses the graph on the GPU, the graph is there already, and this function does nothing.

        Parameters
        ----------
        program : VertexProgram, optional
            The program that will run first. It is compiled and loaded too, edge values are copied only if it reads
            them, and the pages are those of its runs; give it if the edges are on disk, or do not all fit. By default,
            programs are left to their first runs.
        gpu_memory : int or str, optional
            As in `Options`. Give it here and to the runs that follow, or to neither.
        on_event : callable, optional
            Receives `events.Step` records as compiling and copying proceed.

        Returns
        -------
        Graph
            This graph.

        Raises
        ------
        DeviceError
            If no GPU can be used.
        DeviceMemoryError
            If the GPU's memory, or `gpu_memory`, has too little room for the vertices. This error is a DeviceError too.
        GraphError
            If the edges are on disk, and the graph was opened with too little memory for a run on a GPU.

        Examples
        --------
        >>> graph = gp.rmat(20).to_device()  # doctest: +SKIP
        >>> gp.run(gp.apps.PageRank(), graph, device="gpu").stats.found_bytes  # doctest: +SKIP
        76546112
        """
        from .. import to_device  # from the layer above, by the package's facade

        return to_device(self, program, gpu_memory=gpu_memory, on_event=on_event)

    @property
    def in_degrees(self) -> Array:
        """The number of in-edges of each vertex: int64, shape (n,), in the order of `ids`."""
        return self._arrays.in_degrees

    @property
    def out_degrees(self) -> Array:
        """The number of out-edges of each vertex: int64, shape (n,), in the order of `ids`."""
        return self._arrays.out_degrees

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
        return self._encoded(PACKED, threads)

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
        return self._encoded(RAW, threads)

    def _encoded(self, codec: str, threads: int | None) -> Graph:
        with ThreadPool(threads) as pool:
            arrays = self._arrays.encoded(codec, pool)
        return self if arrays is self._arrays else Graph(arrays, self.directory)

    def symmetrized(self, threads: int | None = None) -> Graph:
        """The undirected graph with every edge in both directions, for programs that gather over ``both``.

        Two edges u -> v and v -> u become one undirected edge if they have equal values, or none; if their values
        differ, both stay, as parallel edges. Of k parallel edges u -> v and l edges v -> u with equal values, max(k, l)
        remain. A self-loop stays as it is. The new graph has parallel edges in the order of the bits of their values.
        """
        if not self.directed:
            return self
        with ThreadPool(threads) as pool:
            edges = symmetrized(self._arrays.in_edges, self._arrays.out_edges, pool)
        return Graph(GraphArrays(edges, edges, self.ids))

    def reversed(self) -> Graph:
        """The graph with every edge turned round: u -> v becomes v -> u, with its value. It shares this graph's edges.

        Values of edges are stored in the order of in-edges only, so the first call on a directed graph with edge values
        also makes them in the order of out-edges, which stay in memory until `release`.

        Returns
        -------
        Graph
            This graph itself if it is undirected.

        Raises
        ------
        GraphError
            If the edges are on disk without values of out-edges, or these do not fit the memory.

        Examples
        --------
        >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"])
        >>> graph.reversed().edges().to_pydict()
        {'source': ['b', 'c', 'c'], 'target': ['a', 'a', 'b']}
        """
        if not self._arrays.has_valued_out_edges:
            raise GraphError(
                "the graph cannot be reversed: its directory has no values of out-edges; import it again"
                if self.on_disk
                else "the graph cannot be reversed: the values of its out-edges take more than its memory; allow more"
            )
        return self._reversed(valued=True)

    def _reversed(self, valued: bool) -> Graph:
        """The reversed graph, with or without edge values."""
        if not self.directed:
            return self
        name = self.directory and self.directory.removesuffix(TURNED) + TURNED * (not self.directory.endswith(TURNED))
        return Graph(self._arrays.reversed(valued), name)

    def subgraph(self, ids: Any, threads: int | None = None) -> Graph:
        """The graph of some vertices and of all edges between them, with their values.

        It is a graph in memory with raw edges and its own arrays. If the edges of this graph are on disk, it reads them
        once.

        Parameters
        ----------
        ids : array-like or iterable
            The vertices by the user's ids, in any order. An id may occur twice.
        threads : int, optional
            By default every core that this process may use.

        Raises
        ------
        UnknownVertexError
            If a vertex is not in the graph.
        GraphError
            If `ids` is not a collection of integers or of strings.

        Examples
        --------
        >>> graph = gp.from_edges([10, 10, 20], [20, 30, 30])
        >>> graph.subgraph([10, 30]).edges().to_pydict()
        {'source': [10], 'target': [30]}
        """
        return self._induced(np.unique(self.ids.indices(ids)), threads)

    def _induced(self, kept: Array, threads: int | None) -> Graph:
        """`subgraph` by internal ids, which ascend."""
        return Graph(induced(self._arrays, kept, ROWS, threads))

    def neighbors(self, id: Any) -> Array:
        """The targets of a vertex's out-edges (in an undirected graph, of all its edges), by the user's ids.

        With parallel edges, this function returns a neighbour once for each edge, and NetworkX only once.

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
        return self._others(self._arrays.out_edges, id)

    def predecessors(self, id: Any) -> Array:
        """The sources of a vertex's in-edges, as `neighbors`."""
        return self._others(self._arrays.in_edges, id)

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
        return self._degree(self._arrays.in_edges, id)

    def out_degree(self, id: Any) -> int:
        """The number of a vertex's out-edges. `out_degrees` has those of all vertices."""
        return self._degree(self._arrays.out_edges, id)

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

        if not is_count(rows) or rows < 1:
            raise ParameterError(f"rows={rows!r}: give a number of edges, 1 or more")
        schema = edge_schema(self.ids, self.edge_dtype)
        batches = edge_batches(self._arrays.in_edges, self.directed, int(rows))
        return pa.RecordBatchReader.from_batches(schema, (record_batch(self.ids, one, schema) for one in batches))

    def __len__(self) -> int:
        return self.n

    def __contains__(self, id: Any) -> bool:
        return id in self.ids

    if not TYPE_CHECKING:  # for mypy, there is no such attribute

        def __getattr__(self, name: str) -> Any:
            """The attributes that were public once (deprecated.py)."""
            from .deprecated import old_attribute_of_graph

            return old_attribute_of_graph(self, name)

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
