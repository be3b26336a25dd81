"""k-shells."""

from __future__ import annotations

import numpy as np

from ..graph import Graph
from ..graph.arguments import check_graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .k_core import cores


@explained
def k_shell(graph: Graph, *, k: int | None = None, device: str = ANY, threads: int | None = None) -> Graph:
    """The k-shell: the vertices whose core number is k, and the edges between them.

    Parameters
    ----------
    graph : Graph
        Edges count as in `core_number`. The subgraph has all edges between its vertices, also self-loops.
    k : int, optional
        By default the largest core number.
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `core_number`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Graph
        Without vertices if there are none.

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
    .. [1] Carmi, S., S. Havlin, S. Kirkpatrick, Y. Shavitt, E. Shir, "A model of Internet topology using k-shell
       decomposition", PNAS 104, 2007.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> list(gp.algorithms.k_shell(graph, k=2).ids)
    ['a', 'b', 'c']
    """
    check_graph(graph, "k_shell")
    numbers, number = cores(graph, k, device, threads)
    return graph._induced(np.flatnonzero(numbers == number), threads)
