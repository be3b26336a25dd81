"""Hubs and authorities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import require_no_negative_edges
from ..errors import ParameterError
from ..events import Iteration
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.history import History
from ..output.result import Result
from ..program import PerVertex, VertexProgram
from ..program.monoids import add
from ..runtime.run import run
from ..system.arguments import explained

Array = npt.NDArray[Any]


@explained
def hits(
    graph: Graph, *, max_iter: int = 100, tol: float = 1e-8, normalized: bool = True, weight: bool = True,
    threads: int | None = None,
) -> Result:  # fmt: skip
    """Hubs and authorities: ``a_v = sum over u -> v of w_uv * h_u`` and ``h_u = sum over u -> v of w_uv * a_v``.

    Both are defined up to a factor. A good authority is a vertex to which good hubs lead, and a good hub leads to good
    authorities.

    Parameters
    ----------
    graph : Graph
    max_iter : int
        Maximum number of iterations, each of which computes all authorities and then all hubs.
        ``result.stats.converged`` says whether it was enough.
    tol : float
        The iterations end when the absolute changes of the hubs, divided by the largest, add up to less than `tol`.
    normalized : bool
        Whether hubs, and authorities, are divided by their sum. Otherwise the largest of each is 1.
    weight : bool
        Whether edge values, numbers of 0 or more, are the weights w_uv; otherwise, and in a graph without edge values,
        they are 1.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        The fields ``hub`` and ``authority``, float64. Without edges, all are 0.

    Raises
    ------
    GraphError
        If an edge value is negative, or a graph on disk has edge values in one direction only.
    ParameterError
        If `tol` is not above 0, or `max_iter` not a positive integer.

    Notes
    -----
    Two vertex programs take turns, one over in-edges and one over out-edges (``gathers = "out"``), so the edges may be
    on disk, and a GPU may run them. Values go back to the host in between.

    References
    ----------
    .. [1] Kleinberg, J., "Authoritative sources in a hyperlinked environment", Journal of the ACM 46, 1999.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["x", "y", "x"])
    >>> gp.algorithms.hits(graph).to_pandas().round(3)
          hub  authority
    id
    a   0.618      0.000
    b   0.382      0.000
    x   0.000      0.618
    y   0.000      0.382
    """
    check_graph(graph, "hits")
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ParameterError(f"hits(max_iter={max_iter!r}): give a number of iterations, 1 or more")
    if not tol > 0:
        raise ParameterError(f"hits(tol={tol!r}): give a number above 0")
    weighted = weight and graph.edge_dtype is not None
    inward, outward = (WeightedIn, WeightedOut) if weighted else (SumIn, SumOut)
    hubs, records = np.full(graph.n, 1.0 / max(graph.n, 1)), list[Iteration]()
    converged, seconds, compiled = False, 0.0, 0.0
    for _ in range(max_iter):
        before = hubs
        # In the end, `hubs` has the hubs, and `given` the authorities that they were summed from.
        for kind in (inward, outward):
            given, step = hubs, run(kind(hubs), graph, iterations=1, threads=threads)
            hubs = scaled(step.values if graph.m else np.zeros(graph.n), by_sum=False)  # without edges, nothing is done
            seconds, compiled = seconds + step.stats.seconds, compiled + step.stats.compile_seconds
            records += [row._replace(number=len(records)) for row in step.stats.iterations]
        converged = bool(np.abs(hubs - before).sum() < tol)
        if converged:
            break
    values = np.empty(graph.n, [("hub", np.float64), ("authority", np.float64)])
    values["hub"], values["authority"] = scaled(hubs, normalized), scaled(given, normalized)
    stats = replace(
        step.stats, history=History(records), converged=converged, seconds=seconds, compile_seconds=compiled
    )
    return replace(step, values=values, stats=stats, program="hits")


def scaled(values: Array, by_sum: bool) -> Array:
    """The values divided by their sum, or by the largest; as they are if all are 0."""
    return values / ((values.sum() if by_sum else values.max(initial=0)) or 1.0)


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


class SumOut(SumIn):
    """The same over out-edges."""

    gathers = "out"


class WeightedIn(SumIn):
    """The sum over in-edges of what `given` says times the edge value."""

    def gather(self, src, edge):
        return src * edge

    def check_graph(self, graph):
        require_no_negative_edges(self, graph)


class WeightedOut(WeightedIn):
    """The same over out-edges."""

    gathers = "out"
