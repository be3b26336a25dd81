"""Graphs of NetworkX as `BackendGraph`, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import methodcaller
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..graph import Graph
from ..graph.csr import from_csr
from .dictionaries import NOBODY, Reader
from .graph import BackendGraph, backend_graph
from .runs import threads_for
from .searches import Rows
from .sweeps import EXACT

Array = npt.NDArray[Any]

SPARSE = 8
"""How many times the number of nodes their greatest integer may be for a table: 32 bytes of memory a node."""


def convert_from_nx(
    graph: Any,
    edge_attrs: dict[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    **others: Any,
) -> BackendGraph:
    """The graph with one edge attribute or none. What else NetworkX's dispatcher may ask for, no function here needs.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    edge_attrs : dict of str to number, optional
        The attribute, and its value for edges that lack it.
    preserve_edge_attrs : bool
        Whether all attributes are wanted, which is refused.
    **others
        Attributes of nodes and of the graph: they are left out.

    Raises
    ------
    GraphError
        If a neighbour is not one of the graph's nodes.
    NotImplementedError
        If more than one attribute is wanted, if one has values that are no finite numbers of at most 64 bits, if the
        graph's class finds neighbours otherwise than NetworkX's four do, or if an undirected view has an edge in one
        direction only.
    """
    if preserve_edge_attrs or len(edge_attrs or ()) > 1:
        raise NotImplementedError("garaph keeps one edge attribute at most")
    if edge_attrs and not graph.is_directed() and shows_directed(graph._adj):
        raise NotImplementedError("the view shows a directed graph, whose edges may have other weights on the way back")
    if any(getattr(type(graph), name) is not getattr(nx.Graph, name) for name in ("__getitem__", "adjacency")):
        raise NotImplementedError(f"{type(graph).__name__} has a way of its own to find neighbours")
    is_view = hasattr(graph, "_graph")
    if is_view:  # NetworkX's cache does not notice if the graph behind it changes
        graph.__networkx_cache__ = None
    nodes, several = list(graph), graph.is_multigraph()
    rows = list(map(graph._adj.__getitem__, nodes))
    if set(map(type, rows)) != {dict}:
        rows = [plain(row, several) for row in rows]
    lists = Lists(rows, several, nodes)
    if is_view and not graph.is_directed() and not lists.is_symmetric():
        raise NotImplementedError("the view's filter leaves some edges out in one direction only")
    ((attribute, default),) = edge_attrs.items() if edge_attrs else ((None, None),)
    values = None if attribute is None else lists.numbers(attribute, default, graph.is_directed())
    made = from_csr(
        lists.offsets,
        lists.neighbours,
        values,
        directed=graph.is_directed(),
        threads=threads_for(len(lists.neighbours)),
    )
    return BackendGraph(made, nodes, attribute, several, Rows(lists.offsets, lists.neighbours, values))


def plain(row: Any, several: bool = False) -> dict[Any, Any]:
    """A node's adjacency as a dictionary, of dictionaries if there are several edges to a neighbour.

    That of a view may count neighbours over which it does not iterate.
    """
    if type(row) is dict:
        return row
    return {key: plain(value) for key, value in row.items()} if several else dict(row.items())


def shows_directed(adjacency: Any) -> bool:
    """Whether an adjacency is a view of that of a directed graph, perhaps through others, without directions."""
    while hasattr(adjacency, "_atlas"):
        adjacency = adjacency._atlas
    return hasattr(adjacency, "_succ")


class Lists:
    """The adjacency of a NetworkX graph as arrays, in its order.

    Parameters
    ----------
    rows : list of mapping
        The adjacency of each node.
    several : bool
        Whether a neighbour has a dictionary of edges instead of one edge's data.
    nodes : list of hashable

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    neighbours : ndarray of uint32, shape (m,)
    """

    def __init__(self, rows: list[Any], several: bool, nodes: list[Any]) -> None:
        self.offsets = summed(np.fromiter(map(len, rows), np.int64, len(rows)))
        self._reader = Reader(rows, int(self.offsets[-1]), several)
        self.neighbours = neighbours_of(self._reader, nodes)
        if several:
            parallel = sizes_of(self._reader)
            self.neighbours = np.repeat(self.neighbours, parallel)
            self.offsets = summed(parallel)[self.offsets]

    def owners(self) -> Array:
        """The node of each neighbour's list, shape (m,), uint32."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.uint32), np.diff(self.offsets))

    def is_symmetric(self) -> bool:
        """Whether each neighbour has this node as a neighbour as often."""
        n, owners, neighbours = len(self.offsets) - 1, self.owners().astype(np.int64), self.neighbours.astype(np.int64)
        return bool(np.array_equal(np.sort(owners * n + neighbours), np.sort(neighbours * n + owners)))

    def numbers(self, attribute: Any, default: Any, directed: bool) -> Array:
        """An attribute of the edges, of float64 if any value is a float. Undirected ones are here in both directions.

        Raises
        ------
        NotImplementedError
            If it has values that are no finite numbers of at most 64 bits.
        """
        found = self._reader.numbers(len(self.neighbours), attribute, default)
        values, mixed = found or numbers(self._reader, attribute, default)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise NotImplementedError(f"the edge attribute {attribute!r} has values that are not finite")
        if mixed and np.abs(values).max() >= EXACT:
            raise NotImplementedError(f"the edge attribute {attribute!r} has large integers among floats")
        if values.dtype.kind in "iu" and sum_of_sizes(values) >= (2 - directed) * 2.0**63:
            raise NotImplementedError(f"the edge attribute {attribute!r} has integers whose sum exceeds 63 bits")
        return values


def neighbours_of(reader: Reader, nodes: list[Any]) -> Array:
    """The vertices that the keys are."""
    found = reader.neighbours(nodes, table_of(nodes))
    if found is not None:
        return found
    positions = dict(zip(nodes, range(len(nodes)), strict=True))
    try:
        return np.fromiter(map(positions.__getitem__, chain.from_iterable(reader.rows)), np.uint32, reader.m)
    except KeyError as error:
        raise GraphError(f"the graph has an edge to {error!s:.40}, which is not one of its nodes") from None


def sizes_of(reader: Reader) -> Array:
    """How many edges there are to each neighbour."""
    found = reader.sizes()
    if found is not None:
        return found
    return np.fromiter(map(len, values_of(reader.rows)), np.int64, reader.m)


def values_of(mappings: Iterable[Any]) -> Iterator[Any]:
    """The values of some mappings, one after the other."""
    return chain.from_iterable(map(methodcaller("values"), mappings))


def sum_of_sizes(integers: Array) -> float:
    """The sum of their absolute values, or a bound of it that is small."""
    if len(integers) == 0:
        return 0
    bound = float(max(int(integers.max()), -int(integers.min()))) * len(integers)
    return bound if bound < 2.0**62 else float(np.abs(integers.astype(float)).sum())


def table_of(nodes: list[Any]) -> Array | None:
    """The vertex that each integer is, if all nodes are integers that make a small table; else None.

    Looking up all neighbours in an array takes a third of the time that it takes in a dictionary.
    """
    if set(map(type, nodes)) != {int} or min(nodes) < 0 or max(nodes) > SPARSE * len(nodes):
        return None
    vertices = np.full(max(nodes) + 1, NOBODY, np.uint32)
    vertices[nodes] = np.arange(len(nodes), dtype=np.uint32)
    return vertices


def summed(counts: Array) -> Array:
    """Offsets: 0, and the sums of the counts up to each."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def numbers(reader: Reader, attribute: Any, default: Any) -> tuple[Array, bool]:
    """An attribute of the edges as an array, and whether it has integers among floats."""
    data = values_of(values_of(reader.rows)) if reader.several else values_of(reader.rows)
    given = list(map(methodcaller("get", attribute, default), data))
    try:
        values = np.array(given) if given else np.zeros(0, np.int64)
    except (ValueError, OverflowError):  # nested lists
        values = np.array(None)
    if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8 or values.ndim != 1:
        raise NotImplementedError(f"the edge attribute {attribute!r} has values that are no numbers of up to 64 bits")
    return values, values.dtype.kind == "f" and any(isinstance(each, int) for each in given)


def convert_to_nx(result: Any, *, name: str | None = None, graph_name: str | None = None) -> Any:
    """A graph as NetworkX's, with its edge values as an attribute; any other result as it is.

    A graph with parallel edges becomes a multigraph.

    Raises
    ------
    GraphError
        If the graph's edges are on disk.
    """
    if not isinstance(result, (Graph, BackendGraph)):
        return result
    given = backend_graph(result)
    edges = given.graph.edges()
    sources, targets = (edges[end].to_pylist() for end in ("source", "target"))
    if given.graph.ids.are_internal:
        sources, targets = ([given.nodes[vertex] for vertex in ends] for ends in (sources, targets))
    parallel = given.is_multigraph() or len(set(zip(sources, targets, strict=True))) < len(sources)
    kinds = (nx.MultiGraph, nx.MultiDiGraph) if parallel else (nx.Graph, nx.DiGraph)
    made = kinds[given.is_directed()]()
    made.add_nodes_from(given.nodes)
    if given.graph.edge_dtype is None:
        made.add_edges_from(zip(sources, targets, strict=True))
    else:
        values = edges["weight"].to_pylist()
        made.add_weighted_edges_from(zip(sources, targets, values, strict=True), weight=given.weight)
    return made
