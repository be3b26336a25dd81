"""Graphs of NetworkX as `BackendGraph`, and back."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.networkx import Lists
from ..graph.nodes import Nodes
from .graph import BackendGraph, ConvertedGraph, backend_graph
from .searches import Rows
from .sweeps import EXACT

Array = npt.NDArray[Any]

WAYS = (
    "__contains__", "__getitem__", "__iter__", "__len__", "adj", "adjacency", "is_directed", "is_multigraph",
    "neighbors", "pred", "predecessors", "succ", "successors",
)  # fmt: skip
"""Attributes of a graph by which functions find nodes and neighbours."""


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
        If more than one attribute is wanted, if one has values that are no finite numbers of at most 64 bits, or a sum
        of them may not be one, if the graph's class overrides how NetworkX's find nodes and neighbours, or if an
        undirected view has an edge in one direction only.
    """
    if preserve_edge_attrs or len(edge_attrs or ()) > 1:
        raise NotImplementedError("garaph keeps one edge attribute at most")
    if edge_attrs and not graph.is_directed() and shows_directed(graph._adj):
        raise NotImplementedError("the view shows a directed graph, whose edges may have other weights on the way back")
    if has_own_ways(graph):
        raise NotImplementedError(f"{type(graph).__name__} has a way of its own to find nodes or neighbours")
    is_view = hasattr(graph, "_graph")
    if is_view:  # NetworkX's cache does not notice if the graph behind it changes
        graph.__networkx_cache__ = None
    nodes = Nodes(list(graph))
    lists = Lists(graph, nodes)
    if is_view and not graph.is_directed() and not lists.is_symmetric():
        raise NotImplementedError("the view's filter leaves some edges out in one direction only")
    ((attribute, default),) = edge_attrs.items() if edge_attrs else ((None, None),)
    values = None if attribute is None else numbers(lists, attribute, default, graph.is_directed())
    rows = Rows(lists.offsets, lists.neighbours, values)
    return ConvertedGraph(nodes, rows, graph.is_directed(), lists.several, attribute)


def class_of(parallel: bool, directed: bool) -> type[nx.Graph]:
    """NetworkX's class of graphs with parallel edges, or with directions."""
    return ((nx.Graph, nx.DiGraph), (nx.MultiGraph, nx.MultiDiGraph))[parallel][directed]  # type: ignore[no-any-return]


def has_own_ways(graph: Any) -> bool:
    """Whether a graph's class overrides one of `WAYS`."""
    kind = class_of(graph.is_multigraph(), graph.is_directed())
    return any(getattr(type(graph), name, None) is not getattr(kind, name) for name in WAYS if hasattr(kind, name))


def shows_directed(adjacency: Any) -> bool:
    """Whether an adjacency is a view of that of a directed graph, perhaps through others, without directions."""
    while hasattr(adjacency, "_atlas"):
        adjacency = adjacency._atlas
    return hasattr(adjacency, "_succ")


def numbers(lists: Lists, attribute: Any, default: Any, directed: bool) -> Array:
    """An attribute of the edges, of float64 if any value is a float. Undirected ones are here in both directions.

    Raises
    ------
    NotImplementedError
        If it has values that are not finite numbers of at most 64 bits, or whose sum may not be one.
    """
    found = lists.numbers(attribute, default)
    values, mixed = (found.values, found.are_mixed) if found else numbers_of(lists.attribute(attribute, default))
    if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8 or values.ndim != 1:
        raise NotImplementedError(f"the edge attribute {attribute!r} has values that are no numbers of up to 64 bits")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise NotImplementedError(f"the edge attribute {attribute!r} has values that are not finite")
    kept = np.promote_types(values.dtype, np.float32)  # a graph has no floats of 16 bits
    if values.dtype.kind == "f" and largest(values) >= np.finfo(kept).max / max(len(values), 1):
        raise NotImplementedError(f"the edge attribute {attribute!r} has floats whose sum may be infinite")
    if mixed and largest(values) >= EXACT:
        raise NotImplementedError(f"the edge attribute {attribute!r} has large integers among floats")
    if values.dtype.kind in "iu" and sum_of_sizes(values) >= (2 - directed) * 2.0**63:
        raise NotImplementedError(f"the edge attribute {attribute!r} has integers whose sum exceeds 63 bits")
    return values


def numbers_of(given: list[Any]) -> tuple[Array, bool]:
    """Numbers, or other objects, as an array, and whether it has integers among floats."""
    try:
        values = np.array(given) if given else np.zeros(0, np.int64)
    except MemoryError:
        raise
    except Exception:  # nested lists, and objects whose `__array__` raises an exception of any type
        values = np.array(None)
    return values, values.dtype.kind == "f" and any(isinstance(each, (int, np.integer)) for each in given)


def largest(values: Array) -> float:
    """The largest absolute value; 0 of none."""
    return float(np.abs(values).max(initial=0))


def sum_of_sizes(integers: Array) -> float:
    """The sum of their absolute values, or a bound of it that is small."""
    if len(integers) == 0:
        return 0
    bound = float(max(int(integers.max()), -int(integers.min()))) * len(integers)
    return bound if bound < 2.0**62 else float(np.abs(integers.astype(float)).sum())


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
    made = class_of(parallel, given.is_directed())()
    made.add_nodes_from(given.nodes)
    if given.graph.edge_dtype is None:
        made.add_edges_from(zip(sources, targets, strict=True))
    else:
        values = edges["weight"].to_pylist()
        made.add_weighted_edges_from(zip(sources, targets, values, strict=True), weight=given.weight)
    return made
