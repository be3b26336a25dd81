"""Katz centrality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..apps.checks import in_sums
from ..errors import NumberError, ParameterError, VerificationError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..program import PerVertex, VertexProgram
from ..program.monoids import add
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from .norm import unit
from .numbers import finite, iterations_of, positive, vertex_values


@explained
# wide: NetworkX's parameters.
def katz_centrality(
    graph: Graph, *, alpha: float = 0.1, beta: PerVertex = 1.0, max_iter: int = 1000, tol: float = 1e-6,
    nstart: PerVertex = None, normalized: bool = True, weight: bool = True, device: str = ANY,
    threads: int | None = None,
) -> Result:  # fmt: skip
    """Katz centrality: ``x_v = alpha * (sum over u -> v of w_uv * x_u) + beta_v``.

    A vertex is central if central vertices lead to it, and each vertex has some centrality by itself.

    Parameters
    ----------
    graph : Graph
    alpha : float
        How much of a vertex's centrality goes along an edge. Below 1 / the largest eigenvalue of the adjacency matrix;
        otherwise the values grow without bound, and the run ends after `max_iter` iterations or with `NumberError`.
    beta : per vertex
        The centrality that vertices have by themselves: a number, an array, or a mapping that names every vertex.
    max_iter : int
        Maximum number of iterations. ``result.stats.converged`` says whether it was enough.
    tol : float
        The iterations end when the absolute changes add up to less than n * `tol`.
    nstart : per vertex, optional
        The first x: finite numbers in an array, or in a mapping, in which vertices that are left out have 0. By default
        all are 0. The nearer it is to the answer, the fewer iterations it takes.
    normalized : bool
        Whether the result is divided by its Euclidean norm.
    weight : bool
        Whether edge values are the weights w_uv; otherwise, and in a graph without edge values, they are 1.
    device : {"auto", "cpu", "gpu", "hybrid"}
        Where the vertex program runs, as for `garaph_py.run`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        float64.

    Raises
    ------
    ParameterError
        If `tol` is not a number above 0, `alpha` is no finite number, `beta` leaves a vertex out, or
        `nstart` is not a finite number for each vertex.
    NumberError
        If the values become infinite.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    It is a vertex program, so the edges may be on disk, and a GPU may run it. In a directed graph, a vertex gets
    centrality along its in-edges; for out-edges give ``graph.reversed()``.

    References
    ----------
    .. [1] Katz, L., "A new status index derived from sociometric analysis", Psychometrika 18, 1953.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c"], ["c", "c", "d"])
    >>> gp.algorithms.katz_centrality(graph, alpha=0.5, normalized=False).to_dict()
    {'a': 1.0, 'b': 1.0, 'c': 2.0, 'd': 2.0}
    """
    check_graph(graph, "katz_centrality")
    max_iter = iterations_of(max_iter, "katz_centrality")
    alpha, tol = finite(alpha, "katz_centrality", "alpha"), positive(tol, "katz_centrality", "tol")
    if hasattr(beta, "keys") and len(beta) < graph.n:
        raise ParameterError(f"katz_centrality(beta=...) has {len(beta)} of {graph.n} vertices; give it all of them")
    weighted = weight and graph.edge_dtype is not None
    if nstart is None:
        program = (WeightedKatz if weighted else Katz)(alpha, tol, beta)
    else:
        first = vertex_values(nstart, graph, "katz_centrality", "nstart")
        program = (WeightedStartedKatz if weighted else StartedKatz)(alpha, tol, beta, first)
    try:
        found = run(program, graph, iterations=max_iter, device=device, threads=threads)
    except NumberError as error:
        problem = f"katz_centrality(alpha={alpha}): the values become infinite or NaN"
        advice = "give an alpha below 1 / the largest eigenvalue of the adjacency matrix, and finite weights and beta"
        raise NumberError(f"{problem}; {advice}") from error
    values = unit(found.values) if normalized else found.values
    return replace(found, values=values, program="katz_centrality")


class Katz(VertexProgram):
    """The iteration, with edges of weight 1."""

    alpha: float
    tol: float
    beta: PerVertex = 1.0

    value = np.float64
    sum = add
    total = float

    def init(self, n):
        return float(0)

    def gather(self, src):
        return src

    def apply(self, acc, beta):
        return self.alpha * acc + beta

    def aggregate(self, new, old):
        return abs(new - old)

    def converged(self, total, n):
        return total < n * self.tol

    def verify(self, graph, result):
        """Raise `VerificationError` if a run that converged is further from the equation than its last change."""
        beta = self.beta if np.isscalar(self.beta) else np.asarray(self.beta)
        right = self.alpha * in_sums(graph, result.values, isinstance(self, WeightedKatz)) + beta
        if result.stats.converged and np.abs(right - result.values).sum() > graph.n * self.tol:
            raise VerificationError("katz_centrality: the two sides of the equation differ")


class WeightedKatz(Katz):
    """The same, with edge values as weights."""

    def gather(self, src, edge):
        return src * edge


class StartedKatz(Katz):
    """The same, with first values."""

    nstart: PerVertex = 0.0

    def init(self, nstart):
        return nstart


class WeightedStartedKatz(StartedKatz, WeightedKatz):
    """The same, with edge values as weights and first values."""
