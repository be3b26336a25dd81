"""The nodes of a NetworkX graph, and the vertex that each is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from .dictionaries import NOBODY
from .names import Names, names_of
from .objects import Objects

Array = npt.NDArray[Any]

SPARSE = 8
"""Nodes get a table if their greatest integer is at most this many times their number: up to 32 bytes a node."""


class Nodes:
    """Nodes in the order of vertices.

    Parameters
    ----------
    nodes : list of hashable
    """

    def __init__(self, nodes: list[Any]) -> None:
        self.nodes = nodes

    @cached_property
    def table(self) -> Array | None:
        """The vertex that each integer is, uint32, if all nodes are integers that make a small table; else None.

        Looking up all neighbours in an array takes a third of the time that it takes in a dictionary.
        """
        nodes, integers = self.nodes, Objects(self.nodes).integers()
        if integers is None or len(nodes) == 0 or integers.min() < 0 or integers.max() > SPARSE * len(nodes):
            return None
        vertices = np.full(integers.max() + 1, NOBODY, np.uint32)
        vertices[integers] = np.arange(len(nodes), dtype=np.uint32)
        return vertices

    @cached_property
    def names(self) -> Names | None:
        """The nodes, if all are strings and kernels can look them up; else None."""
        return names_of(self.nodes) if self.nodes and type(self.nodes[0]) is str else None

    @cached_property
    def are_plain(self) -> bool:
        """Whether all nodes are exactly strings or integers, which have no code of a user's."""
        return set(map(type, self.nodes)) <= {int, str}

    @cached_property
    def vertices(self) -> dict[Any, int]:
        """The vertex that each node is."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    def find(self, node: Any) -> int | None:
        """The vertex that an object is; None if it is no node."""
        table = self.table if type(node) is int else None
        if table is not None:
            return int(table[node]) if 0 <= node < len(table) and table[node] != NOBODY else None
        if type(node) is str and self.names is not None:
            return self.names.find(node)
        try:
            hash(node)  # before a dictionary of all nodes is made
            return self.vertices.get(node)
        except TypeError:  # it is a list, or has one in it, and so cannot be a node
            return None

    def find_all(self, ends: Iterable[Any]) -> Array:
        """The vertices that some ends of edges are, uint32."""
        try:
            return np.fromiter(map(self.vertices.__getitem__, ends), np.uint32)
        except KeyError as error:
            raise GraphError(f"the graph has an edge to {error!s:.40}, which is not one of its nodes") from None
