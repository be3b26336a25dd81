"""Graphs for the benchmarks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import garaph_py as gp
from garaph_py import events
from garaph_py.codec.arrays import RawArray
from garaph_py.graph.adjacency import Adjacency
from garaph_py.graph.arrays import GraphArrays
from garaph_py.graph.generate import RandomEdges
from garaph_py.graph.ids import VertexIds
from garaph_py.io.bulk.adjacency import AdjacencyBuilder, EdgeKeys
from garaph_py.io.bulk.drawn import Drawn
from garaph_py.native.threads import ThreadPool
from garaph_py.system.memory import available_memory, on_own_pages

GENERATORS = {"rmat": gp.rmat, "uniform": gp.uniform}
WEIGHTS = 1, 255
SPARED = 1 / 6
"""The part of the memory that `undirected` leaves to the system and to Python."""


def load(name: str, weighted: bool = False) -> gp.Graph:
    """The graph that `name` stands for.

    A name is ``rmat:SCALE:EDGE_FACTOR[:symmetric][:weighted]``, the same with ``uniform``, ``grid:SIDE``, or a file or
    directory.
    With `weighted`, generated graphs, and directed graphs without edge values, get integer values from 1 to 255.
    """
    kind, *rest = name.split(":")
    if kind in GENERATORS:
        weights = WEIGHTS if weighted or "weighted" in rest else None
        return GENERATORS[kind](int(rest[0]), int(rest[1]), directed="symmetric" not in rest, weights=weights)
    if kind == "grid":
        return grid(int(rest[0]))
    graph = gp.open(name, encoding="raw") if Path(name).is_dir() else gp.read(name)
    if weighted and graph.directed and graph.edge_dtype is None:
        values = np.random.default_rng(1).integers(*WEIGHTS, graph.m, np.int32, endpoint=True)
        return graph._replace(in_edges=replace(graph._arrays.in_edges, value_array=RawArray(values)))
    return graph


def hub(graph: gp.Graph) -> Any:
    """The id of the vertex with the most out-edges."""
    return graph.ids.take(np.array([int(np.argmax(graph.out_degrees))]))[0]


def grid(side: int) -> gp.Graph:
    """A grid, as a simple road network: each vertex has edges to its neighbours to the right and below."""
    at = np.arange(side * side).reshape(side, side)
    sources = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    targets = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return gp.from_edges(sources, targets, directed=False)


def undirected(edges: RandomEdges) -> gp.Graph:
    """The undirected graph of random edges without weights, for graphs nearly as large as memory.

    The edges are drawn anew for each range of vertices whose keys fit in memory beside the graph. `gp.rmat` holds all
    edges at once, several times.
    """
    m, free = 2 * edges.count, available_memory()
    beside = 4 * m + 8 * edges.n + int(SPARED * free)
    with ThreadPool() as pool:
        drawn = Drawn(edges, EdgeKeys(edges.n, both=True), free - beside, pool, events.ignore)
        if not drawn.count(reverse=False):
            raise MemoryError(f"{m:,} edges take more than {free:,} bytes while they are sorted")
        builder, neighbours = AdjacencyBuilder(edges.n, False, pool), on_own_pages(m, np.dtype(np.uint32))
        for _, others, _ in builder.add(drawn.sorted(reverse=False)):
            neighbours[builder.count - len(others) : builder.count] = others
    both = Adjacency(builder.offsets, neighbours[: builder.count])
    return gp.Graph(GraphArrays(both, both, VertexIds(edges.n)))
