"""Graphs that several tests need, and when two are the same."""

from dataclasses import replace

import numpy as np

from garaph_py import events
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.ids import StringIds
from garaph_py.storage.progress import Progress
from garaph_py.storage.write import Destination, write_blocks


def equal(one, other):
    def same(a, b):
        return (a is None and b is None) or (a.dtype == b.dtype and np.array_equal(a, b))

    ours, theirs = one._arrays, other._arrays
    return (
        one.directed == other.directed
        and one.ids.kind == other.ids.kind
        and same(one.ids.array(), other.ids.array())
        and same(ours.in_edges.offsets, theirs.in_edges.offsets)
        and same(ours.in_edges.neighbours, theirs.in_edges.neighbours)
        and same(ours.in_edges.values, theirs.in_edges.values)
        and same(ours.out_edges.offsets, theirs.out_edges.offsets)
        and same(ours.out_edges.neighbours, theirs.out_edges.neighbours)
    )


def small_graph():
    """Directed, with weights and names; every array has more than 512 bytes and less than 1024."""
    names = ["", "ä", "日本", "e\0", *(f"vertex{v:03}" for v in range(4, 70))]
    sources, targets = np.random.default_rng(1).integers(0, 70, (2, 140))
    edges = from_numbered_edges(sources, targets, 70, np.arange(140, dtype=np.float32))
    return edges._replace(ids=StringIds(names))


def write_array(path, info, name, length, blocks):
    """Write the blocks of an array into the directory `path` in place of its old ones; `info` gets what they are."""
    old, destination = info.arrays[name], Destination(path, (path,), (".",), info.graph_id)
    progress = Progress("", 0, events.ignore)
    for file in old.files:
        (path / file).unlink(missing_ok=True)
    write_blocks(destination, info, replace(old, length=length), blocks, progress)


def edges_of(graph):
    """Sorted (source, target, value) in the user's ids."""
    ids = graph.ids.array().tolist()
    edges = graph._arrays.in_edges
    targets = np.repeat(np.arange(graph.n), np.diff(edges.offsets))
    values = [None] * graph.m if edges.values is None else edges.values.tolist()
    places = zip(edges.neighbours.tolist(), targets.tolist(), values, strict=True)
    return sorted((ids[source], ids[target], value) for source, target, value in places)


DIRECTED = from_numbered_edges([0, 2, 0], [1, 0, 2], 4, np.array([7, -2, 5], np.int32))


UNDIRECTED = from_numbered_edges([0, 2, 3], [1, 0, 3], 5, np.array([7, 5, 6], np.int32), directed=False)
