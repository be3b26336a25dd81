"""Graphs in CSC and CSR, and functions that build them from edges, from other libraries' graphs, or at random."""

from typing import Any

from .adjacency import Adjacency
from .build import from_edges, from_scipy
from .graph import Graph
from .ids import IntegerIds, StringIds, VertexIds
from .networkx import from_networkx

__all__ = [
    "Adjacency",
    "Graph",
    "IntegerIds",
    "StringIds",
    "VertexIds",
    "from_edges",
    "from_networkx",
    "from_scipy",
]


def __getattr__(name: str) -> Any:
    if name not in ("PackedAdjacency", "StoredAdjacency"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import deprecated_classes
    from .deprecated import warn

    warn(f"garaph_py.graph.{name}", "Adjacency, with its encoding and on_disk", stacklevel=3)
    return getattr(deprecated_classes, name)
