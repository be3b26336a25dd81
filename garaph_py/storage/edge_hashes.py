"""The hashes of a graph's in-edges and out-edges, which are equal because both are the same edges (graph/edge_hash.py).

A writer computes and the manifest keeps them; `verify` computes them again from what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy.typing as npt

from ..codec.arrays import EdgeArray
from ..codec.blocks import KIND_OF
from ..codec.codecs import decoded, decoded_slice
from ..codec.format import ASCENDING
from ..errors import GraphError
from ..graph.transpose import CHUNK
from ..native.threads import ThreadPool, available_cores
from .blocks import BlockReader
from .check import Visit, load
from .lists import UNSORTED, Lists
from .manifest import EdgeHashes, Manifest

Array = npt.NDArray[Any]

NEIGHBOURS = {"in": "in_sources", "out": "out_targets"}
"""The array of neighbours of each direction."""
NOT_REVERSED = "the out-edges are not the in-edges reversed; import the graph again"


def equal_hashes(into: int, out: int) -> EdgeHashes:
    """The hashes of in-edges and out-edges, for the manifest.

    Raises
    ------
    GraphError
        If they differ.
    """
    if into != out:
        raise GraphError(NOT_REVERSED)
    return EdgeHashes(into, out)


def hashes_of(arrays: Mapping[str, EdgeArray], directed: bool) -> EdgeHashes:
    """The hashes of a graph in memory, whose `arrays` have the names of the format.

    It takes half of the cores: a writer beside it needs the others.

    Raises
    ------
    GraphError
        If the out-edges are not the in-edges reversed, or a list does not ascend.
    """
    with ThreadPool(max(available_cores() // 2, 1)) as pool:
        into = hash_of(arrays, "in", pool)
        return equal_hashes(into, hash_of(arrays, "out", pool) if directed else into)


def hash_of(arrays: Mapping[str, EdgeArray], direction: str, pool: ThreadPool) -> int:
    """The hash of the edges of a direction, ``"in"`` or ``"out"``."""
    offsets, values = decoded(arrays[f"{direction}_offsets"], ASCENDING, pool), arrays.get(f"{direction}_values")
    name, lists = NEIGHBOURS[direction], Lists(offsets)
    neighbours, begins = arrays[name], range(0, len(arrays[name]), CHUNK)

    def piece(first: int) -> tuple[int, bool, int, int]:
        """The hash of the edges from `first` on, whether their lists ascend, and the first and the last neighbour."""
        with ThreadPool(1) as alone:
            others = decoded_slice(neighbours, KIND_OF[name], first, first + CHUNK, alone, offsets)
            bits = None if values is None else decoded_slice(values, KIND_OF["in_values"], first, first + CHUNK, alone)
        hashed = lists.hash(first, others, bits, direction == "in")
        return hashed, lists.sound(first, others, 2**32), int(others[0]), int(others[-1])

    found, before = pool.run(piece, zip(begins, strict=True)) if begins else [], 0
    for first, (_, ascends, least, last) in zip(begins, found, strict=True):
        if not ascends or (least < before and lists.continues(first)):
            raise GraphError(UNSORTED)
        before = last
    return sum(hashed for hashed, *_ in found) % 2**64


class StoredHashes:
    """Computes the hashes of a graph directory from its blocks, while these are scanned.

    Parameters
    ----------
    manifest : Manifest
    readers : mapping of str to BlockReader
        Readers of the arrays that have been scanned, in which no damage was found.
    lists : mapping of str to Lists
        The lists of the arrays of neighbours, by the name of their offsets.
    """

    def __init__(self, manifest: Manifest, readers: Mapping[str, BlockReader], lists: Mapping[str, Lists]) -> None:
        self._manifest, self._readers, self._lists = manifest, readers, lists
        self._valued = ("out_values" if manifest.directed else "in_values") in manifest.arrays
        self._sums: dict[str, list[int]] = {"in": [], "out": []}  # of each block; threads append to the lists

    def visit(self, name: str) -> Visit | None:
        """The function that the scan of an array calls for each block; None if the array completes no edges."""
        for direction, neighbours in NEIGHBOURS.items():
            if name == (f"{direction}_values" if self._valued else neighbours):
                return partial(self._add, direction)
        return None

    def _add(self, direction: str, first: int, elements: Array) -> None:
        name = NEIGHBOURS[direction]
        others, values = elements, None
        if self._valued:
            others, values = load(self._readers[name], first, first + len(elements)), elements
        for to in (direction,) if self._manifest.directed else ("in", "out"):
            self._sums[to].append(self._lists[f"{direction}_offsets"].hash(first, others, values, to == "in"))

    def problem(self) -> str | None:
        """The damage that the hashes show, after all arrays have been scanned; None if there is none."""
        found = EdgeHashes(*(sum(self._sums[direction]) % 2**64 for direction in NEIGHBOURS))
        if found.into != found.out:
            return NOT_REVERSED
        if self._manifest.edge_hashes not in (None, found):
            return "its edge_hashes are not those of the edges; restore the files, or import the graph again"
        return None
