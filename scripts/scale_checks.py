"""Checks of the answers over an undirected graph far larger than memory, in passes over its edges, with all cores.

They have code of their own:

- BFS: the source alone has level 0, no edge skips a level, and each other reached vertex has a neighbour one level
  below, which is its parent.
- ConnectedComponents: both ends of each edge have the same label, and each label is the least vertex that has it. The
  search shows that the largest component is connected; of the edges elsewhere, SciPy finds the components.
- PageRank: the formula, in double precision.
- SSSP, with lengths of 1 or more: the distance of the source is 0, and that of each other vertex the least over its
  edges, of the neighbour's distance and the edge's length. No edge of a shortest path can then be missing, because
  distances fall along it.

The first pass checks the search and the components, and sums the first ranks; each further iteration of PageRank, and
SSSP, take a pass of their own. Beside the graph's offsets and pages of edges, they take 40 bytes of memory for each
vertex, and 4 for each further array of parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import garaph_py as gp
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.memory import MemoryNeeds
from garaph_py.pages.passes import plain
from garaph_py.pages.provider import SourceFactory

Array = npt.NDArray[Any]

DAMPING = 0.85
VERTEX_BYTES, PARENT_BYTES = 40, 4
"""Memory that the checks take for a vertex, with one array of parents, and for each further one, in bytes."""
PAGE_EDGES = 1 << 24
"""Most edges of a page of the checks: Python and the threads take some milliseconds for each page."""
PARTS = 1 << 10
"""Parts of a page, which threads take one by one: a hub's list is one part's, and R-MAT's hubs lie close together."""
LOOKUPS = 256
"""Edges whose other ends are looked up together: what is known about them (4 KiB) stays in the first-level cache."""
KNOWN = np.dtype([("gives", np.float64), ("label", np.uint32), ("level", np.int32)])
"""What the checks look up for each edge, side by side, so that it takes one cache line."""
FAR = 1 << 30
"""What stands for the distance of a vertex that the source does not reach."""
RANKS_DIFFER = 1e-3
"""How much a rank in single precision may differ from the one in double precision, relative to it."""


@numba.njit(parallel=True, nogil=True, cache=True)
# wide: compiled code takes its arrays one by one
def check_lists(cuts, offsets, neighbours, known, parents, wrong, sums):
    """Compare the vertices [cuts[0], cuts[-1]) with their neighbours, and sum what these give.

    Notes in `wrong` whose edges skip a level (1) or lead to another label (2), and who is reached without a neighbour
    that is its parent in row k of `parents` (4 << k). One loop waits for memory; the other one, which compares, finds
    all in the cache. One loop for both took twice as long.
    """
    for part in numba.prange(len(cuts) - 1):
        for v in range(cuts[part], cuts[part + 1]):
            begin, end = offsets[v] - offsets[cuts[0]], offsets[v + 1] - offsets[cuts[0]]
            level, label, gathered = known[v].level, known[v].label, 0.0
            least, most, others = level, level, np.uint32(0)
            for first in range(begin, end, LOOKUPS):
                last = min(first + LOOKUPS, end)
                for at in range(first, last):
                    gathered += known[neighbours[at]].gives
                for at in range(first, last):
                    u = known[neighbours[at]]
                    least, most = min(least, u.level), max(most, u.level)
                    others |= u.label ^ label
            found = (
                np.uint8(1) if least != most and (least < 0 or least < level - 1 or most > level + 1) else np.uint8(0)
            )
            if others:
                found |= np.uint8(2)
            for row in range(len(parents) if level > 0 else 0):
                parent = parents[row, v]
                at = begin + np.searchsorted(neighbours[begin:end], parent)
                if at == end or neighbours[at] != parent or known[parent].level + 1 != level:
                    found |= np.uint8(4 << row)
            wrong[v], sums[v] = found, gathered


@numba.njit(parallel=True, nogil=True, cache=True)
def sum_lists(cuts, offsets, neighbours, gives, sums):
    """Sum what the neighbours of the vertices [cuts[0], cuts[-1]) give."""
    for part in numba.prange(len(cuts) - 1):
        for v in range(cuts[part], cuts[part + 1]):
            gathered = 0.0
            for at in range(offsets[v] - offsets[cuts[0]], offsets[v + 1] - offsets[cuts[0]]):
                gathered += gives[neighbours[at]]
            sums[v] = gathered


@numba.njit(parallel=True, nogil=True, cache=True)
def check_distances(cuts, offsets, neighbours, lengths, distance, wrong):
    """Note which of the vertices [cuts[0], cuts[-1]) do not have the least distance that their edges give."""
    for part in numba.prange(len(cuts) - 1):
        for v in range(cuts[part], cuts[part + 1]):
            least, shortest = np.int64(FAR), np.int64(1)
            for at in range(offsets[v] - offsets[cuts[0]], offsets[v + 1] - offsets[cuts[0]]):
                least = min(least, distance[neighbours[at]] + np.int64(lengths[at]))
                shortest = min(shortest, np.int64(lengths[at]))
            wrong[v] = shortest < 1 or distance[v] != least


def are_distances(graph: gp.Graph, distance: Array, source: int) -> bool:
    """Whether these are the distances of all vertices from vertex `source`, a number, in a graph with lengths."""
    reached = distance < np.iinfo(np.int64).max
    if distance[source] != 0 or (distance[reached] >= FAR).any():
        return False
    offsets, wrong = graph._arrays.in_edges.offsets, np.zeros(graph.n, np.bool_)
    near = np.where(reached, distance, FAR).astype(np.int32)
    for first, last, neighbours, lengths in pages_of(graph, values=True):
        check_distances(even_cuts(first, last, offsets), offsets, neighbours, lengths, near, wrong)
    wrong[source] = False
    return not wrong.any()


def verify(graph: gp.Graph, answers: Path, iterations: int, others: Mapping[str, Path]) -> dict[str, bool]:
    """Whether each answer in the folder `answers` is right, where PageRank has so many iterations.

    And whether the parents in the folders `others` are right, by name: those of searches with the same levels.
    The folder has the answers of the three programs without lengths, that of SSSP, or all.
    """
    right = dict[str, bool]()
    if (answers / "PageRank-value.npy").exists():
        right = verify_three(graph, answers, iterations, others)
    if (answers / "SSSP-value.npy").exists():
        source = int(np.diff(graph._arrays.in_edges.offsets).argmax())
        right["SSSP"] = are_distances(graph, np.load(answers / "SSSP-value.npy"), source)
    return right


def verify_three(graph: gp.Graph, answers: Path, iterations: int, others: Mapping[str, Path]) -> dict[str, bool]:
    """Whether the answers of BFS, ConnectedComponents and PageRank are right; see `verify`."""
    offsets = graph._arrays.in_edges.offsets
    degree, rank = np.diff(offsets).astype(np.int32), 1 / graph.n
    divisor, source = np.maximum(degree, 1), int(degree.argmax())
    known, wrong, sums = np.empty(graph.n, KNOWN), np.zeros(graph.n, np.uint8), np.zeros(graph.n)
    known["level"], known["label"] = (
        np.load(answers / f"{of}.npy") for of in ("BFS-level", "ConnectedComponents-value")
    )
    known["gives"], parents, stray = rank / divisor, np.empty((1 + len(others), graph.n), np.uint32), []
    for row, folder in enumerate((answers, *others.values())):
        given = np.load(folder / "BFS-parent.npy")
        stray.append(((given >= 0) != (known["level"] >= 0)).any())  # only those that are reached have parents
        np.maximum(given, 0, out=parents[row], casting="unsafe")
        del given
    giant, outside, of_vertex = known["label"][source], [], VERTEX_BYTES + PARENT_BYTES * len(others)
    for first, last, neighbours, _ in pages_of(graph, of_vertex):
        check_lists(even_cuts(first, last, offsets), offsets, neighbours, known, parents, wrong, sums)
        outside.append(edges_outside(giant, first, last, offsets, neighbours, known["label"]))
    label, level = (np.ascontiguousarray(known[name]) for name in ("label", "level"))
    del known, parents
    begun = bool((level == 0).sum() == 1 and level[source] == 0)
    right = {
        name: begun and not stray[row] and not (wrong & (1 | 4 << row)).any()
        for row, name in enumerate(("BFS", *others))
    }
    right["ConnectedComponents"] = not (wrong & 2).any() and are_components(
        label, np.concatenate(outside), level, source
    )
    del label, level, outside
    for iteration in range(iterations):
        if iteration:
            gives = rank / divisor
            for first, last, neighbours, _ in pages_of(graph, of_vertex):
                sum_lists(even_cuts(first, last, offsets), offsets, neighbours, gives, sums)
        lost = np.where(degree == 0, rank, 0).sum() / graph.n
        rank = (1 - DAMPING) / graph.n + DAMPING * (sums + lost)
    given = np.load(answers / "PageRank-value.npy")
    right["PageRank"] = bool(np.abs(given / rank - 1).max() < RANKS_DIFFER)
    return right


def pages_of(
    graph: gp.Graph, of_vertex: int = VERTEX_BYTES, values: bool = False
) -> Iterator[tuple[int, int, Array, Array | None]]:
    """The first vertex of each page, the end of its vertices, the sources of their in-edges, and the edges' values.

    The caller has so many bytes `of_vertex` in memory for each vertex.
    """
    with ThreadPool() as pool, SourceFactory(graph, values) as sources:
        sources.divide(MemoryNeeds(of_vertex * graph.n if graph.on_disk else 0))
        source = sources.into(min(PAGE_EDGES, sources.page_edges or PAGE_EDGES))
        yield from plain(source, graph._arrays.in_edges.offsets, pool, values=values)


def even_cuts(first: int, last: int, offsets: Array) -> Array:
    """Cuts of the vertices [first, last) into parts of about equally many edges."""
    edges = np.linspace(offsets[first], offsets[last], PARTS + 1)[1:-1]
    return np.unique(np.concatenate([[first], first + np.searchsorted(offsets[first:last], edges), [last]]))


def edges_outside(giant: int, first: int, last: int, offsets: Array, neighbours: Array, label: Array) -> Array:
    """The edges of a page that lie outside the component labelled `giant`: shape (k, 2)."""
    others = (
        np.flatnonzero((label[first:last] != giant) & (offsets[first:last] < offsets[first + 1 : last + 1])) + first
    )
    degrees = offsets[others + 1] - offsets[others]
    lists = [neighbours[at : at + size] for at, size in zip(offsets[others] - offsets[first], degrees, strict=True)]
    return np.stack([np.concatenate([*lists, neighbours[:0]]), np.repeat(others, degrees)], axis=1)


def are_components(label: Array, others: Array, level: Array, source: int) -> bool:
    """Whether the labels, which agree along all edges, name the components by their least vertices.

    The vertices that have a level are one component, that of the `source`. `others` are the edges elsewhere.
    """
    own = np.arange(len(label), dtype=label.dtype)
    if (label > own).any() or (label[label] != label).any() or ((level >= 0) != (label == label[source])).any():
        return False
    vertices, ends = np.unique(others, return_inverse=True)
    edges = coo_array((np.ones(len(others), np.int8), tuple(ends.reshape(-1, 2).T)), shape=(len(vertices),) * 2)
    isolated = len(label) - np.count_nonzero(level >= 0) - len(vertices)
    count = 1 + isolated + connected_components(edges, directed=False, return_labels=False)
    return bool(count == np.count_nonzero(label == own))


def agree(name: str, answers: Path, others: Path) -> bool:
    """Whether two answers of a program are the same: the levels of searches, and ranks but for rounding.

    Parents may differ.
    """
    column = "level" if name == "BFS" else "value"
    one, other = (np.load(folder / f"{name}-{column}.npy", mmap_mode="r") for folder in (answers, others))
    return bool(np.abs(one / other - 1).max() < RANKS_DIFFER) if name == "PageRank" else bool((one == other).all())
