"""Eigenvector centrality."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..apps.checks import in_sums, require_edges
from ..errors import VerificationError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.history import History
from ..output.result import Result
from ..program import PerVertex, VertexProgram
from ..program.monoids import add
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from .edge_sums import EdgeSums
from .in_memory import called, check_vertices
from .norm import unit
from .numbers import first_weights, iterations_of, positive
from .power_iteration import KERNELS, PowerIteration

PLAIN = 20
"""Iterations of the vertex program on an undirected graph. They are enough where the largest eigenvalue is far from the
others (13 are, on an R-MAT graph with 20 M edges with tol = 1e-9), and a GPU does them all without the host."""
VECTORS = 4
"""The first vector, the present one, the one before, and its image: what is kept while edges are read."""


@explained
def eigenvector_centrality(
    graph: Graph, *, max_iter: int = 100, tol: float = 1e-6, nstart: PerVertex = None, weight: bool = True,
    device: str = ANY, threads: int | None = None,
) -> Result:  # fmt: skip
    """Eigenvector centrality: ``lambda * x_v = sum over u -> v of w_uv * x_u``, for the largest lambda.

    A vertex is central if central vertices lead to it.

    Parameters
    ----------
    graph : Graph
        In a directed graph that is not strongly connected, much of the centrality may be 0.
    max_iter : int
        Iterations at most. ``result.stats.converged`` says whether they were enough.
    tol : float
        The iterations end when the absolute changes of x add up to less than n * `tol`.
    nstart : per vertex, optional
        The first x, up to a factor: numbers of 0 or more, not all 0, in an array, or in a mapping, in which vertices
        that are left out have 0. By default all are the same. The nearer it is to the answer, the fewer iterations it
        takes.
    weight : bool
        Whether edge values, numbers of 0 or more, are the weights w_uv; otherwise, and in a graph without edge values,
        they are 1.
    device : {"auto", "cpu", "gpu", "hybrid"}
        Where the vertex program runs, as for `garaph_py.run`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        x: float64, with Euclidean norm 1.

    Raises
    ------
    GraphError
        If the graph has no vertices, or a negative edge value.
    ParameterError
        If `tol` is not a number above 0, or `nstart` is something else.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    It is a vertex program, so the edges may be on disk, and a GPU may run it. It is the power iteration with the matrix
    A + I, as in NetworkX: the largest eigenvalue of A + I is the only one of its absolute value, even if A is
    bipartite. A vertex's value is ``(A + I) x``, where x is the vector before it, divided by its norm.

    In an undirected graph, A is symmetric. If the first 20 iterations are not enough there, the following ones go on
    with the combination of the present and the previous vector that has the largest Rayleigh quotient. That takes fewer
    iterations to the same vector or, if components have equal eigenvalues, to another one that fulfils the definition.
    Over raw edges in memory, these run on all cores of the CPU, unless `device` is ``"gpu"`` or ``"hybrid"``. Then the
    products run there.

    References
    ----------
    .. [1] Bonacich, P., "Power and centrality: a family of measures", American Journal of Sociology 92, 1987.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c"], ["b", "c", "d"], directed=False)
    >>> gp.algorithms.eigenvector_centrality(graph).column().round(3)
    array([0.372, 0.602, 0.602, 0.372])
    """
    check_graph(graph, "eigenvector_centrality")
    max_iter = iterations_of(max_iter, "eigenvector_centrality")
    check_vertices(graph, "eigenvector_centrality")
    tol = positive(tol, "eigenvector_centrality", "tol")
    weighted = weight and graph.edge_dtype is not None
    if nstart is None:
        program = (WeightedEigenvector if weighted else Eigenvector)(tol)
    else:
        first = first_weights(nstart, graph, "eigenvector_centrality")
        program = (WeightedStarted if weighted else Started)(tol, unit(first / first.max()))
    goes_on = not graph.directed and max_iter > PLAIN
    found = run(program, graph, iterations=PLAIN if goes_on else max_iter, device=device, threads=threads)
    found = replace(found, values=unit(found.values), program="eigenvector_centrality")
    if not goes_on or found.stats.converged:
        return found
    return continued(found, graph, weighted, max_iter - PLAIN, tol, device, threads)


def continued(
    found: Result, graph: Graph, weighted: bool, most: int, tol: float, device: str, threads: int | None
) -> Result:  # fmt: skip
    """The result after up to `most` more iterations on an undirected graph."""
    done = found.stats
    with called(graph, found.program, KERNELS, threads) as call:
        sums = EdgeSums(call, graph, weighted, device, threads, VECTORS)
        norm: Any = np.linalg.norm
        x, converged = PowerIteration(call, lambda x: x + sums(x), norm, graph.n * tol).run(found.values, most)
    more = sums.stats(converged)
    rows = [row._replace(number=len(done.history) + row.number) for row in more.iterations]
    stats = replace(
        more, history=History([*done.iterations, *rows]), seconds=done.seconds + more.seconds, why=done.why,
        compile_seconds=done.compile_seconds + more.compile_seconds,
    )  # fmt: skip
    return replace(found, values=x, stats=stats)


class Eigenvector(VertexProgram):
    """The iteration, with edges of weight 1."""

    tol: float

    value = np.float64
    sum = add
    total = {"squares": float, "change": float}  # noqa: RUF012

    def init(self, n):
        return float(1) / math.sqrt(n)

    def gather(self, src):
        return src

    def apply(self, old, acc, total):
        return (old + acc) / (math.sqrt(total.squares) if total.squares > 0 else float(1))

    def aggregate(self, new, old):
        return new * new, abs(new - old)

    def converged(self, total, n):
        return total.change < n * self.tol * math.sqrt(total.squares)

    def verify(self, graph, result):
        """Raise `VerificationError` if a run that converged has found no eigenvector."""
        x = unit(result.values)
        image = x + in_sums(graph, x, isinstance(self, WeightedEigenvector))
        if result.stats.converged and np.abs(unit(image) - x).sum() > 2 * graph.n * self.tol:
            raise VerificationError("eigenvector_centrality: this is no eigenvector")


class WeightedEigenvector(Eigenvector):
    """The same, with edge values as weights."""

    def gather(self, src, edge):
        return src * edge

    def check_graph(self, graph):
        require_edges("eigenvector_centrality", graph, "edge values of 0 or more", 0, np.inf)


class Started(Eigenvector):
    """The same, with first values, whose norm is 1."""

    nstart: PerVertex = 1.0

    def init(self, nstart):
        return nstart


class WeightedStarted(Started, WeightedEigenvector):
    """The same, with edge values as weights and first values."""
