"""Names that have been replaced. Each works for one more version, with a `DeprecationWarning`.

There were three classes of edges: `Adjacency` for raw ones in memory, ``PackedAdjacency`` for packed ones in memory,
and ``StoredAdjacency`` for those on disk. Now there is `Adjacency`, whose arrays know their codec and location; the old
classes are in deprecated_classes.py.

The arrays of a `Graph` were public. Now they are internal (arrays.py), and the graph has methods instead.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy.typing as npt

from ..codec.arrays import PACKED, RAW, EdgeArray, RawArray

Array = npt.NDArray[Any]

ATTRIBUTES = {
    "packed": "neighbour_array",
    "packed_values": "value_array",
    "lists": "neighbour_array",
    "numbers": "value_array",
}
"""Attributes of the old classes, and the attributes of `Adjacency` that replace them."""


ARRAYS = {
    "in_edges": "Graph.edges, edge_batches, predecessors or in_degrees",
    "out_edges": "Graph.edges, edge_batches, neighbors or out_degrees",
    "derived": "Graph.release()",
}
"""Attributes that `Graph` had, and what replaces them."""


def old_attribute_of_graph(graph: Any, name: str) -> Any:
    """The value of ``graph.name`` when arrays were public."""
    if name not in ARRAYS:
        raise AttributeError(f"'Graph' object has no attribute '{name}'", name=name, obj=graph)
    warn(f"Graph.{name}", ARRAYS[name])
    return getattr(graph._arrays, name)


def old_attribute(edges: Any, name: str) -> Any:
    """The value of ``edges.name`` in the old classes."""
    if name == "has_packed_values":
        warn(f"Adjacency.{name}", "Adjacency.value_array.codec")
        return edges.value_array is not None and edges.value_array.codec == PACKED
    if name == "unpacked":
        warn(f"Adjacency.{name}", "Adjacency.encoded")
        return partial(edges.encoded, RAW)
    if name not in ATTRIBUTES:
        raise AttributeError(f"'Adjacency' object has no attribute '{name}'")
    warn(f"Adjacency.{name}", f"Adjacency.{ATTRIBUTES[name]}")
    array = getattr(edges, ATTRIBUTES[name])
    return array.data if isinstance(array, RawArray) else array


def old_arguments(
    neighbour_array: Array | EdgeArray | None,
    value_array: Array | EdgeArray | None,
    neighbours: Array | None = None,
    values: Array | None = None,
) -> tuple[Array | EdgeArray | None, Array | EdgeArray | None]:
    """The arguments of `Adjacency`, if the caller used their old names for some of them."""
    warn("the arguments neighbours and values of Adjacency", "neighbour_array and value_array")
    return (
        neighbour_array if neighbours is None else neighbours,
        value_array if values is None else values,
    )


def warn(old: str, new: str, stacklevel: int = 4) -> None:
    """Warn the caller that uses `old`, by default three calls further up."""
    warnings.warn(f"{old} will be removed in the next version; use {new}", DeprecationWarning, stacklevel=stacklevel)
