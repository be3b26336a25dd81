"""Maximal independent sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, VerificationError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..pages.passes import listed
from ..program import PerVertex, VertexProgram
from ..program.monoids import max as maximum
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from .in_memory import check_undirected
from .seeds import generator

OUTSIDE, INSIDE = 0, 0xFFFFFFFF
"""The values of vertices that are not in the set, and of those that are. Others have their rank, 1 to n."""


class IndependentSet(VertexProgram):
    """The maximal independent set that takes vertices in the order of their ranks, the highest first.

    A vertex is in the set once all neighbours of a higher rank are outside, and outside once a neighbour is in the set.
    Its value is its rank until then; `INSIDE` is the highest of all. The set does not depend on when vertices are
    updated.
    """

    rank: PerVertex

    gathers = "both"
    value = np.uint32
    sum = maximum

    def init(self, rank):
        return rank

    def gather(self, src):
        return src

    def apply(self, old, acc):
        if old == OUTSIDE:
            return OUTSIDE
        if old >= acc:  # a self-loop gives the vertex its own rank
            return INSIDE
        return OUTSIDE if acc == INSIDE else old

    def verify(self, graph, result):
        require_maximal(graph, result.values == INSIDE)


def require_maximal(graph: Graph, inside: npt.NDArray[Any]) -> None:
    """Raise `VerificationError` unless the set is independent, and every other vertex has a neighbour in it."""
    near = np.zeros(graph.n, bool)
    for edges in listed(graph, values=False):
        near[edges.targets[inside[edges.sources] & (edges.sources != edges.targets)]] = True
    if (wrong := inside == near).any():
        place = int(wrong.argmax())
        problem = "is in the set beside a neighbour" if inside[place] else "could be added to the set"
        raise VerificationError(f"maximal_independent_set: {graph.ids[place]} {problem}")


@explained
def maximal_independent_set(
    graph: Graph, *, nodes: Any = None, seed: int | None = None, device: str = ANY, threads: int | None = None
) -> list[Any]:
    """A maximal independent set: no two of its vertices are neighbours, and every other vertex has a neighbour in it.

    Parameters
    ----------
    graph : Graph
        Undirected. A vertex with a self-loop may be in the set, as in NetworkX.
    nodes : iterable, optional
        Vertices that must be in the set, no two of which are neighbours.
    seed : int, optional
        The set depends only on the graph, on `nodes` and on this number; by default each call returns another set.
    device : {"auto", "cpu", "gpu", "hybrid"}
        Where the vertex program runs, as for `garaph_py.run`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    list
        The vertices of the set, by the user's ids, in the order of ``graph.ids``.

    Raises
    ------
    GraphError
        If the graph is directed, or two of the `nodes` are neighbours.
    UnknownVertexError
        If one of the `nodes` is not in the graph.
    ParameterError
        If `seed` is not a whole number, 0 or more.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    A vertex program finds the greedy set for a random order of the vertices [1]_, as in Luby's algorithm [2]_. It needs
    O(log(n)^2) iterations with high probability.

    References
    ----------
    .. [1] Blelloch, G. E., J. T. Fineman, J. Shun, "Greedy sequential maximal independent set and matching are parallel
       on average", SPAA 2012.
    .. [2] Luby, M., "A simple parallel algorithm for the maximal independent set problem", SIAM Journal on Computing
       15, 1986.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c"], ["b", "c", "d"], directed=False)
    >>> gp.algorithms.maximal_independent_set(graph, nodes=["b"], seed=1)
    ['b', 'd']
    """
    check_graph(graph, "maximal_independent_set")
    check_undirected(graph, "maximal_independent_set")
    ranks = generator(seed).permutation(graph.n) + 1
    if nodes is not None:
        given = graph.ids.indices(nodes)
        check_independent(graph, given)
        ranks[given] = INSIDE
    members = run(IndependentSet(rank=ranks), graph, device=device, threads=threads).values == INSIDE
    found: list[Any] = graph.ids[members].tolist()
    return found


def check_independent(graph: Graph, places: npt.NDArray[Any]) -> None:
    """Raise `GraphError` if two of the vertices at these places are neighbours."""
    edges = graph._arrays.out_edges.without_values()
    for place in np.unique(places).tolist():
        others, _ = edges.part(*edges.offsets[place : place + 2].tolist())
        near = np.intersect1d(others[others != place], places)
        if len(near):
            one, other = graph.ids[place], graph.ids[int(near[0])]
            raise GraphError(f"nodes: {one} and {other} are neighbours; give vertices of which no two are")
