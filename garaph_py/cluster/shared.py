"""`SharedParts`: the parts of a graph on disk, each of which a worker reads from the graph's directory itself."""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt

from ..errors import GraphError
from ..graph import Graph
from ..graph.graph import TURNED
from ..graph.part import Cuts
from ..graph.place import pieces_within
from ..program import BoundProgram
from ..storage.edge_hashes import NEIGHBOURS
from ..storage.reader import ArrayReader
from ..storage.remote import origin
from .memory import bytes_at_most, parameter_bytes
from .reading import Where, Within

Array = npt.NDArray[Any]

DIRECTIONS = {name: direction for direction, name in NEIGHBOURS.items()}


class CutParts:
    """The parts into which a graph is cut for a run; subclasses are a `placing.Parts`.

    Parameters
    ----------
    graph : Graph
    cuts : Cuts
    bound : BoundProgram
    """

    def __init__(self, graph: Graph, cuts: Cuts, bound: BoundProgram) -> None:
        self.count = cuts.parts
        self._graph, self._cuts, self._bound = graph, cuts, bound

    def needs(self) -> list[int]:
        """The least bytes that each part takes in a worker; of a graph on disk, an upper bound of these."""
        least: list[int] = bytes_at_most(self._graph, self._cuts, self._bound).tolist()
        return least


class SharedParts(CutParts):
    """The parts of a graph on disk, which workers read."""

    def arrays(self, part: int) -> dict[str, Array]:
        """No part has to be sent."""
        raise GraphError("the graph is on disk, where workers read their parts")

    def where(self, part: int) -> Where:
        """Where a worker finds a part."""
        edges, cuts = self._graph._arrays.in_edges, self._cuts
        array = edges.neighbour_array
        assert isinstance(array, ArrayReader)
        assert self._graph.directory is not None
        first, last = cuts.vertices[part : part + 2].tolist()
        bounds = (int(edges.offsets[first]), first), (int(edges.offsets[last]), last)
        path, graph_id = origin(os.path.abspath(array.reader.folder.path)), self._graph.directory.removesuffix(TURNED)
        within = Within(
            DIRECTIONS[array.array.name], edges.value_array is not None, cuts.vertices,
            pieces_within(cuts.pieces, *bounds),
        )  # fmt: skip
        return Where(path, graph_id, part, self._bound.value.itemsize, parameter_bytes(self._bound), within)
