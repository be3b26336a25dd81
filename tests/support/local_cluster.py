"""Runs over parts on workers of this process, with the client, the state machine and the messages of a cluster."""

from __future__ import annotations

import asyncio
import queue

import numpy as np

import garaph_py as gp
from garaph_py.cluster.heard import Heard
from garaph_py.cluster.run import conduct, prepared_of
from garaph_py.graph.build import from_numbered_edges
from garaph_py.output.record import Record
from garaph_py.program import bind, oriented
from garaph_py.runtime.options import RunOptions
from tests.support.stored_graphs import opened


class Mixed(gp.VertexProgram):
    """Sees ids, degrees, edges' values, and gathers over the out-edges."""

    root: gp.VertexId

    value = np.int64
    sum = gp.add
    gathers = "out"

    def init(self, id, in_degree, out_degree):
        return id * 7 + in_degree * 3 + out_degree

    def gather(self, src, src_id, edge):
        return src % 1009 + src_id * edge

    def apply(self, old, acc, id, in_degree):
        return acc % 100003 + in_degree + (id == self.root)


def rmat(weights=None, directed=True, scale=12):
    graph = gp.rmat(scale, seed=1)
    sources, targets = np.repeat(np.arange(graph.n), graph.out_degrees), graph._arrays.out_edges.neighbours
    values = None if weights is None else np.random.default_rng(3).integers(1, 9, graph.m).astype(weights)
    return from_numbered_edges(sources, targets, graph.n, values, directed=directed)


def on_disk(graph, path, **options):
    gp.save(graph, path, **options)
    return opened(path, 1 << 18)


CASES = {
    "PageRank": (gp.apps.PageRank(), {}, 4),
    "BFS": (gp.apps.BFS(5), {}, None),
    "SSSP": (gp.apps.SSSP(5), {"weights": "int32"}, None),
    "ConnectedComponents": (gp.apps.ConnectedComponents(), {"directed": False}, None),
    "Mixed": (Mixed(root=5), {"weights": "int32"}, 3),
}
"""Programs, what graph they run over, and a limit on iterations."""


def conducted(program, graph, workers, **options):
    """The reported values, the iterations, and the conductor."""
    graph = oriented(program, graph)
    prepared = prepared_of(program, graph, RunOptions(**options))
    heard = Heard(queue.SimpleQueue().put, Record(None, None))
    values, conductor, _ = asyncio.run(
        conduct(workers, bind(program, graph), graph, prepared, heard, None, options.get("iterations"))
    )
    return values, heard.history.records(), conductor
