"""k-cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .core_number import core_number

Array = npt.NDArray[Any]


@explained
def k_core(graph: Graph, *, k: int | None = None, device: str = ANY, threads: int | None = None) -> Graph:
    """The k-core: the largest subgraph in which each vertex has at least k edges.

    Parameters
    ----------
    graph : Graph
        Edges count as in `core_number`. The subgraph has all edges between its vertices, also self-loops.
    k : int, optional
        By default the largest k for which there is one, the main core.
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `core_number`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Graph
        Without vertices if there is no such core.

    Raises
    ------
    ParameterError
        If `k` is not a whole number.
    GraphError
        If `core_number` refuses the graph.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    `core_number`, and then `Graph.subgraph`.

    References
    ----------
    .. [1] Seidman, S. B., "Network structure and minimum degree", Social Networks 5, 1983.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> list(gp.algorithms.k_core(graph, k=2).ids)
    ['a', 'b', 'c']
    """
    check_graph(graph, "k_core")
    numbers, least = cores(graph, k, device, threads)
    return graph._induced(np.flatnonzero(numbers >= least), threads)


def cores(graph: Graph, k: int | None, device: str, threads: int | None) -> tuple[Array, int]:
    """The core number of each vertex, and k, which is the largest of these unless it is given.

    Raises
    ------
    ParameterError
        If `k` is neither a whole number nor None.
    """
    if k is not None:
        check_k(k)
    numbers = core_number(graph, device=device, threads=threads).values
    return numbers, int(numbers.max(initial=0)) if k is None else k


def check_k(k: Any) -> None:
    """Refuse what is no whole number."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ParameterError(f"k={k!r}: give a whole number")
