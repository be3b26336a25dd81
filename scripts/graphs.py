"""Graphs for the benchmarks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import garaph_py as gp
from garaph_py.codec.arrays import RawArray

GENERATORS = {"rmat": gp.rmat, "uniform": gp.uniform}
WEIGHTS = 1, 255


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
