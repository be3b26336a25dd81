"""How the host hands an edge list to a device: out-edges from disk or its memory, in buffers of a fixed size."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

Array = npt.NDArray[Any]

MOST_EDGES = 1 << 18
"""Largest number of edges in a buffer: their copy to a GPU takes as long as a few launches of kernels."""
BUFFERS_IN_GRAPH = 64
"""A buffer has room for a 64th of the edges, so that buffers take little of the memory for a small graph."""
BUFFERS_IN_GRAPH_ON_DISK = 1024
"""If edges are on disk, a buffer has room for a 1024th, so that both take 1/128 of the bytes of packed edges: with room
for an eighth of these, a 64th took all of it, and runs with a GPU read what runs on the CPU kept in memory."""
LEAST_EDGES = 1 << 10
"""Smallest number of edges in a buffer."""
MULTIPLE = 32
"""The edges of a buffer are a multiple of this number, so that all its arrays are aligned."""
BUFFERS = 2
"""Number of buffers: the host fills one while the device copies from the other."""
ENDS_BYTES = 8
"""Bytes of an edge's source and target."""


class EdgeBuffers(Protocol):
    """Takes an edge list, one buffer after the other.

    Attributes
    ----------
    edges : int
        Edges that a buffer has room for.
    """

    edges: int

    def next(self) -> list[Array]:
        """The arrays to fill, each of shape (edges,): sources, targets and, if the program reads them, values."""

    def send(self, count: int) -> None:
        """Process the first `count` edges of the arrays that `next` has returned."""


def edges_of_buffer(m: int, on_disk: bool) -> int:
    """Edges that a buffer has room for, in a graph with `m` edges, which may be on disk: a multiple of `MULTIPLE`."""
    share = m // (BUFFERS_IN_GRAPH_ON_DISK if on_disk else BUFFERS_IN_GRAPH)
    return max(min(share, MOST_EDGES), LEAST_EDGES) // MULTIPLE * MULTIPLE


def buffer_bytes(edges: int, value_bytes: int) -> int:
    """Bytes of all buffers, each of which has room for so many edges with values of `value_bytes` bytes."""
    return BUFFERS * edges * (ENDS_BYTES + value_bytes)
