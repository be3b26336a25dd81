"""Hubs and authorities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import require_edges
from ..errors import NumberError, ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..program import PerVertex
from ..runtime.options import ANY
from ..system.arguments import explained
from .edge_sums import EdgeSums
from .in_memory import called
from .numbers import first_weights, iterations_of, positive
from .power_iteration import KERNELS, PowerIteration

Array = npt.NDArray[Any]

VECTORS = 5
"""Hubs, the hubs before and their image, authorities, and authorities by size: what is kept while edges are read."""


@explained
# wide: NetworkX's parameters.
def hits(
    graph: Graph, *, max_iter: int = 100, tol: float = 1e-8, nstart: PerVertex = None, normalized: bool = True,
    weight: bool = True, device: str = ANY, threads: int | None = None,
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
    nstart : per vertex, optional
        The first authorities, up to a factor, as NetworkX takes them: numbers of 0 or more in an array, or in a
        mapping, in which vertices that are left out have 0. By default all first hubs are the same.
    normalized : bool
        Whether hubs, and authorities, are divided by their sum. Otherwise the largest of each is 1.
    weight : bool
        Whether edge values, numbers of 0 or more, are the weights w_uv; otherwise, and in a graph without edge values,
        they are 1.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, vertex programs run there. Otherwise, over raw edges in memory, a kernel on
        the CPU runs (see Notes).
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
        If `tol` is not a number above 0, `max_iter` not a positive integer, or `nstart` something else, or 0 wherever
        an edge of a weight above 0 leads.
    NumberError
        If the values become infinite.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    Over raw edges in memory, it runs kernels of its own on all cores of the CPU. On a GPU, and over packed edges and
    edges on disk, two vertex programs take turns, one over in-edges and one over out-edges (``gathers = "out"``). What
    combines vectors between their runs stays on the CPU.

    Each iteration goes on with the combination of the present and the previous hubs that has the largest Rayleigh
    quotient, which takes fewer iterations than going on with the present hubs alone. Where several answers fulfil the
    definition, as in a connected undirected graph that is bipartite, it may find another one of them.

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
    max_iter = iterations_of(max_iter, "hits", 1)
    tol = positive(tol, "hits", "tol")
    first = None if nstart is None else first_weights(nstart, graph, "hits")
    weighted = weight and graph.edge_dtype is not None
    if weighted:
        require_edges("hits", graph, "edge values of 0 or more", 0, np.inf)
    with called(graph, "hits", KERNELS, threads) as call:
        sums, authorities, size = EdgeSums(call, graph, weighted, device, threads, VECTORS), np.zeros(graph.n), 0.0

        def multiply(hubs: Array) -> Array:
            nonlocal authorities, size
            authorities = sums(hubs)
            size = size or largest(authorities)  # the first, or else this would be no product with one matrix
            return sums(authorities / size, outward=True)

        hubs = np.ones(graph.n) if first is None else sums(first / largest(first), outward=True)
        if graph.m and not hubs.any():
            raise ParameterError("hits(nstart=...): give a number above 0 to a vertex to which weights above 0 lead")
        hubs, converged = PowerIteration(call, multiply, largest, tol).run(hubs / largest(hubs), max_iter)
    values = np.empty(graph.n, [("hub", np.float64), ("authority", np.float64)])
    for name, found in ("hub", hubs), ("authority", authorities):
        values[name] = found / ((found.sum() if normalized else largest(found)) or 1.0)
    return Result(values, graph.ids, sums.stats(converged), "hits")


def largest(values: Array) -> float:
    """The largest of the values; 1 if all are 0.

    Raises
    ------
    NumberError
        If one is infinite.
    """
    found = float(values.max(initial=0))
    if not math.isfinite(found):
        raise NumberError("hits: the values have become infinite; give smaller edge values, or weight=False")
    return found or 1.0
