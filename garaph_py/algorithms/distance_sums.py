"""Sums over distances by vertex programs, which a GPU may run, and whose edges may be on disk.

Searches run from a block of sources at once, and report a table of distances, with a row for each vertex and a column
for each source. What a row adds to a vertex's sums is added before the next block begins.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import BFS, SSSP
from ..executor.levels import SOURCES
from ..executor.modes import CPU
from ..graph import Graph
from ..native import Kernel
from ..output.result import Result
from ..program import VertexProgram
from ..program.columns import MOST_COLUMNS
from .dijkstra import ADD_LENGTHS, lengths_from_each
from .distances import ADD_DISTANCES, distances
from .in_memory import Call, called, in_memory
from .runs import Runs, by_programs

Array = npt.NDArray[Any]

SUM_BYTES = 16
"""Bytes of a vertex's sum, and of how many sources reach it."""
TABLE_BYTES = 128
"""Bytes of a vertex's row of a table of 64 levels below 128, and of the words from which it is made."""
LEAST_EDGES = 1 << 21
"""Stored edges below which the kernels in memory find sums for many sources as soon as programs: over an R-MAT graph of
2.1 M, sums over 256 sources took programs 0.95 of the time (docs/decisions/algorithms.md)."""
PROBES, LEVELS, REACH = 8, 32, 0.25
"""Searches that show whether programs pay. They have to end within so many levels, and to reach at least this part of
the vertices on the average. Over graphs where programs take less time, searches end after 6 to 19 levels, and reach
0.57 to 1 of the vertices. A grid of 1000 * 1000 has some 1,500 levels, and searches in debdocs-web reach 0.02 of the
vertices at most (docs/decisions/algorithms.md). The numbers between are guesses."""
TYPES = {"i1": ("i8*", "i64"), "i4": ("i32*", "i64"), "i8": ("i64*", "i64"), "f8": ("f64*", "f64")}
"""The types of a table, and of a bound on its distances, in a kernel."""


class Lengths(SSSP):
    """`SSSP` whose distances are float64 if lengths are floats of any type."""

    def value(self, edge):
        return np.float64 if edge is not None and edge.kind == "f" else np.int64


# wide: a compiled function takes its arrays one by one.
def add_rows(first, last, count, table, most, inverse, sums, reached):
    """Add the rows of the vertices [first, last) of a table with `count` columns.

    Distances are from 0 to below `most`; other numbers mean that there is no path. A vertex gets their sum, or the sum
    of 1 divided by each above 0 if `inverse`, and their number.
    """
    for v in range(first, last):
        total, found = 0.0, np.int64(0)
        for at in range(v * count, (v + 1) * count):
            distance = table[at]
            if 0 <= distance < most:
                found += 1
                if not inverse:
                    total += distance
                elif distance > 0:
                    total += 1.0 / distance
        sums[v] += total
        reached[v] += found
    return 0


@cache
def adder(kind: str) -> Kernel:
    """The kernel for tables of this type."""
    table, bound = TYPES[kind]
    return Kernel(f"i64 i64 i64 {table} {bound} bool f64* i64*", add_rows)


def summed_distances(
    function: str, graph: Graph, sources: Array, by_length: bool, inverse: bool, device: str, threads: int | None
) -> tuple[Result, Array]:
    """The sums over distances from the sources in a call of `function`, by programs or by a kernel in memory.

    Returns a result whose values are the sums, or those of 1 / distance if `inverse`, and how many sources reach each
    vertex, itself not counted: shape (n,).
    """
    if by_programs(graph, device) or programs_pay(graph, sources, threads):
        sums, reached, runs = distance_sums(graph, sources, by_length, inverse, device, threads)
        return runs.result(sums, function), reached
    kernel, add = (ADD_LENGTHS, lengths_from_each) if by_length else (ADD_DISTANCES, distances)
    with in_memory(graph, function, [kernel], threads) as call:
        sums, reached, edges = add(call, sources, inverse)
        return call.result(sums, edges), reached


def programs_pay(graph: Graph, sources: Array, threads: int | None) -> bool:
    """Whether vertex programs find sums over distances from these sources sooner than the kernels in memory.

    They do if searches from many sources reach most vertices on the same few levels: then one pass over the edges
    serves all sources, and all threads work on it, while the kernel has a thread for each 64 sources. A few searches
    show whether that is so.
    """
    sources = leading(graph, sources)
    if graph.m < LEAST_EDGES or not len(sources):
        return False
    some = sources[np.linspace(0, len(sources) - 1, min(PROBES, len(sources))).astype(np.int64)]
    runs = Runs(graph, CPU, threads, 0)
    (levels,) = runs.tables(searches(graph, some, by_length=False), iterations=LEVELS)
    return len(runs.stats().history) < LEVELS and bool((levels >= 0).mean() >= REACH)


def leading(graph: Graph, sources: Array) -> Array:
    """The sources that have out-edges; the others reach no other vertex."""
    return sources[graph.out_degrees[sources] > 0]


# wide: a graph, which distances to sum, and how to run.
def distance_sums(
    graph: Graph, sources: Array, by_length: bool, inverse: bool, device: str, threads: int | None
) -> tuple[Array, Array, Runs]:
    """As `distances.distances` or, `by_length`, as `dijkstra.lengths_from_each`; and the runs instead of the edges.

    Sources without out-edges reach no other vertex, so no search begins there.
    """
    runs = Runs(graph, device, threads, SUM_BYTES + (0 if by_length else TABLE_BYTES))
    sums, reached = np.zeros(graph.n), np.zeros(graph.n, np.int64)
    sources = leading(graph, sources)
    kernels = [adder(kind) for kind in (("i8", "f8") if by_length else ("i1", "i4"))]
    width = MOST_COLUMNS if by_length else SOURCES
    with called(graph, "distance_sums", kernels, threads) as call:
        runs.compile_seconds += call.compile_seconds
        for start in range(0, len(sources), width):
            block = sources[start : start + width]
            for table in runs.tables(searches(graph, block, by_length)):
                add_table(call, table, inverse, sums, reached)
                del table  # it takes no memory during the next run
            reached[block] -= 1  # each reaches itself
    return sums, reached, runs


def add_table(call: Call, table: Array, inverse: bool, sums: Array, reached: Array) -> None:
    """Add the rows of a table of distances to the sums of the vertices, and to how many sources reach them."""
    kind, rows = table.dtype, np.ascontiguousarray(table)
    most = np.inf if kind.kind == "f" else np.iinfo(kind).max + (kind.itemsize < 8)
    call.on_vertices(adder(kind.str[1:]), rows.shape[1], rows.reshape(-1), most, inverse, sums, reached)


def searches(graph: Graph, sources: Array, by_length: bool) -> list[VertexProgram]:
    """The programs that find the distances from these sources."""
    kind = Lengths if by_length else BFS
    return [kind(source) for source in graph.ids.take(sources).tolist()]
