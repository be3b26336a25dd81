"""Weakly connected components."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import ConnectedComponents
from ..errors import GraphError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..runtime.run import run
from ..system.arguments import explained


@explained
def weakly_connected_components(graph: Graph, *, threads: int | None = None) -> Result:
    """The components of a graph whose edges can be followed in both directions.

    Parameters
    ----------
    graph : Graph
        If it is undirected, these are its connected components.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        The component of each vertex: the vertex with the smallest internal id in it. ``result.column()`` and tables
        have the user's id of that vertex.

    Raises
    ------
    GraphError
        If the graph is directed, and its edges are on disk.

    Notes
    -----
    It runs the vertex program `garaph_py.apps.ConnectedComponents` on ``graph.symmetrized()``, which takes as much
    memory as the graph.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b"], ["b", "c"], vertices=["a", "b", "c", "d"])
    >>> gp.algorithms.weakly_connected_components(graph).to_dict()
    {'a': 'a', 'b': 'a', 'c': 'a', 'd': 'd'}
    """
    check_undirected_on_disk(graph, "weakly_connected_components")
    return run(ConnectedComponents(), graph.symmetrized(threads), threads=threads)


def count_labels(label: npt.NDArray[Any]) -> int:
    """The number of components, each labelled by its least vertex."""
    return int(np.count_nonzero(label == np.arange(len(label))))


def check_undirected_on_disk(graph: Any, function: str) -> None:
    """Refuse what is no graph, and a directed graph on disk, in a call of `function`."""
    check_graph(graph, function)
    if graph.directed and graph.on_disk:
        raise GraphError(
            f"{function} needs the edges of a directed graph in memory, and those of this one are on disk; open it "
            "with more memory (gp.open(path, memory=...)), or import it with garaph import --symmetrize"
        )
