"""Makes graphs of NetworkX's, whose edges it reads into arrays; NetworkX itself is not imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, compress
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError
from ..system.arguments import explained
from .arguments import kind_of
from .build import BUILDING, build, checked_flags, edge_values
from .dictionaries import Numbers, Reader
from .graph import Graph
from .nodes import Nodes
from .number import number_vertices
from .objects import Objects

Array = npt.NDArray[Any]

CHANGED = "another thread has changed the graph while its edges were read; let it wait"


@partial(explained, options=BUILDING)
def from_networkx(graph: Any, *, weight: str | None = "weight", **options: Any) -> Graph:
    """Build a graph from a NetworkX graph. Directions and parallel edges are kept.

    If all nodes are integers, they are the vertex ids, in ascending order; otherwise the ids are the nodes as strings,
    in the order of the nodes.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : str, optional
        The edge attribute that holds the edge values. An edge that lacks it has the value 1, as in NetworkX. If no edge
        has an attribute ``"weight"``, or if this is None, the graph has no edge values.
    **options
        As for `from_edges`, except `weights`, `vertices` and `directed`.

    Raises
    ------
    GraphError
        If `graph` is no NetworkX graph, or has an edge to what is not a node; if no edge has the attribute `weight`,
        unless that is ``"weight"``; if two nodes have the same name; or if values or nodes are none that `from_edges`
        takes.
    ParameterError
        If `weight` is no string.
    """
    if isinstance(graph, type) or not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        makes = "its method to_networkx()" if hasattr(graph, "to_networkx") else "networkx.Graph(...)"
        raise GraphError(f"not a NetworkX graph but {kind_of(graph)}; {makes} makes one")
    if weight is not None and not isinstance(weight, str):
        raise ParameterError(f"weight={weight!r:.40}: give the name of an edge attribute, or None for no edge values")
    nodes = list(graph.nodes)
    integers = all(isinstance(node, (int, np.integer)) and not isinstance(node, bool) for node in nodes)
    names = list(map(int if integers else str, nodes))
    if not integers and len(set(names)) < len(names):
        raise GraphError("two nodes have the same name as a string, such as 1 and '1'; relabel one of them")
    checked_flags(**{name: options[name] for name in ("drop_self_loops", "drop_parallel") if name in options})
    sources, targets, weights = columns_of(graph, nodes, weight, options.get("threads"))
    if len(sources) and weights is None and weight not in ("weight", None):
        raise GraphError(f"no edge has an attribute {weight!r}; leave weight out for a graph without edge values")
    numbers, _, ids = number_vertices(names, names, threads=options.get("threads"))
    columns = [numbers[sources], numbers[targets], edge_values(weights, len(sources))]
    return build(columns, ids, directed=graph.is_directed(), **options)


def columns_of(graph: Any, nodes: list[Any], weight: str | None, threads: int | None) -> tuple[Array, Array, Any]:
    """The edges of a NetworkX graph: the places of their sources and targets among its nodes, and their values.

    An undirected edge is there once. The values are an array, or a list of what is not all numbers; None if no edge has
    the attribute.
    """
    if not has_own_edges(graph):
        lists = Lists(graph, Nodes(nodes), threads)
        sources, targets = lists.owners(), lists.neighbours
        weights = lists.weights(weight) if weight is not None else None
        if graph.is_directed():
            return sources, targets, weights
        once = sources <= targets
        if weights is not None:
            weights = weights[once] if isinstance(weights, np.ndarray) else list(compress(weights, once.tolist()))
        return sources[once], targets[once], weights
    edges, places = list(graph.edges(data="weight" if weight is None else weight)), Nodes(nodes)
    sources, targets = (places.find_all(edge[end] for edge in edges) for end in (0, 1))
    return sources, targets, None if weight is None else weights_of([value for _, _, value in edges])


def has_own_edges(graph: Any) -> bool:
    """Whether a graph lists other edges than its dictionaries have, or data that depends on the direction.

    Those of NetworkX's classes list what is in their dictionaries; undirected views choose one direction.
    """
    if hasattr(graph, "_graph") and not graph.is_directed():
        return True
    networkx = sys.modules.get("networkx")
    kinds = networkx and (networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph)
    return not kinds or not any(getattr(type(graph), "edges", None) is kind.edges for kind in kinds)


def weights_of(given: list[Any]) -> list[Any] | None:
    """Edge values, with 1 for None; None if all are that."""
    if all(value is None for value in given):
        return None
    return [1 if value is None else value for value in given]


class Lists:
    """The adjacency of a NetworkX graph as arrays, in its order.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    nodes : Nodes
        In any order.
    threads : int, optional
        By default every core that this process may use.

    Attributes
    ----------
    several : bool
        Whether there may be several edges to a neighbour.
    offsets : ndarray of int64, shape (n + 1,)
    neighbours : ndarray of uint32, shape (m,)
        Places in the list of nodes. An undirected edge is there in both directions.

    Raises
    ------
    GraphError
        If a neighbour is not one of the nodes, or the graph changes meanwhile.
    """

    def __init__(self, graph: Any, nodes: Nodes, threads: int | None = None) -> None:
        self.several = graph.is_multigraph()
        rows = Objects(rows_of(graph._adj, nodes.nodes), threads)
        lengths = rows.lengths()
        if lengths is None:
            rows = Objects([plain(row, self.several) for row in rows.things], threads)
            lengths = np.fromiter(map(len, rows.things), np.int64, len(rows))
        self.offsets = summed(lengths)
        self._reader = Reader(rows, self.offsets)
        self.neighbours = neighbours_of(self._reader, nodes)
        self._ends = None
        if self.several:
            parallel = sizes_of(self._reader)
            self._ends = summed(parallel)
            self.neighbours = np.repeat(self.neighbours, parallel)
            self.offsets = self._ends[self.offsets]

    def owners(self) -> Array:
        """The node of each neighbour's list, shape (m,), uint32."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.uint32), np.diff(self.offsets))

    def is_symmetric(self) -> bool:
        """Whether each neighbour has this node as a neighbour as often."""
        n, owners, neighbours = len(self.offsets) - 1, self.owners().astype(np.int64), self.neighbours.astype(np.int64)
        return bool(np.array_equal(np.sort(owners * n + neighbours), np.sort(neighbours * n + owners)))

    def numbers(self, attribute: Any, default: Any) -> Numbers | None:
        """An attribute of the edges; None if its values are not all integers of 64 bits and floats."""
        return self._reader.numbers(self._ends, attribute, default)

    def attribute(self, attribute: Any, default: Any) -> list[Any]:
        """An attribute of the edges, whatever its values are."""
        rows = self._reader.rows.things
        data = values_of(values_of(rows)) if self.several else values_of(rows)
        found = list(map(methodcaller("get", attribute, default), data))
        if len(found) != len(self.neighbours):
            raise GraphError(CHANGED)
        return found

    def weights(self, attribute: str) -> Any:
        """An attribute of the edges, 1 where it is missing or None, as an array or a list; None if no edge has it."""
        found = self.numbers(attribute, 1)
        if found is None:
            return weights_of(self.attribute(attribute, None))
        return found.values if found.are_given else None


def rows_of(adjacency: Any, nodes: list[Any]) -> list[Any]:
    """The adjacency of each node."""
    if type(adjacency) is dict and Objects(nodes).are_keys(adjacency):
        return list(adjacency.values())
    return list(map(adjacency.__getitem__, nodes))


def plain(row: Any, several: bool = False) -> dict[Any, Any]:
    """A node's adjacency as a dictionary, of dictionaries if there are several edges to a neighbour.

    That of a view may count neighbours over which it does not iterate.
    """
    if type(row) is dict:
        return row
    return {key: plain(value) for key, value in row.items()} if several else dict(row.items())


def neighbours_of(reader: Reader, nodes: Nodes) -> Array:
    """The vertices that the keys are."""
    found = looked_up(reader, nodes)
    return counted(nodes.find_all(chain.from_iterable(reader.rows.things)), reader.m) if found is None else found


def looked_up(reader: Reader, nodes: Nodes) -> Array | None:
    """The vertices that the keys are, by compiled code; None if only Python can tell."""
    if nodes.table is not None:
        return reader.integers(nodes.table)
    if nodes.names is not None:
        return reader.names(nodes.names)
    return reader.either(nodes.vertices) if nodes.are_plain else None


def sizes_of(reader: Reader) -> Array:
    """How many edges there are to each neighbour."""
    found = reader.sizes()
    return counted(np.fromiter(map(len, values_of(reader.rows.things)), np.int64), reader.m) if found is None else found


def counted(numbers: Array, count: int) -> Array:
    """The numbers; raise `GraphError` if there are more or fewer."""
    if len(numbers) != count:
        raise GraphError(CHANGED)
    return numbers


def values_of(mappings: Iterable[Any]) -> Iterator[Any]:
    """The values of some mappings, one after the other."""
    return chain.from_iterable(map(methodcaller("values"), mappings))


def summed(counts: Array) -> Array:
    """Offsets: 0, and the sums of the counts up to each."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
