"""`VertexRange`: the edges of a range of vertices, which are read from a graph directory, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import DamagedGraphError
from .blocks import BlockReader
from .check import Constraints, load, within_limits
from .directory import reader_of
from .edge_hashes import NEIGHBOURS
from .files import GraphDirectory
from .lists import Lists
from .manifest import Manifest

Array = npt.NDArray[Any]

EDGES = 1 << 20
"""Edges of a batch: whole blocks of the usual size, whatever the type of the values."""
VERTICES = 1 << 20
"""Vertices whose degrees are read at a time."""
OTHER = {"in": "out", "out": "in"}


class EdgeBatch(NamedTuple):
    """Some edges of a range.

    Attributes
    ----------
    first : int
        The number of the first of them, counted from the first of the range.
    neighbours : ndarray of uint32
    values : ndarray or None
    """

    first: int
    neighbours: Array
    values: Array | None


class VertexRange:
    """The edges of the vertices [first, last), in one direction. All that is read is checked.

    Parameters
    ----------
    folder : GraphDirectory
    manifest : Manifest
    direction : {"in", "out"}
    valued : bool
        Whether to read the edges' values, which the directory must have.
    first, last : int
        Vertices of the graph.

    Attributes
    ----------
    offsets : ndarray of int64, shape (last - first + 1,)
        Where the edges of each vertex begin in the whole array.

    Raises
    ------
    DamagedGraphError
        From any method, if a file is damaged.
    """

    def __init__(
        self, folder: GraphDirectory, manifest: Manifest, direction: str, valued: bool, first: int, last: int
    ) -> None:
        self._folder, self._manifest, self._direction = folder, manifest, direction
        self._readers: dict[str, BlockReader] = {}
        self.offsets = self._offsets(direction, first, last)
        self._neighbours = self._reader(NEIGHBOURS[direction])
        self._values = self._reader(f"{direction}_values") if valued else None
        self._rule = Constraints(below=manifest.vertices, lists=Lists(self.offsets))
        self._limited = within_limits(manifest, f"{direction}_values")

    @property
    def edges(self) -> int:
        """The number of edges."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def value_dtype(self) -> np.dtype[Any] | None:
        """The type of the values; None if there are none."""
        return None if self._values is None else self._values.array.dtype

    def batches(self) -> Iterator[EdgeBatch]:
        """All edges, in order."""
        start, end = int(self.offsets[0]), int(self.offsets[-1])
        for begin in range(start // EDGES * EDGES, end, EDGES):
            first, last = max(begin, start), min(begin + EDGES, end)
            neighbours = self._load(self._neighbours, self._rule, first, last)
            values = None if self._values is None else self._load(self._values, self._limited, first, last)
            yield EdgeBatch(first - start, neighbours, values)

    def _load(self, reader: BlockReader, rule: Constraints, first: int, last: int) -> Array:
        """Elements [first, last) of an array, which obey the rule."""
        elements = load(reader, first, last)
        if fault := rule.fault(first, elements):
            block, element = divmod(first + fault[0], reader.array.bounds(0)[1])
            raise reader.damage(block, fault[1], element=element)
        return elements

    def degrees(self, numbers: Array) -> tuple[Array, Array]:
        """How many edges some vertices of the graph, ascending, have in this direction, and in the other: int64."""
        here = self._degrees(self._direction, numbers)
        return here, self._degrees(OTHER[self._direction], numbers) if self._manifest.directed else here

    def _degrees(self, direction: str, numbers: Array) -> Array:
        degrees, n = np.empty(len(numbers), np.int64), self._manifest.vertices
        for first in range(0, n, VERTICES):
            last = min(first + VERTICES, n)
            some = slice(*np.searchsorted(numbers, (first, last)).tolist())
            if some.start < some.stop:
                degrees[some] = np.diff(self._offsets(direction, first, last))[numbers[some] - first]
        return degrees

    def _offsets(self, direction: str, first: int, last: int) -> Array:
        reader = self._reader(f"{direction}_offsets")
        offsets = load(reader, first, last + 1)
        if offsets[0] < 0 or offsets[-1] > self._manifest.edges or (offsets[1:] < offsets[:-1]).any():
            raise DamagedGraphError(reader.paths[0], "offsets are out of order or of range; import the graph again")
        return offsets

    def _reader(self, name: str) -> BlockReader:
        if name not in self._readers:
            reader = self._readers[name] = reader_of(self._folder, self._manifest, name)
            if damage := reader.truncation():
                raise damage
        return self._readers[name]
