"""`StoredPart`: a part of a graph that is on disk, read from the graph's directory without the edges of other parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..graph.adjacency import Adjacency
from ..graph.group import owners
from ..graph.part import Cuts, Part, local_offsets, of_edges, placed, places_of
from ..graph.place import Place
from ..graph.transpose import reversed_frugally
from ..native.threads import ThreadPool
from .files import GraphDirectory
from .manifest import Manifest
from .vertex_range import VertexRange

Array = npt.NDArray[Any]

TABLE_BYTES = 1 + 4
"""Bytes for each vertex of the undivided graph while a part is read: whether the part has it, and its place there."""


class RenumberedEdges(NamedTuple):
    """Some in-edges of a part, as its graph numbers vertices.

    Attributes
    ----------
    first : int
        The number of the first of them.
    sources, targets : ndarray of uint32
    values : ndarray or None
    """

    first: int
    sources: Array
    targets: Array
    values: Array | None


class StoredPart:
    """One part of a graph on disk.

    Parameters
    ----------
    folder : GraphDirectory
    manifest : Manifest
    direction : {"in", "out"}
        Which of the directory's edges are the in-edges: the out-edges, if the graph is reversed.
    valued : bool
        Whether the edges have values.
    cuts : Cuts
        Of the pieces, those that have edges of the part are enough.
    part : int

    Raises
    ------
    GraphError
        If the graph has no such part.
    DamagedGraphError
        From any method, if a file is damaged.
    """

    # wide: where the part is, and which one it is
    def __init__(
        self, folder: GraphDirectory, manifest: Manifest, direction: str, valued: bool, cuts: Cuts, part: int
    ) -> None:
        self._manifest, self._cuts, self._part = manifest, cuts, part
        bounds = cuts.vertices
        if (
            not 0 <= part < cuts.parts
            or bounds[0] != 0
            or bounds[-1] != manifest.vertices
            or (np.diff(bounds) < 0).any()
        ):
            raise GraphError(f"{folder.path} has no part {part} of {cuts.parts} that is cut there; cut the graph again")
        self._own = int(bounds[part]), int(bounds[part + 1])
        self._range = VertexRange(folder, manifest, direction, valued, *self._own)

    @property
    def edges(self) -> int:
        """The number of its in-edges."""
        return self._range.edges

    @property
    def value_dtype(self) -> np.dtype[Any] | None:
        """The type of the edges' values; None if they have none."""
        return self._range.value_dtype

    def place(self) -> Place:
        """The part's place in the undivided graph; this reads all in-edges."""
        is_there = np.zeros(self._manifest.vertices, np.bool_)
        for batch in self._range.batches():
            is_there[batch.neighbours] = True
        is_there[slice(*self._own)] = True
        numbers = np.flatnonzero(is_there).astype(np.uint32)
        del is_there
        manifest, offsets = self._manifest, self._range.offsets
        return placed(
            self._part, (manifest.vertices, manifest.edges, manifest.directed), self._cuts, numbers,
            self._range.degrees(numbers), (int(offsets[0]), int(offsets[-1])),
        )  # fmt: skip

    def offsets(self, place: Place) -> Array:
        """The offsets of the part's graph."""
        return local_offsets(place, self._range.offsets)

    def batches(self, place: Place) -> Iterator[RenumberedEdges]:
        """All in-edges, in order."""
        places, offsets = places_of(place.numbers, place.n), self.offsets(place)
        for batch in self._range.batches():
            targets = owners(offsets, batch.first, batch.first + len(batch.neighbours))
            yield RenumberedEdges(batch.first, places[batch.neighbours], targets, batch.values)

    def load(self, place: Place, threads: int | None) -> Part:
        """The part in memory, raw."""
        sources = np.empty(self.edges, np.uint32)
        values = None if self.value_dtype is None else np.empty(self.edges, self.value_dtype)
        for batch in self.batches(place):
            some = slice(batch.first, batch.first + len(batch.sources))
            sources[some] = batch.sources
            if values is not None:
                values[some] = batch.values
        into = Adjacency(self.offsets(place), sources, values)
        with ThreadPool(threads) as pool:
            return of_edges(into, reversed_frugally(into, pool), place)
