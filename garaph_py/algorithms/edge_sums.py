"""A product of the adjacency matrix and a vector: each vertex's sum over its edges of what the other ends are given."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import in_sums
from ..codec.arrays import RAW
from ..errors import VerificationError
from ..events import Iteration
from ..graph import Graph
from ..native import Kernel, prepare
from ..native.kernel import kind_of
from ..output.history import History
from ..output.stats import Stats
from ..program import PerVertex, VertexProgram
from ..program.monoids import add
from .in_memory import Call
from .runs import Runs, by_programs

Array = npt.NDArray[Any]


def sum_edges(first, last, offsets, others, given, sums):
    """Add up what the vertices in each list of [first, last) are given."""
    for v in range(first, last):
        total = np.float64(0)
        for e in range(offsets[v], offsets[v + 1]):
            total += given[others[e]]
        sums[v] = total
    return 0


def sum_weighted_edges(first, last, offsets, others, given, sums, weights):
    """The same, with what each vertex is given multiplied by the edge's weight."""
    for v in range(first, last):
        total = np.float64(0)
        for e in range(offsets[v], offsets[v + 1]):
            total += given[others[e]] * np.float64(weights[e])
        sums[v] = total
    return 0


@cache
def kernel_for(weights: np.dtype[Any] | None) -> Kernel:
    """The kernel for weights of this type, or for none."""
    signature = "i64 i64 i64* u32* f64* f64*"
    return Kernel(signature, sum_edges) if weights is None else Kernel(
        f"{signature} {kind_of(weights)}", sum_weighted_edges
    )  # fmt: skip


class SumIn(VertexProgram):
    """The sum over in-edges of what `given` says."""

    given: PerVertex

    value = np.float64
    sum = add

    def init(self, given):
        return given

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc

    def verify(self, graph, result):
        """Raise `VerificationError` unless these are the sums, up to 1e-9 of the sums of the absolute values."""
        given, weighted = np.broadcast_to(np.float64(self.given), graph.n), isinstance(self, WeightedIn)
        sums, sizes = (in_sums(graph, given, weighted, absolute) for absolute in (False, True))
        if not np.isclose(result.values, sums, rtol=0, atol=1e-9 * sizes).all():
            raise VerificationError(f"{type(self).__name__}: the values are not the sums over edges")


class SumOut(SumIn):
    """The same over out-edges."""

    gathers = "out"


class WeightedIn(SumIn):
    """The sum over in-edges of what `given` says times the edge value."""

    def gather(self, src, edge):
        return src * edge


class WeightedOut(WeightedIn):
    """The same over out-edges."""

    gathers = "out"


class EdgeSums:
    """Sums over the in-edges or the out-edges of all vertices, a pass over all edges at a time.

    A kernel of its own reads raw edges in memory if the caller does not want a GPU. In all other cases a vertex program
    reads the edges, one run for each pass.

    Parameters
    ----------
    call : Call
    graph : Graph
    weighted : bool
        Whether edge values are weights.
    device : str
        As for `run`.
    threads : int or None
        What the user asked for. With None, a run with a GPU leaves some cores to the threads that serve it.
    vectors : int
        Arrays of float64, shape (n,), that the caller keeps during a pass. If edges are on disk, they take part
        of the memory with which the graph was opened.
    """

    def __init__(
        self, call: Call, graph: Graph, weighted: bool, device: str, threads: int | None, vectors: int
    ) -> None:  # fmt: skip
        self._runs = Runs(graph, device, threads, vectors * np.dtype(np.float64).itemsize)
        self._graph, self._call, self._weighted = graph, call, weighted
        self._by_kernel = graph.encoding == RAW and not by_programs(graph, device)
        self._records, self._seconds = list[Iteration](), 0.0
        if self._by_kernel:
            self._kernel = kernel_for(graph.edge_dtype if weighted else None)
            began = perf_counter()
            prepare([self._kernel])
            call.compile_seconds += perf_counter() - began

    def __call__(self, given: Array, outward: bool = False) -> Array:
        """The sums over in-edges, or over out-edges if `outward`: float64, shape (n,)."""
        return self._of_raw(given, outward) if self._by_kernel else self._by_run(given, outward)

    def _of_raw(self, given: Array, outward: bool) -> Array:
        call, arrays, began = self._call, self._graph._arrays, perf_counter()
        side = arrays.out_edges if outward else arrays.in_edges
        if self._weighted and outward:
            side = arrays.valued_out_edges(call.pool)
        sums = np.empty(self._graph.n)
        weights = [side.values] if self._weighted else []
        call.on_vertices(self._kernel, side.offsets, side.neighbours, given, sums, *weights, offsets=side.offsets)
        seconds = perf_counter() - began
        self._records.append(call.record(len(self._records), self._graph.m, seconds, self._seconds))
        self._seconds += seconds
        return sums

    def _by_run(self, given: Array, outward: bool) -> Array:
        kinds = (WeightedIn, WeightedOut) if self._weighted else (SumIn, SumOut)
        return self._runs(kinds[outward](given), iterations=1)

    def stats(self, converged: bool) -> Stats:
        """The statistics of all passes; those of a run say on which device they were."""
        compiled = self._call.compile_seconds + self._runs.compile_seconds
        if not self._by_kernel:
            return replace(self._runs.stats(converged), compile_seconds=compiled)
        threads, encoding = self._call.pool.size, self._graph.encoding
        history = History(self._records)
        return Stats(history, converged, self._seconds, threads, encoding=encoding, compile_seconds=compiled)
