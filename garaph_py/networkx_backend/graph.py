"""The graph that the functions of this backend get: a `Graph`, and the nodes of NetworkX that its vertices are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..algorithms.strongly_connected_components import lists_of
from ..graph import Graph
from ..graph.build import without_values
from ..graph.csr import from_csr
from ..graph.nodes import Nodes
from .runs import threads_for
from .searches import Rows

Array = npt.NDArray[Any]

WEIGHT = "weight"
"""The edge attribute that the edge values of a `Graph` are, which knows no names of attributes."""


class BackendGraph:
    """A graph with the nodes of a NetworkX graph, or with the ids of a `Graph` as its nodes.

    Vertex i of the graph is the i-th node, so that results are in NetworkX's order.

    Parameters
    ----------
    graph : Graph
    nodes : list of hashable, optional
        The nodes, in the order of the vertices; by default the graph's ids.
    weight : str, optional
        The edge attribute that the edge values are.
    multigraph : bool
        Whether it was made of a multigraph of NetworkX.

    Attributes
    ----------
    rows : Rows or None
        The edges of each node in NetworkX's order, if they are known.
    """

    __networkx_backend__ = "garaph"
    rows: Rows | None = None

    def __init__(
        self, graph: Graph, nodes: list[Any] | None = None, weight: str | None = WEIGHT, multigraph: bool = False
    ) -> None:
        self.graph, self.weight, self._nodes, self._multigraph = graph, weight, nodes, multigraph

    @property
    def converted(self) -> bool:
        """Whether it was made of a graph of NetworkX."""
        return self._nodes is not None

    @cached_property
    def nodes(self) -> list[Any]:
        """All nodes, in order."""
        return self.graph.ids.array().tolist() if self._nodes is None else self._nodes

    @cached_property
    def _places(self) -> Nodes:
        return Nodes(self.nodes)

    @cached_property
    def _objects(self) -> Array:
        return np.fromiter(self.nodes, object, len(self.nodes))

    def find(self, node: Any) -> int | None:
        """The vertex that a node is; None if it is not in the graph."""
        if self._nodes is None:
            return self.graph.ids.find(node)
        return self._places.find(node)

    def id_of(self, vertex: int) -> Any:
        """The id by which programs know a vertex."""
        return self.graph.ids[vertex]

    def named(self, vertices: Array) -> list[Any]:
        """The nodes that some vertices are."""
        found = self.graph.ids.take(vertices) if self._nodes is None else self._objects.take(vertices)
        names: list[Any] = found.tolist()
        return names

    def keyed(self, values: Array) -> dict[Any, Any]:
        """A dictionary from all nodes, in order, to these values as numbers of Python."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def weighted(self, attribute: str | None) -> Graph:
        """The graph with this edge attribute as edge values; without edge values if it is None or no edge has it.

        Raises
        ------
        NetworkXError
            If the edge values are another attribute.
        """
        if attribute is None or self.graph.edge_dtype is None:
            return self.unweighted
        if attribute != self.weight:
            raise nx.NetworkXError(
                f"the graph's edge values are the attribute {self.weight!r}, not {attribute!r}; name that, or None"
            )
        return self.graph

    @cached_property
    def unweighted(self) -> Graph:
        """The graph without edge values."""
        return without_values(self.graph)

    @cached_property
    def row_lengths(self) -> Array:
        """The edge values in the order of `rows`, which must be known, of the type of distances."""
        assert self.rows is not None
        assert self.rows.values is not None
        assert self.graph.edge_dtype is not None
        return self.rows.values.astype(np.int64 if self.graph.edge_dtype.kind != "f" else self.graph.edge_dtype)

    @property
    def own_rows(self) -> Rows:
        """`rows`, or, if they are not known, the lists of the graph, whose edges must be in memory."""
        return self.rows or Rows(*lists_of(self.graph))

    @property
    def back_rows(self) -> Rows | None:
        """The edges that lead to each node, if `rows` are known. Of a directed graph, in the order of nodes."""
        if self.rows is None or not self.is_directed():
            return self.rows
        into = self.graph._arrays.in_edges
        return Rows(into.offsets, into.neighbours)

    @property
    def weighted_back_rows(self) -> tuple[Rows, Array]:
        """`back_rows`, which must be known, and the edge values in their order."""
        back = self.back_rows
        assert back is not None
        if not self.is_directed():
            return back, self.row_lengths
        values = self.graph._arrays.in_edges.values
        assert values is not None
        return back, values.astype(self.row_lengths.dtype)

    def reversed(self) -> BackendGraph:
        """The graph with every edge turned round.

        Raises
        ------
        GraphError
            As in `Graph.reversed`.
        """
        if not self.is_directed():
            return self
        return BackendGraph(self.graph.reversed(), self._nodes, self.weight, self._multigraph)

    def is_directed(self) -> bool:
        return self.graph.directed

    def is_multigraph(self) -> bool:
        return self._multigraph

    def number_of_nodes(self) -> int:
        return self.graph.n

    def order(self) -> int:
        return self.graph.n

    def number_of_edges(self) -> int:
        return self.graph.number_of_edges()

    def __len__(self) -> int:
        return self.graph.n

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        return self.find(node) is not None

    def __repr__(self) -> str:
        return f"<BackendGraph of {self.graph!r}>"


class ConvertedGraph(BackendGraph):
    """A graph of NetworkX as arrays. The `Graph` is built when a function first needs it: many need only `rows`.

    Parameters
    ----------
    nodes : Nodes
    rows : Rows
    directed, multigraph : bool
    weight : str, optional
        The edge attribute that the values of `rows` are.
    """

    def __init__(self, nodes: Nodes, rows: Rows, directed: bool, multigraph: bool, weight: str | None) -> None:
        self._places, self._nodes, self.rows, self.weight = nodes, nodes.nodes, rows, weight
        self._directed, self._multigraph = directed, multigraph

    @cached_property
    def graph(self) -> Graph:  # type: ignore[override]
        rows = self.rows
        assert rows is not None
        threads = threads_for(len(rows.neighbours))
        return from_csr(rows.offsets, rows.neighbours, rows.values, directed=self._directed, threads=threads)

    def is_directed(self) -> bool:
        return self._directed

    def number_of_nodes(self) -> int:
        return len(self.nodes)

    order = __len__ = number_of_nodes


def backend_graph(graph: Graph | BackendGraph) -> BackendGraph:
    """What a function of this backend works with, whichever of the two the user gave."""
    return BackendGraph(graph) if isinstance(graph, Graph) else graph


def vertex_of(
    G: BackendGraph, node: Any, message: str = "Source {} is not in G", error: type[Exception] = nx.NodeNotFound
) -> int:
    """The vertex that a node is; raise NetworkX's exception if it is not in the graph."""
    vertex = G.find(node)
    if vertex is None:
        raise error(message.format(node))
    return vertex


def bunch_of(G: BackendGraph, bunch: Any) -> list[Any]:
    """Those of several nodes that are in the graph, with the exceptions of ``Graph.nbunch_iter``."""
    try:
        nodes = list(bunch)
    except TypeError as error:
        raise nx.NetworkXError(f"Node {bunch} is not in the graph.") from error
    for node in nodes:
        try:
            hash(node)
        except TypeError as error:
            raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from error
    return [node for node in nodes if node in G]
