"""The identity of a run, by which its checkpoints are recognized: graph, program, parameters, synchronous or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt
import xxhash

from ..codec.format import LISTS, NUMBERS, RUN, Packed
from ..codec.pack import unpack
from ..graph import Graph
from ..graph.graph import PackedAdjacency
from ..graph.stored import StoredAdjacency
from ..native.threads import ThreadPool
from ..program import BoundProgram, PerVertex
from ..program.bind import hints
from .format import octets

Array = npt.NDArray[Any]

PER_VERTEX, EDGES, FUNCTIONS = "per-vertex parameters", "edges and edge values", "the program's functions"
DIRECTORY = "graph directory"
HASHES = (PER_VERTEX, EDGES, DIRECTORY, FUNCTIONS)
CHUNK = 1 << 10
"""Runs of packed numbers that are unpacked at a time: about a million numbers."""


def identity_of(bound: BoundProgram, graph: Graph, synchronous: bool, pool: ThreadPool) -> dict[str, Any]:
    """The identity of a run, as a JSON object.

    Of the graph, every edge and every edge value counts, but not the user's ids, nor whether it is packed. A graph that
    was opened from a graph directory is also known by the directory's id, and only by that where its edges stay on
    disk.
    """
    record, kind = bound.parameters, type(bound.program)
    numbers = {name: repr(record[name][0].item()) for name in record.dtype.names or ()}
    others = {
        name: repr(getattr(bound.program, name))
        for name, hint in hints(kind).items()
        if hint != PerVertex and name not in numbers
    }
    return {
        "program": bound.name,
        **{f"parameter {name}": text for name, text in (numbers | others).items()},
        PER_VERTEX: None if bound.vertex_data is None else digest(bound.vertex_data),
        "number of vertices": graph.n,
        "number of edges": graph.m,
        "directed": bool(graph.directed),
        "type of the edge values": None if graph.edge_dtype is None else str(graph.edge_dtype),
        EDGES: None if graph.on_disk else graph_digest(graph, pool),
        DIRECTORY: graph.directory,
        "type of the values": str(bound.value),
        FUNCTIONS: bound.key,
        "synchronous": synchronous,
    }


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """In which points two identities differ, for a person to read; empty if they are the same."""
    others = (name for name in dict.fromkeys([*there, *here]) if name not in (EDGES, DIRECTORY))
    names = [name for name in others if there.get(name) != here.get(name)]
    decides = EDGES if there.get(EDGES) and here.get(EDGES) else DIRECTORY
    if there.get(decides) is None or there[decides] != here.get(decides):
        names.append(decides)
    if "program" in names:  # then it does not matter what else differs
        names = ["program"]
    return "; ".join(
        f"{name}: not the same" if name in HASHES else f"{name}: {there.get(name)} there, {here.get(name)} here"
        for name in names
    )


def graph_digest(graph: Graph, pool: ThreadPool) -> str:
    """A checksum of a graph's in-edges with their values, in memory. It takes a pass over them, once for each graph."""
    known: str | None = graph.__dict__.get("_digest")
    if known is None:
        edges = graph.in_edges
        assert not isinstance(edges, StoredAdjacency)
        arrays: list[tuple[Array | Packed | None, str]] = [(edges.offsets, NUMBERS)]
        if isinstance(edges, PackedAdjacency):
            arrays += [(edges.packed, LISTS), (edges.packed_values, NUMBERS)]
        else:
            arrays += [(edges.neighbours, LISTS), (edges.values, NUMBERS)]
        state = xxhash.xxh3_128()
        for array, packed_as in arrays:
            for piece in pieces(array, packed_as, edges.offsets, pool):
                state.update(octets(piece))
        known = graph.__dict__["_digest"] = state.hexdigest()
    return known


def pieces(array: Array | Packed | None, packed_as: str, offsets: Array, pool: ThreadPool) -> Iterator[Array]:
    """A raw array as it is, a packed one unpacked piece by piece."""
    if isinstance(array, Packed):
        starts = offsets if packed_as == LISTS else None
        for first in range(0, len(array.records), CHUNK):
            yield unpack(array.runs(first, first + CHUNK), packed_as, pool, starts, first * RUN)
    elif array is not None:
        yield array


def digest(array: Array) -> str:
    """A checksum of an array."""
    return xxhash.xxh3_128_hexdigest(octets(array))
