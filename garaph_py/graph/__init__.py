"""Graphs: their structure (CSC and CSR), and how they are built from edges, from other libraries, or at random."""

from .build import from_edges, from_networkx, from_scipy
from .graph import Adjacency, Graph, PackedAdjacency
from .ids import IntegerIds, StringIds, VertexIds
from .stored import StoredAdjacency

__all__ = [
    "Adjacency",
    "Graph",
    "IntegerIds",
    "PackedAdjacency",
    "StoredAdjacency",
    "StringIds",
    "VertexIds",
    "from_edges",
    "from_networkx",
    "from_scipy",
]
