"""`Place`: what a part of a graph knows of the undivided graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Place:
    """Where the vertices of a part are in the undivided graph, and what that graph knows of them.

    Attributes
    ----------
    part : int
        The number of the part.
    n, m : int
        Vertices and stored edges of the undivided graph.
    directed : bool
        Whether the undivided graph is directed; the graph of a part always is.
    cuts : ndarray of int64, shape (parts + 1,)
        The bounds of all parts (`part.Cuts`).
    numbers : ndarray of uint32, shape (vertices of the part,)
        The number that each vertex has in the undivided graph, ascending.
    in_degrees, out_degrees : ndarray of int64, shape (vertices of the part,)
        Its degrees there.
    pieces : ndarray of int64, shape (k, 2)
        The bounds of the pieces of work into which one machine divides these in-edges: the edge and the vertex, as the
        part's graph numbers them, with which each piece begins, and those after the last. Sums over floats depend on
        where a piece cuts a list of edges.
    """

    part: int
    n: int
    m: int
    directed: bool
    cuts: Array
    numbers: Array
    in_degrees: Array
    out_degrees: Array
    pieces: Array

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.cuts) - 1

    @property
    def own(self) -> tuple[int, int]:
        """First and last of the own vertices, as the part's graph numbers them."""
        return self.of_part(self.part)

    @cached_property
    def bounds(self) -> Array:
        """For each part p, its vertices here are those from ``bounds[p]`` up to ``bounds[p + 1]``."""
        return np.searchsorted(self.numbers, self.cuts)

    @cached_property
    def degree_offsets(self) -> Array:
        """Sums of `out_degrees` before each vertex: int64, shape (vertices of the part + 1,)."""
        return np.concatenate(([0], np.cumsum(self.out_degrees)))

    def of_part(self, part: int) -> tuple[int, int]:
        """First and last of the vertices here that a part owns, as this part's graph numbers them."""
        return int(self.bounds[part]), int(self.bounds[part + 1])

    def wanted(self, part: int) -> Array:
        """The vertices here that a part owns: uint32, by their numbers in the undivided graph, ascending."""
        first, last = self.of_part(part)
        return self.numbers[first:last]

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(each.nbytes for each in (self.cuts, self.numbers, self.in_degrees, self.out_degrees, self.pieces))

    def arrays(self) -> dict[str, Array]:
        """All of it as named arrays, of which `of` makes it again."""
        sizes = np.array([self.part, self.n, self.m, self.directed], np.int64)
        return {
            "sizes": sizes, "cuts": self.cuts, "numbers": self.numbers, "in_degrees": self.in_degrees,
            "out_degrees": self.out_degrees, "pieces": self.pieces,
        }  # fmt: skip

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Place:
        """The place that `arrays` describe."""
        part, n, m, directed = arrays["sizes"].tolist()
        names = "cuts", "numbers", "in_degrees", "out_degrees", "pieces"
        return cls(part, n, m, bool(directed), *(arrays[name] for name in names))


def pieces_within(pieces: Array, first: tuple[int, int], last: tuple[int, int]) -> Array:
    """The pieces between two bounds, each an edge and a vertex: int64, shape (k, 2), with both bounds."""
    inside = np.concatenate(([first], np.clip(pieces, first, last), [last])).astype(np.int64)
    changes = np.append(True, (np.diff(inside, axis=0) != 0).any(axis=1))
    found: Array = inside[changes]
    return found
