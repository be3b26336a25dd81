"""The identity of a run (graph, program, parameters, synchronous or not), which its checkpoints record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import xxhash

from ..codec.codecs import decoded_slice
from ..codec.format import LISTS, NUMBERS
from ..graph import Graph
from ..graph.arrays import GraphArrays
from ..native.references import fingerprint
from ..native.threads import ThreadPool
from ..program import BoundProgram, PerVertex
from ..program.fields import hints
from .format import octets

Array = npt.NDArray[Any]

PER_VERTEX, EDGES, FUNCTIONS = "per-vertex parameters", "edges and edge values", "the program's functions"
DIRECTORY = "graph directory"
SYNCHRONOUS = "synchronous"
HASHES = (PER_VERTEX, EDGES, DIRECTORY, FUNCTIONS)
CHUNK = 1 << 20
"""Number of elements of an array of edges that are decoded at a time."""


def identity_of(bound: BoundProgram, graph: Graph, synchronous: bool, pool: ThreadPool) -> dict[str, Any]:
    """The identity of a run, as a JSON object.

    The graph's identity depends on every edge and every edge value, but not on the user's ids, nor on the encoding. A
    graph that was opened from a graph directory also has the directory's id; if its edges stay on disk, that id alone
    identifies it.
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
        EDGES: None if graph.on_disk else graph_digest(graph._arrays, pool),
        DIRECTORY: graph.directory,
        "type of the values": str(bound.value),
        FUNCTIONS: functions_digest(bound),
        SYNCHRONOUS: synchronous,
    }


def functions_digest(bound: BoundProgram) -> str:
    """A hash of the program's functions and types. Do not change what it covers: checkpoints have it.

    `BoundProgram.key` covers the same, but may change with any version.
    """
    kinds = [bound.value, bound.accumulator, bound.total, bound.real, bound.edge, bound.reports, bound.parameters.dtype]
    data = None if bound.vertex_data is None else bound.vertex_data.dtype
    return fingerprint(bound.functions, bound.program.sum.name, bound.arguments, kinds, data)


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The differences between two identities, as text for the user; empty if they are the same."""
    others = (name for name in dict.fromkeys([*there, *here]) if name not in (EDGES, DIRECTORY))
    names = [name for name in others if there.get(name) != here.get(name)]
    decides = EDGES if there.get(EDGES) and here.get(EDGES) else DIRECTORY
    if there.get(decides) is None or there[decides] != here.get(decides):
        names.append(decides)
    if "program" in names:  # another program: the other differences do not matter
        names = ["program"]
    return "; ".join(
        f"{name}: not the same" if name in HASHES else f"{name}: {there.get(name)} there, {here.get(name)} here"
        for name in names
    )


def graph_digest(arrays: GraphArrays, pool: ThreadPool) -> str:
    """A checksum of a graph's in-edges and their values, in memory; computed in one pass, once for each graph."""

    def make() -> str:
        edges = arrays.in_edges
        state = xxhash.xxh3_128(octets(edges.offsets))
        kinds = (LISTS, edges.offsets), (NUMBERS, None)
        for array, (kind, offsets) in zip(edges.arrays(), kinds, strict=False):
            for first in range(0, len(array), CHUNK):
                state.update(octets(decoded_slice(array, kind, first, first + CHUNK, pool, offsets)))
        return state.hexdigest()

    return arrays.derived.get(EDGES, make, len)


def digest(array: Array) -> str:
    """A checksum of an array."""
    return xxhash.xxh3_128_hexdigest(octets(array))
